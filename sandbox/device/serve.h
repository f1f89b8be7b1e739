/* The device process: what serve.c (the judge's requests) and guest.c (a guest's messages) share.
 *
 * One process, one thread that talks.  The judge opens a device, loads an image, lays out tensors, and hands over the
 * socket of a guest; guest.c then serves that guest until it is done, breaks the protocol or is gone, and serve.c
 * reports.  The process ends when the judge's socket closes, even in the middle of a run.
 */
#ifndef DEVICE_SERVE_H
#define DEVICE_SERVE_H

#include "../session.h"
#include "../wire.h"

struct tensor {
	uint64_t addr, size;
	uint32_t role;			/* enum session_role */
	char name[32];
	bool late;			/* an input that prepare() is not given */
	void *kept;			/* its bytes, while others are in its place */
};

struct allocation {
	uint64_t addr, size;
};

struct server {
	int control;
	const struct device_ops *ops;
	struct device *device;
	struct device_properties properties;
	uint64_t memory;		/* limit */
	struct device_kernel *kernels;
	uint32_t n_kernels;
	struct tensor tensors[CONTROL_TENSORS_MAX];
	uint32_t n_tensors;
	uint64_t tensor_bytes;
	uint64_t taped;			/* bytes that guests allocated in runs whose tapes are kept */
	struct run *run;		/* the run that takes place now, for the print callback */
	char *packet;			/* WIRE_PACKET bytes */
};

/* What a run asked of the device, step by step, for a device that can do it again. */
struct tape {
	struct device_step *steps;
	uint32_t n, room;
	uint64_t bytes;			/* held by the steps */
	bool open;			/* the last upload goes on */
};
enum { TAPE_STEPS_MAX = 1 << 16 };
static const uint64_t TAPE_BYTES_MAX = 256 << 20;

/* One run: what the guest did.  Its lists grow to the CONTROL_*_MAX of wire.h and no further. */
struct run {
	struct server *server;
	const struct control_run *ask;
	int fd;
	unsigned state;			/* enum wire_state */
	int sticky;			/* cudaError that ends all work, or 0 */
	int pending;			/* an error of a launch that the next synchronisation tells */
	int upload;			/* first error of the upload that is under way */
	uint64_t uploaded;		/* bytes of it so far */
	char why[WIRE_TEXT + 1];	/* what the next answer with an error says in the report */
	struct control_report report;
	struct control_launch *launches;
	uint32_t room;
	struct device_line *lines;
	uint32_t lines_room;
	struct mem_traffic before[CONTROL_TRAFFIC_MAX], traffic[CONTROL_TRAFFIC_MAX];
	uint32_t n_before;
	struct buf text;
	struct allocation *allocations;	/* sorted by address */
	size_t n_allocations, allocations_room;
	uint64_t allocated;
	struct tape tape;		/* if asked for */
	struct err failure;		/* our own failure, kind ERR_NONE if none */
};

/* Put the inputs that prepare() is not given in their places. */
int tensors_show(struct server *s, struct err *e);

/* Serve a guest to its end. */
void guest_serve(struct run *r);
void guest_print(struct run *r, const char *text, size_t size);
void run_free(struct run *r);

/* Record a step; data (n bytes) is copied.  What is too much for a tape ends in a fault of the run. */
void tape_step(struct run *r, struct device_step step, const void *data, size_t n);
/* A piece of an upload; pieces that follow each other are one step. */
void tape_upload(struct run *r, uint64_t addr, const void *data, size_t n, bool last);
void tape_free(struct tape *t);

/* The process: serve the judge on descriptor `control` with the devices of the NULL-terminated list.  Exit status. */
int serve(int control, const struct device_ops *const *devices);

#endif
