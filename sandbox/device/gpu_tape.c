/* Tapes of the GPU device: what runs of solve() did, done again as one CUDA graph.
 *
 * Theory of operation.  A tape's steps are captured from the stream into a graph.  Before each replay what prepare() did
 * is done again, the persisting part of L2 is given back and the whole of L2 is filled by reading other memory (reading,
 * since lines that were written would be written back in the timed region).  That reading also keeps the GPU busy while
 * the host enqueues the rest, so that between the two events there is the graph and nothing that waits for the host.
 */
#include "gpu_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRUB_MIN = 256 << 20, SCRUB_BLOCK = 512 };

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

void device_steps_free(struct device_step *steps, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free(steps[i].data);
	free(steps);
}

static int cannot(struct device *d, CUresult r, const char *what, struct err *e)
{
	return err_system(e, "the GPU: %s: %s", what, gpu_error(d, r));
}

static void destroy(struct device *d, CUgraphExec *g)
{
	if (*g && d->failed == CUDA_SUCCESS)
		d->cu.cuGraphExecDestroy(*g);
	*g = NULL;
}

void gpu_forget_tapes(struct device *d)
{
	destroy(d, &d->all);
	for (uint32_t i = 0; i < d->n_tapes; i++) {
		destroy(d, &d->tapes[i].alone);
		device_steps_free(d->tapes[i].steps, d->tapes[i].n);
	}
	d->n_tapes = 0;
}

void gpu_tapes_close(struct device *d)
{
	gpu_forget_tapes(d);
	if (d->sink)
		d->cu.cuMemFreeHost(d->sink);
	if (d->scrub_memory)
		d->cu.cuMemFree(d->scrub_memory);
	if (d->scrubber)
		d->cu.cuModuleUnload(d->scrubber);
}

int gpu_tape_add(struct device *d, struct device_step *steps, uint32_t n, struct err *e)
{
	if (d->n_tapes == GPU_TAPES_MAX) {
		device_steps_free(steps, n);
		return err_system(e, "more than %d tapes", GPU_TAPES_MAX);
	}
	destroy(d, &d->all);
	for (uint32_t i = 0; i < n; i++)
		if (steps[i].kind == STEP_LAUNCH)
			steps[i].launch.params = steps[i].data;
	d->tapes[d->n_tapes++] = (struct gpu_tape){steps, n, NULL};
	return 0;
}

/* ---- graphs ---- */

static CUresult enqueue(struct device *d, const struct device_step *s)
{
	switch (s->kind) {
	case STEP_LAUNCH:
		return gpu_enqueue_launch(d, &s->launch);
	case STEP_COPY:
		return d->cu.cuMemcpyDtoDAsync(s->dst, s->src, s->size, d->stream);
	case STEP_FILL:
		return gpu_enqueue_fill(d, s->dst, s->pattern, s->pattern_bytes, s->size / s->pattern_bytes);
	case STEP_UPLOAD:
		return d->cu.cuMemcpyHtoDAsync(s->dst, s->data, s->size, d->stream);
	case STEP_DOWNLOAD:
		return d->cu.cuMemcpyDtoHAsync(d->sink, s->src, s->size, d->stream);
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static CUresult enqueue_tape(struct device *d, const struct gpu_tape *t, bool prepare)
{
	CUresult r = CUDA_SUCCESS;
	for (uint32_t i = 0; i < t->n && r == CUDA_SUCCESS; i++)
		if (t->steps[i].prepare == prepare)
			r = enqueue(d, &t->steps[i]);
	return r;
}

/* Room for what replayed downloads bring; nobody reads it. */
static CUresult make_sink(struct device *d)
{
	uint64_t size = 0;
	for (uint32_t i = 0; i < d->n_tapes; i++)
		for (uint32_t k = 0; k < d->tapes[i].n; k++)
			if (d->tapes[i].steps[k].kind == STEP_DOWNLOAD && d->tapes[i].steps[k].size > size)
				size = d->tapes[i].steps[k].size;
	if (size <= d->sink_size)
		return CUDA_SUCCESS;
	if (d->sink)
		d->cu.cuMemFreeHost(d->sink);
	d->sink = NULL;
	d->sink_size = 0;
	CUresult r = d->cu.cuMemHostAlloc(&d->sink, size, 0);
	if (r == CUDA_SUCCESS)
		d->sink_size = size;
	return r;
}

static CUresult capture(struct device *d, uint32_t first, uint32_t n, CUgraphExec *out)
{
	CUgraph graph = NULL;
	CUresult r = make_sink(d);
	if (r == CUDA_SUCCESS)
		r = d->cu.cuStreamBeginCapture(d->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	if (r != CUDA_SUCCESS)
		return r;
	for (uint32_t i = first; i < first + n && r == CUDA_SUCCESS; i++)
		r = enqueue_tape(d, &d->tapes[i], false);
	CUresult end = d->cu.cuStreamEndCapture(d->stream, &graph);
	if (r == CUDA_SUCCESS)
		r = end;
	if (r == CUDA_SUCCESS)
		r = d->cu.cuGraphInstantiate(out, graph, 0);
	if (graph)
		d->cu.cuGraphDestroy(graph);
	if (r == CUDA_SUCCESS)
		r = d->cu.cuGraphUpload(*out, d->stream);
	return r;
}

/* ---- replay ---- */

static int make_scrubber(struct device *d, struct err *e)
{
	CUresult r;
	if (d->scrub_memory)
		return 0;
	d->scrub_size = 4 * d->l2 > SCRUB_MIN ? 4 * d->l2 : SCRUB_MIN;
	if ((r = d->cu.cuModuleLoadData(&d->scrubber, scrubber)) != CUDA_SUCCESS ||
	    (r = d->cu.cuModuleEnumerateFunctions(&d->scrub, 1, d->scrubber)) != CUDA_SUCCESS)
		return cannot(d, r, "the kernel that clears L2", e);
	if ((r = d->cu.cuMemAlloc(&d->scrub_memory, d->scrub_size)) != CUDA_SUCCESS ||
	    (r = d->cu.cuMemsetD32Async(d->scrub_memory, 0x5bd1e995, d->scrub_size / 4, d->stream)) != CUDA_SUCCESS)
		return cannot(d, r, "no memory to clear L2 with", e);
	return 0;
}

static CUresult enqueue_scrub(struct device *d)
{
	uint64_t vectors = d->scrub_size / 16;
	void *params[] = {&d->scrub_memory, &vectors, &d->scrub_memory};
	int sms = 0;
	d->cu.cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, d->id);
	return d->cu.cuLaunchKernel(d->scrub, (unsigned)sms * 4, 1, 1, SCRUB_BLOCK, 1, 1, 0, d->stream, params, NULL);
}

static CUresult prepare(struct device *d, uint32_t first, uint32_t n)
{
	CUresult r = make_sink(d);
	for (uint32_t i = first; i < first + n && r == CUDA_SUCCESS; i++)
		r = enqueue_tape(d, &d->tapes[i], true);
	if (r == CUDA_SUCCESS)
		r = d->cu.cuStreamSynchronize(d->stream);
	return r;
}

static CUresult timed(struct device *d, CUgraphExec graph, float *ms)
{
	CUresult r = d->cu.cuCtxResetPersistingL2Cache();
	if (r == CUDA_ERROR_NOT_SUPPORTED)
		r = CUDA_SUCCESS;
	if (r == CUDA_SUCCESS)
		r = enqueue_scrub(d);
	if (r == CUDA_SUCCESS)
		r = d->cu.cuEventRecord(d->begin, d->stream);
	if (r == CUDA_SUCCESS)
		r = d->cu.cuGraphLaunch(graph, d->stream);
	if (r == CUDA_SUCCESS)
		r = d->cu.cuEventRecord(d->end, d->stream);
	if (r == CUDA_SUCCESS)
		r = d->cu.cuCtxSynchronize();
	return r == CUDA_SUCCESS ? d->cu.elapsed(ms, d->begin, d->end) : r;
}

int gpu_replay(struct device *d, int tape, struct device_replay *out, struct fault *f, struct err *e)
{
	uint32_t first = tape < 0 ? 0 : (uint32_t)tape, n = tape < 0 ? d->n_tapes : 1;
	CUgraphExec *graph = tape < 0 ? &d->all : &d->tapes[first].alone;
	float ms = 0;
	memset(out, 0, sizeof *out);
	if (!d->n_tapes || first >= d->n_tapes)
		return err_system(e, "there is no tape %d: there are %u", tape, d->n_tapes);
	if (make_scrubber(d, e) < 0)
		return -1;
	CUresult r = prepare(d, first, n);
	if (r == CUDA_SUCCESS && !*graph)
		r = capture(d, first, n, graph);
	if (r == CUDA_SUCCESS)
		r = timed(d, *graph, &ms);
	out->us = (double)ms * 1e3;
	nvml_clocks(d->nvml, &out->clocks);
	if (r != CUDA_SUCCESS)
		gpu_fault(d, r, f);
	return 0;
}
