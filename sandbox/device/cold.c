/* The time of a graph that starts with cold caches: see cold.h. */
#include "cold.h"

#include <string.h>

enum { SIZE_MIN = 256 << 20, BLOCK = 512, BLOCKS_PER_SM = 4, VECTOR = 16 };

/* Reads n vectors of 16 bytes at p; writes nowhere but where a sum that does not occur would go. */
static const char scrubber[] =
	".version 7.5\n.target sm_75\n.address_size 64\n"
	".visible .entry scrub(.param .u64 p, .param .u64 n, .param .u64 out)\n{\n"
	"	.reg .pred %q;\n	.reg .b32 %r<9>;\n	.reg .b64 %d<8>;\n"
	"	ld.param.u64 %d0, [p];\n	ld.param.u64 %d1, [n];\n	ld.param.u64 %d2, [out];\n"
	"	mov.u32 %r0, %ctaid.x;\n	mov.u32 %r1, %ntid.x;\n	mov.u32 %r2, %tid.x;\n	mov.u32 %r3, %nctaid.x;\n"
	"	mul.wide.u32 %d3, %r0, %r1;\n	cvt.u64.u32 %d4, %r2;\n	add.u64 %d3, %d3, %d4;\n"
	"	mul.wide.u32 %d5, %r3, %r1;\n	mov.u32 %r8, 0;\n"
	"next:\n	setp.ge.u64 %q, %d3, %d1;\n	@%q bra done;\n"
	"	shl.b64 %d6, %d3, 4;\n	add.u64 %d6, %d6, %d0;\n"
	"	ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d6];\n"
	"	xor.b32 %r4, %r4, %r5;\n	xor.b32 %r6, %r6, %r7;\n	xor.b32 %r4, %r4, %r6;\n	add.u32 %r8, %r8, %r4;\n"
	"	add.u64 %d3, %d3, %d5;\n	bra next;\n"
	"done:\n	setp.ne.u32 %q, %r8, 0x9e3779b9;\n	@%q ret;\n	st.global.u32 [%d2], %r8;\n	ret;\n}\n";

CUresult cold_make(struct cold *c, const struct driver *cu, CUdevice id, CUstream stream)
{
	int l2 = 0, sms = 0;
	if (c->memory)
		return CUDA_SUCCESS;
	CUresult r = cu->cuDeviceGetAttribute(&l2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, id);
	if (r == CUDA_SUCCESS)
		r = cu->cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, id);
	if (r == CUDA_SUCCESS && !c->module)
		r = cu->cuModuleLoadData(&c->module, scrubber);
	if (r == CUDA_SUCCESS)
		r = cu->cuModuleEnumerateFunctions(&c->scrub, 1, c->module);
	c->size = 4 * (uint64_t)l2 > SIZE_MIN ? 4 * (uint64_t)l2 : SIZE_MIN;
	c->blocks = (unsigned)sms * BLOCKS_PER_SM;
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

static CUresult enqueue_scrub(const struct cold *c, const struct driver *cu, CUstream stream)
{
	CUdeviceptr memory = c->memory;
	uint64_t vectors = c->size / VECTOR;
	void *params[] = {&memory, &vectors, &memory};
	return cu->cuLaunchKernel(c->scrub, c->blocks, 1, 1, BLOCK, 1, 1, 0, stream, params, NULL);
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
