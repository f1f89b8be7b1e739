/* A GPU's device process under one of NVIDIA's tools: see gpu_tool.h. */
#include "gpu_tool.h"

#include "../sandbox/base/cleanup.h"
#include "oracle.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOG_MAX = 8 << 20 };

int gpu_tool_open(struct gpu_tool *t, const char *name, struct err *e)
{
	const struct toolchain *c = toolchain_find(e);
	memset(t, 0, sizeof *t);
	if (!c)
		return -1;
	snprintf(t->path, sizeof t->path, "%s/bin/%s", c->root, name);
	if (access(t->path, X_OK) < 0)
		return err_input(e, "the CUDA toolkit in %s has no %s: install it", c->root, name);
	if (scratch_make(&t->folder, "tool", e) < 0)
		return -1;
	/* In a folder of everybody's a tool would take scripts from anybody. */
	snprintf(t->home, sizeof t->home, "%s/.home", t->folder.path);
	if (mkdir(t->home, 0700) < 0)
		return err_errno(e, "cannot make %s", t->home);
	snprintf(t->log, sizeof t->log, "%s/%%p.log", t->folder.path);
	gpu_tool_add(t, t->path);
	return 0;
}

void gpu_tool_add(struct gpu_tool *t, const char *word)
{
	if (t->n + 1 == sizeof t->argv / sizeof *t->argv)
		BUG("too many words for a tool");
	t->argv[t->n++] = word;
}

/* What is wrong with a case is told elsewhere: here it only has to run.  *end: it did not end, and the next would be no better. */
static int run_case(struct runner *r, const struct testcase *t, int oracle, bool *end, struct err *e)
{
	struct answer a;
	struct case_report ignored = {.spec = t->spec, .gpu = true};
	if (oracle_run(oracle, t, r->options->unsandboxed, &a, e) < 0)
		return -1;
	int rc = runner_case(r, t, &a, &ignored, e);
	answer_free(&a);
	*end = ignored.verdict == VERDICT_TLE || ignored.verdict == VERDICT_DL;
	return rc;
}

static int read_logs(const struct gpu_tool *t, struct buf *log, struct err *e)
{
	DIR *d = opendir(t->folder.path);
	if (!d)
		return err_errno(e, "cannot read %s", t->folder.path);
	int rc = 0;
	for (struct dirent *f; rc == 0 && (f = readdir(d));) {
		char path[600];
		CLEANUP_BUF struct buf one = {0};
		struct err why = {0};
		if (*f->d_name == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", t->folder.path, f->d_name);
		/* of one that is too long its beginning will do: it must not cost a submission's author the whole grading */
		if (buf_read_file(&one, path, LOG_MAX, &why) < 0 && one.size < LOG_MAX / 2) {
			*e = why;
			rc = -1;
		}
		buf_add(log, one.data, one.size);
	}
	closedir(d);
	return rc;
}

int gpu_tool_run(struct gpu_tool *t, const struct runner *like, const struct testcase *const *cases, unsigned n,
		 struct buf *log, struct err *e)
{
	struct runner r = {.options = like->options, .device = like->device, .grading = like->grading, .arena = like->arena};
	struct session_options o = {.device = r.device, .unsandboxed = r.options->unsandboxed, .no_checks = true, .tool = t->argv,
				    .tool_home = t->home};
	CLEANUP_FD int oracle = oracle_open(r.options->problem, r.options->unsandboxed, e);
	if (oracle < 0)
		return -1;
	r.session = session_open(&o, e);
	int rc = r.session ? runner_load(&r, e) : -1;
	bool end = false;
	for (unsigned i = 0; i < n && rc == 0 && !end; i++)
		rc = run_case(&r, cases[i], oracle, &end, e);
	runner_close(&r);
	if (rc < 0)
		return err_wrap(e, "under %s", t->path);
	return read_logs(t, log, e);
}

void gpu_tool_close(struct gpu_tool *t)
{
	scratch_remove(&t->folder);
}
