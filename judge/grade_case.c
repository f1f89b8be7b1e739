/* One case of a grading: see grade_case.h. */
#include "grade_case.h"

#include "../sandbox/base/cleanup.h"
#include "element.h"
#include "rules.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sanitizer's build is for tests, and slow. */
#ifdef __SANITIZE_ADDRESS__
enum { SLOWER = 10 };
#else
enum { SLOWER = 1 };
#endif

enum { OUTPUT_KIB = 64, PROCESSES = 1, MAX_KERNELS = 4096 };

/* ---- the device process ---- */

int runner_open(struct runner *r, struct err *e)
{
	struct session_options o = {.device = r->device, .threads = r->options->threads, .unsandboxed = r->options->unsandboxed,
				    .budget = r->options->problem->instructions};
	r->session = session_open(&o, e);
	return r->session ? 0 : -1;
}

int runner_load(struct runner *r, struct err *e)
{
	const struct compiled *c = &r->grading->compiled;
	if (!r->session && runner_open(r, e) < 0)
		return -1;
	r->n_kernels = c->n_kernels < MAX_KERNELS ? (unsigned)c->n_kernels : MAX_KERNELS;
	if (session_load(r->session, c, e) < 0)
		return -1;
	r->kernels = arena_new_array(r->arena, struct device_kernel, r->n_kernels + 1);
	for (unsigned i = 0; i < r->n_kernels; i++)
		if (session_kernel(r->session, i, &r->kernels[i], e) < 0)
			return -1;
	return 0;
}

void runner_close(struct runner *r)
{
	session_close(r->session);
	r->session = NULL;
}

/* ---- laying out ---- */

static int lay_tensor(struct run_case *c, unsigned i, struct err *e)
{
	const struct argument *a = &c->t->problem->arguments[i];
	const struct testcase_tensor *x = &c->t->tensors[i];
	struct session_argument *arg = &c->solve[i];
	if (a->role == ROLE_SCALAR) {
		arg->kind = a->type == TYPE_I64 ? ARGUMENT_I64 : ARGUMENT_I32;
		arg->i = x->scalar;
		return 0;
	}
	enum session_role role = a->role == ROLE_INPUT ? SESSION_INPUT : a->role == ROLE_OUTPUT ? SESSION_OUTPUT : SESSION_WORKSPACE;
	if (session_tensor(c->runner->session, a->name, role, c->answer->tensors[i].data, x->bytes, &c->ids[i], e) < 0)
		return -1;
	arg->kind = ARGUMENT_TENSOR;
	arg->tensor = c->ids[i];
	return 0;
}

int case_lay_out(struct run_case *c, struct err *e)
{
	const struct problem *p = c->t->problem;
	for (unsigned i = 0; i < p->n_arguments; i++)
		if (lay_tensor(c, i, e) < 0)
			return -1;
	for (unsigned i = 0; i < p->n_prepare; i++)
		c->prepare[i] = c->solve[p->prepare[i]];
	return 0;
}

int case_run(struct run_case *c, bool again, bool tape, struct err *e)
{
	const struct problem *p = c->t->problem;
	unsigned ms = (unsigned)(p->seconds * 1000) * SLOWER;
	c->run = (struct session_run){
		.guest_fd = c->runner->grading->compiled.guest_fd,
		.solve = c->solve, .n_solve = p->n_arguments,
		.prepare = p->n_prepare ? c->prepare : NULL, .n_prepare = p->n_prepare,
		.stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1,
		.limits = {.cpu_ms = ms, .wall_ms = ms, .memory = p->memory, .processes = PROCESSES, .output = OUTPUT_KIB << 10},
		.profile = c->runner->options->profile_lines, .again = again, .tape = tape,
	};
	return session_run(c->runner->session, &c->run, e);
}

/* ---- checking ---- */

void case_say(struct case_report *out, enum verdict v, const char *fmt, ...)
{
	va_list ap;
	out->verdict = v;
	va_start(ap, fmt);
	vsnprintf(out->why, sizeof out->why, fmt, ap);
	va_end(ap);
}

/* Element [i, j] of a shape, for people. */
static void index_text(const struct testcase *t, unsigned tensor, uint64_t element, char *text, size_t size)
{
	const struct argument *a = &t->problem->arguments[tensor];
	uint64_t at[PROBLEM_MAX_DIMS] = {0};
	for (unsigned d = a->dims; d-- > 0;) {
		at[d] = element % t->tensors[tensor].shape[d];
		element /= t->tensors[tensor].shape[d];
	}
	size_t n = (size_t)snprintf(text, size, "%s[", a->name);
	for (unsigned d = 0; d < a->dims && n < size; d++)
		n += (size_t)snprintf(text + n, size - n, "%s%llu", d ? ", " : "", (unsigned long long)at[d]);
	if (n < size)
		snprintf(text + n, size - n, "]");
}

static int check_written(struct run_case *c, struct err *e)
{
	const struct problem *p = c->t->problem;
	for (unsigned i = 0; i < p->n_arguments; i++) {
		bool whole;
		uint64_t first;
		char where[120];
		if (p->arguments[i].role != ROLE_OUTPUT)
			continue;
		if (session_written(c->runner->session, c->ids[i], &whole, &first, e) < 0)
			return -1;
		if (whole || c->out->verdict != VERDICT_AC)
			continue;
		index_text(c->t, i, first / element_bytes(p->arguments[i].type), where, sizeof where);
		case_say(c->out, VERDICT_NW, "%s was never written%s", where, first ? "" : ", and it is the first element");
	}
	return 0;
}

/* The device refuses writes to inputs; that they are what they were is checked all the same. */
static int check_inputs(struct run_case *c, struct err *e)
{
	const struct problem *p = c->t->problem;
	for (unsigned i = 0; i < p->n_arguments && c->out->verdict == VERDICT_AC; i++) {
		uint64_t size = c->t->tensors[i].bytes;
		if (p->arguments[i].role != ROLE_INPUT)
			continue;
		CLEANUP_FREE void *now = malloc(size);
		if (!now)
			return err_system(e, "no memory to compare %s", p->arguments[i].name);
		if (session_download(c->runner->session, c->ids[i], now, e) < 0)
			return -1;
		if (memcmp(now, c->answer->tensors[i].data, size) != 0)
			case_say(c->out, VERDICT_IM, "the input %s was changed", p->arguments[i].name);
	}
	return 0;
}

static void keep_wrong(struct case_report *out, const char *tensor, const struct check *k)
{
	for (unsigned i = 0; i < k->n_worst && out->n_wrong < CHECK_WORST && k->worst[i].ratio > 1; i++) {
		struct wrong_element *w = &out->worst[out->n_wrong++];
		snprintf(w->tensor, sizeof w->tensor, "%s", tensor);
		w->element = k->worst[i];
		w->unwritten = out->verdict == VERDICT_NW && isnan(w->element.got);	/* outputs are filled with NaN before */
	}
}

/* Outputs against the answer; c->out's verdict, where it is AC, becomes what is wrong. */
static int check_outputs(struct run_case *c, struct err *e)
{
	const struct problem *p = c->t->problem;
	struct case_report *out = c->out;
	for (unsigned i = 0; i < p->n_arguments; i++) {
		const struct testcase_tensor *x = &c->t->tensors[i];
		struct check k;
		char where[120];
		if (p->arguments[i].role != ROLE_OUTPUT)
			continue;
		CLEANUP_FREE void *got = malloc(x->bytes);
		if (!got)
			return err_system(e, "no memory for the output %s", p->arguments[i].name);
		if (session_download(c->runner->session, c->ids[i], got, e) < 0)
			return -1;
		check_output(p->arguments[i].type, got, c->answer->tensors[i].expected, c->answer->tensors[i].bound, x->count, &k);
		out->elements += k.count;
		out->wrong += k.wrong;
		if (!(out->error_ratio >= k.ratio))
			out->error_ratio = k.ratio;
		out->bound_use = fmax(out->bound_use, k.use);
		if (!k.wrong)
			continue;
		if (out->verdict == VERDICT_AC) {
			index_text(c->t, i, k.worst[0].index, where, sizeof where);
			case_say(out, VERDICT_WA, "%llu of %llu elements of %s are out of bound; the worst is %s",
			    (unsigned long long)k.wrong, (unsigned long long)k.count, p->arguments[i].name, where);
			pattern_of(p->arguments[i].type, got, c->answer->tensors[i].expected, c->answer->tensors[i].bound, x->shape,
				   p->arguments[i].dims, &out->pattern);
		}
		if (out->spec->visible)
			keep_wrong(out, p->arguments[i].name, &k);
	}
	return 0;
}

/* Only what is right can break a rule. */
static int check_rules(struct run_case *c, struct err *e)
{
	struct case_report *out = c->out;
	const struct grading *g = c->runner->grading;
	if (out->verdict != VERDICT_AC)
		return 0;
	int broken = rules_broken(c->t, &c->run, &out->book, out->gpu ? NULL : &g->device, out->why, sizeof out->why, e);
	if (broken > 0)
		out->verdict = VERDICT_RV;
	else if (broken == 0 && out->gpu && *g->not_emulated && rules_count_bytes(c->t->problem) && !*out->note)
		snprintf(out->note, sizeof out->note, "the problem's rules on intermediates and on how often inputs are read were not checked: only "
			 "the emulated device counts bytes");
	return broken < 0 ? -1 : 0;
}

/* What the program printed belongs to its author only where it can't tell what is hidden. */
static void keep_printed(struct run_case *c)
{
	const struct session_run *r = &c->run;
	CLEANUP_BUF struct buf text = {0};
	if (!c->out->spec->visible)
		return;
	buf_add(&text, buf_str(&r->device_output), r->device_output.size);
	buf_add(&text, buf_str(&r->guest.out), r->guest.out.size);
	buf_add(&text, buf_str(&r->guest.err), r->guest.err.size);
	if (text.size)
		c->out->printed = arena_strdup(c->runner->arena, buf_str(&text));
}

/* "a CUDA call failed: launch of gemv: 2048 threads a block (2048x1x1), at most 1024 (cudaErrorInvalidValue)".  Why is the
 * guest's word, with numbers of its choice: told only where inputs are no secret. */
static void cuda_failure(const struct run_case *c, char *text, size_t size)
{
	bool why = c->out->spec->visible && *c->run.cuda_detail;
	snprintf(text, size, "a CUDA call failed%s%s (%s)", why ? ": " : "", why ? c->run.cuda_detail : "", c->run.cuda_error);
}

static void say_cuda_failure(struct run_case *c)
{
	char text[400];
	cuda_failure(c, text, sizeof text);
	case_say(c->out, VERDICT_RE, "%s, and the program went on", text);
}

static void note_cuda_failure(struct run_case *c)
{
	char text[400];
	cuda_failure(c, text, sizeof text);
	snprintf(c->out->note, sizeof c->out->note, "%s, and the program neither asked for the error nor stopped", text);
}

static const char *unwritten_output(const struct run_case *c)
{
	const struct problem *p = c->t->problem;
	unsigned i = 0;
	while (p->arguments[i].role != ROLE_OUTPUT)
		i++;
	return p->arguments[i].name;
}

static bool printable(char c)
{
	return (c >= ' ' && c <= '~') || c & 0x80;
}

/* A crash of a sample tells its address and what the program said last: an uncaught exception's text, say. */
static void explain_crash(struct run_case *c)
{
	const struct session_run *r = &c->run;
	struct case_report *out = c->out;
	size_t n = strlen(out->why), from = 0, end = r->guest.err.size;
	const char *said = buf_str(&r->guest.err);
	if (!out->spec->visible || r->guest.end != JAIL_SIGNALED)
		return;
	if (r->crash != CRASH_UNKNOWN)
		n += (size_t)snprintf(out->why + n, sizeof out->why - n, "; the address is 0x%llx%s%s", (unsigned long long)r->crash_addr,
				      *r->crash_tensor ? ", in " : "", r->crash_tensor);
	while (end && !printable(said[end - 1]))
		end--;
	enum { MOST = 300 };
	from = end > MOST ? end - MOST : 0;
	for (size_t i = from; i < end && n + 4 < sizeof out->why; i++) {
		if (i == from)
			n += (size_t)snprintf(out->why + n, sizeof out->why - n, ": ");
		char x = printable(said[i]) ? said[i] : ' ';
		if (x != ' ' || out->why[n - 1] != ' ')
			out->why[n++] = x;
	}
	out->why[n] = 0;
}

/* A device process that is stopped reports no more: which kernel it was is plain only where there is but one. */
static void name_busy_kernel(struct run_case *c)
{
	const struct runner *r = c->runner;
	double s = c->run.limits.wall_ms / 1e3;
	if (!r->n_kernels)
		return;
	if (r->n_kernels == 1)
		case_say(c->out, VERDICT_TLE, "not done after %.1f s: the device was still at work, on the kernel %s or on copies and fills", s,
			 r->kernels[0].pretty);
	else
		case_say(c->out, VERDICT_TLE, "not done after %.1f s: the device was still at work, on one of its %u kernels or on copies and fills",
			 s, r->n_kernels);
}

int case_judge(struct run_case *c, struct err *e)
{
	struct case_report *out = c->out;
	out->verdict = verdict_of_run(&c->run, out->why, sizeof out->why);
	if (c->run.device_busy && out->verdict == VERDICT_TLE)
		name_busy_kernel(c);
	out->fault = c->run.fault;
	out->ran = true;
	out->host_memory = c->run.guest.peak_memory;
	book_keep(c->t, &c->run, c->runner->kernels, c->runner->n_kernels, &out->book);
	keep_printed(c);
	if (out->verdict == VERDICT_AC) {
		if (check_inputs(c, e) < 0 || check_written(c, e) < 0)
			return -1;
		if (out->verdict == VERDICT_AC || out->verdict == VERDICT_NW)
			if (check_outputs(c, e) < 0)
				return -1;
		/* what is left of the poison may be a right answer by chance: only the emulated device knows what was written */
		if (out->gpu && out->verdict == VERDICT_NW && !out->wrong) {
			out->verdict = VERDICT_AC;
			*out->why = 0;
		}
		/* a launch that never happened explains an output that is wrong */
		if ((out->verdict == VERDICT_NW || out->verdict == VERDICT_WA) && *c->run.cuda_error)
			say_cuda_failure(c);
		else if (out->verdict == VERDICT_NW && !out->book.launches && !c->run.host_copies)
			case_say(out, VERDICT_NW, "no kernel was launched, and nothing else wrote %s", unwritten_output(c));
		else if (out->verdict == VERDICT_AC && c->run.cuda_unhandled)
			note_cuda_failure(c);
		if (check_rules(c, e) < 0)
			return -1;
	} else if (c->run.fault.kind == FAULT_ASSERT && !out->spec->visible) {
		/* its text lies in the program's memory, and may be made there: the place in the source tells which it was */
		snprintf(out->why, sizeof out->why, "%s", fault_name(FAULT_ASSERT));
		snprintf(out->fault.detail, sizeof out->fault.detail, "%s", fault_name(FAULT_ASSERT));
	} else if (c->run.guest.end == JAIL_SIGNALED && c->run.fault.kind == FAULT_NONE) {
		explain_crash(c);
	} else if (c->run.guest.end == JAIL_EXITED && c->run.fault.kind == FAULT_NONE && !out->spec->visible) {
		/* an exit status, and what is wrong with a message, are numbers of the program's choice: untold for hidden cases */
		if (c->run.protocol_error)
			snprintf(out->why, sizeof out->why, "host code spoke to the device outside of the CUDA runtime");
		else if (c->run.guest.status != 0)
			snprintf(out->why, sizeof out->why, "solve() ended the process");
	}
	return 0;
}

static void keep_lines(struct run_case *c)
{
	if (!c->run.n_lines || !c->runner->options->profile_lines)
		return;
	c->out->lines = arena_dup(c->runner->arena, c->run.lines, c->run.n_lines * sizeof *c->run.lines);
	c->out->n_lines = c->run.n_lines;
}

/* On a GPU the timed passes call solve() again and again, and check what comes of it.  So it is called a second time here: a counter
 * that is not put back, a flag that says "done already" are wrong then alone. */
static int call_again(struct run_case *c, const struct case_report *fresh, struct err *e)
{
	struct case_report second = *fresh, *first = c->out;
	struct session_run run = c->run;
	c->out = &second;
	int rc = case_run(c, true, false, e);
	if (rc == 0)
		rc = case_judge(c, e);
	c->out = first;
	if (rc == 0 && second.verdict != VERDICT_AC) {
		*first = second;
		snprintf(first->why, sizeof first->why, "%.500s; this at the second call of solve(), the first was right: what does it leave in "
			 "variables of the module?", second.why);
		session_run_free(&run);
		return 0;
	}
	session_run_free(&c->run);
	c->run = run;
	return rc;
}

static int attempt(struct run_case *c, const struct case_report *fresh, struct err *e)
{
	if (session_reset(c->runner->session, e) < 0 || case_lay_out(c, e) < 0 || case_run(c, false, false, e) < 0 || case_judge(c, e) < 0)
		return -1;
	return c->out->verdict == VERDICT_AC && !c->out->gpu && !c->out->spec->timing ? call_again(c, fresh, e) : 0;
}

/* The device process died, and with it what it was doing.  1: the program is to blame, at the second death, or at once if it was of
 * the memory limit.  -1: it was killed from outside twice, which is our failure.  0: once more. */
static int blame(struct runner *r, enum verdict *v, char *why, size_t size, const struct err *e)
{
	bool exhausted = session_exhausted(r->session), killed = session_killed(r->session);
	runner_close(r);
	if (killed)
		return ++r->kills < 2 ? 0 : -1;
	if (!exhausted && ++r->deaths < 2)
		return 0;
	r->deaths = 0;
	*v = exhausted ? VERDICT_MLE : VERDICT_RE;
	if (exhausted)
		snprintf(why, size, "the program uses more of the emulated device's memory than this machine can give it");
	else
		snprintf(why, size, "the device process died twice on this program: %.500s", e->text);
	return 1;
}

int runner_load_or_blame(struct runner *r, enum verdict *v, char *why, size_t size, struct err *e)
{
	while (runner_load(r, e) < 0) {
		if (!r->session || !session_dead(r->session))
			return -1;
		int blamed = blame(r, v, why, size, e);
		if (blamed)
			return blamed < 0 ? -1 : 0;
	}
	r->deaths = r->kills = 0;
	return 0;
}

int runner_case(struct runner *r, const struct testcase *t, const struct answer *a, struct case_report *out, struct err *e)
{
	struct run_case c = {.runner = r, .t = t, .answer = a, .out = out};
	const struct case_report fresh = *out;
	for (;;) {
		int rc = !r->session && runner_load(r, e) < 0 ? -1 : attempt(&c, &fresh, e);
		if (rc == 0)
			keep_lines(&c);
		session_run_free(&c.run);
		if (rc == 0) {
			r->deaths = r->kills = 0;
			return 0;
		}
		if (!r->session || !session_dead(r->session))
			return -1;
		*out = fresh;
		int blamed = blame(r, &out->verdict, out->why, sizeof out->why, e);
		if (blamed)
			return blamed < 0 ? -1 : 0;
	}
}
