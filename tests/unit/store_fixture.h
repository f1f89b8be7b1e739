/* A database of its own for each test, with a few users and a problem. */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include "judge/store/sql.h"
#include "test.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OK(call) do { enum store_result ok_rc = (call); if (ok_rc != STORE_OK) test_fail(__FILE__, __LINE__, "%s: %d: %s", #call, ok_rc, fix_err.text); } while (0)
#define GIVES(result, call) do { fix_err.text[0] = 0; enum store_result ok_rc = (call); if (ok_rc != (result)) test_fail(__FILE__, __LINE__, "%s: %d, expected %s: %s", #call, ok_rc, #result, fix_err.text); } while (0)

static char fix_folder[200];
static struct store *fix_store;
static struct arena *fix_arena;
static struct err fix_err;

__attribute__((unused)) static struct store *fix_again(void)
{
	struct store *s = store_open(fix_folder, &fix_err);
	CHECK_MSG(s, "%s", fix_err.text);
	store_hash_fast(s);
	return s;
}

static void fix_open(void)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(fix_folder, sizeof fix_folder, "%s/judge-store-test-XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(fix_folder));
	fix_store = fix_again();
	fix_arena = arena_new();
}

static void fix_close(void)
{
	store_close(fix_store);
	arena_free(fix_arena);
	DIR *d = opendir(fix_folder);
	for (struct dirent *entry; (entry = readdir(d));)
		unlinkat(dirfd(d), entry->d_name, 0);
	closedir(d);
	CHECK(rmdir(fix_folder) == 0);
}

__attribute__((unused)) static int64_t fix_user(const char *name, enum store_role role)
{
	struct store_user u;
	OK(store_user_add(fix_store, &(struct store_user_new){.name = name, .password = "correct horse", .role = role}, fix_arena, &u, &fix_err));
	return u.id;
}

__attribute__((unused)) static void fix_problem(const char *id, const char *version)
{
	OK(store_problem_put(fix_store, &(struct store_problem_put){.id = id, .version = version, .folder = "/nowhere", .title = "A title",
			     .difficulty = "easy", .tags = "[]", .position = -1}, &fix_err));
}

__attribute__((unused)) static int64_t fix_submit(int64_t user, const char *problem, int64_t *judging)
{
	int64_t id, j;
	OK(store_submission_add(fix_store, &(struct store_submission_new){.user = user, .problem = problem, .name = "a.cu", .source = "int x;",
				.size = 6, .device = "emulated:h200"}, &id, judging ? judging : &j, &fix_err));
	return id;
}

__attribute__((unused)) static struct store_job fix_claim(void)
{
	struct store_job job = {0};
	OK(store_claim(fix_store, "w", 9, fix_arena, &job, &fix_err));
	return job;
}

__attribute__((unused)) static void fix_finish(const struct store_job *job, const char *verdict, double score, double efficiency)
{
	struct store_case cases[2] = {
		{.name = "sample", .stage = "samples", .verdict = verdict, .visible = true, .sizes = "{\"N\":8}", .error_ratio = 0.5, .time_us = NAN,
		 .floor_us = NAN, .efficiency = NAN, .bytes = NAN, .flops = NAN, .reference_us = NAN, .cublas_us = NAN},
		{.name = "decode", .stage = "timing", .verdict = verdict, .timing = true, .sizes = "{\"N\":4096}", .error_ratio = INFINITY,
		 .time_us = 10, .floor_us = 5, .efficiency = efficiency, .bytes = 1e6, .flops = 2e6, .reference_us = NAN, .cublas_us = NAN,
		 .limiter = "DRAM"},
	};
	struct store_outcome o = {
		.version = job->version, .verdict = verdict, .text = "so it is", .score = score, .efficiency = efficiency, .time_us = 10,
		.cases = cases, .n_cases = 2, .report = "{\"seed\":1}", .report_size = 10, .report_public = "{}", .report_public_size = 2, .ptx = "// ptx",
	};
	OK(store_finish(fix_store, job->judging, job->token, &o, &fix_err));
}

#endif
