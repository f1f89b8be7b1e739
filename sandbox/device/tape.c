/* Recording a tape: see serve.h.
 *
 * Every request of a guest that changes device memory, or costs device time, becomes a step, in order.  Memory that the
 * submission gives back meanwhile stays, since the steps name it (guest.c).
 */
#include "serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool recording(const struct run *r)
{
	return r->ask->tape && (r->state == WIRE_SOLVE || r->state == WIRE_PREPARE) && r->report.fault.kind == FAULT_NONE;
}

static bool too_much(struct run *r, size_t n)
{
	struct tape *t = &r->tape;
	if (t->n < TAPE_STEPS_MAX && n <= TAPE_BYTES_MAX - t->bytes)
		return false;
	struct fault *f = &r->report.fault;
	*f = (struct fault){.kind = FAULT_BAD_LAUNCH};
	snprintf(f->detail, sizeof f->detail, "solve() does too much to be timed: more than %d launches and copies, or %llu MiB copied from "
		 "the host", TAPE_STEPS_MAX, (unsigned long long)(TAPE_BYTES_MAX >> 20));
	return true;
}

static void *grown(void *data, size_t size)
{
	data = realloc(data, size ? size : 1);
	if (!data)
		BUG("out of memory");
	return data;
}

void tape_step(struct run *r, struct device_step step, const void *data, size_t n)
{
	struct tape *t = &r->tape;
	if (!recording(r) || too_much(r, n))
		return;
	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 16;
		t->steps = grown(t->steps, t->room * sizeof *t->steps);
	}
	step.prepare = r->state == WIRE_PREPARE;
	if (data) {
		step.data = grown(NULL, n);
		memcpy(step.data, data, n);
	}
	t->bytes += n;
	t->open = false;
	t->steps[t->n++] = step;
}

void tape_upload(struct run *r, uint64_t addr, const void *data, size_t n, bool last)
{
	struct tape *t = &r->tape;
	struct device_step *end = t->n ? &t->steps[t->n - 1] : NULL;
	if (!recording(r) || !n)
		return;
	if (t->open && end->dst + end->size == addr) {
		if (too_much(r, n))
			return;
		end->data = grown(end->data, end->size + n);
		memcpy((char *)end->data + end->size, data, n);
		end->size += n;
		t->bytes += n;
	} else {
		tape_step(r, (struct device_step){.kind = STEP_UPLOAD, .dst = addr, .size = n}, data, n);
	}
	t->open = !last;
}

void tape_free(struct tape *t)
{
	device_steps_free(t->steps, t->n);
	*t = (struct tape){0};
}
