/* The time of a graph that starts with cold caches: see cold.h. */
#include "cold.h"

#include <string.h>

enum { SIZE_MIN = 256 << 20, BLOCK = 512, BLOCKS_PER_SM = 4, VECTOR = 16 };

/* Reads n vectors of 16 bytes, stride bytes apart, at p: a block begins at its number times ahead, its threads step on together;
 * writes nowhere but where a sum that does not occur would go. */
static const char sweeper[] =
	".version 7.5\n.target sm_75\n.address_size 64\n"
	".visible .entry sweep(.param .u64 p, .param .u64 n, .param .u64 stride, .param .u64 ahead, .param .u64 step, .param .u64 out)\n{\n"
	"	.reg .pred %q;\n	.reg .b32 %r<9>;\n	.reg .b64 %d<9>;\n"
	"	ld.param.u64 %d0, [p];\n	ld.param.u64 %d1, [n];\n	ld.param.u64 %d2, [stride];\n"
	"	ld.param.u64 %d3, [ahead];\n	ld.param.u64 %d4, [step];\n	ld.param.u64 %d5, [out];\n"
	"	mov.u32 %r0, %ctaid.x;\n	mov.u32 %r1, %tid.x;\n	cvt.u64.u32 %d6, %r0;\n	cvt.u64.u32 %d7, %r1;\n"
	"	mad.lo.u64 %d6, %d6, %d3, %d7;\n	mov.u32 %r8, 0;\n"
	"next:\n	setp.ge.u64 %q, %d6, %d1;\n	@%q bra done;\n"
	"	mad.lo.u64 %d8, %d6, %d2, %d0;\n"
	"	ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d8];\n"
	"	xor.b32 %r4, %r4, %r5;\n	xor.b32 %r6, %r6, %r7;\n	xor.b32 %r4, %r4, %r6;\n	add.u32 %r8, %r8, %r4;\n"
	"	add.u64 %d6, %d6, %d4;\n	bra next;\n"
	"done:\n	setp.ne.u32 %q, %r8, 0x9e3779b9;\n	@%q ret;\n	st.global.u32 [%d5], %r8;\n	ret;\n}\n";

CUresult cold_make(struct cold *c, const struct driver *cu, CUdevice id, CUstream stream)
{
	int l2 = 0, sms = 0;
	if (c->memory)
		return CUDA_SUCCESS;
	CUresult r = cu->cuDeviceGetAttribute(&l2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, id);
	if (r == CUDA_SUCCESS)
		r = cu->cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, id);
	if (r == CUDA_SUCCESS && !c->module)
		r = cu->cuModuleLoadData(&c->module, sweeper);
	if (r == CUDA_SUCCESS)
		r = cu->cuModuleEnumerateFunctions(&c->sweep, 1, c->module);
	c->size = 4 * (uint64_t)l2 > SIZE_MIN ? 4 * (uint64_t)l2 : SIZE_MIN;
	c->sms = (unsigned)sms;
	if (r == CUDA_SUCCESS)
		r = cu->cuMemAlloc(&c->memory, c->size);
	return r == CUDA_SUCCESS ? cu->cuMemsetD32Async(c->memory, 0x5bd1e995, c->size / 4, stream) : r;
}

CUresult cold_graph(const struct driver *cu, CUstream stream, bool good, CUgraphExec *out)
{
	CUgraph graph = NULL;
	CUresult r = cu->cuStreamEndCapture(stream, &graph);
	if (r == CUDA_SUCCESS && good)
		r = cu->cuGraphInstantiate(out, graph, 0);
	if (r == CUDA_SUCCESS && good)
		r = cu->cuGraphUpload(*out, stream);
	if (graph)
		cu->cuGraphDestroy(graph);
	return r;
}

static CUresult enqueue_sweep(const struct cold *c, const struct driver *cu, CUstream stream, unsigned blocks, CUdeviceptr p, uint64_t n,
			      uint64_t stride, uint64_t ahead, uint64_t step)
{
	CUdeviceptr out = c->memory;
	void *params[] = {&p, &n, &stride, &ahead, &step, &out};
	return cu->cuLaunchKernel(c->sweep, blocks, 1, 1, BLOCK, 1, 1, 0, stream, params, NULL);
}

static CUresult enqueue_scrub(const struct cold *c, const struct driver *cu, CUstream stream)
{
	unsigned blocks = c->sms * BLOCKS_PER_SM;
	return enqueue_sweep(c, cu, stream, blocks, c->memory, c->size / VECTOR, VECTOR, BLOCK, (uint64_t)BLOCK * blocks);
}

CUresult cold_translate(const struct cold *c, const struct driver *cu, CUstream stream, CUdeviceptr at, uint64_t size, uint64_t page)
{
	return enqueue_sweep(c, cu, stream, c->sms, at, (size + page - 1) / page, page, 0, BLOCK);
}

CUresult cold_time(const struct cold *c, const struct driver *cu, CUstream stream, CUevent begin, CUevent end, CUgraphExec graph,
		   float *ms)
{
	CUresult r = cu->cuCtxResetPersistingL2Cache();
	if (r == CUDA_ERROR_NOT_SUPPORTED)
		r = CUDA_SUCCESS;
	if (r == CUDA_SUCCESS)
		r = enqueue_scrub(c, cu, stream);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventRecord(begin, stream);
	if (r == CUDA_SUCCESS)
		r = cu->cuGraphLaunch(graph, stream);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventRecord(end, stream);
	if (r == CUDA_SUCCESS)
		r = cu->cuCtxSynchronize();
	return r == CUDA_SUCCESS ? cu->elapsed(ms, begin, end) : r;
}

void cold_free(struct cold *c, const struct driver *cu)
{
	if (c->memory)
		cu->cuMemFree(c->memory);
	if (c->module)
		cu->cuModuleUnload(c->module);
	memset(c, 0, sizeof *c);
}
