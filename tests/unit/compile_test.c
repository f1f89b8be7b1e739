/* The compile step with the real nvcc.  Each compilation takes a second or two, so they are few. */
#include "sandbox/base/cleanup.h"
#include "sandbox/compile.h"
#include "tests/unit/need_compiler.h"
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char prelude[] = "extern \"C\" void solve(const float *x, float *y, int n);\n";
static const char textbook[] = "__global__ void scale(const float *x, float *y, int n)\n"
			       "{\n"
			       "\tint i = blockIdx.x * blockDim.x + threadIdx.x;\n"
			       "\tif (i < n)\n"
			       "\t\ty[i] = 2 * x[i];\n"
			       "}\n"
			       "extern \"C\" void solve(const float *x, float *y, int n)\n"
			       "{\n"
			       "\tscale<<<(n + 255) / 256, 256>>>(x, y, n);\n"
			       "}\n";

static struct arena *a;

static void start(void)
{
	need_compiler();
	a = arena_new();
}

static struct compiled compile_for(const char *arch, const char *source, const char *entry)
{
	struct compile_request rq = {.source = source, .size = strlen(source), .name = "my.cu", .prelude = entry ? prelude : NULL,
				     .entry = entry, .arch = arch};
	struct compiled c;
	struct err e = {0};
	CHECK_MSG(compile(&rq, a, &c, &e) == 0, "%s", e.text);
	return c;
}

static struct compiled compile_text(const char *source, const char *entry)
{
	return compile_for("90", source, entry);
}

static bool same_file(int x, int y)
{
	static char p[1 << 16], q[1 << 16];
	for (off_t at = 0;;) {
		ssize_t n = pread(x, p, sizeof p, at), m = pread(y, q, sizeof q, at);
		if (n != m || n < 0 || memcmp(p, q, (size_t)n) != 0)
			return false;
		if (n == 0)
			return at > 0;
		at += n;
	}
}

static void check_error(const char *source, int line, const char *text)
{
	struct compiled c = compile_text(source, "solve");
	CHECK(!c.ok && c.guest_fd == -1 && c.n_diagnostics > 0);
	for (size_t i = 0; i < c.n_diagnostics; i++)
		if (c.diagnostics[i].severity == DIAGNOSTIC_ERROR) {
			CHECK_STR(c.diagnostics[i].text, text);
			CHECK_STR(c.diagnostics[i].file, "my.cu");
			CHECK_EQ(c.diagnostics[i].line, line);
			return;
		}
	test_fail(__FILE__, __LINE__, "no error among the diagnostics");
}

/* With an empty cache the first compilation does without the precompiled prefix and makes it, and the second has it. */
TEST_WITHIN(textbook_kernel, 120)
{
	start();
	char cache[] = "/tmp/compile-test-XXXXXX", command[100];
	CHECK(mkdtemp(cache));
	setenv("JUDGE_CACHE", cache, 1);
	struct compiled c = compile_text(textbook, "solve");
	CHECK_MSG(c.ok, "%s: %s", c.why_not, c.log);
	CHECK(strstr(c.ptx, ".visible .entry _Z5scalePKfPfi(") && strstr(c.ptx, ".loc"));
	CHECK_EQ(c.ptx_size, strlen(c.ptx));
	CHECK_EQ(c.n_diagnostics, 0);
	CHECK_EQ(c.n_kernels, 1);
	CHECK_STR(c.kernels[0].name, "_Z5scalePKfPfi");
	CHECK(c.kernels[0].registers > 0 && c.kernels[0].shared == 0);
	CHECK_EQ(fcntl(c.guest_fd, F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	snprintf(command, sizeof command, "test $(ls %s/prefix-*.h.gch | wc -l) = 1", cache);
	CHECK_EQ(system(command), 0);
	snprintf(command, sizeof command, "rm -r %s/compiled", cache);	/* else that would be all there is to it */
	CHECK_EQ(system(command), 0);
	struct compiled again = compile_text(textbook, "solve");
	CHECK(!again.kept);
	CHECK_MSG(again.ok, "%s: %s", again.why_not, again.log);
	CHECK_STR(again.ptx, c.ptx);
	CHECK(same_file(c.guest_fd, again.guest_fd));
	compiled_close(&c);
	compiled_close(&again);
	CHECK_EQ(c.guest_fd, -1);
	snprintf(command, sizeof command, "rm -r %s", cache);
	CHECK_EQ(system(command), 0);
	arena_free(a);
}

TEST_WITHIN(syntax_error, 60)
{
	start();
	check_error("extern \"C\" void solve(const float *x, float *y, int n)\n{\n\ty[0] = 1\n}\n", 4, "expected a \";\"");
	arena_free(a);
}

TEST_WITHIN(another_signature, 60)
{
	start();
	check_error("int one = 1;\nextern \"C\" void solve(float *y, int n)\n{\n}\n", 2,
		    "the signature of solve differs from the problem's: argument 1 is `float *y` and must be `const float *x`; expected `void solve(const float *x, float *y, int n)`");
	arena_free(a);
}

TEST_WITHIN(functions_that_are_not_there, 60)
{
	start();
	struct compiled c = compile_text("extern \"C\" cudaError_t cudaNoSuchThing(int);\n"
					 "extern \"C\" void solve(const float *x, float *y, int n)\n"
					 "{\n"
					 "\tcudaNoSuchThing(n);\n"
					 "}\n"
					 "int main() { return 0; }\n", "solve");
	bool named = false, clash = false;
	CHECK(!c.ok);
	for (size_t i = 0; i < c.n_diagnostics; i++) {
		const struct diagnostic *d = &c.diagnostics[i];
		named |= !strcmp(d->text, "cudaNoSuchThing is not supported by the judge") && d->line == 4;
		clash |= !strncmp(d->text, "main is the judge's", 19) && d->line == 6;
	}
	CHECK_MSG(named, "%s", c.log);
	CHECK_MSG(clash, "%s", c.log);
	arena_free(a);
}

TEST_WITHIN(nonsense_in_inline_ptx, 60)
{
	start();
	check_error("__global__ void k(float *y)\n{\n\tasm volatile(\"bogus.op %r1;\");\n\ty[0] = 1;\n}\n"
		    "extern \"C\" void solve(const float *x, float *y, int n)\n{\n\tk<<<1, 1>>>(y);\n}\n",
		    3, "ptxas: Unknown modifier '.op'");
	arena_free(a);
}

TEST_WITHIN(an_architectures_own_instructions, 120)
{
	static const char source[] = "__global__ void k()\n"
				     "{\n"
				     "\tasm volatile(\"wgmma.fence.sync.aligned;\");\n"
				     "}\n"
				     "extern \"C\" void solve(const float *, float *, int)\n"
				     "{\n"
				     "\tk<<<1, 128>>>();\n"
				     "}\n";
	start();
	struct compiled c = compile_for("90a", source, "solve");
	CHECK_MSG(c.ok, "%s", c.why_not);
	CHECK(strstr(c.ptx, ".target sm_90a") != NULL);
	compiled_close(&c);
	c = compile_text(source, "solve");
	CHECK(!c.ok);
	CHECK_MSG(strstr(c.diagnostics[0].text, "wgmma.fence") != NULL, "%s", c.diagnostics[0].text);
	arena_free(a);
}

TEST_WITHIN(host_files_cannot_be_included, 60)
{
	start();
	check_error("#if __has_include(\"/etc/passwd\") || __has_include(\"/proc/self/environ\")\n#error it is there\n#endif\n"
		    "#define FILE </etc/group>\n#include FILE\n", 4, "/etc/group: No such file or directory");
	arena_free(a);
}

/* Refused before any compiler is started. */
TEST(what_is_no_source)
{
	struct err e = {0};
	struct compiled c;
	struct compile_request rq = {.source = "int x;\0int y;", .size = 13, .name = "my.cu", .entry = "solve", .arch = "90"};
	if (!toolchain_find(&e))
		test_skip(e.text);
	a = arena_new();
	CHECK_EQ(compile(&rq, a, &c, &e), 0);
	CHECK(!c.ok);
	CHECK_STR(c.why_not, "the source has a NUL byte at offset 6: it is not a text file");
	CHECK_STR(c.diagnostics[0].text, c.why_not);
	rq.size = 10 << 20;
	rq.source = calloc(1, rq.size);
	memset((char *)rq.source, ' ', rq.size);
	CHECK_EQ(compile(&rq, a, &c, &e), 0);
	CHECK_STR(c.why_not, "the source has 10485760 bytes; the limit is 4194304");
	free((char *)rq.source);
	rq = (struct compile_request){.source = "", .name = "my.cu", .entry = "solve; reboot", .arch = "90"};
	CHECK_EQ(compile(&rq, a, &c, &e), -1);
	arena_free(a);
}
