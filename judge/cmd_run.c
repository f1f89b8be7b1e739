/* judge run PROG.cu [-- ARGUMENTS]: a whole CUDA program in the sandbox, on an emulated or a real GPU. */
#include "command.h"

#include "../sandbox/base/cleanup.h"
#include "../sandbox/compile.h"
#include "../sandbox/jail.h"
#include "../sandbox/ptx/profile.h"
#include "book.h"
#include "device_choice.h"
#include "janitor.h"
#include "progress.h"
#include "report.h"
#include "submission.h"
#include "verdict.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of judge run: the program's own status, so the judge's failure needs another. */
enum { EXIT_RUN_FAILED = 125, EXIT_RUN_SIGNAL = 128 };
enum { SECONDS = 600, MEMORY_MIB = 4096, TMPFS_MIB = 256, OUTPUT_MIB = 64 };

struct program {
	const struct options *o;
	const char *path, *name;
	struct buf source;
	struct arena *arena;
	struct compiled compiled;
	struct device_choice device;
	struct session *session;
	struct session_run run;
	struct term out, err;
};

static int compile_program(struct program *p, struct err *e)
{
	struct compile_request rq = {.source = buf_str(&p->source), .size = p->source.size, .name = p->name, .arch = p->device.arch,
				     .unsandboxed = p->o->no_sandbox};
	char text[200];
	const char *why = submission_refusal(rq.source, rq.size, text, sizeof text);
	p->compiled.guest_fd = -1;
	if (why) {
		fprintf(stderr, "judge: %s: %s\n", p->name, why);
		return 0;
	}
	struct progress *progress = progress_start(&p->err, p->err.is_terminal ? PROGRESS_LIVE : PROGRESS_QUIET);
	progress_stage(progress, "compile", 0);
	int rc = compile(&rq, p->arena, &p->compiled, e);
	progress_end(progress);
	if (rc < 0)
		return -1;
	report_diagnostics(&p->compiled, p->name, rq.source, rq.size, &p->err);
	if (!p->compiled.ok)
		fprintf(stderr, "judge: %s does not compile: %s\n", p->name, p->compiled.why_not ? p->compiled.why_not : "see above");
	return 0;
}

static const char *const *program_arguments(struct program *p)
{
	const char **argv = arena_new_array(p->arena, const char *, p->o->n_rest + 2);
	argv[0] = p->name;
	for (int i = 0; i < p->o->n_rest; i++)
		argv[i + 1] = p->o->rest[i];
	return argv;
}

static int run_program(struct program *p, struct err *e)
{
	struct session_options so = {.device = p->device.device, .threads = p->o->threads, .unsandboxed = p->o->no_sandbox};
	p->session = p->device.session ? p->device.session : session_open(&so, e);
	p->device.session = NULL;
	if (!p->session || session_load(p->session, &p->compiled, e) < 0)
		return -1;
	p->run = (struct session_run){
		.guest_fd = p->compiled.guest_fd, .program = true, .argv = program_arguments(p), .stdin_fd = STDIN_FILENO,
		.stdout_fd = STDOUT_FILENO, .stderr_fd = STDERR_FILENO, .profile = p->o->profile,
		.limits = {.cpu_ms = SECONDS * 1000, .wall_ms = SECONDS * 1000, .memory = (uint64_t)MEMORY_MIB << 20, .processes = 1,
			   .file_size = (uint64_t)TMPFS_MIB << 20, .tmpfs = (uint64_t)TMPFS_MIB << 20, .output = (uint64_t)OUTPUT_MIB << 20},
	};
	fflush(stdout);
	return session_run(p->session, &p->run, e);
}

static void print_profile(struct program *p)
{
	struct device_kernel *kernels = arena_new_array(p->arena, struct device_kernel, p->compiled.n_kernels + 1);
	struct book *b = arena_alloc(p->arena, sizeof *b);
	unsigned n = 0;
	while (n < p->compiled.n_kernels && session_kernel(p->session, n, &kernels[n], NULL) == 0)
		n++;
	book_keep(NULL, &p->run, kernels, n, b);
	term_put(&p->err, STYLE_BOLD, "\n  kernels, %s on %s\n", p->device.gpu ? "measured" : "modelled", p->device.profile.name);
	report_kernels(b, &p->err);
	report_lines(p->run.lines, p->run.n_lines, p->name, buf_str(&p->source), p->source.size, &p->err);
}

/* What the program came to, told on stderr; stdout is the program's own. */
static int conclude(struct program *p)
{
	char why[700];
	enum verdict v = verdict_of_run(&p->run, why, sizeof why);
	fflush(stdout);
	if (p->run.device_output.size) {
		fwrite(p->run.device_output.data, 1, p->run.device_output.size, stdout);
		fflush(stdout);
	}
	if (p->o->profile)
		print_profile(p);
	const struct jail_result *g = &p->run.guest;
	bool own_end = g->end == JAIL_EXITED && p->run.fault.kind == FAULT_NONE && !p->run.protocol_error;
	if (v == VERDICT_AC || (own_end && g->status != 0))
		return g->status;
	fprintf(stderr, "judge: %s: %s: %s\n", p->name, verdict_name(v), why);
	report_fault(&p->run.fault, p->name, buf_str(&p->source), p->source.size, &p->err);
	if (v == VERDICT_SE)
		return EXIT_RUN_FAILED;
	if (g->end == JAIL_SIGNALED)
		return EXIT_RUN_SIGNAL + g->status;
	return g->end == JAIL_EXITED && g->status ? g->status : EXIT_NOT_ACCEPTED;
}

/* As the command line does, but for the status of the judge's own failure. */
static int fail(const struct options *o, const struct err *e)
{
	int status = complain_of_run(o, e);
	return status == EXIT_JUDGE ? EXIT_RUN_FAILED : status;
}

static int run(struct program *p)
{
	struct err e = {0};
	if (device_choose(p->o->device, p->o->no_sandbox, &p->device, &e) < 0 ||
	    submission_read(p->path, &p->source, &e) < 0 || compile_program(p, &e) < 0)
		return fail(p->o, &e);
	if (!p->compiled.ok)
		return EXIT_NOT_ACCEPTED;
	if (run_program(p, &e) < 0) {
		complain_of_run(p->o, &e);
		return EXIT_RUN_FAILED;
	}
	return conclude(p);
}

int cmd_run(const struct options *o)
{
	struct err e = {0};
	if (options_want(o, COMMAND_run, 1, &e) < 0)
		return complain(&e);
	char name[SUBMISSION_SHOWN];
	submission_shown_name(o->arguments[0], name);
	struct program p = {.o = o, .path = o->arguments[0], .name = name, .arena = arena_new(),
			    .compiled = {.guest_fd = -1}};
	term_of(&p.out, stdout);
	term_of(&p.err, stderr);
	warn_no_sandbox(o);
	jail_sweep();
	janitor_start();
	int status = run(&p);
	session_run_free(&p.run);
	session_close(p.session);
	device_choice_close(&p.device);
	compiled_close(&p.compiled);
	buf_free(&p.source);
	arena_free(p.arena);
	return status;
}
