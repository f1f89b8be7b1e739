/* The guest runtime: our own CUDA runtime for the host code of a submission.
 *
 * Theory of operation.  It is linked statically into the submission and speaks over one socket with the device process,
 * which does all device work in the order in which it is asked; streams are only names.  Launches are sent without
 * waiting, as the real runtime does, so errors of kernels appear at the next call that waits.  What depends on nothing
 * but arguments is checked here, because the real runtime tells it at once; the device process checks everything again.
 *
 * Each piece of work (launch, copy, fill, host function, event) is a struct op.  A stream that is being captured appends
 * it to a graph, any other executes it at once; launching a graph executes its list.
 *
 * Host memory that kernels may touch (managed, pinned, registered) is a mirror: host pages with a twin in device memory,
 * at the same address where that is possible.  What the host changed is pushed before a launch, what the device changed
 * is pulled at synchronisation.
 *
 * Only names of the CUDA runtime are visible to the submission: internal symbols carry a dot, which C cannot write.
 */
#ifndef GUEST_GUEST_H
#define GUEST_GUEST_H

#include <cuda_runtime_api.h>

#include "../wire.h"

#define GUEST(name) __asm__("guest." #name)
/* The names that a file compiled with -default-stream per-thread uses. */
#define ALSO_PTSZ(api) extern __typeof__(api) api##_ptsz __attribute__((alias(#api)))
#define ALSO_PTDS(api) extern __typeof__(api) api##_ptds __attribute__((alias(#api)))

/* ---- link.c: the socket, and the state of the runtime ---- */

struct guest {
	bool open, over;		/* connected; DONE was said */
	bool busy;			/* work was sent since the last synchronisation */
	cudaError_t last, sticky;
	struct wire_device device;
};
extern struct guest guest GUEST(state);

/* Connect if need be. */
cudaError_t guest_connect(void) GUEST(connect);
/* The same, and the sticky error if there is one: nothing more can be done. */
cudaError_t guest_ready(void) GUEST(ready);
/* Note an error for cudaGetLastError and return it; local: the device process doesn't know of it yet.  The report gets
 * the name of the function, if it is one that programs call. */
cudaError_t guest_failed(cudaError_t e, const char *function) GUEST(failed);
#define guest_local(e) guest_failed(e, __func__)
/* The same with a sentence for the report. */
cudaError_t guest_explain(cudaError_t e, const char *fmt, ...) GUEST(explain) __attribute__((format(printf, 2, 3)));
cudaError_t guest_remote(cudaError_t e) GUEST(remote);
void guest_tell(const void *m, size_t size, const void *tail, size_t tail_size) GUEST(tell);
/* Ask and wait.  `data` gets what follows the reply, at most `room` bytes. */
cudaError_t guest_ask(const void *m, size_t size, const void *tail, size_t tail_size, struct wire_reply *r, void *data,
		      size_t room, size_t *got) GUEST(ask);
cudaError_t guest_reply(uint32_t kind, struct wire_reply *r, void *data, size_t room, size_t *got) GUEST(reply);
/* Send; false if part of it lies outside the address space. */
bool guest_send(const void *m, size_t size, const void *tail, size_t tail_size) GUEST(send);
/* Wait for all work; text of kernels goes to stdout, mirrors are pulled. */
cudaError_t guest_sync(void) GUEST(sync);
_Noreturn void guest_panic(const char *why) GUEST(panic);
void *guest_alloc(size_t size) GUEST(alloc);	/* zeroed; never NULL */

/* ---- module.c: kernels and symbols ---- */

struct kernel {
	const void *host;		/* the stub's address */
	const char *name;		/* mangled */
	bool found;
	uint32_t index;
	struct device_kernel info;
	int max_dynamic;		/* cudaFuncAttributeMaxDynamicSharedMemorySize; -1: not set */
	int carveout;
	struct kernel *next;
};
/* NULL: no kernel of the program, or not in the device image; *e says which error it is. */
struct kernel *guest_kernel(const void *func, cudaError_t *e) GUEST(kernel);
cudaError_t guest_symbol(const void *symbol, uint64_t *addr, uint64_t *size) GUEST(symbol);
void guest_forget_variables(void) GUEST(forget_variables);	/* their addresses are no longer true */

/* ---- op.c: work ---- */

struct op {
	enum op_kind { OP_LAUNCH, OP_COPY, OP_FILL, OP_HOST, OP_RECORD, OP_EMPTY } kind;
	struct wire_launch launch;
	void *params;
	size_t n_params;
	const struct kernel *kernel;
	uint64_t dst, dst_pitch, src, src_pitch, width, height;	/* copy, fill: width in units for fill */
	enum cudaMemcpyKind direction;
	uint32_t unit, value;
	cudaHostFn_t host;
	void *user;
	cudaEvent_t event;
	struct op *next;
};
/* Execute now, or append to the graph that the stream is captured into. */
cudaError_t guest_submit(cudaStream_t stream, const struct op *op) GUEST(submit);
cudaError_t guest_execute(const struct op *op) GUEST(execute);
struct op *guest_op_copy(const struct op *op) GUEST(op_copy);
void guest_op_free(struct op *op) GUEST(op_free);
/* Check the configuration and pack the parameters of a launch. */
cudaError_t guest_launch_op(const void *func, dim3 grid, dim3 block, void **args, size_t shared, bool cooperative,
			    struct op *op) GUEST(launch_op);

/* ---- memory.c ---- */

struct mirror {
	enum mirror_kind { MIRROR_MANAGED, MIRROR_PINNED, MIRROR_REGISTERED, MIRROR_VARIABLE } kind;
	char *host;
	uint64_t device;
	size_t size;
	char *shadow;			/* what the device was last known to hold; NULL until kernels may touch it */
	unsigned flags;
	struct mirror *next;
};
bool guest_on_device(uint64_t addr) GUEST(on_device);	/* and not host memory too */
struct mirror *guest_mirror(uint64_t addr) GUEST(mirror);
void guest_know(uint64_t addr, uint64_t size) GUEST(know);	/* a tensor or variable of the device */
void guest_push(const void *params, size_t size) GUEST(push);	/* before a launch with these parameters */
void guest_pull(void) GUEST(pull);
cudaError_t guest_mirror_variable(uint64_t addr, size_t size, void **host) GUEST(mirror_variable);
/* All allocations of the program are gone; variables too, or not. */
void guest_forget_memory(bool variables) GUEST(forget_memory);
bool guest_upload(uint64_t addr, const void *data, size_t size, bool last, cudaError_t *e) GUEST(upload);
/* Rows of device memory, packed into data. */
cudaError_t guest_download(uint64_t addr, size_t pitch, size_t width, size_t height, void *data) GUEST(download);

/* ---- stream.c, graph.c ---- */

struct CUstream_st {
	uint32_t magic;
	unsigned flags;
	int priority;
	unsigned long long id;
	struct CUgraph_st *capture;	/* NULL: not captured */
	bool origin;
	struct CUstream_st *next;
};
struct CUevent_st {
	uint32_t magic;
	unsigned flags;
	bool recorded;
	uint64_t ns;
	struct CUgraph_st *capture;	/* recorded in a stream that is being captured */
};
/* NULL and *ok false: no live stream.  The default streams have an object too. */
struct CUstream_st *guest_stream(cudaStream_t s, bool *ok) GUEST(stream);
struct CUstream_st *guest_streams(void) GUEST(streams);
void guest_graph_append(struct CUgraph_st *g, const struct op *op) GUEST(graph_append);
/* Something that does not go with a capture was done on it: it cannot be ended well any more. */
cudaError_t guest_spoil(struct CUgraph_st *g) GUEST(spoil);
/* Allocating and waiting do not go with any capture of the usual mode.  The error, if there is one under way. */
cudaError_t guest_not_in_capture(void) GUEST(not_in_capture);

#endif
