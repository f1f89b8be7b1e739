/* The inside of the GPU device, shared by gpu.c (context, image, launches), gpu_memory.c and gpu_tape.c. */
#ifndef DEVICE_GPU_IMPL_H
#define DEVICE_GPU_IMPL_H

#include "cold.h"
#include "driver.h"

struct gpu_allocation {
	CUdeviceptr addr;
	uint64_t size;
	CUdeviceptr reserved, mapped;	/* address range, with unmapped ends; the memory inside it; 0: plain memory */
	uint64_t reserved_size, mapped_size;
	CUmemGenericAllocationHandle handle;
	char name[32];
};

struct gpu_range {			/* a module's variable that a guest has looked up */
	CUdeviceptr addr;
	uint64_t size;
};

struct gpu_tape {
	struct device_step *steps;
	uint32_t n;
	CUgraphExec alone;		/* this tape as a graph; NULL until wanted */
};

enum { GPU_TAPES_MAX = 64, GPU_ORDERS = 3, GPU_RANGES_MAX = 256 };

struct device {
	struct driver cu;
	struct device_options options;
	CUdevice id;
	CUcontext context;
	CUstream stream;
	CUevent begin, end, last;	/* last: of the device's own clock */
	double time_us;
	CUresult failed;		/* sticky: nothing works in this process any more */
	struct nvml *nvml;
	char uuid[48];
	int output;			/* memory file behind stdout, where device printf goes */
	int said, own_stderr;		/* memory file behind stderr during a launch, where failed assertions go; the other stderr */
	/* image */
	char *image;
	CUmodule module;
	CUfunction *functions;
	uint32_t n_functions;
	int *shared_allowed;		/* dynamic shared memory that each function has been allowed */
	/* memory */
	uint64_t granularity;
	uint32_t poison;
	struct gpu_allocation *allocations;
	size_t n, room;
	struct gpu_range ranges[GPU_RANGES_MAX];
	uint32_t n_ranges;
	/* tapes */
	struct gpu_tape tapes[GPU_TAPES_MAX];
	uint32_t n_tapes;
	CUgraphExec all[GPU_ORDERS];	/* all tapes, each time in another order, so that no call knows which comes next */
	uint32_t n_replays;		/* of all tapes */
	struct cold cold;
	void *sink;			/* pinned: where replayed downloads go */
	uint64_t sink_size;
};

/* The error's name, "CUDA_ERROR_ILLEGAL_ADDRESS". */
const char *gpu_error(struct device *d, CUresult r);
/* err_system: what can't be done, and the error's name. */
int gpu_cannot(struct device *d, CUresult r, const char *what, struct err *e);
/* Is it the hardware's error, which no program can bring about? */
bool gpu_is_defect(CUresult r);
/* What kernels have printed, to the caller. */
void gpu_take_output(struct device *d);
/* What an error of a kernel or copy is as a fault; sticky ones are remembered. */
void gpu_fault(struct device *d, CUresult r, struct fault *f);
/* Enqueue on the stream.  CUDA_SUCCESS, or why not. */
CUresult gpu_enqueue_launch(struct device *d, const struct device_launch *l);

int gpu_alloc(struct device *d, uint64_t size, unsigned flags, const char *name, uint64_t *addr, struct fault *f);
int gpu_release(struct device *d, uint64_t addr, struct fault *f);
int gpu_upload(struct device *d, uint64_t addr, const void *data, uint64_t size, struct fault *f);
int gpu_download(struct device *d, uint64_t addr, void *data, uint64_t size, struct fault *f);
int gpu_copy(struct device *d, uint64_t dst, uint64_t src, uint64_t size, struct fault *f);
int gpu_fill(struct device *d, uint64_t addr, uint64_t pattern, unsigned bytes, uint64_t count, struct fault *f);
int gpu_protect(struct device *d, uint64_t addr, unsigned flags, struct fault *f);
int gpu_poison(struct device *d, uint64_t addr, uint64_t size, struct fault *f);
bool gpu_written(struct device *d, uint64_t addr, uint64_t size, uint64_t *first);
int gpu_audit(struct device *d, struct fault *f);
void gpu_release_all(struct device *d);
CUresult gpu_enqueue_fill(struct device *d, uint64_t addr, uint64_t pattern, unsigned bytes, uint64_t count);

int gpu_tape_add(struct device *d, struct device_step *steps, uint32_t n, struct err *e);
int gpu_replay_prepare(struct device *d, int tape, struct fault *f, struct err *e);
int gpu_replay(struct device *d, int tape, struct device_replay *out, struct fault *f, struct err *e);
void gpu_forget_tapes(struct device *d);
void gpu_tapes_close(struct device *d);

#endif
