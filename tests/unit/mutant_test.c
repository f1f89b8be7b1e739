/* Mutants: tokens, the shape of a source, and each operator by what it makes of a line. */
#include "judge/author/identity.h"
#include "judge/author/mutant.h"
#include "judge/author/mutate_survivors.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

static struct arena *arena;

static struct arena *memory(void)
{
	if (!arena)
		arena = arena_new();
	return arena;
}

/* ---- tokens ---- */

/* "name number ...", kinds as letters: n d s c m # */
static const char *kinds(const char *text)
{
	static const char letters[] = "ndscm#";
	struct buf b = {0};
	struct tokens t;
	tokens_of(text, strlen(text), memory(), &t);
	for (unsigned i = 0; i < t.n; i++)
		buf_printf(&b, "%s%c:%.*s", i ? " " : "", letters[t.list[i].kind], (int)t.list[i].size, text + t.list[i].at);
	const char *out = arena_strdup(memory(), buf_str(&b));
	buf_free(&b);
	return out;
}

TEST(tokens)
{
	static const char *const table[][2] = {
		{"a+b", "n:a m:+ n:b"},
		{"a+++b", "n:a m:++ m:+ n:b"},
		{"k<<<1,2>>>(x)", "n:k m:<<< d:1 m:, d:2 m:>>> m:( n:x m:)"},
		{"a>>=4 & 0xfU", "n:a m:>>= d:4 m:& d:0xfU"},
		{"1.5e-3f .5f 0x1p-3 1e5", "d:1.5e-3f d:.5f d:0x1p-3 d:1e5"},
		{"0x1e+5", "d:0x1e m:+ d:5"},
		{"0xf'ff+1'000", "d:0xf'ff m:+ d:1'000"},
		{"a // b\nc /* d\n e */ f", "n:a n:c n:f"},
		{"a // b \\\n still\nc", "n:a n:c"},
		{"\"// no comment\" 'x' '\\''", "s:\"// no comment\" c:'x' c:'\\''"},
		{"u8\"x\" L'y' R\"z(a\"b)z\" c", "s:u8\"x\" c:L'y' s:R\"z(a\"b)z\" n:c"},
		{"  #define A \\\n 1 // c\nb", "#:#define A \\\n 1  n:b"},
		{"a # b", "n:a m:# n:b"},
		{"x->y::z...", "n:x m:-> n:y m::: n:z m:..."},
		{"\"never closed\nb", "s:\"never closed n:b"},
		{"R\"(never closed\nb", "s:R\"(never closed\nb"},
		{"a /* never closed", "n:a"},
		{"caf\xc3\xa9 @", "n:caf\xc3\xa9 m:@"},
	};
	for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
		CHECK_STR(kinds(table[i][0]), table[i][1]);
}

TEST(tokens_know_lines_and_brackets)
{
	static const char text[] = "f(\na[1] /*\n*/ ) {\n\"x\\\ny\" } ] (";
	struct tokens t;
	tokens_of(text, strlen(text), memory(), &t);
	CHECK_EQ(t.n, 12);
	CHECK_EQ(t.list[1].match, 6);
	CHECK_EQ(t.list[6].match, 1);
	CHECK_EQ(t.list[3].match, 5);
	CHECK_EQ(t.list[4].parent, 3);
	CHECK_EQ(t.list[3].parent, 1);
	CHECK_EQ(t.list[1].parent, 1);
	CHECK_EQ(t.list[2].line, 2);
	CHECK_EQ(t.list[6].line, 3);
	CHECK_EQ(t.list[9].line, 5);
	CHECK_EQ(t.list[9].match, 7);
	CHECK_EQ(t.list[10].match, 10);		/* ] and ( have no partner */
	CHECK_EQ(t.list[11].match, 11);
}

TEST(any_bytes_are_tokens)
{
	unsigned seed = 1;
	for (int round = 0; round < 3000; round++) {
		static const char pieces[] = "(){}[]<>\"'R\\/*\n#.0x1eab;=+-&\0\xff";
		char text[200];
		struct arena *a = arena_new();
		struct mutants m;
		size_t n = (size_t)(rand_r(&seed) % 200);
		for (size_t i = 0; i < n; i++)
			text[i] = rand_r(&seed) % 4 ? pieces[(size_t)rand_r(&seed) % (sizeof pieces - 1)] : (char)rand_r(&seed);
		char *exact = malloc(n ? n : 1);	/* so that a sanitizer sees a read past it */
		memcpy(exact, text, n);
		mutants_of(exact, n, a, &m);
		for (unsigned i = 1; i < m.source.t.n; i++)
			CHECK(m.source.t.list[i].at >= m.source.t.list[i - 1].at + m.source.t.list[i - 1].size);
		free(exact);
		arena_free(a);
	}
}

/* ---- the shape of a source ---- */

TEST(functions_are_found)
{
	static const char text[] = "#include <x>\nnamespace n { template <class T, int G> __global__ __launch_bounds__(32) void k(T *y) { y[0] = 1; }\n"
				   "struct S { int a; __device__ int get() const { return a; } }; }\n"
				   "constexpr int t[] = {1, 2};\nconstexpr int f(int a) { return a; }\n"
				   "extern \"C\" void solve(int N) { if (N) { n::k<float, 2><<<1, 32>>>(0); } }\nint open() {";
	struct mutants m;
	mutants_of(text, strlen(text), memory(), &m);
	CHECK_EQ(m.source.n_functions, 4);
	CHECK_STR(m.source.functions[0].name, "k");
	CHECK(m.source.functions[0].device && !m.source.functions[0].host);
	CHECK_STR(m.source.functions[1].name, "get");
	CHECK_STR(m.source.functions[2].name, "f");
	CHECK(m.source.functions[2].device && m.source.functions[2].host);
	CHECK_STR(m.source.functions[3].name, "solve");
	CHECK(!m.source.functions[3].device && m.source.functions[3].host);
}

static const char head[] = "__global__ void k(float *y, const float *x, const float *scales, const uint32_t *w, int N, int K)\n{\n\tfloat sum = z0, a[4];\n";

/* What an operator makes of a line in a kernel, one mutant a line. */
static const char *mutants(const char *line, const char *operator)
{
	struct buf source = {0}, out = {0};
	struct mutants m;
	buf_printf(&source, "%s\t%s\n}\n", head, line);
	const char *text = arena_strdup(memory(), buf_str(&source));
	mutants_of(text, source.size, memory(), &m);
	for (unsigned i = 0; i < m.n; i++)
		if (m.list[i].line == 4 && !strcmp(mutant_operator_name(m.list[i].operator), operator))
			buf_printf(&out, "%s%s", out.size ? "\n" : "", mutant_shown(&m, &m.list[i], memory()));
	const char *result = arena_strdup(memory(), buf_str(&out));
	buf_free(&source);
	buf_free(&out);
	return result;
}

TEST(operators)
{
	static const struct {
		const char *operator, *line, *mutants;
	} table[] = {
		{"bound", "if (N < K) return;", "if (N {< -> <=} K) return;"},
		{"bound", "if (N >= K) return;", "if (N {>= -> >} K) return;"},
		{"bound", "y[0] = static_cast<float>(N);", ""},
		{"bound", "y[0] = max<int>(N, K);", ""},
		{"bound", "k<1><<<N, 32>>>(y);", ""},
		{"negate", "if (N == K) return;", "if (N {== -> !=} K) return;"},
		{"negate", "while (N > 1 && K <= 2);", "while (N {> -> <=} 1 && K <= 2);\nwhile (N > 1 && K {<= -> >} 2);"},
		{"logic", "if (N && K || x) return;", "if (N {&& -> ||} K || x) return;\nif (N && K {|| -> &&} x) return;"},
		{"guard", "if (N < K) return;", "if ({N < K -> false}) return;\nif ({N < K -> true}) return;"},
		{"guard", "y[0] = N < 3 ? 1 : 2;", "y[0] = {N < 3 -> false} ? 1 : 2;\ny[0] = {N < 3 -> true} ? 1 : 2;"},
		{"loop-start", "for (int i = N; i < K; i++) y[i] = 0;", "for (int i = {N -> (N) + 1}; i < K; i++) y[i] = 0;"},
		{"loop-end", "for (int i = N; i < K / 8; i++) y[i] = 0;", "for (int i = N; i < {K / 8 -> (K / 8) - 1}; i++) y[i] = 0;"},
		{"loop-end", "for (int i = 0; i < 8; i++) y[i] = 0;", ""},
		{"tail", "for (int i = 0; i < K; i += 32) y[i] = 0;", "for (int i = 0; i < {K -> (K) / (32) * (32)}; i += 32) y[i] = 0;"},
		{"tail", "for (int i = 0; i < K; ++i) y[i] = 0;", "for (int i = 0; i < {K -> (K) / (2) * (2)}; ++i) y[i] = 0;"},
		{"tail", "for (float v : a) y[0] += v;", ""},
		{"rounding", "N = (K + 63) / 64;", "N = (K {+ 63 -> }) / 64;"},
		{"rounding", "N = (K + G - 1) / G;", "N = (K {+ G - 1 -> }) / G;"},
		{"statement", "y[0] = 1;", "{y[0] = 1 -> };"},
		{"statement", "float b = 1;", ""},
		{"statement", "const uint4 *p = (const uint4 *)w;", ""},
		{"statement", "if (N) { y[0] = 1; } else return;", "if (N) { {y[0] = 1 -> }; } else return;\nif (N) { y[0] = 1; } else {return -> };"},
		{"statement", "y[0] = N ? 1 : 2;", "{y[0] = N ? 1 : 2 -> };"},
		{"statement", "switch (N) { case 1: return; default: y[0] = 1; }",
		 "switch (N) { case 1: {return -> }; default: y[0] = 1; }\nswitch (N) { case 1: return; default: {y[0] = 1 -> }; }"},
		{"statement", "asm(\"mov.u32 %0, %1;\" : \"=r\"(N) : \"r\"(K));", "{asm(\"mov.u32 %0, %1;\" : \"=r\"(N) : \"r\"(K)) -> };"},
		{"barrier", "__syncthreads();", "{__syncthreads() -> };"},
		{"barrier", "asm volatile(\"cp.async.wait_group 0;\");", "{asm volatile(\"cp.async.wait_group 0;\") -> };"},
		{"barrier", "block.sync();", "{block.sync() -> };"},
		{"barrier", "y[0] = __shfl_xor_sync(~0u, sum, 1);", ""},
		{"plus-minus", "N = K + -1;", "N = K {+ -> -} -1;"},
		{"plus-minus", "sum += x[0];", "sum {+= -> -=} x[0];"},
		{"times-divide", "N = K * 2 / 4;", "N = K {* -> /} 2 / 4;\nN = K * 2 {/ -> *} 4;"},
		{"times-divide", "const float *p = x, *q = y;", ""},
		{"times-divide", "N = *(const int *)w;", ""},
		{"remainder", "N = K % 32 + 1;", "N = K {% 32 -> } + 1;"},
		{"remainder", "N = K % (a[0] + 1) * 2;", "N = K {% (a[0] + 1) -> } * 2;"},
		{"bits", "N = K & 15 | 1;", "N = K {& -> |} 15 | 1;\nN = K & 15 {| -> &} 1;"},
		{"bits", "foo(&N);", ""},
		{"shift", "N = w[0] >> 4 * K & 15;", "N = w[0] >> {4 * K -> ((4 * K) ^ 4)} & 15;"},
		{"shift", "N = w[0] >> 8 * K & 255;", "N = w[0] >> {8 * K -> ((8 * K) ^ 8)} & 255;"},
		{"mask", "N = w[0] & 15;", "N = w[0] & {15 -> 31};\nN = w[0] & {15 -> 7};"},
		{"mask", "N = w[0] >> 4 & 0x0f0fu;", "N = w[0] >> 4 & {0x0f0fu -> 0x0707u};\nN = w[0] >> 4 & {0x0f0fu -> 0x1f1fu};"},
		{"constant", "N = 8;", "N = {8 -> 0};\nN = {8 -> 7};\nN = {8 -> 9};"},
		{"constant", "N = 0;", "N = {0 -> 1};"},
		{"constant", "y[0] = 0.5f;", "y[{0 -> 1}] = 0.5f;\ny[0] = {0.5f -> (-0.5f)};\ny[0] = {0.5f -> 0.0f};\ny[0] = {0.5f -> 1.5f};"},
		{"constant", "float b[8];", ""},
		{"constant", "asm(\"mov.u32 %0, %1;\" : \"=r\"(N) : \"r\"(5));", ""},
		{"constant", "k<<<(N + 63) / 64, 64>>>(y);", "k<<<(N + {63 -> 62}) / 64, 64>>>(y);\nk<<<(N + 63) / {64 -> 65}, 64>>>(y);"},
		{"constant", "k<<<(N + K - 1) / K, 32 * K, K>>>(y);", "k<<<(N + K - {1 -> 2}) / K, 32 * K, K>>>(y);"},
		{"plus-minus", "k<<<(N + K - 1) / K, 32 * K, K>>>(y);", "k<<<(N {+ -> -} K - 1) / K, 32 * K, K>>>(y);"},
		{"times-divide", "k<<<N * K / 8, 32 * K, K * 4>>>(y);", "k<<<N {* -> /} K / 8, 32 * K, K * 4>>>(y);\nk<<<N * K / 8, 32 * K, K {* -> /} 4>>>(y);"},
		{"plus-minus", "int g = (N + K - 1) / K, b = N - 1; k<<<g, b>>>(y); k<<<g, b>>>(y);",
		 "int g = (N {+ -> -} K - 1) / K, b = N - 1; k<<<g, b>>>(y); k<<<g, b>>>(y);\n"
		 "int g = (N + K - 1) / K, b = N {- -> +} 1; k<<<g, b>>>(y); k<<<g, b>>>(y);"},
		{"times-divide", "int g = N / K; k<<<dim3(1, g), 32>>>(y);", ""},
		{"times-divide", "dim3 g(N / K, 2); k<<<g, 32>>>(y);", ""},
		{"times-divide", "int g = N / K; k<<<N + g, 32>>>(y);", "int g = N {/ -> *} K; k<<<N + g, 32>>>(y);"},
		{"times-divide", "int g = N / K; k<<<N, g>>>(y);", "int g = N {/ -> *} K; k<<<N, g>>>(y);"},
		{"times-divide", "int g = N / K; k<<<g, 32>>>(y, g);", "int g = N {/ -> *} K; k<<<g, 32>>>(y, g);"},
		{"times-divide", "int g = N / K; N = 1;", "int g = N {/ -> *} K; N = 1;"},
		{"constant", "y[0] = __shfl_sync(0xffffffff, sum, N);", "y[{0 -> 1}] = __shfl_sync(0xffffffff, sum, N);"},
		{"subscript", "y[N] = x[K + 1];", "y[{N -> N + 1}] = x[K + 1];\ny[{N -> N - 1}] = x[K + 1];\n"
						   "y[N] = x[{K + 1 -> (K + 1) + 1}];\ny[N] = x[{K + 1 -> (K + 1) - 1}];"},
		{"subscript", "float b[N];", ""},
		{"accumulation", "sum += x[0];", "{sum += x[0] -> sum = judge_half(sum + (x[0]))};"},
		{"accumulation", "a[1] = fmaf(x[0], 2, a[1]);", "{a[1] = fmaf(x[0], 2, a[1]) -> a[1] = judge_half(fmaf(x[0], 2, a[1]))};"},
		{"accumulation", "N += 1;", ""},
		{"thread-index", "N = threadIdx.x;", "N = {threadIdx -> blockIdx}.x;\nN = threadIdx.{x -> y};"},
		{"component", "sum = v.x + p[0].w + f(threadIdx.x);", "sum = v.{x -> y} + p[0].w + f(threadIdx.x);\nsum = v.x + p[0].{w -> z} + f(threadIdx.x);"},
		{"shuffle", "sum += __shfl_down_sync(0xffffffff, sum, N);",
		 "sum += {__shfl_down_sync -> __shfl_up_sync}(0xffffffff, sum, N);\nsum += __shfl_down_sync({0xffffffff -> 0x0000ffff}, sum, N);\n"
		 "sum += __shfl_down_sync(0xffffffff, sum, {N -> (N) + 1});"},
		{"argument", "g(N, K, sum);", "g({N, K -> K, N}, sum);"},
		{"argument", "y[0] = x[1];", "{y -> x}[0] = x[1];\ny[0] = {x -> scales}[1];"},
		{"scale", "y[0] = sum * scales[1];", "y[0] = sum {* scales[1] -> };\ny[0] = sum * {scales[1] -> scales[1] * scales[1]};"},
		{"scale", "y[0] = scales[1] * sum;", "y[0] = {scales[1] * -> } sum;"},
		{"zero-point", "y[0] = sum - zero;", "y[0] = sum {- zero -> };\ny[0] = sum - {zero -> (zero + 1)};\ny[0] = sum - {zero -> (zero - 1)};"},
		{"min-max", "N = min(N, K);", "N = {min -> max}(N, K);"},
		{"constant", "y[0] = 1; // 8 in a comment", "y[{0 -> 1}] = 1;\ny[0] = {1 -> 0};\ny[0] = {1 -> 2};"},
	};
	for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
		if (strcmp(mutants(table[i].line, table[i].operator), table[i].mutants))
			test_fail(__FILE__, __LINE__, "%s of \"%s\":\n%s\nexpected:\n%s", table[i].operator, table[i].line,
				  mutants(table[i].line, table[i].operator), table[i].mutants);
}

TEST(a_mutant_keeps_the_lines)
{
	static const char text[] = "void f(int *p)\n{\n\tp[0] = 1 + /* one\n\ttwo */ 2\n\t+ 3;\n\tp[1] = 4;\n}\n";
	struct mutants m;
	mutants_of(text, strlen(text), memory(), &m);
	CHECK(m.n > 5);
	for (unsigned i = 0; i < m.n; i++) {
		struct buf b = {0};
		mutant_apply(&m, &m.list[i], &b);
		unsigned lines = 0;
		for (const char *p = buf_str(&b); *p; p++)
			lines += *p == '\n';
		CHECK_EQ(lines, 7);
		CHECK(strcmp(buf_str(&b), text));
		buf_free(&b);
	}
	CHECK_STR(mutant_shown(&m, &m.list[0], memory()), "{p[0] = 1 + 2 + 3 -> };");
}

TEST(mutants_are_in_order_and_differ)
{
	struct buf b = {0};
	struct mutants m;
	struct err e = {0};
	CHECK_EQ(buf_read_file(&b, "problems/int4-gemv/submissions/accepted/step1_textbook.cu", 1 << 20, &e), 0);
	mutants_of(buf_str(&b), b.size, memory(), &m);
	CHECK(m.n > 100 && m.n < 250);
	for (unsigned i = 1; i < m.n; i++) {
		CHECK(m.list[i].first >= m.list[i - 1].first);
		CHECK(m.list[i].first != m.list[i - 1].first || m.list[i].end != m.list[i - 1].end || strcmp(m.list[i].text, m.list[i - 1].text));
	}
	buf_free(&b);
}

TEST(what_is_missing_follows_the_line)
{
	struct mutants m;
	static const char text[] = "__global__ void k(float *y, int n) { y[0] = group[n + 1]; __syncthreads(); }";
	mutants_of(text, strlen(text), memory(), &m);
	for (unsigned i = 0; i < m.n; i++) {
		const char *missing = mutant_missing(&m, &m.list[i]);
		if (!strcmp(mutant_operator_name(m.list[i].operator), "barrier"))
			CHECK(strstr(missing, "race"));
		else if (!strcmp(mutant_operator_name(m.list[i].operator), "plus-minus"))
			CHECK(strstr(missing, "group edge"));
	}
}

/* ---- programs that are the same ---- */

TEST(ptx_is_known_by_what_it_does)
{
	static const char one[] = "// made by\n.entry k\n{\n.reg .b32 %r<9>;\n.loc 1 2 3\nadd.s32 %r1, %r2, %tid.x;\n@%p1 bra $L__BB0_2;\n}\n";
	static const char same[] = ".entry k\n{\n\tadd.s32 \t%r7, %r3, %tid.x; // x\n@%p2 bra $L__BB0_9;\n}\n\t.section .debug\n{\n.b8 1\n}\n";
	static const char *const others[] = {
		".entry k\n{\nadd.s32 %r7, %r7, %tid.x;\n@%p2 bra $L__BB0_9;\n}\n",
		".entry k\n{\nsub.s32 %r7, %r3, %tid.x;\n@%p2 bra $L__BB0_9;\n}\n",
		".entry k\n{\nadd.s32 %r7, %r3, %tid.y;\n@%p2 bra $L__BB0_9;\n}\n",
		".entry k\n{\nadd.s32 %r7, %r3, %tid.x;\n}\n",
	};
	CHECK(ptx_identity(one) == ptx_identity(same));
	for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
		CHECK(ptx_identity(one) != ptx_identity(others[i]));
	CHECK(ptx_identity("") != ptx_identity(one));
}

/* ---- declared survivors ---- */

TEST(survivors_are_read)
{
	struct survivors s;
	struct err e = {0};
	static const char text[] = "# why\n\nstep1.cu: k: if (row {>= -> >} N)\n\tThe row past the end\n\tis padding.\n"
				   "step1.cu: k: for (...; i {< -> <=} N; ...)\n  Also.\n";
	CHECK_EQ(survivors_parse(text, memory(), &s, &e), 0);
	CHECK_EQ(s.n, 2);
	CHECK_STR(s.list[0].reason, "The row past the end is padding.");
	CHECK_EQ(s.list[1].line, 6);
	struct mutation m = {.file = "submissions/accepted/step1.cu", .function = "k", .shown = "if (row {>= -> >} N)"};
	CHECK(survivors_find(&s, &m) == &s.list[0]);
	m.shown = "for (int i = 0; i {< -> <=} N; i++) x;";
	CHECK(!survivors_find(&s, &m));
	m.shown = "for (int i = 0; i {< -> <=} N; i++)";
	CHECK(survivors_find(&s, &m) == &s.list[1]);
	m.function = "solve";
	CHECK(!survivors_find(&s, &m));
}

TEST(survivors_of_lines_that_are_alike)
{
	struct survivors s;
	struct err e = {0};
	struct mutation m = {.file = "a.cu", .function = "k", .shown = "for (;; i {< -> <=} N)"};
	CHECK_EQ(survivors_parse("a.cu: k: for (;; i {< -> <=} N) (2 of 2)\n\tIt is harmless.\n", memory(), &s, &e), 0);
	CHECK(!survivors_find(&s, &m));
	m.numbered = "for (;; i {< -> <=} N) (1 of 2)";
	CHECK(!survivors_find(&s, &m));
	m.numbered = "for (;; i {< -> <=} N) (2 of 2)";
	CHECK(survivors_find(&s, &m) == s.list);
	CHECK_EQ(survivors_parse("a.cu: k: for (;; i {< -> <=} N)\n\tAll are.\n", memory(), &s, &e), 0);
	CHECK(survivors_find(&s, &m) == s.list);
}

TEST(survivors_share_a_reason)
{
	struct survivors s;
	struct err e = {0};
	CHECK_EQ(survivors_parse("a.cu: k: {a -> b}\na.cu: k: {a -> c}\n\tOne.\n\ta.cu: k: {a -> d}\na.cu: k: {a -> e}\n\tTwo.\n", memory(), &s, &e), 0);
	CHECK_EQ(s.n, 3);
	CHECK_STR(s.list[0].reason, "One. a.cu: k: {a -> d}");
	CHECK_STR(s.list[1].reason, s.list[0].reason);
	CHECK_STR(s.list[2].reason, "Two.");
}

TEST(survivors_are_checked)
{
	static const char *const bad[][2] = {
		{"\tA reason.\n", "survivors.txt: line 1 is indented"},
		{"step1.cu: {a -> b}\n\tA reason.\n", "survivors.txt: line 1: write \"FILE: FUNCTION: LINE\""},
		{"a.cu: k: {a -> b}\n\tA reason.\nb.cu: k: {a -> b}\n", "survivors.txt: line 3 has no reason"},
	};
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct survivors s;
		struct err e = {0};
		CHECK_EQ(survivors_parse(bad[i][0], memory(), &s, &e), -1);
		CHECK_EQ(e.kind, ERR_INPUT);
		CHECK_MSG(!strncmp(e.text, bad[i][1], strlen(bad[i][1])), "%s", e.text);
	}
}

TEST(patterns)
{
	static const struct {
		const char *pattern, *line;
		bool fits;
	} table[] = {
		{"abc", "abc", true}, {"abc", "abcd", false}, {"a...", "abcd", true}, {"...d", "abcd", true}, {"a...d", "abcd", true},
		{"a...c", "abcd", false}, {"...", "", true}, {"...b...c...", "abxc", true}, {"a...b...b", "ab", false}, {"ab...ba", "aba", false},
		{"......", "x", true}, {"", "", true}, {"", "x", false},
	};
	for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
		CHECK_MSG(survivors_match(table[i].pattern, table[i].line) == table[i].fits, "%s on %s", table[i].pattern, table[i].line);
}
