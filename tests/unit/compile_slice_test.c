/* Slices of headers: of a small text, which declarations stay.  (With the compilers: compile_kept_test.) */
#include "sandbox/base/cleanup.h"
#include "sandbox/compile_slice.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <string.h>

static const char text[] =
	"# 1 \"/include/one.h\" 1 3\n"
	"typedef unsigned int word;\n"
	"typedef struct inner outer;\n"
	"struct inner { int a; };\n"
	"extern \"C\" {\n"
	"int plus(word a, word b);\n"
	"static inline int twice(int a) { return plus(a, a); }\n"
	"}\n"
	"float plus(float a, float b);\n"
	"# 40 \"/include/two.h\" 1 3 4\n"
	"namespace space {\n"
	"  template <typename T, int N = (3 > 2)> struct box { T t[N]; };\n"
	"  template <> struct box<char> { special s; };\n"
	"  enum class color : int { red = 1, green };\n"
	"  enum { FIRST, SECOND = plus(1, 2) };\n"
	"  namespace empty { void nothing(); }\n"
	"}\n"
	"#pragma once_more\n"
	"box operator+(const space::box<int> &left, outer right);\n"
	"void *operator new(size_t, void *);\n"
	"typedef int (*callback)(word);\n"
	"__attribute__((device)) __attribute__((deprecated(\"plus\"))) extern int lonely;\n"
	"static const char *const names[] = {\"{\", \"FIRST\"};\n"
	"using space::color;\n"
	"using number = word;\n"
	"static_assert(sizeof(word) == 4, \"FIRST\");\n"
	"template <class T> struct made : space::box<decltype(T())> { made(); } __attribute__((unused));\n"
	"template <class T> made<T>::made() { lonely = 1; }\n"
	"static inline struct inner make_inner(int a) { struct inner i = {a}; return i; }\n"
	"int after(float);\n"
	"[[deprecated(\"plus\")]] int praised(int);\n"
	"extern int one[SIZE], two, three = 3, four;\n"
	"typedef struct inner fifth, *sixth;\n"
	"word (seventh)(int);\n";

static const char macros[] = "#define TWICE(x) twice(x)\n#define OUTER outer\n#define BOTH TWICE(FIRST)\n#define PASTE(a) a ## 1\n";

/* The slice for this source; NULL: there is none.  The caller frees it. */
static char *cut(const char *source)
{
	CLEANUP_BUF struct buf t = {0}, m = {0};
	struct buf out = {0};
	buf_adds(&t, text);
	buf_adds(&m, macros);
	struct compile_slicer *s = compile_slicer_new(&t, &m);
	bool good = compile_slice(s, source, strlen(source), &out);
	compile_slicer_free(s);
	CHECK(good || !out.size);
	if (good)
		return out.data;
	buf_free(&out);
	return NULL;
}

static const struct {
	const char *source, *with, *without;	/* words, each by a blank */
} cases[] = {
	{"", "new once_more", "plus word inner box red FIRST callback lonely names[] color made + nothing"},
	{"plus", "int·plus float·plus word extern·\"C\"", "inner twice FIRST"},
	{"twice(1)", "twice int·plus word", "box"},
	{"TWICE(1)", "twice int·plus word", "box"},
	{"BOTH", "twice FIRST namespace·space", "red callback"},
	{"OUTER x;", "inner·outer {·int·a", "plus"},
	{"inner x;", "inner·outer {·int·a", "plus"},
	{"outer x;", "inner·outer {·int·a operator+ space", "plus"},
	{"a box", "template·<>·struct·box typename operator+", "red FIRST lonely"},
	{"red", "red·=·1 color", "FIRST callback"},
	{"color x;", "red·=·1 using·space", "FIRST callback"},
	{"SECOND", "FIRST int·plus", "red"},
	{"callback f;", "(*callback) word", "plus"},
	{"lonely", "deprecated extern·int·lonely", "callback"},
	{"names", "\"{\",·\"FIRST\"", "SECOND"},
	{"number n;", "using·number word", "callback"},
	{"made<int> m;", "made<T>::made lonely struct·box template·<·>", ""},
	{"/* lonely */", "lonely", ""},
	{"make_inner(1)", "make_inner struct·inner·{", "after praised"},
	{"after(1)", "int·after", "make_inner"},
	{"praised(1)", "praised deprecated", "one[SIZE]"},
	{"one", "one[SIZE] four", "praised"},
	{"four", "one[SIZE]", "fifth"},
	{"fifth x;", "struct·inner·fifth struct·inner·{", "seventh"},
	{"sixth x;", "struct·inner·fifth struct·inner·{", "seventh"},
	{"seventh(1)", "seventh unsigned·int·word", "sixth"},
	{"nothing named", "namespace·space namespace·empty", "box"},
	{"#include \"one.h\"", "new", "plus"},
	{"#include <two.h>\nplus", "plus", "box"},
	{"#include <cassert>", "new", "plus"},
};

/* A word of a case stands for text, with blanks where it has dots. */
static void check_words(unsigned i, const char *slice, const char *words, bool there)
{
	char all[200], *save;
	snprintf(all, sizeof all, "%s", words);
	for (char *w = strtok_r(all, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		char plain[100];
		size_t n = 0;
		for (char *p = w; *p; p++) {
			if (!strncmp(p, "·", 2)) {
				plain[n++] = ' ';
				p++;
			} else {
				plain[n++] = *p;
			}
		}
		plain[n] = 0;
		if (!strcmp(plain, "template < >"))
			strcpy(plain, "template <>");
		CHECK_MSG(!strstr(slice, plain) == !there, "case %u: %s is %s:\n%s", i, plain, there ? "missing" : "there", slice);
	}
}

TEST(what_is_named_stays)
{
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		CLEANUP_FREE char *slice = cut(cases[i].source);
		CHECK_MSG(slice, "case %u", i);
		check_words(i, slice, cases[i].with, true);
		check_words(i, slice, cases[i].without, false);
		int depth = 0;
		for (const char *p = slice; *p; p++)
			depth += !strncmp(p, "\"{\"", 3) ? -1 : 0, depth += (*p == '{') - (*p == '}');
		CHECK_MSG(depth == 0 || strstr(slice, "\"{\""), "case %u: braces", i);
	}
}

TEST(declarations_keep_their_lines)
{
	CLEANUP_FREE char *slice = cut("twice color");
	CHECK(strstr(slice, "\n# 4 \"/include/one.h\" 3\nextern \"C\" {\n\n# 5 \"/include/one.h\" 3\nint plus("));
	CHECK(strstr(slice, "\n# 6 \"/include/one.h\" 3\nstatic inline int twice("));
	CHECK(strstr(slice, "\n# 43 \"/include/two.h\" 3 4\nenum class color"));
	CHECK(strstr(slice, "\n# 0 \"<command-line>\" 2\n"));
}

TEST(no_slice_where_names_cannot_be_told)
{
	static const char *const sources[] = {"#include <three.h>", "#include \"wo.h\"", "#include_next <one.h>", "#import <one.h>", "PASTE(lone)",
					      "#include <cstdint>", "#include <unterminated", "#include\f<three.h>",
					      "#include/**/<three.h>"};
	for (unsigned i = 0; i < sizeof sources / sizeof *sources; i++) {
		CLEANUP_FREE char *slice = cut(sources[i]);
		CHECK_MSG(!slice, "%s", sources[i]);
	}
}

TEST(no_slice_of_a_text_that_is_not_understood)
{
	static const char *const texts[] = {"int f(;", "}", "int a[3)];", "#define A 1\n", "const char *s = R\"(\n)\";", "const char *s = \"abc\n;", ""};
	for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
		CLEANUP_BUF struct buf t = {0}, m = {0}, out = {0};
		buf_adds(&t, texts[i]);
		struct compile_slicer *s = compile_slicer_new(&t, &m);
		CHECK_MSG(!compile_slice(s, "f", 1, &out), "%s", texts[i]);
		compile_slicer_free(s);
	}
}
