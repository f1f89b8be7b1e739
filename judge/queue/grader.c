/* A grading in a process of its own: see grader.h.
 *
 * What goes through the pipe are frames: a kind, a size, and that many bytes of packed values (pack.h).  The last frame is a result
 * or a failure; a pipe that ends without one tells that the process died, and its status tells of what.
 */
#include "grader.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/jail.h"
#include "../device_choice.h"
#include "../grade.h"
#include "../report.h"
#include "pack.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum frame_kind { FRAME_PROGRESS, FRAME_RESULT, FRAME_FAILED, FRAME_DEVICE };
enum { FRAME_MAX = 64 << 20, KEPT_PTX = 4 << 20, PIPE = 3 };

struct frame {
	uint32_t kind, size;
};

struct grader {
	pid_t pid;
	int fd;
	struct buf in;
	size_t read;			/* bytes of `in` that were handed out */
	bool ended;
	struct arena *arena;		/* of the outcome */
	char stage[40], text[200];
};

/* ---- the child ---- */

static void send_frame(enum frame_kind kind, const struct buf *body)
{
	CLEANUP_BUF struct buf all = {0};
	struct frame f = {kind, (uint32_t)body->size};
	buf_add(&all, &f, sizeof f);
	if (body->size)
		buf_add(&all, body->data, body->size);
	for (size_t at = 0; at < all.size;) {
		ssize_t n = write(PIPE, all.data + at, all.size - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1);		/* nobody listens any more */
		at += (size_t)n;
	}
}

static void send_progress(void *context, enum progress_kind kind, const char *stage, unsigned done, unsigned total, const char *text)
{
	CLEANUP_BUF struct buf b = {0};
	(void)context;
	pack_int(&b, kind);
	pack_int(&b, done);
	pack_int(&b, total);
	pack_text(&b, stage);
	pack_text(&b, text);
	send_frame(FRAME_PROGRESS, &b);
}

static void send_failure(enum frame_kind kind, const char *why)
{
	CLEANUP_BUF struct buf b = {0};
	pack_text(&b, why);
	send_frame(kind, &b);
}

static void pack_json(struct buf *out, struct buf *text)
{
	pack_text(out, text->size ? buf_str(text) : NULL);
	buf_free(text);
}

static void pack_case(struct buf *out, const struct case_report *r)
{
	struct buf json = {0};
	bool timed = r->spec->timing && r->verdict == VERDICT_AC && !r->impossible;
	pack_text(out, r->spec->name);
	pack_text(out, r->stage);
	pack_text(out, r->verdict == VERDICT_NONE ? NULL : verdict_code(r->verdict));
	pack_int(out, r->spec->visible);
	pack_int(out, r->spec->timing);
	pack_int(out, r->gpu);
	pack_text(out, *r->why ? r->why : NULL);
	pack_text(out, r->printed);
	report_json_sizes(r, &json);
	pack_json(out, &json);
	report_json_fault(&r->fault, &json);
	pack_json(out, &json);
	report_json_worst(r, &json);
	pack_json(out, &json);
	pack_real(out, r->error_ratio);
	pack_real(out, timed ? r->book.time_us : NAN);
	pack_real(out, timed ? r->floor_us : NAN);
	pack_real(out, timed ? r->efficiency : NAN);
	pack_real(out, timed ? r->bytes : NAN);
	pack_real(out, timed ? r->flops : NAN);
	pack_real(out, r->reference.us > 0 ? r->reference.us : NAN);
	pack_real(out, r->cublas.us > 0 ? r->cublas.us : NAN);
	pack_text(out, timed ? limiter_name(r->book.limiter) : NULL);
}

static void send_result(const struct grading *g)
{
	CLEANUP_BUF struct buf b = {0}, whole = {0}, part = {0}, told = {0};
	report_told(g, &told);
	report_json_kept(g, true, &whole);
	report_json_kept(g, false, &part);
	pack_text(&b, g->problem->version);
	pack_text(&b, verdict_code(g->verdict));
	pack_text(&b, buf_str(&told));
	pack_text(&b, g->tier ? tier_name(g->tier) : NULL);
	pack_real(&b, g->scope == GRADE_ALL ? g->score : NAN);
	pack_real(&b, g->efficiency);
	pack_real(&b, g->time_us);
	pack_text(&b, g->compiled.ptx_size <= KEPT_PTX ? g->compiled.ptx : NULL);
	pack_bytes(&b, whole.data, whole.size);
	pack_bytes(&b, part.data, part.size);
	pack_int(&b, g->n_cases);
	for (unsigned i = 0; i < g->n_cases; i++)
		pack_case(&b, &g->cases[i]);
	send_frame(FRAME_RESULT, &b);
}

static bool is_gpu(const char *device)
{
	return !strncmp(device, "gpu", 3);
}

static int grade_job(const struct grader_options *o, struct grading *g, struct err *e)
{
	char judging[24];
	CLEANUP(device_choice_close) struct device_choice device = {0};
	CLEANUP(problem_closep) struct problem *p = problem_open(o->job->folder, e);
	if (!p)
		return -1;
	if (device_choose(o->job->device, o->unsandboxed, &device, e) < 0) {
		if (is_gpu(o->job->device)) {
			send_failure(FRAME_DEVICE, e->text);
			_exit(0);
		}
		return -1;
	}
	snprintf(judging, sizeof judging, "%lld", (long long)o->job->judging);
	struct grade_options q = {
		.problem = p, .name = o->job->name, .source = o->job->source, .size = o->job->size, .device = &device, .judging = judging,
		.threads = o->threads, .scope = o->job->samples ? GRADE_SAMPLES : GRADE_ALL, .profile_lines = true, .unsandboxed = o->unsandboxed,
		.progress = progress_to((struct progress_hook){.tell = send_progress}),
	};
	memcpy(q.secret.bytes, o->secret, sizeof q.secret.bytes);
	if (grade(&q, g, e) < 0)
		return -1;
	send_result(g);			/* while there is the problem, which it points to */
	return 0;
}

static _Noreturn void be_grader(const struct grader_options *o)
{
	struct grading g;
	struct err e = {0}, now = {0};
	if (grade_job(o, &g, &e) == 0)
		_exit(0);
	if (is_gpu(o->job->device) && device_choose(o->job->device, o->unsandboxed, &(struct device_choice){0}, &now) < 0)
		send_failure(FRAME_DEVICE, now.text);
	else
		send_failure(FRAME_FAILED, e.text);
	_exit(0);
}

/* In the child: the pipe alone is left of the parent's descriptors; it has a process group of its own, so that the terminal's
 * signals are for its worker to heed. */
static void become_child(int out, pid_t parent)
{
	sigset_t none;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	setpgid(0, 0);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (out != PIPE && dup2(out, PIPE) < 0)
		_exit(1);
	fcntl(PIPE, F_SETFD, FD_CLOEXEC);
	close_range(PIPE + 1, ~0u, 0);
}

/* A child that has one end of a pipe; *fd: the other one.  0: in the child. */
static pid_t start_child(int *fd, struct err *e)
{
	int ends[2];
	pid_t parent = getpid();
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "cannot make a pipe");
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0) {
		err_errno(e, "cannot start a process");
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	if (pid == 0)
		become_child(ends[1], parent);
	else
		close(ends[1]);
	*fd = ends[0];
	return pid;
}

/* ---- the parent ---- */

struct grader *grader_start(const struct grader_options *o, struct err *e)
{
	struct grader *g = calloc(1, sizeof *g);
	if (!g)
		BUG("out of memory");
	g->pid = start_child(&g->fd, e);
	if (g->pid == 0)
		be_grader(o);
	if (g->pid < 0) {
		free(g);
		return NULL;
	}
	fcntl(g->fd, F_SETFL, O_NONBLOCK);
	g->arena = arena_new();
	return g;
}

int grader_fd(const struct grader *g)
{
	return g->fd;
}

/* What there is in the pipe; true at its end. */
static bool fill(struct grader *g)
{
	char piece[1 << 16];
	ssize_t n;
	if (g->read == g->in.size)
		g->read = g->in.size = 0;
	while ((n = read(g->fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			buf_add(&g->in, piece, (size_t)n);
	return n == 0 || errno != EAGAIN;
}

static void unpack_case(struct unpack *u, struct arena *a, struct store_case *out)
{
	out->name = unpack_text(u, a);
	out->stage = unpack_text(u, a);
	out->verdict = unpack_text(u, a);
	out->visible = unpack_int(u);
	out->timing = unpack_int(u);
	out->gpu = unpack_int(u);
	out->why = unpack_text(u, a);
	out->printed = unpack_text(u, a);
	out->sizes = unpack_text(u, a);
	out->fault = unpack_text(u, a);
	out->worst = unpack_text(u, a);
	out->error_ratio = unpack_real(u);
	out->time_us = unpack_real(u);
	out->floor_us = unpack_real(u);
	out->efficiency = unpack_real(u);
	out->bytes = unpack_real(u);
	out->flops = unpack_real(u);
	out->reference_us = unpack_real(u);
	out->cublas_us = unpack_real(u);
	out->limiter = unpack_text(u, a);
}

static void unpack_result(struct unpack *u, struct arena *a, struct store_outcome *out)
{
	enum { MAX_CASES = 10000 };
	out->version = unpack_text(u, a);
	out->verdict = unpack_text(u, a);
	out->text = unpack_text(u, a);
	out->tier = unpack_text(u, a);
	out->score = unpack_real(u);
	out->efficiency = unpack_real(u);
	out->time_us = unpack_real(u);
	out->ptx = unpack_text(u, a);
	out->report = unpack_bytes(u, &out->report_size, a);
	out->report_public = unpack_bytes(u, &out->report_public_size, a);
	int64_t n = unpack_int(u);
	if (n < 0 || n > MAX_CASES)
		u->bad = true;
	if (u->bad)
		return;
	struct store_case *cases = arena_new_array(a, struct store_case, n + 1);
	for (int64_t i = 0; i < n; i++)
		unpack_case(u, a, &cases[i]);
	out->cases = cases;
	out->n_cases = (size_t)n;
}

static void unpack_progress(struct grader *g, struct unpack *u, struct grader_told *out)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	out->kind = (enum progress_kind)unpack_int(u);
	out->done = (unsigned)unpack_int(u);
	out->total = (unsigned)unpack_int(u);
	const char *stage = unpack_text(u, a), *text = unpack_text(u, a);
	snprintf(g->stage, sizeof g->stage, "%s", stage ? stage : "");
	snprintf(g->text, sizeof g->text, "%s", text ? text : "");
	out->stage = g->stage;
	out->text = text ? g->text : NULL;
}

static enum grader_news digest(struct grader *g, const struct frame *f, struct unpack *u, struct grader_told *out)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	switch (f->kind) {
	case FRAME_PROGRESS:
		unpack_progress(g, u, out);
		return GRADER_PROGRESS;
	case FRAME_RESULT:
		unpack_result(u, g->arena, &out->outcome);
		return u->bad ? GRADER_NOTHING : GRADER_RESULT;
	default: {
		const char *why = unpack_text(u, a);
		snprintf(out->why, sizeof out->why, "%s", why ? why : "");
		return f->kind == FRAME_DEVICE ? GRADER_DEVICE : GRADER_FAILED;
	}
	}
}

/* The next whole frame; false: there is none yet. */
static bool next_frame(struct grader *g, struct frame *f, struct unpack *u)
{
	size_t left = g->in.size - g->read;
	if (left < sizeof *f)
		return false;
	memcpy(f, g->in.data + g->read, sizeof *f);
	if (f->size > FRAME_MAX || left < sizeof *f + f->size)
		return false;
	*u = (struct unpack){.at = g->in.data + g->read + sizeof *f, .left = f->size};
	g->read += sizeof *f + f->size;
	return true;
}

static void tell_death(struct grader *g, char *why, size_t size)
{
	int status = 0;
	while (waitpid(g->pid, &status, 0) < 0 && errno == EINTR)
		;
	g->pid = 0;
	if (WIFSIGNALED(status))
		snprintf(why, size, "the grading process was ended by a signal: %s", strsignal(WTERMSIG(status)));
	else
		snprintf(why, size, "the grading process ended with status %d and no result", WEXITSTATUS(status));
}

enum grader_news grader_read(struct grader *g, struct grader_told *out)
{
	struct frame f;
	struct unpack u;
	bool end = false;
	memset(out, 0, sizeof *out);
	if (g->ended)
		return GRADER_NOTHING;
	if (!next_frame(g, &f, &u)) {
		end = fill(g);
		if (!next_frame(g, &f, &u)) {
			if (!end)
				return GRADER_NOTHING;
			g->ended = true;
			tell_death(g, out->why, sizeof out->why);
			return GRADER_FAILED;
		}
	}
	enum grader_news news = digest(g, &f, &u, out);
	g->ended = news != GRADER_PROGRESS && news != GRADER_NOTHING;
	return news;
}

void grader_end(struct grader *g)
{
	if (!g)
		return;
	if (g->pid > 0) {
		if (!g->ended)
			kill(g->pid, SIGKILL);
		while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(g->fd);
	buf_free(&g->in);
	arena_free(g->arena);
	free(g);
	jail_sweep();			/* control groups of what it ran, if it was killed */
}

/* ---- is the device there? ---- */

static _Noreturn void be_probe(const char *device, bool unsandboxed)
{
	struct err e = {0};
	struct device_choice choice = {0};
	if (device_choose(device, unsandboxed, &choice, &e) < 0)
		send_failure(FRAME_DEVICE, e.text);
	else
		send_progress(NULL, PROGRESS_RESULT, "probe", 1, 1, NULL);
	device_choice_close(&choice);
	_exit(0);
}

int grader_probe(const char *device, bool unsandboxed, unsigned seconds, struct err *e)
{
	struct grader g = {0};
	struct grader_told told;
	int rc;
	g.pid = start_child(&g.fd, e);
	if (g.pid == 0)
		be_probe(device, unsandboxed);
	if (g.pid < 0)
		return -1;
	struct pollfd p = {.fd = g.fd, .events = POLLIN};
	fcntl(g.fd, F_SETFL, O_NONBLOCK);
	int n = poll(&p, 1, (int)seconds * 1000);
	if (n <= 0) {
		kill(g.pid, SIGKILL);
		rc = err_system(e, "%s does not answer within %u s", device, seconds);
	} else {
		rc = grader_read(&g, &told) == GRADER_PROGRESS ? 0 : err_system(e, "%s", told.why);
	}
	while (g.pid > 0 && waitpid(g.pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(g.fd);
	buf_free(&g.in);
	return rc;
}
