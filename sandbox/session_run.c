/* Running a guest against the device process: see session.h.
 *
 * A socket pair joins the two.  The device process gets one end and serves it until the guest is done or gone; the
 * guest has nothing else.  The judge waits for the guest's end (the jail enforces its limits), then for the device's
 * report.  A device process that is still at work when the guest's time is up is stopped; a fresh one takes its place
 * at the next request.
 */
#include "session.h"

#include "base/cleanup.h"
#include "base/tame.h"
#include "compile_plan.h"
#include "session_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GRACE_MS = 500 };

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int lay_arguments(const struct session_argument *in, unsigned n, struct control_argument *out, const char *what,
			 struct err *e)
{
	if (n > WIRE_ARGUMENTS)
		return err_input(e, "%s has %u arguments: at most %d are supported", what, n, WIRE_ARGUMENTS);
	for (unsigned i = 0; i < n; i++)
		out[i] = (struct control_argument){in[i].kind, in[i].tensor, in[i].i, in[i].f};
	return 0;
}

static int begin(struct session *s, const struct session_run *r, int guest, struct err *e)
{
	struct control_run m = {.kind = CONTROL_RUN, .program = r->program, .has_prepare = r->prepare != NULL,
				.profile = r->profile, .tape = r->tape, .again = r->again, .n_solve = r->n_solve, .n_prepare = r->prepare ? r->n_prepare : 0};
	if (lay_arguments(r->solve, m.n_solve, m.solve, "solve", e) < 0 ||
	    lay_arguments(r->prepare, m.n_prepare, m.prepare, "prepare", e) < 0)
		return -1;
	return session_send(s, &m, sizeof m, guest, e);
}

/* ---- the report ---- */

static void tame_room(char *text, size_t room)
{
	text[room - 1] = 0;
	tame(text);
}

/* Names of kernels, and of files by #line, are the submission's choice. */
void session_tame_fault(struct fault *f)
{
	tame_room(f->kernel, sizeof f->kernel);
	tame_room(f->file, sizeof f->file);
	tame_room(f->detail, sizeof f->detail);
}

static void terminate_strings(struct control_report *c)
{
	session_tame_fault(&c->fault);
	tame_room(c->crash_tensor, sizeof c->crash_tensor);
	tame_room(c->protocol_text, sizeof c->protocol_text);
	c->cuda_detail[sizeof c->cuda_detail - 1] = 0;
	for (char *p = c->cuda_detail; *p; p++)		/* it came from the guest */
		if (*p < ' ' || *p > '~')
			*p = '?';
}

/* The text of occupancy.limit is one of a few: the model's own static strings, by value. */
static const char *known_limit(const char *text)
{
	static const char *const known[] = {"registers", "shared memory", "threads", "blocks", "registers per thread", "warps"};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strncmp(known[i], text, sizeof ((struct control_launch *)0)->limit) == 0)
			return known[i];
	return "";
}

static void take_launch(struct session_launch *l, const struct control_launch *c)
{
	*l = (struct session_launch){
		.kernel = c->kernel, .shared_dynamic = c->shared_dynamic, .prepare = c->prepare != 0,
		.modelled = {.time_us = c->time_us, .launch_us = c->launch_us, .dram_us = c->dram_us, .l2_us = c->l2_us,
			     .l1_us = c->l1_us, .shared_us = c->shared_us, .issue_us = c->issue_us, .pipe_us = c->pipe_us,
			     .latency_us = c->latency_us, .tail = c->tail, .occupancy = c->occupancy,
			     .limiter = c->limiter <= LIMIT_LATENCY ? (enum limiter)c->limiter : LIMIT_NONE},
		.occupancy = {.blocks_per_sm = c->blocks_per_sm, .warps_per_sm = c->warps_per_sm,
			      .shared_per_block = c->shared_per_block, .l1_bytes_per_block = c->l1_bytes_per_block,
			      .limit = known_limit(c->limit)},
		.counters = c->counters,
	};
	memcpy(l->grid, c->grid, sizeof l->grid);
	memcpy(l->block, c->block, sizeof l->block);
}

static int take_launches(struct session *s, struct session_run *r, uint32_t n, struct err *e)
{
	CLEANUP_FREE struct control_launch *c = calloc(n + 1u, sizeof *c);
	r->launches = calloc(n + 1u, sizeof *r->launches);
	if (!c || !r->launches)
		BUG("out of memory");
	if (session_take(s, c, n * sizeof *c, e) < 0)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		take_launch(&r->launches[i], &c[i]);
	r->n_launches = n;
	return 0;
}

static int take_lists(struct session *s, struct session_run *r, const struct control_report *c, struct err *e)
{
	if (take_launches(s, r, c->n_launches, e) < 0)
		return -1;
	if (c->text_size && session_take(s, buf_grow(&r->device_output, c->text_size), c->text_size, e) < 0)
		return -1;
	r->lines = calloc(c->n_lines + 1u, sizeof *r->lines);
	r->traffic = calloc(c->n_traffic + 1u, sizeof *r->traffic);
	if (!r->lines || !r->traffic)
		BUG("out of memory");
	if (session_take(s, r->lines, c->n_lines * sizeof *r->lines, e) < 0 ||
	    session_take(s, r->traffic, c->n_traffic * sizeof *r->traffic, e) < 0)
		return -1;
	r->n_lines = c->n_lines;
	r->n_traffic = c->n_traffic;
	for (uint32_t i = 0; i < c->n_lines; i++)
		tame_room(r->lines[i].file, sizeof r->lines[i].file);
	for (uint32_t i = 0; i < c->n_traffic; i++)
		r->traffic[i].name[sizeof r->traffic[i].name - 1] = 0;
	return 0;
}

/* __FILE__ of an assertion is what the compile step calls the source.  A GPU knows of no other place. */
static void own_name(const struct session *s, struct fault *f)
{
	static const char inside[] = COMPILE_SOURCE ":";
	char text[sizeof f->detail];
	if (f->kind != FAULT_ASSERT || !*s->source || strncmp(f->detail, inside, sizeof inside - 1) != 0)
		return;
	snprintf(text, sizeof text, "%s:%s", s->source, f->detail + sizeof inside - 1);
	memcpy(f->detail, text, sizeof text);
	if (f->line && !*f->file)
		snprintf(f->file, sizeof f->file, "%s", s->source);
}

static int take_report(struct session *s, struct session_run *r, struct err *e)
{
	struct wire_reply reply;
	struct control_report c;
	if (session_reply(s, CONTROL_RUN, &reply, &c, sizeof c, SESSION_PATIENCE_MS, e) < 0)
		return -1;
	if (c.n_launches > CONTROL_LAUNCHES_MAX || c.n_lines > CONTROL_LINES_MAX || c.n_traffic > CONTROL_TRAFFIC_MAX ||
	    c.text_size > CONTROL_TEXT_MAX || c.fault.kind >= FAULT_KINDS)
		return session_lost(s, "sent a report of impossible size", e);
	terminate_strings(&c);
	r->done = c.done != 0;
	r->has_prepare = c.has_prepare != 0;
	r->fault = c.fault;
	own_name(s, &r->fault);
	r->protocol_error = c.protocol_error != 0;
	snprintf(r->protocol_text, sizeof r->protocol_text, "%s", c.protocol_text);
	snprintf(r->cuda_error, sizeof r->cuda_error, "%s", cuda_error_name(c.cuda_error));
	snprintf(r->cuda_detail, sizeof r->cuda_detail, "%s", c.cuda_detail);
	r->crash = c.crash <= CRASH_OTHER ? (enum session_crash)c.crash : CRASH_UNKNOWN;
	r->crash_addr = c.crash_addr;
	snprintf(r->crash_tensor, sizeof r->crash_tensor, "%s", c.crash_tensor);
	r->cuda_unhandled = c.unhandled != 0;
	r->host_copies = c.host_copies;
	r->host_copy_bytes = c.host_copy_bytes;
	r->allocations = c.allocations;
	r->allocated_bytes = c.allocated_bytes;
	r->syncs = c.syncs;
	r->copies_us = c.copies_us > 0 && isfinite(c.copies_us) ? c.copies_us : 0;
	if (take_lists(s, r, &c, e) < 0)
		return -1;
	if (c.broken)
		session_stop(s);	/* the next request has a fresh one made */
	return 0;
}

/* How long the device may go on after the guest's end: what is left of its wall time, for work that a program queued;
 * a moment only for a guest that was stopped. */
static int patience(const struct session_run *r, uint64_t began)
{
	uint64_t spent = now_ms() - began, wall = r->limits.wall_ms;
	if (r->guest.end != JAIL_EXITED || (wall && spent >= wall))
		return GRACE_MS;
	if (!wall)
		return -1;
	return (int)(wall - spent) + GRACE_MS;
}

/* ---- the guest ---- */

static struct jail *start_guest(const struct session *s, const struct session_run *r, int socket, struct err *e)
{
	static const char *const bare[] = {"solve", NULL};
	struct jail_fd fd = {socket, WIRE_FD};
	struct jail_spec spec = {
		.policy = r->program ? JAIL_PROGRAM : JAIL_GUEST, .name = "guest", .exe_fd = r->guest_fd,
		.argv = r->program && r->argv ? r->argv : bare, .fds = &fd, .n_fds = 1,
		.stdin_fd = r->program ? r->stdin_fd : -1, .stdout_fd = r->program ? r->stdout_fd : -1,
		.stderr_fd = r->program ? r->stderr_fd : -1, .output_kill = !r->program, .limits = r->limits,
		.unsandboxed = s->options.unsandboxed,
	};
	return jail_start(&spec, e);
}

/* The device can't report in time: its work is cut off with the process, and the time limit is the end of the run. */
static int cut_off(struct session *s, struct session_run *r)
{
	if (r->guest.end == JAIL_EXITED)
		r->guest.end = JAIL_WALL;
	r->device_busy = true;
	session_stop(s);
	return 0;
}

int session_run(struct session *s, struct session_run *r, struct err *e)
{
	int pair[2];
	if (s->dead)
		return err_system(e, "the device process is dead");
	if (wire_pair(pair) < 0)
		return err_errno(e, "cannot make a socket pair");
	CLEANUP_FD int guest = pair[0];
	CLEANUP_FD int device = pair[1];
	if (begin(s, r, device, e) < 0)
		return -1;
	close(take_fd(&device));
	uint64_t began = now_ms();
	struct jail *j = start_guest(s, r, guest, e);
	close(take_fd(&guest));
	if (!j || jail_wait(j, &r->guest, e) < 0) {
		session_stop(s);	/* the run never came to be: a fresh process is the surest way back */
		return -1;
	}
	if (!session_ready(s->control, patience(r, began)))
		return cut_off(s, r);
	return take_report(s, r, e);
}

void session_run_free(struct session_run *r)
{
	jail_result_free(&r->guest);
	buf_free(&r->device_output);
	free(r->launches);
	free(r->lines);
	free(r->traffic);
	r->launches = NULL;
	r->lines = NULL;
	r->traffic = NULL;
}
