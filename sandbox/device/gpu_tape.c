/* Tapes of the GPU device: what runs of solve() did, done again as one CUDA graph.
 *
 * Theory of operation.  A tape's steps are captured from the stream into a graph, which runs alone, with cold caches but with
 * every page looked up, between two events (cold.h).  All tapes together are several graphs, each in an order of its own that
 * is drawn: a kernel that keeps count in device memory can't know whose turn is next.
 */
#include "gpu_impl.h"

#include "../base/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void device_steps_free(struct device_step *steps, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free(steps[i].data);
	free(steps);
}

static void destroy(struct device *d, CUgraphExec *g)
{
	if (*g && d->failed == CUDA_SUCCESS)
		d->cu.cuGraphExecDestroy(*g);
	*g = NULL;
}

/* Graphs name the tapes of their time, and the sink. */
static void destroy_all(struct device *d)
{
	for (unsigned i = 0; i < GPU_ORDERS; i++)
		destroy(d, &d->all[i]);
	for (uint32_t i = 0; i < d->n_tapes; i++)
		destroy(d, &d->tapes[i].alone);
	d->n_replays = 0;
}

void gpu_forget_tapes(struct device *d)
{
	destroy_all(d);
	for (uint32_t i = 0; i < d->n_tapes; i++)
		device_steps_free(d->tapes[i].steps, d->tapes[i].n);
	d->n_tapes = 0;
}

void gpu_tapes_close(struct device *d)
{
	gpu_forget_tapes(d);
	if (d->sink)
		d->cu.cuMemFreeHost(d->sink);
	cold_free(&d->cold, &d->cu);
}

int gpu_tape_add(struct device *d, struct device_step *steps, uint32_t n, struct err *e)
{
	if (d->n_tapes == GPU_TAPES_MAX) {
		device_steps_free(steps, n);
		return err_system(e, "more than %d tapes", GPU_TAPES_MAX);
	}
	destroy_all(d);
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

static void shuffle(uint32_t *order, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = (uint32_t)draw_below(i + 1);
		order[i] = order[k];
		order[k] = first + i;
	}
}

static CUresult capture(struct device *d, uint32_t first, uint32_t n, CUgraphExec *out)
{
	uint32_t order[GPU_TAPES_MAX];
	CUresult r = make_sink(d);
	shuffle(order, first, n);
	if (r == CUDA_SUCCESS)
		r = d->cu.cuStreamBeginCapture(d->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	if (r != CUDA_SUCCESS)
		return r;
	for (uint32_t i = 0; i < n && r == CUDA_SUCCESS; i++)
		r = enqueue_tape(d, &d->tapes[order[i]], false);
	CUresult end = cold_graph(&d->cu, d->stream, r == CUDA_SUCCESS, out);
	if (r == CUDA_SUCCESS)
		r = end;
	return r;
}

/* ---- replay ---- */

/* tape < 0: all of them. */
static int range(struct device *d, int tape, uint32_t *first, uint32_t *n, struct err *e)
{
	*first = tape < 0 ? 0 : (uint32_t)tape;
	*n = tape < 0 ? d->n_tapes : 1;
	if (!d->n_tapes || *first >= d->n_tapes)
		return err_system(e, "there is no tape %d: there are %u", tape, d->n_tapes);
	return 0;
}

/* What was printed is nobody's: it must not come out with the next run's. */
static int end_replay(struct device *d, CUresult r, struct fault *f, struct err *e)
{
	gpu_take_output(d);
	if (r != CUDA_SUCCESS)
		gpu_fault(d, r, f);
	return gpu_is_defect(r) ? gpu_cannot(d, r, "it is defective", e) : 0;
}

int gpu_replay_prepare(struct device *d, int tape, struct fault *f, struct err *e)
{
	uint32_t first, n;
	if (range(d, tape, &first, &n, e) < 0)
		return -1;
	CUresult r = make_sink(d);
	for (uint32_t i = first; i < first + n && r == CUDA_SUCCESS; i++)
		r = enqueue_tape(d, &d->tapes[i], true);
	if (r == CUDA_SUCCESS)
		r = d->cu.cuStreamSynchronize(d->stream);
	return end_replay(d, r, f, e);
}

/* Each order is used once before any is used again, so that none is fresh after the first passes. */
static CUgraphExec *choose(struct device *d)
{
	uint32_t i = d->n_replays < GPU_ORDERS ? d->n_replays : (uint32_t)draw_below(GPU_ORDERS);
	d->n_replays++;
	return &d->all[i];
}

/* What patches of inputs have undone: see cold.h. */
static CUresult translate_all(struct device *d)
{
	CUresult r = CUDA_SUCCESS;
	for (size_t i = 0; i < d->n && r == CUDA_SUCCESS; i++) {
		const struct gpu_allocation *a = &d->allocations[i];
		r = cold_translate(&d->cold, &d->cu, d->stream, a->mapped ? a->mapped : a->addr, a->mapped ? a->mapped_size : a->size,
				   d->granularity);
	}
	return r;
}

int gpu_replay(struct device *d, int tape, struct device_replay *out, struct fault *f, struct err *e)
{
	uint32_t first, n;
	float ms = 0;
	memset(out, 0, sizeof *out);
	if (range(d, tape, &first, &n, e) < 0)
		return -1;
	CUgraphExec *graph = tape < 0 ? choose(d) : &d->tapes[first].alone;
	CUresult r = cold_make(&d->cold, &d->cu, d->id, d->stream);
	if (r != CUDA_SUCCESS)
		return gpu_cannot(d, r, "nothing to clear L2 with", e);
	if (!*graph)
		r = capture(d, first, n, graph);
	if (r == CUDA_SUCCESS)
		r = translate_all(d);
	if (r == CUDA_SUCCESS)
		r = cold_time(&d->cold, &d->cu, d->stream, d->begin, d->end, *graph, &ms);
	out->us = (double)ms * 1e3;
	nvml_clocks(d->nvml, &out->clocks);
	return end_replay(d, r, f, e);
}
