/* cuBLAS, asked in a process of its own: see cublas.h. */
#include "cublas.h"

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/json.h"
#include "../sandbox/device/gemm.h"
#include "gpu_lock.h"
#include "timing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WALL_MS = 60000, OUTPUT = 64 << 10, ATTEMPTS = 2, MAX_MHZ = 100000 };
static const double MAX_US = 1e9;
static const char MEND[] = "it comes with the CUDA Toolkit (libcublas)";

/* ---- the process ---- */

/* Nothing of a submission goes into it, and cuBLAS needs much of the host: not jailed. */
static int run(const char *const *argv, struct jail_result *r, struct err *e)
{
	char search[2000];
	const char *more = getenv("LD_LIBRARY_PATH");
	const char *envp[] = {"CUDA_CACHE_DISABLE=1", more ? search : NULL, NULL};
	CLEANUP_FD int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (exe < 0)
		return err_errno(e, "cannot open /proc/self/exe");
	snprintf(search, sizeof search, "LD_LIBRARY_PATH=%.1980s", more ? more : "");
	struct jail_spec spec = {
		.policy = JAIL_GPU, .name = "cublas", .argv = argv, .envp = envp, .exe_fd = exe, .stdin_fd = -1, .stdout_fd = -1,
		.stderr_fd = -1, .limits = {.wall_ms = WALL_MS, .output = OUTPUT}, .bare = true,
	};
	return jail_run(&spec, r, e);
}

static int ask(const char *const *argv, const struct device_properties *gpu, struct cublas *c, struct kept_time *t, struct err *e)
{
	struct jail_result r = {0};
	if (run(argv, &r, e) < 0)
		return -1;
	int rc;
	if (r.end == JAIL_EXITED && r.status == 0)
		rc = cublas_parse(buf_str(&r.out), r.out.size, gpu, c, t, e);
	else if (r.end == JAIL_EXITED && r.err.size)
		rc = err_system(e, "%.*s", (int)strcspn(buf_str(&r.err), "\n"), buf_str(&r.err));
	else
		rc = err_system(e, "the process that asks cuBLAS ended: %s %d", jail_end_name(r.end), r.status);
	jail_result_free(&r);
	return rc;
}

static const char *toolkit(void)
{
	struct err none = {0};
	const struct toolchain *c = toolchain_find(&none);
	return c ? c->root : "";
}

/* ---- what it prints ---- */

static int parse_text(const struct json *j, const char *field, char *out, size_t size, struct err *e)
{
	const char *s;
	if (json_string(j, json_root(j), field, "a string", &s, e) < 0)
		return -1;
	if (!*s || strlen(s) >= size)
		return json_fail(j, json_get(json_root(j), field), e, "has %zu bytes", strlen(s));
	for (const char *p = s; *p; p++)
		if (*p < ' ' || *p > '~')
			return json_fail(j, json_get(json_root(j), field), e, "has unprintable characters");
	snprintf(out, size, "%s", s);
	return 0;
}

static int parse_gpu(const struct json *j, const struct device_properties *gpu, struct err *e)
{
	char uuid[48], driver[16];
	if (parse_text(j, "uuid", uuid, sizeof uuid, e) < 0 || parse_text(j, "driver", driver, sizeof driver, e) < 0)
		return -1;
	if (strcmp(uuid, gpu->uuid) || strcmp(driver, gpu->driver))
		return json_fail(j, json_root(j), e, "it is of %s with driver %s, not of %s with driver %s", uuid, driver, gpu->uuid, gpu->driver);
	return 0;
}

static int parse_clocks(const struct json *j, struct kept_time *t, struct err *e)
{
	const struct cJSON *mhz, *most;
	int64_t throttle;
	if (json_array(j, json_root(j), "sm_mhz", "two clocks", &mhz, e) < 0 ||
	    json_integer(j, json_root(j), "throttle", 0, INT64_C(1) << 52, &throttle, e) < 0)
		return -1;
	if (json_count(mhz) != 2 || !json_is_number(json_first(mhz)) || !json_is_number(most = json_next(json_first(mhz))))
		return json_fail(j, mhz, e, "is not two clocks");
	t->disturbed = throttle != 0 || json_value(json_first(mhz)) < (1 - TIMING_CLOCK_CHANGE) * json_value(most);
	return 0;
}

static int parse_times(const struct json *j, struct kept_time *t, struct err *e)
{
	const struct cJSON *list;
	double us[GEMM_PASSES];
	unsigned n = 0;
	if (json_array(j, json_root(j), "us", "a list of times", &list, e) < 0)
		return -1;
	if (json_count(list) < GEMM_PASSES_MIN || json_count(list) > GEMM_PASSES)
		return json_fail(j, list, e, "has %zu times", json_count(list));
	for (const struct cJSON *v = json_first(list); v; v = json_next(v)) {
		if (!json_is_number(v) || !(json_value(v) > 0) || json_value(v) > MAX_US)
			return json_fail(j, v, e, "is no time");
		us[n++] = json_value(v);
	}
	t->passes = n;
	timing_median(us, n, &t->us, &t->low_us, &t->high_us, &t->spread);
	t->disturbed |= t->spread > TIMING_STEADY;
	return 0;
}

int cublas_parse(const char *text, size_t size, const struct device_properties *gpu, struct cublas *c, struct kept_time *t,
		 struct err *e)
{
	static const char *const found[] = {"cublas", "library", NULL};
	static const char *const measured[] = {"cublas", "library", "uuid", "driver", "sm_mhz", "throttle", "us", NULL};
	CLEANUP(json_freep) struct json *j = json_parse(text, size, "what cuBLAS's process printed", e);
	if (!j)
		return -1;
	if (!json_is_object(json_root(j)))
		return json_fail(j, json_root(j), e, "an object is expected");
	if (json_only(j, json_root(j), gpu ? measured : found, e) < 0 || parse_text(j, "cublas", c->version, sizeof c->version, e) < 0 ||
	    parse_text(j, "library", c->library, sizeof c->library, e) < 0)
		return -1;
	return gpu && (parse_gpu(j, gpu, e) < 0 || parse_clocks(j, t, e) < 0 || parse_times(j, t, e) < 0) ? -1 : 0;
}

/* ---- cublas.h ---- */

int cublas_find(struct cublas *out, struct err *e)
{
	const char *const argv[] = {"judge", "__cublas", toolkit(), NULL};
	if (ask(argv, NULL, out, NULL, e) == 0)
		return 0;
	return err_system(e, "%.*s; %s", (int)(sizeof e->text / 2), e->text, MEND);
}

int cublas_measure(const struct device_properties *gpu, const struct gemm_shape *s, struct kept_time *out, struct err *e)
{
	char m[24], n[24], k[24], sets[24];
	const char *const argv[] = {"judge", "__cublas", toolkit(), gpu->uuid, m, n, k, sets, NULL};
	uint64_t bytes = 2 * ((uint64_t)s->m * (uint64_t)s->k + (uint64_t)s->n * (uint64_t)s->k + (uint64_t)s->m * (uint64_t)s->n);
	struct kept_time t = {.sets = timing_sets(bytes, 0, gpu->l2_bytes, 0), .disturbed = true};
	struct cublas c;
	snprintf(m, sizeof m, "%lld", (long long)s->m);
	snprintf(n, sizeof n, "%lld", (long long)s->n);
	snprintf(k, sizeof k, "%lld", (long long)s->k);
	snprintf(sets, sizeof sets, "%u", t.sets);
	CLEANUP_FD int lock = gpu_lock(gpu->uuid, GPU_ALONE, e);
	if (lock < 0)
		return -1;
	for (unsigned i = 0; i < ATTEMPTS && t.disturbed; i++)
		if (ask(argv, gpu, &c, &t, e) < 0)
			return err_wrap(e, "cuBLAS, M=%s N=%s K=%s", m, n, k);
	*out = t;
	return 0;
}
