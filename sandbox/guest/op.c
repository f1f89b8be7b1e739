/* Executing one piece of work; see guest.h. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

struct op *guest_op_copy(const struct op *op)
{
	struct op *c = guest_alloc(sizeof *c);
	*c = *op;
	c->next = NULL;
	c->params = guest_alloc(op->n_params + 1);
	if (op->n_params)
		memcpy(c->params, op->params, op->n_params);
	return c;
}

void guest_op_free(struct op *op)
{
	if (op)
		free(op->params);
	free(op);
}

static cudaError_t execute_launch(const struct op *op)
{
	guest_push(op->params, op->n_params);
	guest_tell(&op->launch, sizeof op->launch, op->params, op->n_params);
	guest.busy = true;
	return cudaSuccess;
}

/* ---- copies ---- */

static cudaError_t rows_to_device(const struct op *op)
{
	cudaError_t e = cudaSuccess;
	for (uint64_t i = 0; i < op->height && !e; i++)
		if (!guest_upload(op->dst + i * op->dst_pitch, (const char *)op->src + i * op->src_pitch, op->width,
				  i + 1 == op->height, &e))
			return guest_explain(cudaErrorInvalidValue, "a copy of %llu bytes to the device: they are not all host memory",
					     (unsigned long long)op->width);
	return e;
}

static cudaError_t rows_to_host(const struct op *op)
{
	cudaError_t e = cudaSuccess;
	if (op->dst_pitch == op->width)
		return guest_download(op->src, op->src_pitch, op->width, op->height, (char *)op->dst);
	for (uint64_t i = 0; i < op->height && !e; i++)
		e = guest_download(op->src + i * op->src_pitch, op->width, op->width, 1, (char *)op->dst + i * op->dst_pitch);
	return e;
}

static cudaError_t rows_on_host(const struct op *op)
{
	for (uint64_t i = 0; i < op->height; i++)
		memmove((char *)op->dst + i * op->dst_pitch, (const char *)op->src + i * op->src_pitch, op->width);
	return cudaSuccess;
}

/* Does the direction that the program named agree with what the pointers are?  Mirrors are on both sides. */
static bool direction_fits(enum cudaMemcpyKind k, uint64_t dst, uint64_t src)
{
	bool d = guest_on_device(dst), s = guest_on_device(src);
	bool dm = guest_mirror(dst), sm = guest_mirror(src);
	switch (k) {
	case cudaMemcpyHostToHost: return !d && !s;
	case cudaMemcpyHostToDevice: return (d || dm) && !s;
	case cudaMemcpyDeviceToHost: return !d && (s || sm);
	case cudaMemcpyDeviceToDevice: return (d || dm) && (s || sm);
	default: return true;
	}
}

static cudaError_t wrong_direction(const struct op *op)
{
	static const char *const names[] = {"cudaMemcpyHostToHost", "cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost",
					    "cudaMemcpyDeviceToDevice"};
	return guest_explain(cudaErrorInvalidValue, "a copy of %llu bytes said to be %s is from %s to %s memory",
			     (unsigned long long)(op->width * op->height), names[op->direction],
			     guest_on_device(op->src) ? "device" : "host", guest_on_device(op->dst) ? "device" : "host");
}

static cudaError_t execute_copy(const struct op *op)
{
	bool to = guest_on_device(op->dst), from = guest_on_device(op->src);
	if (!op->width || !op->height)
		return cudaSuccess;
	/* The host's half of a mirror is what is copied; it must be up to date. */
	if (guest.busy && (guest_mirror(op->dst) || guest_mirror(op->src))) {
		cudaError_t e = guest_sync();
		if (e)
			return e;
	}
	struct op rows = *op;
	if (rows.height > 1 && rows.dst_pitch == rows.width && rows.src_pitch == rows.width) {
		rows.width *= rows.height;
		rows.height = 1;
	}
	if (to && from) {
		struct wire_copy m = {WIRE_COPY, 0, rows.dst, rows.dst_pitch, rows.src, rows.src_pitch, rows.width, rows.height};
		struct wire_reply r;
		return guest_ask(&m, sizeof m, NULL, 0, &r, NULL, 0, NULL);
	}
	return to ? rows_to_device(&rows) : from ? rows_to_host(&rows) : rows_on_host(&rows);
}

static cudaError_t execute_fill(const struct op *op)
{
	struct wire_fill m = {WIRE_FILL, op->unit, op->value, 0, op->dst, op->dst_pitch, op->width, op->height};
	struct wire_reply r;
	if (!op->width || !op->height)
		return cudaSuccess;
	if (!guest_mirror(op->dst))
		return guest_ask(&m, sizeof m, NULL, 0, &r, NULL, 0, NULL);
	cudaError_t e = guest.busy ? guest_sync() : cudaSuccess;
	for (uint64_t i = 0; i < op->height && !e; i++)
		for (uint64_t j = 0; j < op->width; j++)
			memcpy((char *)op->dst + i * op->dst_pitch + j * op->unit, &op->value, op->unit);
	return e;
}

static cudaError_t execute_record(const struct op *op)
{
	struct wire_plain m = {WIRE_CLOCK, 0};
	struct wire_reply r;
	cudaError_t e = guest_ask(&m, sizeof m, NULL, 0, &r, NULL, 0, NULL);
	op->event->ns = r.a;
	op->event->recorded = true;
	op->event->capture = NULL;
	return e;
}

cudaError_t guest_execute(const struct op *op)
{
	cudaError_t e = cudaSuccess;
	switch (op->kind) {
	case OP_LAUNCH: return execute_launch(op);
	case OP_COPY: return execute_copy(op);
	case OP_FILL: return execute_fill(op);
	case OP_HOST:
		e = guest.busy ? guest_sync() : cudaSuccess;
		if (!e)
			op->host(op->user);
		return e;
	case OP_RECORD: return execute_record(op);
	case OP_EMPTY: break;
	}
	return e;
}

cudaError_t guest_submit(cudaStream_t stream, const struct op *op)
{
	bool ok;
	cudaError_t e = guest_ready();
	if (e)
		return e;
	struct CUstream_st *s = guest_stream(stream, &ok);
	if (!ok)
		return guest_explain(cudaErrorInvalidResourceHandle, "work for what is no stream");
	if (op->kind == OP_COPY && !direction_fits(op->direction, op->dst, op->src))
		return wrong_direction(op);
	if (!s->capture)
		return guest_execute(op);
	if (op->kind == OP_RECORD)
		op->event->capture = s->capture;	/* marks a place in the order, and is no work */
	else
		guest_graph_append(s->capture, op);
	return cudaSuccess;
}
