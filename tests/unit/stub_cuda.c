/* A CUDA driver for tests: see stub_cuda.h.  driver.c opens it by dlopen(NULL): it is part of the test's executable. */
#include "stub_cuda.h"

#include <cuda.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct stub_state stub;

static CUresult sticky;
static struct graph *capturing;
static char variable[64];		/* a module's one variable */

/* ---- work, now or in a graph ---- */

struct work {
	enum { COPY, FILL, KERNEL } kind;
	char *dst;
	const char *src;
	size_t size;
	unsigned pattern, width;
	const struct stub_kernel *kernel;
	unsigned char params[8][16];
};

struct graph {
	struct work work[256];
	unsigned n;
};

/* What a driver holds is its own affair: it goes with the process, and is no leak of the device's. */
static void *own_alloc(size_t n)
{
	size_t *p = mmap(NULL, n + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		abort();
	*p = n + 4096;
	return (char *)p + 4096;
}

static void own_free(void *p)
{
	size_t *head = (size_t *)(void *)((char *)p - 4096);
	if (p)
		munmap(head, *head);
}

static sigjmp_buf wild;

static void on_wild(int signal)
{
	(void)signal;
	siglongjmp(wild, 1);
}

static void run(struct work *w)
{
	void *params[8];
	for (int i = 0; i < 8; i++)
		params[i] = w->params[i];
	switch (w->kind) {
	case COPY:
		memmove(w->dst, w->src, w->size);
		break;
	case FILL:
		for (size_t i = 0; i < w->size; i += w->width)
			memcpy(w->dst + i, &w->pattern, w->width);
		break;
	case KERNEL:
		w->kernel->run(params);
		break;
	}
}

static CUresult submit(struct work *w)
{
	struct sigaction old[2], new = {.sa_handler = on_wild};
	if (sticky)
		return sticky;
	if (capturing) {
		capturing->work[capturing->n++] = *w;
		return CUDA_SUCCESS;
	}
	sigaction(SIGSEGV, &new, &old[0]);
	sigaction(SIGBUS, &new, &old[1]);
	if (sigsetjmp(wild, 1) == 0)
		run(w);
	else
		sticky = CUDA_ERROR_ILLEGAL_ADDRESS;	/* told by the next synchronisation */
	sigaction(SIGSEGV, &old[0], NULL);
	sigaction(SIGBUS, &old[1], NULL);
	return CUDA_SUCCESS;
}

static CUresult copy(uint64_t dst, uint64_t src, size_t n)
{
	return submit(&(struct work){.kind = COPY, .dst = (char *)dst, .src = (const char *)src, .size = n});
}

static CUresult fill(uint64_t dst, unsigned pattern, unsigned width, size_t n)
{
	return submit(&(struct work){.kind = FILL, .dst = (char *)dst, .size = n * width, .pattern = pattern, .width = width});
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr d, const void *s, size_t n, CUstream q) { (void)q; return copy(d, (uint64_t)s, n); }
CUresult cuMemcpyDtoHAsync(void *d, CUdeviceptr s, size_t n, CUstream q) { (void)q; return copy((uint64_t)d, s, n); }
CUresult cuMemcpyDtoDAsync(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream q) { (void)q; return copy(d, s, n); }
CUresult cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream q) { (void)q; return fill(d, v, 1, n); }
CUresult cuMemsetD16Async(CUdeviceptr d, unsigned short v, size_t n, CUstream q) { (void)q; return fill(d, v, 2, n); }
CUresult cuMemsetD32Async(CUdeviceptr d, unsigned v, size_t n, CUstream q) { (void)q; return fill(d, v, 4, n); }
CUresult cuCtxSynchronize(void) { return sticky; }
CUresult cuStreamSynchronize(CUstream q) { (void)q; return sticky; }
CUresult cuEventSynchronize(CUevent e) { (void)e; return sticky; }

/* ---- modules and kernels ---- */

static const struct stub_kernel *kernel_of(CUfunction f)
{
	return (const struct stub_kernel *)(const void *)f;
}

CUresult cuModuleLoadData(CUmodule *m, const void *image)
{
	(void)image;
	if (stub.refuse_image)
		return stub.refuse_image = 0, CUDA_ERROR_INVALID_IMAGE;
	memset(variable, 7, sizeof variable);
	*m = (CUmodule)(void *)&variable;
	stub.modules++;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned *n, CUmodule m)
{
	(void)m;
	for (*n = 0; stub_kernels[*n].name; ++*n)
		;
	return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *f, unsigned n, CUmodule m)
{
	(void)m;
	for (unsigned i = 0; i < n; i++)
		f[i] = (CUfunction)(uintptr_t)&stub_kernels[i];
	return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal(CUdeviceptr *p, size_t *n, CUmodule m, const char *name)
{
	(void)m;
	if (strcmp(name, "variable"))
		return CUDA_ERROR_NOT_FOUND;
	*p = (CUdeviceptr)variable;
	*n = sizeof variable;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **name, CUfunction f) { *name = kernel_of(f)->name; return CUDA_SUCCESS; }

static size_t offset_of(const struct stub_kernel *k, unsigned i)
{
	size_t at = 0;
	for (unsigned p = 0; p <= i; p++) {
		at = (at + k->size[p] - 1) / k->size[p] * k->size[p];
		at += p < i ? k->size[p] : 0;
	}
	return at;
}

CUresult cuFuncGetParamInfo(CUfunction f, size_t i, size_t *offset, size_t *size)
{
	const struct stub_kernel *k = kernel_of(f);
	if (i >= k->n_params)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = offset_of(k, (unsigned)i);
	*size = k->size[i];
	return CUDA_SUCCESS;
}

enum { PAGE = 64 << 10, TRANSLATIONS = 64 };	/* the granularity */
static uint64_t tlb[TRANSLATIONS];
static unsigned n_tlb;

bool stub_translates(uint64_t addr)
{
	for (unsigned i = 0; i < n_tlb; i++)
		if (tlb[i] == addr / PAGE)
			return true;
	return false;
}

/* The judge's own kernel, which is no function of the test's: reads n vectors, stride bytes apart, at p. */
CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
			CUstream q, void **params, void **extra)
{
	uint64_t p = *(uint64_t *)params[0], n = *(uint64_t *)params[1], stride = *(uint64_t *)params[2];
	(void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)q, (void)extra;
	for (uint64_t i = 0; stride >= PAGE && i < n && n_tlb < TRANSLATIONS; i++)
		tlb[n_tlb++] = (*(volatile uint64_t *)(uintptr_t)(p + i * stride), p + i * stride) / PAGE;
	return sticky;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	struct work w = {.kind = KERNEL, .kernel = kernel_of(f)};
	(void)extra;
	if (stub.launch_error) {
		CUresult r = (CUresult)stub.launch_error;
		stub.launch_error = 0;
		return r;
	}
	if (c->gridDimX > 1000 || c->blockDimX > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	/* parameters are taken at the time of the launch */
	for (unsigned i = 0; i < w.kernel->n_params; i++)
		memcpy(w.params[i], params[i], w.kernel->size[i]);
	return submit(&w);
}

/* ---- memory ---- */

CUresult cuMemGetAllocationGranularity(size_t *g, const CUmemAllocationProp *p, CUmemAllocationGranularity_flags f)
{
	(void)p, (void)f;
	*g = PAGE;
	return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *p, size_t n, size_t align, CUdeviceptr hint, unsigned long long flags)
{
	char *at = mmap(NULL, n + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	(void)hint, (void)flags;
	if (at == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	size_t before = -(uintptr_t)at % align;
	munmap(at, before);
	munmap(at + before + n, align - before);
	*p = (CUdeviceptr)(at + before);
	return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr p, size_t n) { munmap((void *)p, n); return CUDA_SUCCESS; }

CUresult cuMemCreate(CUmemGenericAllocationHandle *h, size_t n, const CUmemAllocationProp *p, unsigned long long flags)
{
	(void)p, (void)flags;
	*h = n;
	return n > (1ull << 32) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr p, size_t n, const CUmemAccessDesc *a, size_t count)
{
	(void)count;
	n_tlb = 0;
	mprotect((void *)p, n, a->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? PROT_READ : PROT_READ | PROT_WRITE);
	return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr p, size_t n) { mprotect((void *)p, n, PROT_NONE); return CUDA_SUCCESS; }
CUresult cuMemAlloc(CUdeviceptr *p, size_t n) { *p = (CUdeviceptr)own_alloc((n + 8191) / 4096 * 4096); return CUDA_SUCCESS; }
CUresult cuMemFree(CUdeviceptr p) { own_free((void *)p); return CUDA_SUCCESS; }
CUresult cuMemHostAlloc(void **p, size_t n, unsigned flags) { (void)flags; *p = own_alloc(n); return CUDA_SUCCESS; }
CUresult cuMemFreeHost(void *p) { own_free(p); return CUDA_SUCCESS; }

/* ---- graphs ---- */

CUresult cuStreamBeginCapture(CUstream q, CUstreamCaptureMode m)
{
	(void)q, (void)m;
	capturing = own_alloc(sizeof *capturing);
	return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream q, CUgraph *g)
{
	(void)q;
	*g = (CUgraph)(void *)capturing;
	capturing = NULL;
	return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec *e, CUgraph g, unsigned long long flags)
{
	(void)flags;
	*e = own_alloc(sizeof(struct graph));
	memcpy(*e, g, sizeof(struct graph));
	stub.graphs++;
	return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec e, CUstream q)
{
	struct graph *g = (struct graph *)(void *)e;
	(void)q;
	stub.graph_launches++;
	for (unsigned i = 0; i < g->n && !sticky; i++)
		submit(&g->work[i]);
	return sticky;
}

CUresult cuGraphDestroy(CUgraph g) { own_free(g); return CUDA_SUCCESS; }
CUresult cuGraphExecDestroy(CUgraphExec e) { own_free(e); return CUDA_SUCCESS; }

/* ---- the rest ---- */

CUresult cuDeviceGet(CUdevice *d, int i) { *d = i; return i ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS; }
CUresult cuDeviceGetName(char *name, int n, CUdevice d) { (void)d; strncpy(name, "Stub", (size_t)n); return CUDA_SUCCESS; }
CUresult cuDeviceTotalMem(size_t *n, CUdevice d) { (void)d; *n = 1ull << 30; return CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) { (void)a, (void)d; *v = 1024; return CUDA_SUCCESS; }
CUresult cuDeviceGetUuid(CUuuid *u, CUdevice d) { (void)d; memset(u, 0x5a, sizeof *u); return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int *v) { *v = 13000; return CUDA_SUCCESS; }
CUresult cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction f) { (void)a, (void)f; *v = 0; return CUDA_SUCCESS; }
CUresult cuCtxResetPersistingL2Cache(void) { stub.resets++; return CUDA_SUCCESS; }
CUresult cuTensorMapEncodeTiled(CUtensorMap *m, CUtensorMapDataType t, cuuint32_t rank, void *p, const cuuint64_t *dim,
				const cuuint64_t *stride, const cuuint32_t *box, const cuuint32_t *element, CUtensorMapInterleave i,
				CUtensorMapSwizzle s, CUtensorMapL2promotion l, CUtensorMapFloatOOBfill f)
{
	(void)t, (void)p, (void)stride, (void)box, (void)element, (void)i, (void)s, (void)l, (void)f;
	memset(m, (int)rank, sizeof *m);
	return dim[0] ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult r, const char **name)
{
	*name = r == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OTHER";
	return CUDA_SUCCESS;
}

#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *ms, CUevent a, CUevent b) { (void)a, (void)b; *ms = 0.5f; return sticky; }

#define NOTHING(name, ...) CUresult name(__VA_ARGS__) { return CUDA_SUCCESS; }
#pragma GCC diagnostic ignored "-Wunused-parameter"
NOTHING(cuInit, unsigned flags)
CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) { (void)d; *c = (CUcontext)(void *)&stub; return CUDA_SUCCESS; }
NOTHING(cuDevicePrimaryCtxRelease, CUdevice d)
NOTHING(cuCtxSetCurrent, CUcontext c)
NOTHING(cuModuleUnload, CUmodule m)
NOTHING(cuFuncSetAttribute, CUfunction f, CUfunction_attribute a, int v)
NOTHING(cuFuncLoad, CUfunction f)
NOTHING(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *n, CUfunction f, int threads, size_t shared)
NOTHING(cuMemRelease, CUmemGenericAllocationHandle h)
NOTHING(cuMemMap, CUdeviceptr p, size_t n, size_t offset, CUmemGenericAllocationHandle h, unsigned long long flags)
NOTHING(cuStreamCreate, CUstream *s, unsigned flags)
NOTHING(cuGraphUpload, CUgraphExec e, CUstream q)
NOTHING(cuEventCreate, CUevent *e, unsigned flags)
NOTHING(cuEventRecord, CUevent e, CUstream q)
