/* The cost of a jail, and the compile step against `nvcc -c` of the same source, in turns so that both meet the same load. */
#include "sandbox/compile.h"
#include "sandbox/jail.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const char source[] = "__global__ void scale(const float *x, float *y, int n)\n"
			     "{\n"
			     "\tint i = blockIdx.x * blockDim.x + threadIdx.x;\n"
			     "\tif (i < n)\n"
			     "\t\ty[i] = 2 * x[i];\n"
			     "}\n"
			     "extern \"C\" void solve(const float *x, float *y, int n)\n"
			     "{\n"
			     "\tscale<<<(n + 255) / 256, 256>>>(x, y, n);\n"
			     "}\n";

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *ms, int n)
{
	qsort(ms, (size_t)n, sizeof *ms, by_value);
	return ms[n / 2];
}

/* A static program that only exits: what there is to a guest's jail beside the guest. */
static int build_nothing(void)
{
	char path[] = "/tmp/jail-bench-XXXXXX", command[200];
	int made = mkstemp(path);
	snprintf(command, sizeof command, "echo 'int main(void) { return 0; }' | gcc -static -x c -o %s -", path);
	if (made < 0 || system(command) != 0)
		exit(1);
	close(made);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	return fd;
}

/* exe -1: /bin/true in a compile jail. */
static void run_jail(int exe)
{
	static const struct jail_mount mounts[] = {{"/bin", "/bin"}, {"/lib", "/lib"}, {"/lib64", "/lib64"}};
	const char *argv[] = {"/bin/true", NULL};
	struct jail_spec s = {.policy = exe < 0 ? JAIL_COMPILE : JAIL_GUEST, .name = "bench", .argv = argv, .exe_fd = exe, .stdin_fd = -1,
			      .stdout_fd = -1, .stderr_fd = -1, .mounts = mounts, .n_mounts = exe < 0 ? 3 : 0,
			      .limits = {.wall_ms = 20000, .memory = 64 << 20, .processes = 4, .output = 4096}};
	struct jail_result r;
	struct err e = {0};
	if (jail_run(&s, &r, &e) < 0 || r.end != JAIL_EXITED || r.status) {
		fprintf(stderr, "a jail failed: %s\n", e.text);
		exit(1);
	}
	jail_result_free(&r);
}

static void jails(const char *what, int exe)
{
	enum { RUNS = 51 };
	double ms[RUNS];
	for (int i = 0; i < RUNS; i++) {
		double start = now_ms();
		run_jail(exe);
		ms[i] = now_ms() - start;
	}
	printf("%-46s %8.1f ms  (median of %d)\n", what, median(ms, RUNS), RUNS);
}

enum { AT_ONCE = 8, EACH = 20 };

/* As many jails as a busy server has, whose starts and ends meet in the kernel. */
static void *several(void *exe)
{
	for (int i = 0; i < EACH; i++)
		run_jail(*(int *)exe);
	return NULL;
}

static void jails_at_once(int exe)
{
	pthread_t t[AT_ONCE];
	double start = now_ms();
	for (int i = 0; i < AT_ONCE; i++)
		if (pthread_create(&t[i], NULL, several, &exe) != 0)
			exit(1);
	for (int i = 0; i < AT_ONCE; i++)
		pthread_join(t[i], NULL);
	printf("guest jails, %d at once                         %8.1f ms  a jail\n", AT_ONCE, (now_ms() - start) / (AT_ONCE * EACH));
}

/* fresh: a source that was never compiled.  word: in a comment, for compile_look.c to see. */
static double compile_once(bool fresh, const char *word)
{
	static unsigned n;
	char text[sizeof source + 60];
	snprintf(text, sizeof text, "%s// %s %u\n", source, word, fresh ? ++n : 0);
	struct compile_request rq = {.source = text, .size = strlen(text), .name = "bench.cu", .arch = "90", .entry = "solve",
				     .prelude = "extern \"C\" void solve(const float *x, float *y, int n);\n"};
	struct arena *a = arena_new();
	struct compiled c;
	struct err e;
	double start = now_ms();
	if (compile(&rq, a, &c, &e) < 0 || !c.ok) {
		fprintf(stderr, "compile step: %s\n", c.guest_fd < 0 && c.why_not ? c.why_not : e.text);
		exit(1);
	}
	double ms = now_ms() - start;
	compiled_close(&c);
	arena_free(a);
	return ms;
}

/* Processor time of all that has been waited for, and our own. */
static double cpu_ms(void)
{
	double ms = 0;
	for (int i = 0; i < 2; i++) {
		struct rusage u;
		getrusage(i ? RUSAGE_CHILDREN : RUSAGE_SELF, &u);
		ms += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
	}
	return ms;
}

/* What is kept, and what is not, in turns. */
static void kept(void)
{
	static const struct {
		const char *name, *word;
		bool cached, fresh;
	} ways[] = {
		{"processor time with nothing kept", "", false, true},
		{"headers precompiled for the host compiler", "push_macro", true, true},
		{"and preprocessed", "beta", true, true},
		{"and without special functions", "", true, true},
		{"the result kept", "", true, false},
	};
	enum { WAYS = sizeof ways / sizeof *ways, RUNS = 7 };
	double ms[WAYS][RUNS];
	char *cache = strdup(getenv("JUDGE_CACHE"));
	for (int w = 1; w < WAYS; w++)
		compile_once(ways[w].fresh, ways[w].word);
	for (int i = 0; i < RUNS; i++)
		for (int w = 0; w < WAYS; w++) {
			setenv("JUDGE_CACHE", ways[w].cached ? cache : "", 1);
			double start = cpu_ms();
			compile_once(ways[w].fresh, ways[w].word);
			ms[w][i] = cpu_ms() - start;
		}
	setenv("JUDGE_CACHE", cache, 1);
	free(cache);
	double all = median(ms[0], RUNS);
	for (int w = 0; w < WAYS; w++)
		printf("%-46s %8.0f ms  %6.2f x\n", ways[w].name, median(ms[w], RUNS), median(ms[w], RUNS) / all);
}

static void compilations(void)
{
	enum { RUNS = 5 };
	double ours[RUNS], theirs[RUNS];
	struct err e;
	const struct toolchain *t = toolchain_find(&e);
	char dir[] = "/tmp/compile-bench-XXXXXX", path[64], command[600];
	if (!t || !mkdtemp(dir)) {
		fprintf(stderr, "%s\n", t ? "cannot make a folder in /tmp" : e.text);
		exit(1);
	}
	unsetenv("JUDGE_CACHE_MIB");
	setenv("JUDGE_CACHE", dir, 1);
	snprintf(path, sizeof path, "%s/bench.cu", dir);
	FILE *f = fopen(path, "w");
	fputs(source, f);
	fclose(f);
	snprintf(command, sizeof command, "%s/bin/nvcc -arch=compute_90 -lineinfo -c -o %s/bench.o %s", t->root, dir, path);
	compile_once(true, "");			/* makes the kept headers */
	for (int i = 0; i < RUNS; i++) {
		ours[i] = compile_once(true, "");
		theirs[i] = now_ms();
		if (system(command) != 0)
			exit(1);
		theirs[i] = now_ms() - theirs[i];
	}
	double a = median(ours, RUNS), b = median(theirs, RUNS);
	printf("nvcc -c                                        %8.0f ms  (median of %d)\n", b, RUNS);
	printf("compile step: PTX, registers, linked guest     %8.0f ms  %6.2f x\n", a, a / b);
	kept();
	snprintf(command, sizeof command, "rm -r %s", dir);
	if (system(command) != 0)
		exit(1);
}

int main(void)
{
	int exe = build_nothing();
	jails("guest jail, around a program that only exits", exe);
	jails("compile jail, around true", -1);
	jails_at_once(exe);
	close(exe);
	compilations();
	return 0;
}
