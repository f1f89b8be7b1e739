/* Compiler output as data, from logs of each tool. */
#include "sandbox/base/buf.h"
#include "sandbox/diagnostics.h"
#include "tests/unit/test.h"

#include <string.h>

static struct arena *a;

static size_t parse(const char *log, struct diagnostic **d)
{
	a = arena_new();
	return diagnostics_parse(log, "my.cu", a, d);
}

static void check(const struct diagnostic *d, enum diagnostic_severity severity, const char *file, int line, int column,
		  const char *text)
{
	CHECK_EQ(d->severity, severity);
	CHECK_STR(d->file, file);
	CHECK_EQ(d->line, line);
	CHECK_EQ(d->column, column);
	CHECK_STR(d->text, text);
}

TEST(front_end_errors_have_columns)
{
	struct diagnostic *d;
	size_t n = parse("solution.cu(1): error: identifier \"undefined_name\" is undefined\n"
			 "  __attribute__((global)) void k(float *b){ int unused; b[0] = undefined_name; }\n"
			 "                                                               ^\n"
			 "\n"
			 "solution.cu(2): warning #549-D: variable \"z\" is used before its value is set\n"
			 "  float z[4]; b[1]=z[1];\n"
			 "                   ^\n"
			 "\n"
			 "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n"
			 "\n"
			 "1 error detected in the compilation of \"solution.cu\".\n", &d);
	CHECK_EQ(n, 2);
	check(&d[0], DIAGNOSTIC_ERROR, "my.cu", 1, 49, "identifier \"undefined_name\" is undefined");
	check(&d[1], DIAGNOSTIC_WARNING, "my.cu", 2, 18, "variable \"z\" is used before its value is set");
	arena_free(a);
}

TEST(instantiations_become_notes)
{
	struct diagnostic *d;
	size_t n = parse("solution.cu(1): error: expression must have class type but it has type \"float\"\n"
			 "  template<class T> __attribute__((device)) T f(T x){ return x.foo(); }\n"
			 "                                                             ^\n"
			 "          detected during:\n"
			 "            instantiation of \"T f(T) [with T=float]\" at line 2\n"
			 "            instantiation of \"T A<T>::g() [with T=float]\" at line 3 of /cuda/bin/../targets/x86_64-linux/include/mma.h\n"
			 "\n", &d);
	CHECK_EQ(n, 3);
	check(&d[0], DIAGNOSTIC_ERROR, "my.cu", 1, 47, "expression must have class type but it has type \"float\"");
	check(&d[1], DIAGNOSTIC_NOTE, "my.cu", 2, 0, "in instantiation of \"T f(T) [with T=float]\"");
	check(&d[2], DIAGNOSTIC_NOTE, "mma.h", 3, 0, "in instantiation of \"T A<T>::g() [with T=float]\"");
	arena_free(a);
}

TEST(what_is_said_twice_is_kept_once)
{
	static const char twice[] =
		"solution.cu(2): error: no instance of overloaded function matches the argument list\n"
		"            argument types are: (const char [2])\n"
		"  v.push_back(\"x\");\n"
		"    ^\n"
		"/usr/include/c++/12/bits/stl_vector.h(1293): note #3326-D: function \"f\" does not match\n"
		"        push_back(value_type&& __x)\n"
		"        ^\n\n"
		"solution.cu(2): error: no instance of overloaded function matches the argument list\n"
		"            argument types are: (const char [2])\n"
		"  v.push_back(\"x\");\n"
		"    ^\n"
		"/usr/include/c++/12/bits/stl_vector.h(1293): note #3326-D: function \"f\" does not match\n";
	struct diagnostic *d;
	CHECK_EQ(parse(twice, &d), 2);
	check(&d[0], DIAGNOSTIC_ERROR, "my.cu", 2, 3,
	      "no instance of overloaded function matches the argument list; argument types are: (const char [2])");
	check(&d[1], DIAGNOSTIC_NOTE, "bits/stl_vector.h", 1293, 7, "function \"f\" does not match");
	arena_free(a);
}

TEST(gcc_and_as)
{
	struct diagnostic *d;
	size_t n = parse("In file included from solution.cu:3:\n"
			 "solution.cu:2:10: fatal error: nosuch.h: No such file or directory\n"
			 "    2 | #include \"nosuch.h\"\n"
			 "      |          ^~~~~~~~~~\n"
			 "compilation terminated.\n"
			 "solution.cu: Assembler messages:\n"
			 "solution.cu:7: Error: no such instruction: `bogus %eax'\n"
			 "/tmp/ccAbCdEf.s: Assembler messages:\n"
			 "/tmp/ccAbCdEf.s:25: Error: file not found: /etc/passwd\n"
			 "gcc: fatal error: Killed signal terminated program cc1plus\n", &d);
	CHECK_EQ(n, 4);
	check(&d[0], DIAGNOSTIC_ERROR, "my.cu", 2, 10, "nosuch.h: No such file or directory");
	check(&d[1], DIAGNOSTIC_ERROR, "my.cu", 7, 0, "no such instruction: `bogus %eax'");
	check(&d[2], DIAGNOSTIC_ERROR, "my.cu", 0, 0, "host assembler: file not found: /etc/passwd");
	check(&d[3], DIAGNOSTIC_ERROR, "my.cu", 0, 0, "Killed signal terminated program cc1plus");
	arena_free(a);
}

static const char ptx[] = ".version 9.0\n"			/* 1 */
			  ".target sm_90\n"
			  ".visible .entry _Z1kPf(\n"
			  "\t.param .u64 _Z1kPf_param_0\n"
			  ")\n"
			  "{\n"
			  "\t.loc\t1 12 3\n"
			  "\tbogus.op %r1;\n"			/* 8 */
			  "\t.loc\t2 99 1\n"
			  "\tother.op;\n"			/* 10 */
			  "}\n"
			  ".visible .entry _Z1qv()\n"
			  "{\n"
			  "\tnothing;\n"			/* 14 */
			  "}\n"
			  "\t.file\t1 \"/tmp/solution.cu\"\n"
			  "\t.file\t2 \"/cuda/include/mma.h\"\n";

TEST(ptxas_lines_become_source_lines)
{
	struct diagnostic *d;
	size_t n = parse("ptxas solution.ptx, line 8; error   : Not a name of any known instruction: 'bogus'\n"
			 "ptxas solution.ptx, line 10; error   : Unknown symbol 'qq'\n"
			 "ptxas solution.ptx, line 14; error   : Unknown symbol 'rr'\n"
			 "ptxas fatal   : Ptx assembly aborted due to errors\n"
			 "ptxas fatal   : Unresolved extern function '_Z4nopei'\n"
			 "ptxas info    : 0 bytes gmem\n", &d);
	CHECK_EQ(n, 4);
	diagnostics_map_ptx(d, n, "my.cu", ptx);
	check(&d[0], DIAGNOSTIC_ERROR, "my.cu", 12, 0, "ptxas: Not a name of any known instruction: 'bogus'");
	check(&d[1], DIAGNOSTIC_ERROR, "my.cu", 0, 0, "ptxas: Unknown symbol 'qq'");
	check(&d[2], DIAGNOSTIC_ERROR, "my.cu", 0, 0, "ptxas: Unknown symbol 'rr'");
	check(&d[3], DIAGNOSTIC_ERROR, "my.cu", 0, 0, "device function 'nope(int)' is declared but not defined");
	arena_free(a);
}

static const char *explained(const char *log, const char *source, const char *entry, int line)
{
	const struct compile_request rq = {.source = source, .size = strlen(source), .name = "my.cu", .entry = entry,
					   .prelude = "#include <stdint.h>\nextern \"C\" void solve(const float *x,\n\tint n);\n"};
	struct diagnostic *d;
	CHECK_EQ(parse(log, &d), 1);
	compile_explain(&rq, a, d, 1);
	CHECK_EQ(d[0].line, line);
	static char text[1000];
	snprintf(text, sizeof text, "%s", d[0].text);
	arena_free(a);
	return text;
}

TEST(link_errors_say_what_to_do)
{
	static const char source[] = "// cudaStreamBeginCapture\n"
				     "void helper(int);\n"
				     "const char *s = \"cudaStreamBeginCapture\";\n"
				     "void solve(float *x) {\n"
				     "  cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal);\n"
				     "  helper(1);\n"
				     "}\n"
				     "int main() { return 0; }\n";
#define UNDEFINED(name) "/usr/bin/ld: solution.o: in function `solve':\nsolution.cudafe1.cpp:(.text+0x6f): undefined reference to `" name "'\ncollect2: error: ld returned 1 exit status\n"
#define MULTIPLE(name) "/usr/bin/ld: solution.o: in function `f':\nsolution.cudafe1.cpp:(.text+0x1): multiple definition of `" name "'; libguest.a(main.o):main.c:(.text+0x0): first defined here\n"
	CHECK_STR(explained(UNDEFINED("cudaStreamBeginCapture"), source, "solve", 5),
		  "cudaStreamBeginCapture is not supported by the judge");
	CHECK_STR(explained(UNDEFINED("cublasCreate_v2"), "\n int x = cublasCreate(0);", "solve", 2),
		  "cublasCreate is not supported by the judge: no library but the CUDA runtime is at hand");
	CHECK_STR(explained(UNDEFINED("helper(int)"), source, "solve", 6), "helper(int) is used but not defined");
	CHECK_STR(explained(UNDEFINED("solve"), source, "solve", 4),
		  "the signature of solve differs from the problem's: argument 1 is `float *x` and must be `const float *x`; expected `void solve(const float *x, int n)`");
	CHECK_STR(explained(UNDEFINED("solve"), "void solve(const float* y, long n) {}\n", "solve", 1),
		  "the signature of solve differs from the problem's: argument 2 is `long n` and must be `int n`; expected `void solve(const float *x, int n)`");
	CHECK_STR(explained(UNDEFINED("solve"), "void solve(const float *__restrict__ y) {}\n", "solve", 1),
		  "the signature of solve differs from the problem's: argument 2, `int n`, is missing; expected `void solve(const float *x, int n)`");
	CHECK_STR(explained(UNDEFINED("solve"), "int x;\n", "solve", 0),
		  "solve is not defined: the source must define it; expected `void solve(const float *x, int n)`");
	CHECK_STR(explained(UNDEFINED("main"), "int x;\n", NULL, 0), "main is not defined: a whole program needs `int main()`");
	CHECK_STR(explained(MULTIPLE("main"), source, "solve", 8),
		  "main is the judge's: define solve alone (`judge run` runs a whole program)");
	CHECK_STR(explained("solution.cu(4): error: more than one instance of overloaded function \"solve\" has \"C\" linkage\n",
			    source, "solve", 4),
		  "the signature of solve differs from the problem's: argument 1 is `float *x` and must be `const float *x`; expected `void solve(const float *x, int n)`");
	CHECK_STR(explained("ptxas error   : Entry function '_Z6helperi' uses too much shared data (0x61a80 bytes, 0xc000 max)\n",
			    source, "solve", 2),
		  "kernel helper(int) has 400000 bytes of static __shared__ memory; the limit is 49152 (more is had as dynamic "
		  "shared memory, with cudaFuncSetAttribute)");
}

TEST(hostile_text_is_cleaned)
{
	static const char bytes[] = "a\x1b[31mred\x1b[0m \x1b]0;title\a\xff\x00 \xc3\xa9 \xe2\x80\xae \xed\xa0\x80 \xc2\x9b z\r\n\x7f";
	a = arena_new();
	CHECK_STR(diagnostics_clean(bytes, sizeof bytes - 1, 1000, a),
		  "ared \xef\xbf\xbd \xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd "
		  "\xef\xbf\xbd\xef\xbf\xbd z\n");
	CHECK_STR(diagnostics_clean("abcdef", 6, 3, a), "abc\n(the rest is cut)\n");
	CHECK_STR(diagnostics_clean("\x1b", 1, 10, a), "");
	CHECK_STR(diagnostics_clean("\x1b[", 2, 10, a), "");
	CHECK_STR(diagnostics_clean("\xe2\x80", 2, 100, a), "\xef\xbf\xbd\xef\xbf\xbd");
	arena_free(a);
}

TEST(a_flood_of_warnings_hides_no_error)
{
	struct buf b = {0};
	struct diagnostic *d;
	for (int i = 1; i < 3000; i++)
		buf_printf(&b, "solution.cu(%d): warning #177-D: variable \"v%d\" was declared but never referenced\n\n", i, i);
	buf_adds(&b, "solution.cu(9999): error: expected an expression\n");
	size_t n = parse(buf_str(&b), &d);
	CHECK(n > 100 && n < 1000);
	check(&d[n - 1], DIAGNOSTIC_ERROR, "my.cu", 9999, 0, "expected an expression");
	buf_free(&b);
	arena_free(a);
}

/* Any bytes are a log: no crash, and nothing unprintable comes out. */
TEST(noise_is_no_log)
{
	static const char *const pieces[] = {"solution.cu", "(", ")", ": ", "error", "warning #", "-D: ", "ptxas ", ", line ", "; ",
					     "\n", "  ", "            ", "^", "detected during", ":", "instantiation of \"", "\" at line ",
					     "9", " of ", "undefined reference to `", "'", "_Z1kPf", "/tmp/cc", "99999999999999999999",
					     "multiple definition of `", "/include/", "c++/"};
	unsigned state = 1;
	for (int round = 0; round < 300; round++) {
		struct buf b = {0};
		struct diagnostic *d;
		struct kernel_resources *k;
		for (int i = 0; i < 200; i++) {
			state = state * 1664525u + 1013904223u;
			buf_adds(&b, pieces[(state >> 16) % (sizeof pieces / sizeof *pieces)]);
		}
		size_t n = parse(buf_str(&b), &d);
		diagnostics_map_ptx(d, n, "my.cu", ptx);
		CHECK_EQ(resources_parse(buf_str(&b), a, &k), 0);
		for (size_t i = 0; i < n; i++)
			CHECK(d[i].file && d[i].text);
		buf_free(&b);
		arena_free(a);
	}
}

TEST(resources_of_kernels)
{
	static const char log[] = "ptxas info    : 0 bytes gmem\n"
				  "ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'\n"
				  "ptxas info    : Function properties for _Z1kPf\n"
				  "    16 bytes stack frame, 24 bytes spill stores, 28 bytes spill loads\n"
				  "ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 4096 bytes smem\n"
				  "ptxas info    : Compile time = 4.012 ms\n"
				  "ptxas info    : Function properties for helper\n"
				  "    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
				  "ptxas info    : Compiling entry function '_Z1qv' for 'sm_90'\n"
				  "ptxas info    : Function properties for _Z1qv\n"
				  "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
				  "ptxas info    : Used 8 registers, used 0 barriers\n";
	struct kernel_resources *k;
	a = arena_new();
	CHECK_EQ(resources_parse(log, a, &k), 2);
	CHECK_STR(k[0].name, "_Z1kPf");
	CHECK_EQ(k[0].registers, 40);
	CHECK_EQ(k[0].shared, 4096);
	CHECK_EQ(k[0].stack, 16);
	CHECK_EQ(k[0].spill_store, 24);
	CHECK_EQ(k[0].spill_load, 28);
	CHECK_EQ(k[0].barriers, 1);
	CHECK_STR(k[1].name, "_Z1qv");
	CHECK_EQ(k[1].registers, 8);
	CHECK_EQ(k[1].shared, 0);
	arena_free(a);
}
