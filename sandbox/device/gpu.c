/* A real GPU as a device: device.h over the CUDA driver API.
 *
 * Theory of operation.  One context, one stream.  Each launch is waited for, so that a fault is known by its kernel.  A
 * fault of a kernel leaves the context, and with it this process, of no more use (the driver's rule): everything
 * answers with its error from then on, broken() says so, and the session has a fresh process made.  What runs later
 * without host code in between is a tape (gpu_tape.c).
 */
#include "gpu_impl.h"

#include "assertion.h"
#include "../base/draw.h"
#include "../base/pretty_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SHARED_WITHOUT_ASKING = 48 << 10, PRINT_MAX = 1 << 20 };

const char *gpu_error(struct device *d, CUresult r)
{
	return driver_error(&d->cu, r);
}

int gpu_cannot(struct device *d, CUresult r, const char *what, struct err *e)
{
	return err_system(e, "the GPU: %s: %s", what, gpu_error(d, r));
}

/* ---- faults ---- */

bool gpu_is_defect(CUresult r)
{
	return r == CUDA_ERROR_ECC_UNCORRECTABLE || r == CUDA_ERROR_NVLINK_UNCORRECTABLE || r == CUDA_ERROR_EXTERNAL_DEVICE ||
	       r == CUDA_ERROR_DEVICE_UNAVAILABLE;
}

static uint32_t fault_of(CUresult r)
{
	switch (r) {
	case CUDA_ERROR_ILLEGAL_ADDRESS:
		return FAULT_OUT_OF_BOUNDS;
	case CUDA_ERROR_MISALIGNED_ADDRESS:
		return FAULT_MISALIGNED;
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
		return FAULT_WRONG_SPACE;
	case CUDA_ERROR_ASSERT:
		return FAULT_ASSERT;
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
		return FAULT_STACK_OVERFLOW;
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_INVALID_PC:
		return FAULT_BAD_INSTRUCTION;
	case CUDA_ERROR_LAUNCH_TIMEOUT:
		return FAULT_BUDGET;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return FAULT_OUT_OF_MEMORY;
	case CUDA_ERROR_LAUNCH_FAILED:
		return FAULT_TRAP;
	default:
		return FAULT_BAD_LAUNCH;
	}
}

static bool is_sticky(CUresult r)
{
	uint32_t kind = fault_of(r);
	return gpu_is_defect(r) || r == CUDA_ERROR_UNKNOWN || (kind != FAULT_BAD_LAUNCH && kind != FAULT_OUT_OF_MEMORY);
}

void gpu_fault(struct device *d, CUresult r, struct fault *f)
{
	*f = (struct fault){.kind = fault_of(r)};
	snprintf(f->detail, sizeof f->detail, "the GPU reports %s", gpu_error(d, r));
	if (is_sticky(r))
		d->failed = r;
}

static bool gpu_broken(struct device *d)
{
	return d->failed != CUDA_SUCCESS;
}

/* ---- opening ---- */

static int attribute(struct device *d, CUdevice_attribute what)
{
	int value = 0;
	d->cu.cuDeviceGetAttribute(&value, what, d->id);
	return value;
}

static int find_granularity(struct device *d, struct err *e)
{
	size_t granularity = 0;
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->id}};
	CUresult r = d->cu.cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	if (r != CUDA_SUCCESS || !granularity)
		return gpu_cannot(d, r, "it has no virtual memory management", e);
	d->granularity = granularity;
	return 0;
}

/* Device printf goes to the process's stdout when the device is waited for: that is a memory file from now on.  What is said of a
 * failed assertion goes to stderr, which is another one while a launch is waited for. */
static int redirect_output(struct device *d, struct err *e)
{
	d->output = memfd_create("device-printf", MFD_CLOEXEC);
	if (d->output < 0 || dup2(d->output, STDOUT_FILENO) < 0)
		return err_errno(e, "cannot make a memory file for device printf");
	d->said = memfd_create("device-assert", MFD_CLOEXEC);
	d->own_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (d->said < 0 || d->own_stderr < 0)
		return err_errno(e, "cannot make a memory file for device assertions");
	return 0;
}

static void close_outputs(struct device *d)
{
	const int fds[] = {d->output, d->said, d->own_stderr};
	for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static int open_context(struct device *d, struct err *e)
{
	int count = (int)d->options.ordinal;
	CUresult r = d->cu.cuInit(0);
	if (r != CUDA_SUCCESS)
		return err_input(e, "the CUDA driver does not start: %s", gpu_error(d, r));
	if (d->cu.cuDeviceGet(&d->id, count) != CUDA_SUCCESS)
		return err_input(e, "there is no gpu:%u", d->options.ordinal);
	if ((r = d->cu.cuDevicePrimaryCtxRetain(&d->context, d->id)) != CUDA_SUCCESS ||
	    (r = d->cu.cuCtxSetCurrent(d->context)) != CUDA_SUCCESS)
		return gpu_cannot(d, r, "no context", e);
	if ((r = d->cu.cuStreamCreate(&d->stream, CU_STREAM_NON_BLOCKING)) != CUDA_SUCCESS ||
	    (r = d->cu.cuEventCreate(&d->begin, CU_EVENT_DEFAULT)) != CUDA_SUCCESS ||
	    (r = d->cu.cuEventCreate(&d->end, CU_EVENT_DEFAULT)) != CUDA_SUCCESS ||
	    (r = d->cu.cuEventCreate(&d->last, CU_EVENT_DEFAULT)) != CUDA_SUCCESS ||
	    (r = d->cu.cuEventRecord(d->last, d->stream)) != CUDA_SUCCESS)
		return gpu_cannot(d, r, "no stream", e);
	driver_uuid(&d->cu, d->id, d->uuid, sizeof d->uuid);
	d->nvml = nvml_open(d->uuid);
	return find_granularity(d, e);
}

/* NaN as a float and as the upper of two halves; the rest is not to be guessed. */
static uint32_t draw_poison(void)
{
	return 0xffc00001u | (uint32_t)draw_below(1u << 22);
}

static void gpu_close(struct device *d)
{
	if (d->context && d->failed == CUDA_SUCCESS) {
		gpu_tapes_close(d);
		gpu_release_all(d);
		d->cu.cuDevicePrimaryCtxRelease(d->id);
	}
	for (uint32_t i = 0; i < d->n_tapes; i++)	/* of a context that is lost */
		device_steps_free(d->tapes[i].steps, d->tapes[i].n);
	close_outputs(d);
	free(d->image);
	free(d->functions);
	free(d->shared_allowed);
	free(d->allocations);
	free(d);
}

static int gpu_open(const struct device_options *o, struct device **out, struct err *e)
{
	struct device *d = calloc(1, sizeof *d);
	if (!d)
		BUG("out of memory");
	d->options = *o;
	d->output = d->said = d->own_stderr = -1;
	d->poison = draw_poison();
	if (driver_open(&d->cu, o->library, e) < 0 || redirect_output(d, e) < 0 || open_context(d, e) < 0) {
		close_outputs(d);
		free(d);
		return -1;
	}
	d->options.library = NULL;
	*out = d;
	return 0;
}

static void gpu_properties(struct device *d, struct device_properties *out)
{
	size_t memory = 0;
	d->cu.cuDeviceTotalMem(&memory, d->id);
	memset(out, 0, sizeof *out);
#define GET(field, name) out->field = (uint32_t)attribute(d, CU_DEVICE_ATTRIBUTE_##name)
	GET(major, COMPUTE_CAPABILITY_MAJOR);
	GET(minor, COMPUTE_CAPABILITY_MINOR);
	GET(sms, MULTIPROCESSOR_COUNT);
	GET(clock_khz, CLOCK_RATE);
	GET(memory_clock_khz, MEMORY_CLOCK_RATE);
	GET(bus_bits, GLOBAL_MEMORY_BUS_WIDTH);
	GET(l2_bytes, L2_CACHE_SIZE);
	GET(shared_per_block, MAX_SHARED_MEMORY_PER_BLOCK);
	GET(shared_per_block_optin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
	GET(shared_per_sm, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
	GET(shared_reserved, RESERVED_SHARED_MEMORY_PER_BLOCK);
	GET(registers_per_block, MAX_REGISTERS_PER_BLOCK);
	GET(registers_per_sm, MAX_REGISTERS_PER_MULTIPROCESSOR);
	GET(threads_per_block, MAX_THREADS_PER_BLOCK);
	GET(threads_per_sm, MAX_THREADS_PER_MULTIPROCESSOR);
	GET(blocks_per_sm, MAX_BLOCKS_PER_MULTIPROCESSOR);
#undef GET
	out->memory = memory;
	d->cu.cuDeviceGetName(out->name, sizeof out->name - 1, d->id);
	snprintf(out->uuid, sizeof out->uuid, "%s", d->uuid);
	driver_version(&d->cu, d->nvml, out->driver, sizeof out->driver);
}

/* ---- the image ---- */

static CUresult load_module(struct device *d)
{
	CUresult r = d->cu.cuModuleLoadData(&d->module, d->image);
	unsigned n = 0;
	if (r == CUDA_SUCCESS)
		r = d->cu.cuModuleGetFunctionCount(&n, d->module);
	free(d->functions);
	free(d->shared_allowed);
	d->functions = calloc(n + 1, sizeof *d->functions);
	d->shared_allowed = calloc(n + 1, sizeof *d->shared_allowed);
	if (!d->functions || !d->shared_allowed)
		BUG("out of memory");
	d->n_functions = n;
	if (r == CUDA_SUCCESS && n)
		r = d->cu.cuModuleEnumerateFunctions(d->functions, n, d->module);
	for (unsigned i = 0; i < n && r == CUDA_SUCCESS; i++)
		r = d->cu.cuFuncLoad(d->functions[i]);
	return r;
}

static void unload_module(struct device *d)
{
	if (d->module)
		d->cu.cuModuleUnload(d->module);
	d->module = NULL;
	d->n_functions = 0;
	d->n_ranges = 0;
}

static int gpu_load(struct device *d, const void *image, size_t size, const struct device_resources *r, uint32_t n,
		    struct err *e)
{
	(void)r;
	(void)n;
	unload_module(d);
	free(d->image);
	d->image = calloc(1, size + 1);		/* PTX must end in NUL */
	if (!d->image)
		BUG("out of memory");
	memcpy(d->image, image, size);
	CUresult result = load_module(d);
	if (result == CUDA_SUCCESS)
		return 0;
	unload_module(d);
	return err_input(e, "the GPU's driver refuses the device code: %s", gpu_error(d, result));
}

static uint32_t gpu_kernel_count(struct device *d)
{
	return d->n_functions;
}

static uint32_t function_attribute(struct device *d, CUfunction f, CUfunction_attribute what)
{
	int value = 0;
	d->cu.cuFuncGetAttribute(&value, what, f);
	return (uint32_t)value;
}

static int gpu_kernel(struct device *d, uint32_t index, struct device_kernel *out)
{
	CUfunction f = d->functions[index];
	const char *name = NULL;
	size_t offset, size;
	memset(out, 0, sizeof *out);
	if (d->cu.cuFuncGetName(&name, f) != CUDA_SUCCESS || strlen(name) >= sizeof out->name)
		return -1;
	snprintf(out->name, sizeof out->name, "%s", name);
	pretty_name(name, out->pretty, sizeof out->pretty);
	while (d->cu.cuFuncGetParamInfo(f, out->n_params, &offset, &size) == CUDA_SUCCESS) {
		if (out->n_params == sizeof out->params / sizeof *out->params)
			return -1;
		out->params[out->n_params].offset = (uint32_t)offset;
		out->params[out->n_params++].size = (uint32_t)size;
		if (offset + size > out->param_bytes)
			out->param_bytes = (uint32_t)(offset + size);
	}
	out->registers = function_attribute(d, f, CU_FUNC_ATTRIBUTE_NUM_REGS);
	out->shared_static = function_attribute(d, f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
	out->local_bytes = function_attribute(d, f, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
	out->max_threads = function_attribute(d, f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
	return 0;
}

static int gpu_symbol(struct device *d, const char *name, uint64_t *addr, uint64_t *size)
{
	CUdeviceptr at;
	size_t bytes;
	if (!d->module || d->cu.cuModuleGetGlobal(&at, &bytes, d->module, name) != CUDA_SUCCESS)
		return -1;
	*addr = at;
	*size = bytes;
	for (uint32_t i = 0; i < d->n_ranges; i++)
		if (d->ranges[i].addr == at)
			return 0;
	if (d->n_ranges == GPU_RANGES_MAX)
		return -1;
	d->ranges[d->n_ranges++] = (struct gpu_range){at, bytes};
	return 0;
}

/* ---- launches ---- */

static CUresult allow_shared(struct device *d, const struct device_launch *l)
{
	int *allowed = &d->shared_allowed[l->kernel];
	uint32_t fixed = function_attribute(d, d->functions[l->kernel], CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
	if (l->shared_dynamic + fixed <= SHARED_WITHOUT_ASKING || (int)l->shared_dynamic <= *allowed)
		return CUDA_SUCCESS;
	CUresult r = d->cu.cuFuncSetAttribute(d->functions[l->kernel], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
					      (int)l->shared_dynamic);
	if (r == CUDA_SUCCESS)
		*allowed = (int)l->shared_dynamic;
	return r;
}

CUresult gpu_enqueue_launch(struct device *d, const struct device_launch *l)
{
	void *params[64];
	size_t offset, size;
	unsigned n = 0;
	CUfunction f = d->functions[l->kernel];
	while (n < 64 && d->cu.cuFuncGetParamInfo(f, n, &offset, &size) == CUDA_SUCCESS)
		params[n++] = (char *)(uintptr_t)l->params + offset;
	CUresult r = allow_shared(d, l);
	if (r != CUDA_SUCCESS)
		return r;
	CUlaunchAttribute attributes[2];
	CUlaunchConfig config = {.gridDimX = l->grid[0], .gridDimY = l->grid[1], .gridDimZ = l->grid[2], .blockDimX = l->block[0],
				 .blockDimY = l->block[1], .blockDimZ = l->block[2], .sharedMemBytes = l->shared_dynamic,
				 .hStream = d->stream, .attrs = attributes};
	if (l->cooperative)
		attributes[config.numAttrs++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
	if (l->cluster[0])
		attributes[config.numAttrs++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
								    .value.clusterDim = {l->cluster[0], l->cluster[1], l->cluster[2]}};
	return d->cu.cuLaunchKernelEx(&config, f, params, NULL);
}

/* What kernels printed, to the caller; the file is empty again. */
void gpu_take_output(struct device *d)
{
	char text[4096];
	fflush(stdout);
	off_t size = lseek(d->output, 0, SEEK_END);
	if (size <= 0)
		return;
	for (off_t at = 0; at < size && at < PRINT_MAX;) {
		ssize_t n = pread(d->output, text, sizeof text, at);
		if (n <= 0)
			break;
		d->options.print(d->options.user, text, (size_t)n);
		at += n;
	}
	if (ftruncate(d->output, 0) < 0 || lseek(d->output, 0, SEEK_SET) < 0)
		BUG("cannot empty a memory file");
}

/* Once: after a failed assertion nothing works in this process any more. */
static void tell_assertion(struct device *d, struct fault *f)
{
	char text[4096];
	ssize_t n = pread(d->said, text, sizeof text - 1, 0);
	text[n > 0 ? n : 0] = 0;
	assertion_read(text, f);
}

static CUresult launch_and_wait(struct device *d, const struct device_launch *l, float *ms)
{
	if (dup2(d->said, STDERR_FILENO) < 0)
		BUG("cannot turn stderr to a memory file");
	CUresult r = d->cu.cuEventRecord(d->begin, d->stream);
	if (r == CUDA_SUCCESS)
		r = gpu_enqueue_launch(d, l);
	if (r == CUDA_SUCCESS)
		r = d->cu.cuEventRecord(d->end, d->stream);
	if (r == CUDA_SUCCESS)
		r = d->cu.cuCtxSynchronize();		/* which also brings what was printed */
	fflush(stderr);
	if (dup2(d->own_stderr, STDERR_FILENO) < 0)
		BUG("cannot turn stderr back");
	if (r == CUDA_SUCCESS)
		r = d->cu.elapsed(ms, d->begin, d->end);
	return r;
}

static int gpu_launch(struct device *d, const struct device_launch *l, struct device_report *out, struct err *e)
{
	const char *name = "";
	float ms = 0;
	memset(out, 0, sizeof *out);
	CUresult r = d->failed != CUDA_SUCCESS ? d->failed : launch_and_wait(d, l, &ms);
	gpu_take_output(d);
	out->modelled.time_us = (double)ms * 1e3;
	if (r == CUDA_SUCCESS)
		return 0;
	gpu_fault(d, r, &out->fault);
	if (r == CUDA_ERROR_ASSERT)
		tell_assertion(d, &out->fault);
	if (gpu_is_defect(r))
		return gpu_cannot(d, r, "it is defective", e);
	if (l->kernel < d->n_functions && d->cu.cuFuncGetName(&name, d->functions[l->kernel]) == CUDA_SUCCESS)
		pretty_name(name, out->fault.kernel, sizeof out->fault.kernel);
	return 0;
}

static int gpu_tensor_map(struct device *d, const struct device_tensor_map *m, void *out, struct fault *f)
{
	CUtensorMap map;
	_Static_assert(sizeof map == DEVICE_TENSOR_MAP, "the size of a tensor map");
	CUresult r = d->cu.cuTensorMapEncodeTiled(&map, (CUtensorMapDataType)m->type, m->rank, (void *)(uintptr_t)m->address,
						  (const cuuint64_t *)m->dim, (const cuuint64_t *)m->stride, m->box, m->element_stride,
						  (CUtensorMapInterleave)m->interleave, (CUtensorMapSwizzle)m->swizzle,
						  (CUtensorMapL2promotion)m->l2_promotion, (CUtensorMapFloatOOBfill)m->oob_fill);
	if (r != CUDA_SUCCESS) {
		*f = (struct fault){.kind = FAULT_BAD_ARGUMENT};
		return -1;
	}
	memcpy(out, &map, sizeof map);
	return 0;
}

static uint32_t gpu_occupancy(struct device *d, uint32_t kernel, uint32_t threads, uint32_t shared_dynamic)
{
	int blocks = 0;
	if (kernel < d->n_functions)
		d->cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, d->functions[kernel], (int)threads, shared_dynamic);
	return blocks > 0 ? (uint32_t)blocks : 0;
}

/* ---- the rest ---- */

static uint32_t gpu_traffic(struct device *d, struct mem_traffic *out, uint32_t max)
{
	(void)d;
	(void)out;
	(void)max;
	return 0;			/* a GPU does not count by allocation */
}

static void gpu_flush(struct device *d)
{
	d->cu.cuCtxResetPersistingL2Cache();
}

/* From event to event, so that the float of each difference is exact enough. */
static double gpu_time_us(struct device *d)
{
	float ms = 0;
	if (d->failed != CUDA_SUCCESS || d->cu.cuEventRecord(d->end, d->stream) != CUDA_SUCCESS ||
	    d->cu.cuEventSynchronize(d->end) != CUDA_SUCCESS || d->cu.elapsed(&ms, d->last, d->end) != CUDA_SUCCESS)
		return d->time_us;
	CUevent now = d->end;
	d->end = d->last;
	d->last = now;
	return d->time_us += (double)ms * 1e3;
}

static void gpu_range(struct device *d, uint64_t *base, uint64_t *size)
{
	(void)d;
	*base = *size = 0;
}

static void gpu_reset(struct device *d)
{
	if (d->failed != CUDA_SUCCESS)
		return;
	gpu_forget_tapes(d);
	gpu_release_all(d);
	unload_module(d);
	CUresult r = d->image ? load_module(d) : CUDA_SUCCESS;
	if (r == CUDA_SUCCESS)
		return;
	unload_module(d);
	d->failed = r;
}

const struct device_ops device_gpu = {
	.name = "gpu",
	.open = gpu_open, .close = gpu_close, .properties = gpu_properties, .load = gpu_load, .kernel_count = gpu_kernel_count,
	.kernel = gpu_kernel, .symbol = gpu_symbol, .alloc = gpu_alloc, .release = gpu_release, .upload = gpu_upload,
	.download = gpu_download, .copy = gpu_copy, .fill = gpu_fill, .protect = gpu_protect, .poison = gpu_poison,
	.written = gpu_written, .launch = gpu_launch, .tensor_map = gpu_tensor_map, .occupancy = gpu_occupancy, .traffic = gpu_traffic, .flush = gpu_flush,
	.time_us = gpu_time_us, .range = gpu_range, .reset = gpu_reset, .broken = gpu_broken, .audit = gpu_audit,
	.tape_add = gpu_tape_add, .replay_prepare = gpu_replay_prepare, .replay = gpu_replay,
};
