/* judge doctor: what works on this machine, what does not, and what mends it. */
#include "command.h"

#include "../sandbox/base/arena.h"
#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/cores.h"
#include "../sandbox/compile.h"
#include "../sandbox/compile_cache.h"
#include "../sandbox/jail.h"
#include "../sandbox/ptx/profile.h"
#include "cublas.h"
#include "calibration.h"
#include "device_choice.h"
#include "oracle.h"
#include "paths.h"
#include "problem.h"
#include "term.h"

#include <stdarg.h>
#include <stdlib.h>

enum state { GOOD, POOR, BROKEN };

struct doctor {
	struct term t;
	bool broken, gpu;
};

__attribute__((format(printf, 4, 5)))
static void tell(struct doctor *d, enum state s, const char *what, const char *fmt, ...)
{
	static const char *const marks[][2] = {{"ok", "✓"}, {"--", "·"}, {"NO", "✗"}};
	static const enum style styles[] = {STYLE_GOOD, STYLE_WARN, STYLE_BAD};
	char text[1500];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	term_put(&d->t, styles[s], "  %s ", marks[s][d->t.utf8]);
	int at = 32 + (d->t.utf8 ? 0 : 1);
	fprintf(d->t.file, "%-28s", what);
	term_wrap(&d->t, text, at, at);
	fputc('\n', d->t.file);
	d->broken |= s == BROKEN;
}

static void ask_jail(struct doctor *d)
{
	static const char *const cgroups[] = {
		"none", "version 1: memory and processes of a whole jail are limited; processor time is counted process by process",
		"version 2: memory, processes and processor time of a whole jail are limited"};
	struct jail_host h;
	jail_host(&h);
	if (h.usable)
		tell(d, GOOD, "jail", "one was built and a program ran in it: other people's code may be run");
	else
		tell(d, BROKEN, "jail", "%s; only one's own code can be run here, by judge FILE.cu --no-sandbox", h.why);
	if (!h.namespaces)
		tell(d, BROKEN, "namespaces", "%s", *h.mend ? h.mend : "the kernel makes none for this user: run the judge as root");
	else if (!h.user_namespaces)
		tell(d, h.usable ? POOR : BROKEN, "namespaces", "by root's power, without user namespaces, which would be one wall more: %s", h.mend);
	else
		tell(d, h.usable ? GOOD : POOR, "namespaces", "user, pid, mount, net, ipc, uts, cgroup%s%s", *h.mend ? "; but " : "", h.mend);
	tell(d, h.seccomp ? GOOD : BROKEN, "seccomp", "%s", h.seccomp ? "system calls can be filtered" : "the kernel has no seccomp filters: it needs "
	     "CONFIG_SECCOMP_FILTER");
	if (h.landlock)
		tell(d, GOOD, "Landlock", "version %d%s", h.landlock, h.landlock < 4 ? " (of files; from 4 on of the network too)" : "");
	else
		tell(d, POOR, "Landlock", "none: files are kept away by mounts alone; Linux 5.13 has it, boot with lsm=landlock,... if it is off");
	tell(d, h.cgroup == CGROUP_NONE || *h.cgroup_note ? POOR : GOOD, "cgroup", "%s%s%s", cgroups[h.cgroup], *h.cgroup_note ? ": " : "",
	     h.cgroup_note);
	tell(d, h.pidfd ? GOOD : POOR, "pidfd", "%s", h.pidfd ? "there" : "missing: Linux 5.3 has it");
}

static void ask_toolchain(struct doctor *d)
{
	struct err e = {0};
	const struct toolchain *c = toolchain_find(&e);
	if (c)
		tell(d, GOOD, "nvcc", "CUDA %s in %s", c->version, c->root);
	else
		tell(d, BROKEN, "nvcc", "%s", e.text);
	bool gcc = access("/usr/bin/gcc", X_OK) == 0;
	tell(d, gcc ? GOOD : BROKEN, "gcc", "%s", gcc ? "for host code and for oracles" : "missing: apt-get install build-essential");
}

/* Nothing that grading needs: on a GPU, times are compared with it. */
static void ask_cublas(struct doctor *d)
{
	struct cublas c;
	struct err e = {0};
	if (cublas_find(&c, &e) == 0)
		tell(d, GOOD, "cuBLAS", "%s, %s: what times on a GPU are compared with", c.version, c.library);
	else
		tell(d, POOR, "cuBLAS", "times on a GPU are not compared with it: %s", e.text);
}

static void ask_file(struct doctor *d, const char *what, const char *path, const char *mend)
{
	bool there = access(path, R_OK) == 0;
	if (there)
		tell(d, GOOD, what, "%s", path);
	else
		tell(d, BROKEN, what, "%s is missing: %s", path, mend);
}

static void ask_profiles(struct doctor *d)
{
	CLEANUP_BUF struct buf names = {0};
	struct err e = {0};
	struct profile p;
	struct profile_ids known;
	for (const char *const *id = profile_list(&known); *id; id++) {
		if (profile_load(*id, &p, &e) < 0) {
			tell(d, BROKEN, "device profiles", "%s", e.text);
			return;
		}
		buf_printf(&names, "%s%s", names.size ? ", " : "", *id);
	}
	if (names.size)
		tell(d, GOOD, "device profiles", "%s", buf_str(&names));
	else
		tell(d, BROKEN, "device profiles", "none: run make");
}

static void ask_problem(struct doctor *d, const char *id)
{
	struct err e = {0};
	CLEANUP(problem_closep) struct problem *p = problem_find(id, &e);
	char what[40];
	unsigned cases = 0;
	for (unsigned i = 0; p && i < p->n_cases; i++)
		cases += !p->cases[i].gpu;
	snprintf(what, sizeof what, "problem %.28s", id);
	if (!p) {
		tell(d, BROKEN, what, "%s", e.text);
		return;
	}
	CLEANUP_FD int fd = oracle_open(p, false, &e);
	if (fd < 0)
		tell(d, BROKEN, what, "%s", e.text);
	else
		tell(d, GOOD, what, "%u cases%s, oracle ready", cases, p->n_cases > cases ? " (and more to time a GPU)" : "");
}

static void ask_problems(struct doctor *d)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	const char *const *ids;
	size_t n;
	struct err e = {0};
	if (problem_ids(a, &ids, &n, &e) < 0 || n == 0) {
		tell(d, BROKEN, "problems", "%s", *e.text ? e.text : "none found");
		return;
	}
	for (size_t i = 0; i < n; i++)
		ask_problem(d, ids[i]);
}

/* A GPU is a bonus; one that is there and can't be used is worth a word. */
static void ask_gpu(struct doctor *d)
{
	struct device_choice c;
	struct err e = {0};
	if (device_choose("gpu:0", false, &c, &e) < 0) {
		tell(d, POOR, "GPU", "%s", e.text);
		return;
	}
	d->gpu = true;
	tell(d, GOOD, "GPU", "%s, driver %s, in a jail of its own", c.properties.name, c.properties.driver);
	struct calibration peaks;
	if (calibration_load(&c.properties, &peaks, &e) < 0)
		tell(d, POOR, "peaks of the GPU", "%s", e.text);
	else
		tell(d, GOOD, "peaks of the GPU", "%.0f GB/s read, measured %s", peaks.read_gbs, peaks.when);
	device_choice_close(&c);
}

static void ask_cache(struct doctor *d)
{
	static const char what[] = "kept compilations";
	struct compile_cache_state c;
	compile_cache_look(&c);
	if (!*c.folder)
		tell(d, POOR, what, "none: no folder for them (JUDGE_CACHE is empty or no absolute path, or HOME is not set), so each source is compiled anew");
	else if (!c.usable)
		tell(d, POOR, what, "none: %s can't be made or written, or others may write to it or to the folder above: chmod go-w both, or set JUDGE_CACHE", c.folder);
	else
		tell(d, GOOD, what, "%zu in %s, %llu of %llu MiB (JUDGE_CACHE_MIB)", c.results, c.folder, (unsigned long long)c.bytes >> 20,
		     (unsigned long long)c.most >> 20);
}

static void ask_threads(struct doctor *d)
{
	const char *isa = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") ? "AVX-512" :
			  __builtin_cpu_supports("avx2") ? "AVX2" : "plain C (slow)";
	tell(d, GOOD, "processor", "%u cores, lanes run on %s", host_cores(), isa);
}

int cmd_doctor(const struct options *o)
{
	struct err e = {0};
	struct doctor d = {0};
	if (options_want(o, COMMAND_doctor, 0, &e) < 0)
		return complain(&e);
	term_of(&d.t, stdout);
	jail_sweep();
	ask_jail(&d);
	ask_toolchain(&d);
	ask_cache(&d);
	ask_cublas(&d);
	ask_threads(&d);
	ask_gpu(&d);
	ask_file(&d, "guest runtime", paths()->libguest, "run make");
	ask_file(&d, "reference library", paths()->libreference, "run make");
	ask_profiles(&d);
	ask_problems(&d);
	term_put(&d.t, d.broken ? STYLE_BAD : STYLE_GOOD, "%s\n",
		 d.broken ? "This machine can't grade yet: see above." : d.gpu ? "This machine can grade, on its GPU and on emulated devices." :
			    "This machine can grade, on emulated devices.");
	return d.broken ? EXIT_JUDGE : 0;
}
