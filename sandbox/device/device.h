/* One interface, two devices: what a device process needs of the thing that runs kernels.
 *
 * Implemented by emulated.c (over ptx/emu.h) and, with a real GPU, by gpu.c over the CUDA driver API.  Used only inside the
 * device process (serve.c); the judge talks to that process through session.h.  Device addresses are opaque to the
 * caller.  CUDA errors are sticky as in the real runtime: after a fault each call returns the same error until reset.
 */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include "../base/err.h"
#include "../counters.h"
#include "../fault.h"
#include "../ptx/mem.h"
#include "../ptx/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device;

struct device_options {
	const struct profile *profile;	/* of the emulated GPU; unused by others */
	unsigned threads;
	uint64_t memory;
	uint64_t budget;
	bool checks;			/* emulated: every access; a GPU: guard zones around allocations */
	unsigned ordinal;		/* which GPU */
	const char *library;		/* where libcuda lies; of the emulated GPU unused */
	void (*print)(void *user, const char *text, size_t size);	/* device printf */
	void *user;
};

enum { DEVICE_NAME = 1024 };		/* room for a mangled name: those of templates are long */

struct device_resources {		/* of a kernel, from ptxas; see compile.h */
	char name[DEVICE_NAME];
	int32_t registers, shared, stack, spill_store, spill_load;
};

struct device_properties {		/* what cudaDeviceProp and cudaDeviceGetAttribute are made of */
	char name[64];
	uint32_t major, minor, sms, clock_khz, memory_clock_khz, bus_bits, l2_bytes;
	uint32_t shared_per_block, shared_per_block_optin, shared_per_sm, shared_reserved;
	uint32_t registers_per_block, registers_per_sm, threads_per_block, threads_per_sm, blocks_per_sm;
	uint64_t memory;
	bool emulated;
	char uuid[48], driver[16];	/* a GPU's: "GPU-3f2c...", "580.95.05"; empty for an emulated one */
};

enum { DEVICE_READ_ONLY = 1, DEVICE_ZERO = 2, DEVICE_POISON = 4, DEVICE_DIRTY = 8 /* counts as written */ };

struct device_kernel {			/* by index: 0 .. kernel_count-1 of the loaded module */
	char name[DEVICE_NAME], pretty[128];
	uint32_t n_params, param_bytes;
	struct { uint32_t offset, size; } params[64];
	uint32_t registers, shared_static, local_bytes, max_threads;
};

struct device_launch {
	uint32_t kernel, grid[3], block[3], shared_dynamic;
	uint32_t cluster[3];		/* blocks of a cluster; 0: as the kernel says */
	const void *params;
	bool cooperative;
};

/* Arguments of cuTensorMapEncodeTiled, numbers as there. */
struct device_tensor_map {
	uint32_t type, rank, interleave, swizzle, l2_promotion, oob_fill;
	uint64_t address, dim[5], stride[4];	/* stride: bytes */
	uint32_t box[5], element_stride[5];
};
enum { DEVICE_TENSOR_MAP = 128 };	/* bytes of an encoded one */

struct device_line {
	char file[64];
	uint32_t line;
	struct counters counters;
};

struct device_report {			/* of one launch */
	struct fault fault;
	struct counters counters;
	struct modelled modelled;
	struct occupancy occupancy;
	struct device_line *lines;	/* malloc'd; device_report_free */
	uint32_t n_lines;
};
void device_report_free(struct device_report *r);

/* One step of a tape: what solve() asked of the device, in order, to be done again. */
struct device_step {
	enum { STEP_LAUNCH, STEP_COPY, STEP_FILL, STEP_UPLOAD, STEP_DOWNLOAD } kind;
	bool prepare;			/* done by prepare(): replayed, not timed */
	struct device_launch launch;	/* its params lie in data */
	uint64_t dst, src, size;	/* bytes; addresses of the device */
	uint32_t pattern, pattern_bytes;
	void *data;			/* malloc'd: parameters, or what is uploaded */
};

struct device_clocks {			/* as the driver tells; 0: it does not */
	uint32_t sm_mhz, memory_mhz, temperature, milliwatts;
	uint64_t throttle;		/* NVML's clocks event reasons that slow it down */
};

struct device_replay {
	double us;			/* of all tapes, one after the other */
	struct device_clocks clocks;	/* just after */
};

struct device_ops {
	const char *name;		/* "emulated", "gpu" */
	int (*open)(const struct device_options *o, struct device **out, struct err *e);
	void (*close)(struct device *d);
	void (*properties)(struct device *d, struct device_properties *out);
	int (*load)(struct device *d, const void *image, size_t size, const struct device_resources *r, uint32_t n, struct err *e);
	uint32_t (*kernel_count)(struct device *d);
	int (*kernel)(struct device *d, uint32_t index, struct device_kernel *out);
	int (*symbol)(struct device *d, const char *name, uint64_t *addr, uint64_t *size);
	/* memory: 0, or -1 with *f (OUT_OF_MEMORY, OUT_OF_BOUNDS, BAD_ARGUMENT) */
	int (*alloc)(struct device *d, uint64_t size, unsigned flags, const char *name, uint64_t *addr, struct fault *f);
	int (*release)(struct device *d, uint64_t addr, struct fault *f);
	int (*upload)(struct device *d, uint64_t addr, const void *data, uint64_t size, struct fault *f);
	int (*download)(struct device *d, uint64_t addr, void *data, uint64_t size, struct fault *f);
	int (*copy)(struct device *d, uint64_t dst, uint64_t src, uint64_t size, struct fault *f);
	int (*fill)(struct device *d, uint64_t addr, uint64_t pattern, unsigned pattern_bytes /* 1, 2, 4 */, uint64_t count, struct fault *f);
	int (*protect)(struct device *d, uint64_t addr, unsigned flags, struct fault *f);
	/* fill an output with what no right answer is; it counts as not written */
	int (*poison)(struct device *d, uint64_t addr, uint64_t size, struct fault *f);
	/* every byte written by a kernel or copy since alloc or poison? *first: offset of the first that was not (a GPU can
	 * only tell by the poison that is left) */
	bool (*written)(struct device *d, uint64_t addr, uint64_t size, uint64_t *first);
	int (*launch)(struct device *d, const struct device_launch *l, struct device_report *out, struct err *e);
	/* Encode a tensor map.  NULL: the device has none. */
	int (*tensor_map)(struct device *d, const struct device_tensor_map *m, void *out, struct fault *f);
	uint32_t (*occupancy)(struct device *d, uint32_t kernel, uint32_t threads, uint32_t shared_dynamic);
	/* traffic of named allocations since reset: see mem.h */
	uint32_t (*traffic)(struct device *d, struct mem_traffic *out, uint32_t max);
	void (*flush)(struct device *d);		/* cold caches */
	double (*time_us)(struct device *d);		/* device time spent since open: what events measure */
	/* range of addresses that allocations lie in; size 0: not known beforehand */
	void (*range)(struct device *d, uint64_t *base, uint64_t *size);
	void (*reset)(struct device *d);		/* free all allocations, initial module variables, clear errors */
	/* Is this process of no more use after a fault?  NULL: never. */
	bool (*broken)(struct device *d);
	/* Has anything been written outside the allocations, as far as their guard zones tell?  -1 and *f if so.  NULL where
	 * every access is checked. */
	int (*audit)(struct device *d, struct fault *f);
	/* Tapes (NULL: the device has none).  add: the steps of one run of solve(), which the device takes over, are the next
	 * tape.  replay_prepare: what prepare() did, once more.  replay: what solve() did, all tapes in turn, in an order drawn
	 * anew, as one piece of work with cold caches; tape >= 0: that one alone.  They last until reset. */
	int (*tape_add)(struct device *d, struct device_step *steps, uint32_t n, struct err *e);
	int (*replay_prepare)(struct device *d, int tape, struct fault *f, struct err *e);
	int (*replay)(struct device *d, int tape, struct device_replay *out, struct fault *f, struct err *e);
};
void device_steps_free(struct device_step *steps, uint32_t n);

extern const struct device_ops device_emulated, device_gpu;

/* Where the CUDA driver's library lies on this machine, a real path, for device_options.library.  false: there is none. */
bool device_gpu_find(char *path, size_t size);

#endif
