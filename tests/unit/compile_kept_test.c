/* The kept headers: both passes of the preprocessor with them and without, which must come to the same tokens at the same places. */
#include "judge/problem.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/compile_look.h"
#include "sandbox/compile_plan.h"
#include "sandbox/compile_prefix.h"
#include "tests/unit/need_compiler.h"
#include "tests/unit/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char cache[PATH_MAX];
static bool own_cache;
static const char *const no_options[] = {NULL};
static const char half_prelude[] = "#include <stdint.h>\n#include <cuda_fp16.h>\nextern \"C\" void solve(const float *x, half *y, int n);\n";

/* What one way made of a source. */
struct way {
	struct buf told, ptx, front, device;
	bool kept;		/* the kept text was there to be taken */
};

enum how { PASSES, WHOLE, SLICED };	/* the preprocessor alone; all of the script; that with slices of the headers */

static void way_free(struct way *w)
{
	buf_free(&w->told);
	buf_free(&w->ptx);
	buf_free(&w->front);
	buf_free(&w->device);
}

static void start_alone(void)
{
	need_compiler();
	strcpy(cache, "/tmp/compile-kept-test-XXXXXX");
	CHECK(mkdtemp(cache));
	own_cache = true;
}

/* With the cache of all suites of this run, if there is one: headers are kept there once. */
static void start(void)
{
	const char *of_run = getenv("JUDGE_CACHE");
	if (!of_run || *of_run != '/' || strlen(of_run) >= sizeof cache) {
		start_alone();
		return;
	}
	need_compiler();
	strcpy(cache, of_run);
}

static void remove_cache(void)
{
	char command[100];
	if (!own_cache)
		return;
	snprintf(command, sizeof command, "rm -r %.80s", cache);
	CHECK_EQ(system(command), 0);
}

/* ---- one way ---- */

/* The plan's script, with all steps but the preprocessor's left out, and their outputs handed over. */
static void only_passes(const char *script, struct buf *out)
{
	static const char begin[] = "run() {\n";
	const char *at = strstr(script, begin);
	CHECK(at);
	buf_add(out, script, (size_t)(at - script));
	buf_adds(out, "run() {\ncase $1 in prepare | front-cpp | device-cpp) ;; *) return 0 ;; esac\n");
	buf_adds(out, at + sizeof begin - 1);
	buf_printf(out, "cat solution.cpp4.ii >&%d; cat solution.cpp1.ii >&%d\n", COMPILE_GUEST_FD, COMPILE_CUBIN_FD);
}

static int file_of(const void *data, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	CHECK(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	return fd;
}

static void read_back(int fd, struct buf *out)
{
	struct err e = {0};
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	CHECK_EQ(buf_read_fd(out, fd, "output", 64 << 20, &e), 0);
	close(fd);
}

/* In w->told, at last: of WHOLE the first line that the host compiler saw, of SLICED how much of slices was taken in the end.  Of both,
 * w->front is the guest. */
static void run_way_of(const struct compile_request *rq, bool kept, enum how how, struct way *w)
{
	struct jail_mount mounts[COMPILE_MOUNTS];
	const char *argv[COMPILE_ARGS];
	CLEANUP_BUF struct buf script = {0};
	struct compile_prefix prefix;
	struct jail_result r = {0};
	struct jail_spec s;
	struct err e = {0};
	const struct toolchain *t = toolchain_find(&e);
	const char *all = compile_script(rq, t, &e);
	CHECK_MSG(all, "%s", e.text);
	if (how == PASSES)
		only_passes(all, &script);
	else
		buf_printf(&script, "%s\n%s\n", all, how == WHOLE ? "head -n 1 solution.cudafe1.cpp" : "echo sliced $(cat slice.device.ii | wc -c) $(cat slice.front.ii | wc -c)");
	CLEANUP_FD int library = open(guest_library_path(&e), O_RDONLY | O_CLOEXEC);
	struct jail_fd fds[] = {{file_of(rq->source, rq->size), COMPILE_SOURCE_FD},
				{file_of(rq->prelude, strlen(rq->prelude)), COMPILE_PRELUDE_FD},
				{how != PASSES ? dup(library) : file_of("", 0), COMPILE_LIBRARY_FD}, {file_of("", 0), COMPILE_PTX_FD},
				{file_of("", 0), COMPILE_GUEST_FD}, {file_of("", 0), COMPILE_CUBIN_FD}, {file_of("", 0), COMPILE_SLICE_FD}};
	for (int i = 0; i < 3; i++)
		lseek(fds[i].host, 0, SEEK_SET);
	setenv("JUDGE_CACHE", kept ? cache : "", 1);
	compile_jail(&s, rq, t, buf_str(&script), mounts, argv);
	compile_prefix_open(&prefix, rq, t);
	unsigned n = compile_prefix_mounts(&prefix, mounts + s.n_mounts);
	w->kept = n == N_PREFIX_FILES;
	s.n_mounts += n;
	if (how == SLICED) {
		close(fds[6].host);
		fds[6].host = dup(prefix.slices);
	}
	s.fds = fds;
	s.n_fds = sizeof fds / sizeof *fds;
	CHECK_MSG(jail_run(&s, &r, &e) == 0, "%s", e.text);
	compile_prefix_close(&prefix);
	buf_add(&w->told, r.out.data, r.out.size);
	jail_result_free(&r);
	for (int i = 0; i < 7; i += i == 2 ? 4 : 1)
		close(fds[i].host);
	read_back(fds[3].host, &w->ptx);
	read_back(fds[4].host, &w->front);
	read_back(fds[5].host, &w->device);
}

static void run_way(const struct compile_request *rq, bool kept, struct way *w)
{
	run_way_of(rq, kept, PASSES, w);
}

/* ---- what the compilers see ---- */

struct place {
	const char *file;
	size_t size;		/* of the file's name */
	long line;
	bool system;
};

/* # LINE "FILE" FLAGS */
static bool read_marker(const char *line, const char *end, struct place *p)
{
	char *after;
	if (strncmp(line, "# ", 2) != 0)
		return false;
	long number = strtol(line + 2, &after, 10);
	if (after == line + 2 || strncmp(after, " \"", 2) != 0)
		return false;
	const char *file = after + 2, *quote = memrchr(file, '"', (size_t)(end - file));
	CHECK(quote);
	*p = (struct place){file, (size_t)(quote - file), number, memchr(quote, '3', (size_t)(end - quote)) != NULL};
	return true;
}

static bool is_in(const struct place *p, const char *part)
{
	return memmem(p->file, p->size, part, strlen(part)) != NULL;
}

/* Each line that is not blank, with file, number, and whether it is a system header's.  lean: without the special functions. */
static void normalise(const struct buf *text, bool lean, struct buf *out)
{
	struct place p = {"", 0, 0, false};
	for (const char *line = buf_str(text), *end; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (read_marker(line, end, &p))
			continue;
		size_t blank = strspn(line, " \t\r\f\v");
		if (line + blank < end && !(lean && (is_in(&p, "/tr1/") || is_in(&p, "bits/specfun.h"))))
			buf_printf(out, "%.*s:%ld%s: %.*s\n", (int)p.size, p.file, p.line, p.system ? " system" : "",
				   (int)(end - line - (long)blank), line + blank);
		p.line++;
	}
}

static void check_same(const char *name, const char *pass, const struct buf *plain, const struct buf *kept, bool lean)
{
	CLEANUP_BUF struct buf x = {0}, y = {0};
	normalise(plain, lean, &x);
	normalise(kept, lean, &y);
	if (x.size == y.size && !strcmp(buf_str(&x), buf_str(&y)))
		return;
	const char *a = buf_str(&x), *b = buf_str(&y);
	size_t i = 0;
	while (a[i] == b[i])
		i++;
	while (i > 0 && a[i - 1] != '\n')
		i--;
	test_fail(__FILE__, __LINE__, "%s, %s pass:\n%.*s\nwith the kept headers:\n%.*s", name, pass, (int)strcspn(a + i, "\n"), a + i,
		  (int)strcspn(b + i, "\n"), b + i);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The two passes run side by side, and say so in any order. */
static void sort_lines(struct buf *b, struct buf *out)
{
	char *lines[1000], *save;
	size_t n = 0;
	for (char *l = b->size ? strtok_r(b->data, "\n", &save) : NULL; l && n < 1000; l = strtok_r(NULL, "\n", &save))
		lines[n++] = l;
	qsort(lines, n, sizeof *lines, by_text);
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s\n", lines[i]);
}

static void compare(const char *name, const char *source, size_t size, const char *prelude)
{
	struct compile_request rq = {.source = source, .size = size, .name = name, .prelude = prelude, .entry = "solve", .arch = "90",
				     .options = no_options};
	CLEANUP(way_free) struct way plain = {0}, kept = {0};
	CLEANUP_BUF struct buf said = {0}, told = {0};
	enum compile_headers kind = compile_look(source, size);
	run_way(&rq, false, &plain);
	run_way(&rq, true, &kept);
	CHECK(!plain.kept);
	CHECK_MSG(kept.kept == (kind != COMPILE_HEADERS_OWN), "%s: %s", name, kept.kept ? "kept text" : "no kept text");
	check_same(name, "host", &plain.front, &kept.front, kind == COMPILE_HEADERS_LEAN);
	check_same(name, "device", &plain.device, &kept.device, kind == COMPILE_HEADERS_LEAN);
	sort_lines(&plain.told, &said);
	sort_lines(&kept.told, &told);
	CHECK_MSG(!strcmp(buf_str(&said), buf_str(&told)), "%s:\n%s\nwith the kept headers:\n%s", name, buf_str(&said), buf_str(&told));
}

/* Make the kept headers of each kind. */
static void prepare(const char *prelude)
{
	static const char *const sources[] = {"\n", "// beta\n"};
	for (unsigned i = 0; i < 2; i++) {
		struct compile_request rq = {.source = sources[i], .size = strlen(sources[i]), .name = "empty.cu", .prelude = prelude,
					     .entry = "solve", .arch = "90", .options = no_options};
		CLEANUP(way_free) struct way w = {0};
		run_way(&rq, true, &w);
	}
}

/* ---- the tests ---- */

/* Every `step`-th of its samples. */
static void compare_package(const char *id, size_t step)
{
	CLEANUP_BUF struct buf prelude = {0};
	struct err e = {0};
	char pattern[200];
	glob_t found;
	snprintf(pattern, sizeof pattern, "problems/%s", id);
	struct problem *p = problem_open(pattern, &e);
	CHECK_MSG(p, "%s", e.text);
	problem_prelude(p, &prelude);
	prepare(buf_str(&prelude));
	snprintf(pattern, sizeof pattern, "problems/%s/submissions/*/*.cu", id);
	CHECK_EQ(glob(pattern, 0, NULL, &found), 0);
	CHECK(found.gl_pathc > 20);
	for (size_t i = 0; i < found.gl_pathc; i += step) {
		CLEANUP_BUF struct buf source = {0};
		CHECK_EQ(buf_read_file(&source, found.gl_pathv[i], 1 << 20, &e), 0);
		compare(found.gl_pathv[i], buf_str(&source), source.size, buf_str(&prelude));
	}
	globfree(&found);
	problem_close(p);
}

TEST_WITHIN(sample_submissions, 600)
{
	start();
	compare_package("awq-gemv", 1);
	compare_package("w8a8-gemm", 5);
	remove_cache();
}

static const struct {
	const char *name, *source;
} awkward[] = {
	{"nothing", ""},
	{"no newline", "int x;"},
	{"headers again", "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <mma.h>\n#include <cmath>\n#include <math.h>\n#include <assert.h>\n"
			  "#include <stddef.h>\nvoid *p = NULL;\nfloat i = INFINITY;\n"},
	{"more headers", "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n#include <algorithm>\n"
			 "#include <vector>\n#include <cuda_pipeline.h>\n#include <limits.h>\nint x = __COUNTER__;\n"},
	{"a barrier", "#include <cuda/barrier>\n#include <mma.h>\nint x;\n"},
	{"a macro's header", "#define C(a) <a/barrier>\n#define B C(cuda)\n#include B\nint x;\n"},
	{"cub", "#include <cub/cub.cuh>\nint x;\n"},
	{"architecture", "#ifdef __CUDA_ARCH__\n#if __CUDA_ARCH__ >= 900\nint x;\n#else\nint y;\n#endif\n#else\nint z;\n#endif\n"},
	{"removed macros", "#undef INFINITY\n#undef __global__\n#ifdef __CUDA_FP16_H__\nint INFINITY;\n#endif\n#undef assert\n#undef __CUDACC__\n#undef M_PI\n"},
	{"another macro", "#define INFINITY 3\nfloat x = INFINITY;\n"},
	{"another macro of the command line", "#define __CUDACC__ 3\nfloat x = __CUDACC__;\n"},
	{"the same macro", "#define M_PI		3.14159265358979323846\ndouble x = M_PI;\n"},
	{"counters", "int a = __COUNTER__, b = __COUNTER__, c = __INCLUDE_LEVEL__, d = __LINE__;\nconst char *e = __BASE_FILE__, *f = __FILE__;\n"},
	{"the prelude again", "#include \"judge-prelude.h\"\nint x = __LINE__;\n"},
	{"itself", "#if __INCLUDE_LEVEL__ < 3\n#include __FILE__\n#endif\nint x;\n"},
	{"once", "#pragma once\nint x;\n"},
	{"imported", "#import <assert.h>\nint x;\n"},
	{"saved macros", "#pragma push_macro(\"INFINITY\")\n#undef INFINITY\n#pragma pop_macro(\"INFINITY\")\nfloat x = INFINITY;\n"},
	{"saved in two lines", "#pragma push\\\n_macro(\"INFINITY\")\n#undef INFINITY\n#pragma pop_\\ \t\r\nmacro(\"INFINITY\")\nfloat x = INFINITY;\n"},
	{"poison", "#pragma GCC poison INFINITY\nfloat x = INFINITY;\n"},
	{"system", "#pragma GCC system_header\nint x;\n"},
	{"spoken", "#pragma message \"hello\"\n#pragma GCC warning \"no\"\n#warning a warning\nint x;\n"},
	{"no such header", "int a;\n#include <no/such.h>\nint b;\n"},
	{"an error", "int a;\n#error this\nint b;\n"},
	{"unterminated condition", "#if 1\nint x;\n"},
	{"unterminated text", "const char *x = \"abc;\nint y;\n"},
	{"unterminated comment", "int x; /* abc\n"},
	{"unterminated call", "int x = max(1,\n"},
	{"too few arguments", "#include <cassert>\nvoid f() { assert(1, 2); }\n"},
	{"carriage returns", "int x;\r\n#define A \\\r\n3\r\nint y = A;\r\n#if __CUDA_ARCH__\r\nint z;\r\n#endif\r\n"},
	{"another place", "#line 77 \"other.cu\"\nint x = __LINE__;\nconst char *f = __FILE__;\n#error here\n"},
	{"a marker", "# 33 \"other.h\" 1 3\nint x;\n# 3 \"solution.cu\" 2\nint y;\n"},
	{"a byte order mark", "\xef\xbb\xbfint x;\n"},
	{"joined names", "#define J(a, b) a##b\nint x = J(__LI, NE__);\n"},
	{"special functions", "#include <cmath>\nfloat f(float x) { return std::riemann_zeta(x) + std::beta(x, x); }\n"},
	{"special functions of old", "#include <tr1/cmath>\nfloat f(float x) { return std::tr1::assoc_laguerre(1, 1, x); }\n"},
	{"what the special functions bring", "float f(float x) { return std::min(x, std::numeric_limits<float>::max()); }\n"
					     "static_assert(std::is_same<int, int>::value, \"\");\nint y = __cpp_lib_math_special_functions;\n"},
	{"questions", "#if __has_include(<tuple>) && __has_include_next(<tuple>) && defined __has_cpp_attribute\nint x;\n#endif\n#if __has_include(\"judge-prelude.h\")\nint y;\n#endif\n"},
	{"assertions", "#assert machine(judge)\n#if #machine(judge)\nint x;\n#endif\n#if #cpu(x86_64)\nint y;\n#endif\n"},
	{"odd directives", "#ident \"x\"\n#sccs \"y\"\n#nonsense\n%:define A 1\nint x = A;\n"},
};

TEST_WITHIN(awkward_sources, 400)
{
	start();
	prepare(half_prelude);
	for (unsigned i = 0; i < sizeof awkward / sizeof *awkward; i++)
		compare(awkward[i].name, awkward[i].source, strlen(awkward[i].source), half_prelude);
	remove_cache();
}

/* Without a prelude's headers, as a whole program has it. */
TEST_WITHIN(no_prelude, 60)
{
	static const char source[] = "#include <cstdio>\nint main() { printf(\"%f\", INFINITY); }\n";
	start();
	prepare("");
	compare("program", source, strlen(source), "");
	remove_cache();
}

/* With each kind, what the front end makes of the headers is what the host compiler has precompiled. */
TEST_WITHIN(precompiled_prefix_is_taken, 120)
{
	static const char *const before[] = {"", "// beta", "// push_macro"};
	static const char taken[] = "@done\n#include \"" COMPILE_PREFIX "\"\n";
	start();
	prepare(half_prelude);
	for (unsigned i = 0; i < sizeof before / sizeof *before; i++) {
		CLEANUP_BUF struct buf source = {0};
		CLEANUP(way_free) struct way w = {0};
		buf_printf(&source, "%s\n__global__ void k() {}\nextern \"C\" void solve(const float *x, half *y, int n) { k<<<1, 1>>>(); }\n", before[i]);
		struct compile_request rq = {.source = buf_str(&source), .size = source.size, .name = "my.cu", .prelude = half_prelude,
					     .entry = "solve", .arch = "90", .options = no_options};
		run_way_of(&rq, true, WHOLE, &w);
		CHECK_MSG(w.told.size > sizeof taken && !strcmp(w.told.data + w.told.size - (sizeof taken - 1), taken), "%u: %s", i, w.told.data);
		CHECK(w.front.size > 1000);		/* the guest */
	}
	remove_cache();
}

/* ---- slices ---- */

/* The log's lines, without what steps say of themselves, and without how long ptxas took. */
static void words_of(const struct buf *told, struct buf *out)
{
	for (const char *line = buf_str(told), *end; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (strncmp(line, "@+", 2) != 0 && strncmp(line, "@=", 2) != 0 && strncmp(line, "sliced ", 7) != 0 &&
		    strncmp(line, "@log ptxas ", 11) != 0 && strncmp(line, "ptxas info    : Compile time", 28) != 0)
			buf_printf(out, "%.*s\n", (int)(end - line), line);
	}
}

enum taken { NEITHER, BOTH, EITHER };	/* which of the two slices serve; EITHER: as may be */

static void compare_sliced(const char *name, const char *source, size_t size, enum taken taken, const char *prelude, unsigned wall_ms)
{
	struct compile_request rq = {.source = source, .size = size, .name = name, .prelude = prelude, .entry = "solve", .arch = "90",
				     .options = no_options, .wall_ms = wall_ms};
	CLEANUP(way_free) struct way whole = {0}, sliced = {0};
	CLEANUP_BUF struct buf said = {0}, told = {0};
	unsigned long device = 0, front = 0;
	run_way_of(&rq, false, SLICED, &whole);
	run_way_of(&rq, true, SLICED, &sliced);
	const char *sizes = strstr(buf_str(&sliced.told), "sliced ");
	CHECK(sizes && sscanf(sizes, "sliced %lu %lu", &device, &front) == 2);
	CHECK_MSG(taken == EITHER || ((device > 0) == (taken == BOTH) && (front > 0) == (taken == BOTH)), "%s: of slices, %lu and %lu bytes were taken", name, device, front);
	CHECK_MSG(device < 600000 && front < 600000, "%s: slices of %lu and %lu bytes", name, device, front);
	CHECK_MSG(whole.ptx.size == sliced.ptx.size && !memcmp(buf_str(&whole.ptx), buf_str(&sliced.ptx), whole.ptx.size), "%s: other PTX", name);
	CHECK_MSG(whole.front.size == sliced.front.size && !memcmp(buf_str(&whole.front), buf_str(&sliced.front), whole.front.size),
		  "%s: another guest", name);
	words_of(&whole.told, &said);
	words_of(&sliced.told, &told);
	CHECK_MSG(!strcmp(buf_str(&said), buf_str(&told)), "%s:\n%s\nwith slices:\n%s", name, buf_str(&said), buf_str(&told));
}

#define SOLVE "extern \"C\" void solve(const float *x, half *y, int n) { k<<<1, 32>>>(x, y, n); }\n"
#define KERNEL "__global__ void k(const float *x, half *y, int n)\n"

static const struct {
	const char *name, *source;
	enum taken taken;
} to_slice[] = {
	{"little", KERNEL "{ y[0] = x[0]; }\n" SOLVE, BOTH},
	{"intrinsics", KERNEL "{ float a = __shfl_xor_sync(~0u, __ldg(x), 1) + rsqrtf(x[1]) + abs(x[2]) + min(x[3], 2.0f); y[0] = __hfma(__float2half(a), y[1], "
		       "y[2]) + y[3]; atomicAdd((float *)y + 4, a); __nanosleep(8); y[5] = __uint_as_float(clock() + __popc(n)); }\n" SOLVE, BOTH},
	{"halves", KERNEL "{ half2 a = {y[0], y[1]}; a += __float2half2_rn(x[0]); a = -a * a / a; y[2] = a.x > a.y ? a.x : half(2); y[3] = (float)y[4] + n; "
		   "y[5] = hsqrt(y[6]); y[7] = __half(short(n)); }\n" SOLVE, BOTH},
	{"the library", "#include <cstdint>\n#include <cstring>\n" KERNEL "{ uint32_t a; memcpy(&a, x, 4); y[0] = std::numeric_limits<float>::max() * std::is_same<int, "
			"int>::value + std::min(a, 3u); int64_t b = INT64_C(3); y[1] = (float)b; }\n" SOLVE, NEITHER},	/* INT64_C joins */
	{"structured bindings", KERNEL "{ std::pair<int, float> p{n, x[0]}; auto [a, b] = p; y[a] = b; }\n" SOLVE, EITHER},
	{"outputs", "#include <cstdio>\n#include <cassert>\n" KERNEL "{ assert(n > 0); printf(\"%d\", n); y[0] = *(float *)malloc(4); }\n" SOLVE, EITHER},
	{"a name that is a namespace", "constexpr int nv = 4;\n" KERNEL "{ y[0] = x[nv]; }\n" SOLVE, EITHER},
	{"a function of a struct", KERNEL "{ char1 c = make_char1(3); y[0] = c.x; }\nextern \"C\" void solve(const float *x, half *y, int n) { cudaExtent e = "
				   "make_cudaExtent(1, 2, 32); k<<<1, e.depth>>>(x, y, n); }\n", BOTH},
	{"another header", "#include <mma.h>\n" KERNEL "{ y[0] = x[0]; }\n" SOLVE, NEITHER},
	{"a warning", KERNEL "{ int unused; y[0] = x[0]; }\n" SOLVE, EITHER},
	{"an error", KERNEL "{ y[0] = no_such_function(x[0]); }\n" SOLVE, EITHER},
	{"a host error", KERNEL "{ y[0] = x[0]; }\nvoid f() { asm(\"nonsense here\"); }\n" SOLVE, EITHER},
	{"runtime", KERNEL "{ y[0] = x[0]; }\nextern \"C\" void solve(const float *x, half *y, int n) { cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); cudaStream_t s; "
		    "cudaStreamCreate(&s); cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 99999); k<<<p.multiProcessorCount, 32, 99999, "
		    "s>>>(x, y, n); cudaMemcpyAsync(y, x, 4, cudaMemcpyDeviceToDevice, s); if (cudaGetLastError() != cudaSuccess) return; "
		    "cudaStreamDestroy(s); }\n", BOTH},
};

TEST_WITHIN(slices, 300)
{
	start();
	prepare(half_prelude);
	for (unsigned i = 0; i < sizeof to_slice / sizeof *to_slice; i++)
		compare_sliced(to_slice[i].name, to_slice[i].source, strlen(to_slice[i].source), to_slice[i].taken, half_prelude, 0);
	remove_cache();
}

/* Of twenty seconds a try has one, which is not enough for this; then the whole text is taken. */
TEST_WITHIN(slow_source, 100)
{
	static const char source[] =
		"constexpr long f(int n) { long s = 0; for (int i = 0; i < n; i++) s = (s + (i ^ (s >> 3))) & 0xffff; return s; }\n"
		"template <int N> struct t { static constexpr long v = f(25000 + N) + t<N - 1>::v; };\ntemplate <> struct t<0> { static constexpr long v = 0; };\n"
		KERNEL "{ y[0] = x[0] + t<90>::v; }\n" SOLVE;
	start();
	prepare(half_prelude);
	compare_sliced("slow", source, strlen(source), NEITHER, half_prelude, 20000);
	remove_cache();
}

/* A sample of each kind of kernel. */
TEST_WITHIN(sliced_samples, 300)
{
	static const char *const samples[] = {"reference.cu", "starter.cu", "submissions/accepted/step7_whole_tiles.cu", "submissions/accepted/step5_tensor_cores.cu",
					      "submissions/accepted/block_per_row.cu"};
	CLEANUP_BUF struct buf prelude = {0};
	struct err e = {0};
	start();
	struct problem *p = problem_open("problems/w8a16-gemv", &e);
	CHECK_MSG(p, "%s", e.text);
	problem_prelude(p, &prelude);
	prepare(buf_str(&prelude));
	for (unsigned i = 0; i < sizeof samples / sizeof *samples; i++) {
		CLEANUP_BUF struct buf source = {0};
		char path[200];
		snprintf(path, sizeof path, "problems/w8a16-gemv/%s", samples[i]);
		CHECK_EQ(buf_read_file(&source, path, 1 << 20, &e), 0);
		compare_sliced(samples[i], buf_str(&source), source.size, BOTH, buf_str(&prelude), 0);
	}
	problem_close(p);
	remove_cache();
}

/* A list with a header that has changed since: all is made again. */
TEST_WITHIN(changed_header, 120)
{
	char command[300];
	start_alone();
	prepare("");
	snprintf(command, sizeof command, "for f in %.80s/*.headers; do sed -i '1s/.*/0123456789abcdef/' $f; done", cache);
	CHECK_EQ(system(command), 0);
	prepare("");
	compare("after", "int x;\n", 7, "");
	remove_cache();
}

TEST(looks)
{
	static const struct {
		const char *source;
		enum compile_headers kind;
	} cases[] = {
		{"", COMPILE_HEADERS_LEAN},
		{"__global__ void k(float *x) { x[0] = erff(x[1]) + \"\\n\"[0]; }", COMPILE_HEADERS_LEAN},
		{"float beta;", COMPILE_HEADERS_FULL},
		{"alphabetagamma", COMPILE_HEADERS_FULL},
		{"be\\\nta", COMPILE_HEADERS_FULL},
		{"be\\ \t\r\nta", COMPILE_HEADERS_FULL},
		{"be\\\n\\\nta", COMPILE_HEADERS_FULL},
		{"be\\ta", COMPILE_HEADERS_LEAN},
		{"be\nta\\", COMPILE_HEADERS_LEAN},
		{"std::cyl_bessel_i(0, x)", COMPILE_HEADERS_FULL},
		{"#define A(x, y) x##y", COMPILE_HEADERS_FULL},
		{"#define A(x, y) x#\\\n#y", COMPILE_HEADERS_FULL},
		{"#define A(x, y) x%:%:y", COMPILE_HEADERS_FULL},
		{"b\\u0065ta", COMPILE_HEADERS_FULL},
		{"#include <tr1/cmath>", COMPILE_HEADERS_FULL},
		{"#include <cub/cub.cuh>", COMPILE_HEADERS_OWN},
		{"#include NAME", COMPILE_HEADERS_OWN},
		{"#if __has_include(NAME)", COMPILE_HEADERS_OWN},
		{"#/**/include NAME", COMPILE_HEADERS_OWN},
		{"%: include NAME", COMPILE_HEADERS_OWN},
		{"// include the tail, which is included", COMPILE_HEADERS_LEAN},
		{"#include <cuda_fp16.h>\n# include\t\"x\"\n#include_next <y>\n#if __has_include (<z>)", COMPILE_HEADERS_LEAN},
		{"#pragma push_macro(\"beta\")", COMPILE_HEADERS_OWN},
		{"_Pragma(\"pop_mac\\\nro(\\\"A\\\")\")", COMPILE_HEADERS_OWN},
	};
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
		CHECK_MSG(compile_look(cases[i].source, strlen(cases[i].source)) == cases[i].kind, "%s", cases[i].source);
}
