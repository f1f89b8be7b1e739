/* judge check DIR...: is a problem package fit to be given to students? */
#include "../command.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/json_write.h"
#include "../../sandbox/jail.h"
#include "../janitor.h"
#include "checkup.h"
#include "layout.h"
#include "mutate.h"

#include <string.h>

static bool is_solution(const char *word)
{
	size_t n = strlen(word);
	return n > 3 && !strcmp(word + n - 3, ".cu");
}

/* `judge check --mutate DIR [FILE.cu...]` */
static int mutate_package(const struct options *o, struct err *e)
{
	char folder[600];
	const char *const *files = (const char *const *)o->arguments + 1;
	unsigned n = (unsigned)o->n_arguments - 1;
	for (unsigned i = 0; i < n; i++)
		if (!is_solution(files[i])) {
			err_input(e, "judge check --mutate takes one package, and solutions of it (.cu): what is %s?", files[i]);
			return complain(e);
		}
	if (layout_find(o->arguments[0], folder, sizeof folder, e) < 0)
		return complain(e);
	CLEANUP(problem_closep) struct problem *p = problem_open(folder, e);
	if (!p)
		return complain(e);
	struct mutate_options q = {.problem = p, .files = files, .n_files = n, .most = o->mutants, .least = o->least, .seed = o->seed,
				   .device = o->device, .threads = o->threads, .unsandboxed = o->no_sandbox};
	return mutate_command(&q, o->json);
}

static int check_all(const struct options *o, const struct checkup_options *q, struct json_writer *w, struct err *e)
{
	bool passed = true;
	for (int i = 0; i < o->n_arguments; i++) {
		char folder[600];
		struct checkup c;
		if (layout_find(o->arguments[i], folder, sizeof folder, e) < 0)
			return complain(e);
		if (q->term) {
			term_put(q->term, STYLE_BOLD, "%s%s", i ? "\n" : "", o->arguments[i]);
			fputc('\n', q->term->file);
		}
		int rc = checkup_run(q, folder, &c, e);
		if (rc == 0 && q->term)
			checkup_print(&c, q->term);
		else if (rc == 0)
			checkup_json(&c, w, NULL);
		passed &= rc == 0 && !checkup_faults(&c);
		checkup_free(&c);
		if (rc < 0)
			return complain_of_run(o, e);
	}
	return passed ? EXIT_ACCEPTED : EXIT_NOT_ACCEPTED;
}

/* Oracles fail in their own ways; a host without jails must not be taken for one of these. */
static int check_host(const struct options *o, struct err *e)
{
	struct jail_host h;
	jail_host(&h);
	return h.usable || o->no_sandbox || o->quick ? 0 : err_system(e, "no jail");
}

static int check(const struct options *o, struct err *e)
{
	struct term out;
	CLEANUP_BUF struct buf text = {0};
	CLEANUP(device_choice_close) struct device_choice device = {0};
	struct json_writer w = {.out = &text, .indent = true};
	term_of(&out, stdout);
	struct checkup_options q = {.device = o->device, .probe = &device, .seed = o->seed, .seeds = o->seeds, .workers = o->threads,
				    .quick = o->quick, .unsandboxed = o->no_sandbox, .term = o->json ? NULL : &out};
	if (check_host(o, e) < 0 || (!o->quick && device_choose(o->device, o->no_sandbox, &device, e) < 0))
		return complain_of_run(o, e);
	session_close(device.session);		/* each grading opens its own */
	device.session = NULL;
	json_open(&w, NULL, '{');
	json_open(&w, "packages", '[');
	int status = check_all(o, &q, &w, e);
	json_close(&w, ']');
	json_write_bool(&w, "passed", status == EXIT_ACCEPTED);
	json_close(&w, '}');
	if (o->json && (status == EXIT_ACCEPTED || status == EXIT_NOT_ACCEPTED))
		printf("%s\n", buf_str(&text));
	return status;
}

int cmd_check(const struct options *o)
{
	struct err e = {0};
	struct secret s;
	if (!o->n_arguments)
		return options_want(o, COMMAND_check, 1, &e), complain(&e);
	if (o->seed && secret_from_hex(&s, o->seed, &e) < 0)
		return complain(&e);
	if (!o->mutate && (o->mutants || o->least > 0)) {
		err_input(&e, "judge check: --mutants and --least go with --mutate");
		return complain(&e);
	}
	if (o->mutate && (o->quick || o->seeds)) {
		err_input(&e, "judge check: --mutate goes with neither --quick nor --seeds");
		return complain(&e);
	}
	warn_no_sandbox(o);
	jail_sweep();
	janitor_start();
	return o->mutate ? mutate_package(o, &e) : check(o, &e);
}
