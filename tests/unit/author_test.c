/* What `judge check` knows without running anything: findings, statements' mathematics, expectations, sizes, lazy outputs. */
#include "test.h"

#include "judge/author/expectation.h"
#include "judge/author/finding.h"
#include "judge/author/layout.h"
#include "judge/author/lazy.h"
#include "judge/author/rules.h"
#include "judge/author/statement.h"
#include "sandbox/base/cleanup.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* ---- findings ---- */

static void of(const char *text, struct findings *f)
{
	struct err e = {.kind = ERR_INPUT};
	snprintf(e.text, sizeof e.text, "%s", text);
	finding_of_err(f, &e);
}

TEST(errors_taken_apart)
{
	CLEANUP(findings_free) struct findings f = {0};
	char place[400];
	of("demo/problem.json: cases[2].N: has no value: write one", &f);
	CHECK_STR(f.at[0].file, "problem.json");
	CHECK_STR(f.at[0].field, "cases[2].N");
	CHECK_STR(f.at[0].text, "has no value: write one");
	of("demo/problem.json: line 3, column 7: a comma is missing", &f);
	CHECK_EQ(f.at[1].line, 3);
	CHECK_STR(f.at[1].text, "column 7: a comma is missing");
	of("no such folder", &f);
	CHECK_STR(f.at[2].file, "");
	of("../up: a part of a name is a dot", &f);
	CHECK_STR(f.at[2].text, "no such folder");
	finding_place(&f.at[0], place, sizeof place);
	CHECK_STR(place, "problem.json: cases[2].N");
	finding_place(&f.at[1], place, sizeof place);
	CHECK_STR(place, "problem.json:3");
	CHECK(findings_grave(&f));
}

TEST(findings_are_tame_and_end)
{
	CLEANUP(findings_free) struct findings f = {0};
	for (int i = 0; i < FINDINGS_MAX + 5; i++)
		finding_add(&f, "x\033[2J.md", i, NULL, "a\nb");
	CHECK_EQ(f.n, FINDINGS_MAX);
	CHECK_EQ(f.more, 5);
	CHECK(!strchr(f.at[0].file, '\033') && !strchr(f.at[0].text, '\n'));
	CHECK(!findings_grave(&f));
}

/* ---- mathematics ---- */

/* What is said of a text; "" if nothing. */
static const char *said(const char *text, int *line)
{
	static char out[1000];
	CLEANUP(findings_free) struct findings f = {0};
	statement_math("statement.en.md", text, strlen(text), &f);
	snprintf(out, sizeof out, "%s", f.n ? f.at[0].text : "");
	*line = f.n ? f.at[0].line : 0;
	return out;
}

TEST(mathematics)
{
	int line;
	static const char *const fine[] = {
		"plain", "$x_1$ and $$y = \\frac{a}{b}$$", "`$` in code, and\n\n```\n$x\n```\n", "costs \\$5", "$\\{a\\}$", "$\\left( x \\right)$",
		"$$\\begin{cases} a \\\\ b \\end{cases}$$", "| $a$ | $b$ |\n|---|---|\n| $x$ | $\\text{got}$ |\n", "式 $K$ 是", "$a \\le b$，$c$",
	};
	for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
		CHECK_STR(said(fine[i], &line), "");
	CHECK(strstr(said("one\n\ntwo $x and\n", &line), "a $ that begins or ends") && line == 3);
	CHECK(strstr(said("$\\sqrt{x$", &line), "a { that is not closed") && line == 1);
	CHECK(strstr(said("$x}$", &line), "a } that closes nothing"));
	CHECK(strstr(said("\n$\\frc{1}{2}$", &line), "\\frc, which KaTeX does not know") && line == 2);
	CHECK(strstr(said("$\\left( x$", &line), "a \\left without \\right"));
	CHECK(strstr(said("$$\\begin{cases} a \\end{matrix}$$", &line), "closes no \\begin"));
	CHECK(strstr(said("$$\\begin{cases} a$$", &line), "a \\begin without \\end"));
	CHECK(strstr(said("$$\\end{cases}$$", &line), "closes no \\begin"));
}

/* ---- expectations ---- */

static void put(const char *folder, const char *path, const char *text)
{
	char full[400];
	snprintf(full, sizeof full, "%s/%s", folder, path);
	for (char *at = strchr(full + strlen(folder) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = 0;
		mkdir(full, 0755);
		*at = '/';
	}
	FILE *f = fopen(full, "w");
	CHECK(f != NULL);
	fputs(text, f);
	fclose(f);
}

static int expects(const char *folder, const char *path, const char *text, struct expectation *x)
{
	CLEANUP(findings_free) struct findings f = {0};
	put(folder, path, text);
	int rc = expectation_read(folder, path, x, &f);
	CHECK_EQ(rc < 0, f.n > 0);
	return rc;
}

TEST(expectations)
{
	struct expectation x;
	char folder[] = "/tmp/author-test-XXXXXX";
	CHECK(mkdtemp(folder) != NULL);
	CHECK_EQ(expects(folder, "submissions/accepted/a.cu", "// fine\n", &x), 0);
	CHECK_EQ(x.verdict, VERDICT_AC);
	CHECK(!x.needs_gpu);
	CHECK_EQ(expects(folder, "submissions/accepted/b.cu", "// fine\n// device: gpu\n", &x), 0);
	CHECK(x.needs_gpu);
	CHECK_EQ(expects(folder, "submissions/wrong_answer/a.cu", "// bad\n//expect: NW\n", &x), 0);
	CHECK_EQ(x.verdict, VERDICT_NW);
	CHECK_EQ(expects(folder, "submissions/wrong_answer/b.cu", "// bad\n", &x), 0);
	CHECK_EQ(x.verdict, VERDICT_WA);
	CHECK_EQ(expects(folder, "submissions/time_limit_exceeded/a.cu", "", &x), 0);
	CHECK_EQ(x.verdict, VERDICT_TLE);
	CHECK_EQ(expects(folder, "submissions/rejected/a.cu", "// bad\n", &x), -1);
	CHECK_EQ(expects(folder, "submissions/rejected/a.cu", "// bad\n// expect: RACE\n", &x), 0);
	CHECK_EQ(expects(folder, "submissions/rejected/a.cu", "// expect: SE\n", &x), -1);
	CHECK_EQ(expects(folder, "submissions/rejected/a.cu", "// expect:\n", &x), -1);
	CHECK_EQ(expects(folder, "submissions/accepted/a.cu", "// expect: WA\n", &x), -1);
	CHECK_EQ(expects(folder, "submissions/run_time_error/a.cu", "// expect: AC\n", &x), -1);
	CHECK_EQ(expects(folder, "starter.cu", "// expect: AC\n", &x), 0);
	CHECK_EQ(x.verdict, VERDICT_NONE);

	CLEANUP(arena_freep) struct arena *a = arena_new();
	CLEANUP(findings_free) struct findings f = {0};
	struct layout l;
	put(folder, "problem.json", "{}");
	put(folder, "notes.txt", "");
	put(folder, "submissions/loose.cu", "");
	put(folder, "submissions/accepted/readme.txt", "");
	put(folder, "submissions/accepted/c.cu~", "");
	put(folder, "submissions/survivors.txt", "");
	layout_read(folder, a, &l, &f);
	CHECK_EQ(l.n, 10);
	CHECK_STR(l.files[0].path, "problem.json");
	CHECK_EQ(l.n_others, 4);
	CHECK_STR(l.others[0], "notes.txt");
	CHECK_EQ(f.n, 2);		/* loose.cu, readme.txt */
	char command[100];
	snprintf(command, sizeof command, "rm -r %s", folder);
	CHECK_EQ(system(command), 0);
}

/* ---- sizes ---- */

TEST(every_combination_of_sizes)
{
	struct case_spec c = {.name = "c", .n_sizes = 3, .sizes = {
		{.name = "N", .kind = DRAW_LIST, .n = 3, .list = {1, 7, 33}}, {.name = "K", .kind = DRAW_RANGE, .from = 3, .to = 100, .multiple = 8},
		{.name = "G", .kind = DRAW_FIXED, .list = {128}}}};
	struct sizes s;
	unsigned n = 0;
	int64_t sum_n = 0, k, low = 1000, high = 0;
	for (; rules_draw(&c, n, &s); n++) {
		int64_t v;
		CHECK_EQ(sizes_find(&s, "N", &v), 0);
		sum_n += v;
		CHECK_EQ(sizes_find(&s, "K", &k), 0);
		low = k < low ? k : low;
		high = k > high ? k : high;
		CHECK_EQ(sizes_find(&s, "G", &v), 0);
		CHECK_EQ(v, 128);
	}
	CHECK_EQ(n, 6);
	CHECK_EQ(sum_n, 2 * 41);
	CHECK_EQ(low, 8);
	CHECK_EQ(high, 96);
	c.sizes[1].to = 8;
	for (n = 0; rules_draw(&c, n, &s); n++)
		;
	CHECK_EQ(n, 3);			/* a range of one value */
}

/* ---- lazy outputs ---- */

enum { CASES = 3, ELEMENTS = 4 };

/* Of y = what `rule` makes of x in each case: what lazy outputs are right. */
static const char *lazily(double (*rule)(int c, int i, float x), double bound)
{
	static char out[1000];
	static const struct problem p = {.id = "p", .n_arguments = 2,
		.arguments = {{.name = "x", .role = ROLE_INPUT, .type = TYPE_F32}, {.name = "y", .role = ROLE_OUTPUT, .type = TYPE_F32}}};
	static const struct case_spec spec = {.name = "c"};
	struct testcase t = {.problem = &p, .spec = &spec, .tensors = {{{ELEMENTS}, ELEMENTS, 4 * ELEMENTS, 0}, {{ELEMENTS}, ELEMENTS, 4 * ELEMENTS, 0}}};
	CLEANUP(lazy_free) struct lazy *l = lazy_new(&p);
	CLEANUP(findings_free) struct findings f = {0};
	for (int c = 0; c < CASES; c++) {
		float x[ELEMENTS];
		double y[ELEMENTS], b[ELEMENTS];
		for (int i = 0; i < ELEMENTS; i++) {
			x[i] = (float)(10 * c + i + 1);
			y[i] = rule(c, i, x[i]);
			b[i] = bound;
		}
		struct answer a = {.tensors = {{.data = x}, {.expected = y, .bound = b}}};
		lazy_try(l, &t, &a);
	}
	lazy_tell(l, &f);
	*out = 0;
	for (unsigned i = 0; i < f.n; i++)
		strncat(out, f.at[i].text, 60);
	return out;
}

static double zero(int c, int i, float x) { return (void)c, (void)i, (void)x, 0; }
static double five(int c, int i, float x) { return (void)c, (void)i, (void)x, 5; }
static double same(int c, int i, float x) { return (void)c, (void)i, x; }
static double square(int c, int i, float x) { return (void)c, (void)i, (double)x * x; }
static double late(int c, int i, float x) { return (void)x, c || i < 2 ? i : 0; }

TEST(lazy_outputs)
{
	CHECK(strstr(lazily(zero, 0), "an output y of zeros is right in all 3 cases"));
	CHECK(strstr(lazily(five, 0.1), "an output y that is 5 everywhere"));
	CHECK(strstr(lazily(same, 0), "a copy of x as y is right"));
	CHECK_STR(lazily(square, 1), "");
	CHECK(strstr(lazily(square, 1000), "of zeros"));
	CHECK(strstr(lazily(late, 1.5), "everywhere is right"));
	CHECK_STR(lazily(late, 0.4), "");
}
