/* Reports: what stands in them, what must not, and that JSON is JSON. */
#include "test.h"

#include "judge/advice.h"
#include "judge/excerpt.h"
#include "judge/markdown.h"
#include "judge/report.h"
#include "judge/report_read.h"
#include "judge/untold.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct problem problem = {
	.id = "demo", .title = "Demo", .score_correct = 60, .score_efficiency = 40, .full_at = 0.8, .tiers = {0, 0.5, 0.8, 0.9},
	.unit = "fp32", .version = "0123",
};
static struct case_spec specs[3] = {{.name = "sample", .visible = true}, {.name = "odd"}, {.name = "big", .timing = true}};
static const char source[] = "line one\n\ty[n] = 0;\n";

/* A grading made by hand; change what a test is about. */
static struct grading grading(struct case_report cases[3])
{
	memset(cases, 0, 3 * sizeof *cases);
	for (int i = 0; i < 3; i++) {
		cases[i].spec = &specs[i];
		cases[i].verdict = VERDICT_AC;
		cases[i].error_ratio = 0.25;
		cases[i].quantization_error = NAN;
		cases[i].sizes = (struct sizes){1, {{"N", 8}}};
		cases[i].ran = true;
		cases[i].book = (struct book){.launches = 1, .time_us = 20, .weights = "W", .weight_bytes = 1000000, .weight_passes = 1,
					      .sectors_per_request = 4, .store_sectors_per_request = NAN, .load_efficiency = 1,
					      .limiter = LIMIT_LATENCY, .occupancy = 0.5, .n_kernels = 1};
		snprintf(cases[i].book.kernels[0].name, sizeof cases[i].book.kernels[0].name, "gemv");
		memcpy(cases[i].book.kernels[0].grid, (uint32_t[]){500, 1, 1}, 12);
		cases[i].book.kernels[0].modelled = (struct modelled){.time_us = 20, .limiter = LIMIT_LATENCY, .tail = 1};
	}
	cases[2].floor_us = 5;
	cases[2].efficiency = 0.25;
	return (struct grading){.problem = &problem, .name = "demo.cu", .source = source, .size = sizeof source - 1, .modelled = true,
				.device = {.name = "NVIDIA H200", .sms = 132}, .verdict = VERDICT_AC, .compiled = {.ok = true, .guest_fd = -1},
				.cases = cases, .n_cases = 3, .n_timing = 1, .score = 72.5, .efficiency = 0.25, .time_us = 20,
				.shown = &cases[2], .seed = "abcd"};
}

static char *print_one(const struct grading *g, bool utf8, bool profile)
{
	char *text = NULL;
	size_t size;
	struct term t = {.width = 100, .utf8 = utf8};
	t.file = open_memstream(&text, &size);
	report_print(g, &t, profile);
	fclose(t.file);
	return text;
}

/* A report that was kept as JSON prints the same. */
static char *printed(const struct grading *g, bool utf8, bool profile)
{
	struct err e = {0};
	struct grading again;
	CLEANUP_BUF struct buf json = {0};
	char *text = print_one(g, utf8, profile);
	report_json_kept(g, true, &json);
	CLEANUP(json_freep) struct json *j = json_parse(buf_str(&json), json.size, "report", &e);
	CHECK_MSG(j, "%s", e.text);
	CHECK_MSG(report_read(j, g->name, g->source, g->size, &again, &e) == 0, "%s", e.text);
	CLEANUP_FREE char *same = print_one(&again, utf8, profile);
	CHECK_STR(same, text);
	grading_free(&again);
	return text;
}

#define HAS(text, part) CHECK_MSG(strstr(text, part), "no \"%s\" in:\n%s", part, text)
#define LACKS(text, part) CHECK_MSG(!strstr(text, part), "\"%s\" in:\n%s", part, text)

TEST(accepted)
{
	struct case_report cases[3];
	struct grading g = grading(cases);
	CLEANUP_FREE char *text = printed(&g, true, false);
	HAS(text, "ACCEPTED   score 72.5 of 100   efficiency 25 %");
	HAS(text, "modelled on NVIDIA H200");
	HAS(text, "AC   sample                N=8                   ██░░░░░░  0.25");
	HAS(text, "3 of 3 accepted");
	HAS(text, "20.0 µs   5.00 µs  ██░░░░░░   25 %   memory latency");
	HAS(text, "weight passes        1.00  (W, 1.00 MB)");
	HAS(text, "→ Memory latency shows");
	HAS(text, "repeat with --seed abcd");
}

TEST(ascii)
{
	struct case_report cases[3];
	struct grading g = grading(cases);
	CLEANUP_FREE char *text = printed(&g, false, true);
	for (const char *p = text; *p; p++)
		CHECK_MSG((unsigned char)*p < 0x80, "byte 0x%02x in: %s", (unsigned char)*p, p);
	HAS(text, "##......  0.25");
	HAS(text, "20.0 us");
}

TEST(wrong)
{
	struct case_report cases[3];
	struct grading g = grading(cases);
	g.verdict = VERDICT_WA;
	g.decisive = &cases[0];
	snprintf(g.why, sizeof g.why, "2 of 8 elements of y are out of bound; the worst is y[5]");
	cases[0].verdict = VERDICT_WA;
	cases[0].error_ratio = INFINITY;
	cases[0].n_wrong = 1;
	cases[0].worst[0] = (struct wrong_element){.tensor = "y", .element = {5, NAN, 1.5, 0.25, INFINITY}};
	cases[2].verdict = VERDICT_NONE;
	cases[2].error_ratio = NAN;
	cases[2].ran = false;
	CLEANUP_FREE char *text = printed(&g, true, false);
	HAS(text, "WRONG ANSWER  WA");
	HAS(text, "case sample (N=8): 2 of 8 elements of y are out of bound; the worst is y[5]");
	HAS(text, "y[5]                            nan              1.5                      0.25");
	HAS(text, "████████  inf");
	HAS(text, "not timed: only a right answer is");
	LACKS(text, "score");
}

TEST(fault)
{
	struct case_report cases[3];
	struct grading g = grading(cases);
	g.verdict = VERDICT_IMA;
	g.decisive = &cases[1];
	cases[1].verdict = VERDICT_IMA;
	cases[1].fault = (struct fault){.kind = FAULT_OUT_OF_BOUNDS, .block = {1, 0, 0}, .thread = {33, 0, 0}, .has_thread = 1,
					.has_address = 1, .line = 2, .address = 0x7f0000001000, .kernel = "fill(float *)", .file = "demo.cu"};
	CLEANUP_FREE char *text = printed(&g, true, false);
	HAS(text, "    kernel   fill(float *)\n    block    (1, 0, 0)   thread (33, 0, 0)\n    address  0x7f0000001000\n"
		  "    at       demo.cu:2\n     2 │     y[n] = 0;\n");
	HAS(text, "Hold the index against");
}

TEST(no_timing_case)
{
	struct case_report cases[3];
	struct grading g = grading(cases);
	g.n_cases = 2;
	g.n_timing = 0;
	g.efficiency = g.time_us = NAN;
	g.shown = &cases[1];
	CLEANUP_FREE char *text = printed(&g, true, false);
	HAS(text, "problem demo has no timing case for the emulated device: no efficiency, 60 points at most");
	LACKS(text, "efficiency nan");
}

/* The same on a GPU: times beside those of the reference and of cuBLAS, as far as they are known. */
TEST(compared_on_a_gpu)
{
	struct case_report cases[3];
	struct grading g = grading(cases);
	g.modelled = false;
	cases[2].gpu = true;
	cases[2].timing = (struct timing){.sets = 4, .passes = 10, .low_us = 19, .high_us = 21};
	CLEANUP_FREE char *none = printed(&g, true, false);
	LACKS(none, "cuBLAS");
	LACKS(none, "reference");
	HAS(none, "25 %   memory latency");
	cases[2].reference.us = 250;
	cases[2].cublas.us = 10;
	snprintf(g.cublas, sizeof g.cublas, "13.1.0");
	CLEANUP_FREE char *both = printed(&g, true, false);
	HAS(both, "efficiency       reference     cuBLAS   limited by\n");
	HAS(both, "25 %        12×       0.5×   memory latency");
	HAS(both, "as fast as the package's reference.cu");
	HAS(both, "as the same product in FP16 by cuBLAS 13.1.0\n");
	HAS(both, "; reference.cu 250 µs; cuBLAS 10.0 µs\n");
	cases[2].reference.us = 0;
	snprintf(g.reference_note, sizeof g.reference_note, "reference.cu: it does not compile: 1 error");
	CLEANUP_FREE char *one = printed(&g, false, false);
	HAS(one, "25 %       0.5x   memory latency");
	HAS(one, "       not compared with reference.cu: it does not compile: 1 error\n");
}

/* On the emulated device the reference's time is modelled. */
TEST(compared_with_a_modelled_reference)
{
	struct case_report cases[3];
	struct grading g = grading(cases);
	cases[2].reference.us = 250;
	CLEANUP_FREE char *text = printed(&g, true, false);
	HAS(text, "25 %        12×   memory latency");
	HAS(text, "as fast as the package's reference.cu (big 250 µs)\n");
}

TEST(baselines_in_json)
{
	struct case_report cases[3];
	struct grading g = grading(cases);
	CLEANUP_BUF struct buf text = {0}, modelled = {0};
	report_json(&g, false, &modelled);
	LACKS(buf_str(&modelled), "baselines");
	g.modelled = false;
	cases[2].gpu = true;
	cases[2].cublas.us = 10.5;
	snprintf(g.cublas, sizeof g.cublas, "13.1.0");
	snprintf(g.reference_note, sizeof g.reference_note, "reference.cu: case big: wrong answer");
	report_json(&g, false, &text);
	HAS(buf_str(&text), "\"baselines\": {\n        \"reference_us\": null,\n        \"cublas_f16_us\": 10.5\n      }");
	HAS(buf_str(&text), "\"cublas\": \"13.1.0\",\n  \"reference_note\": \"reference.cu: case big: wrong answer\",\n  \"cublas_note\": null");
}

TEST(impossible_time)
{
	struct case_report cases[3];
	struct grading g = grading(cases);
	cases[2].impossible = true;
	cases[2].efficiency = 0;
	CLEANUP_FREE char *text = printed(&g, true, false);
	HAS(text, "below the floor: impossible, not rewarded");
}

/* What a program prints is shown, not obeyed. */
TEST(printed_escapes)
{
	struct case_report cases[3];
	struct grading g = grading(cases);
	cases[0].printed = "\033[2J\a\xff plain \xe4\xb8\xad\n";
	CLEANUP_FREE char *text = print_one(&g, true, false);
	HAS(text, "case sample printed:\n\\x1b[2J\\x07\\xff plain \xe4\xb8\xad\n");
	LACKS(text, "\033");
}

TEST(what_students_are_sent)
{
	struct case_report cases[3];
	struct grading g = grading(cases);
	CLEANUP_BUF struct buf whole = {0}, part = {0};
	g.decisive = &cases[1];
	g.verdict = cases[1].verdict = VERDICT_IMA;
	snprintf(cases[1].why, sizeof cases[1].why, "case odd (N=8): out of bounds");
	snprintf(g.why, sizeof g.why, "case odd (N=8): out of bounds");
	cases[1].fault = (struct fault){.kind = FAULT_OUT_OF_BOUNDS, .has_thread = 1, .thread = {777, 0, 0}, .has_address = 1, .address = 0x7f00,
					.line = 2, .file = "demo.cu", .detail = "past the end of y (32 bytes)"};
	report_json_kept(&g, true, &whole);
	report_json_kept(&g, false, &part);
	HAS(buf_str(&whole), "abcd");
	HAS(buf_str(&whole), "{\"name\":\"odd\",\"visible\":false,\"timing\":false,\"gpu\":false,\"sizes\":{\"N\":8}");
	HAS(buf_str(&whole), "32 bytes");
	LACKS(buf_str(&part), "abcd");
	LACKS(buf_str(&part), "32 bytes");
	LACKS(buf_str(&part), "777");
	LACKS(buf_str(&part), "0x7f00");
	LACKS(buf_str(&part), "(N=8)");
	HAS(buf_str(&part), "\"line\":2");
	HAS(buf_str(&part), "{\"name\":\"odd\",\"visible\":false,\"timing\":false,\"gpu\":false,\"sizes\":{}");
	HAS(buf_str(&part), "{\"name\":\"sample\",\"visible\":true,\"timing\":false,\"gpu\":false,\"sizes\":{\"N\":8}");
}

/* Whatever a program may choose in a hidden case: how wrong it is, how it launched, what memory it took. */
TEST(what_of_hidden_cases_is_a_choice)
{
	struct case_report cases[3];
	struct grading g = grading(cases);
	CLEANUP_BUF struct buf whole = {0}, part = {0}, told = {0}, open = {0};
	g.n_cases = 2;
	g.n_timing = 0;
	g.shown = g.decisive = &cases[1];
	g.verdict = cases[1].verdict = VERDICT_RV;
	snprintf(g.why, sizeof g.why, "77123 kernel launches; this problem allows 8");
	cases[0].host_memory = 4096;
	cases[1].host_memory = g.host_memory = 77123456;
	cases[1].error_ratio = 0.077123;
	cases[1].book.counters.instructions = 77123;
	memcpy(cases[1].book.kernels[0].grid, (uint32_t[]){77123, 1, 1}, 12);
	cases[1].n_lines = 1;
	cases[1].lines = &(struct device_line){.line = 2, .file = "demo.cu", .counters = {.instructions = 77123}};
	report_json_kept(&g, true, &whole);
	report_json_kept(&g, false, &part);
	report_told(&g, &told);
	HAS(buf_str(&whole), "77123456");
	HAS(buf_str(&whole), "\"grid\":[77123,1,1]");
	LACKS(buf_str(&part), "77123");
	HAS(buf_str(&part), "\"error_ratio\":0.1,");
	HAS(buf_str(&part), "\"host_memory_bytes\":4096");
	HAS(buf_str(&part), "\"grid\":[500,1,1]");		/* the sample's */
	HAS(buf_str(&part), "\"shown\":0");
	CHECK_STR(buf_str(&told), "… kernel launches; this problem allows …");
	g.decisive = &cases[0];
	report_told(&g, &open);
	CHECK_STR(buf_str(&open), g.why);
}

TEST(ratios_are_told_roughly)
{
	static const struct { double ratio, told; } table[] = {{0, 0.001}, {1e-9, 0.001}, {0.001, 0.001}, {0.0011, 0.002}, {0.3, 0.5}, {0.51, 1}, {1, 1}};
	for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
		CHECK(untold_ratio(table[i].ratio) == table[i].told);
	CHECK(isnan(untold_ratio(1.5)) && isnan(untold_ratio(INFINITY)) && isnan(untold_ratio(NAN)));
}

TEST(what_is_no_report_is_refused)
{
	static const char *const bad[] = {"{}", "[]", "{\"verdict\":\"XX\"}", "7",
		"{\"verdict\":\"AC\",\"cases\":[1,null,\"x\",{\"worst\":[1,2],\"sizes\":[3],\"fault\":7}],\"kernels\":[4],\"book\":{\"case\":\"\"},"
		"\"diagnostics\":[5,{\"line\":-3}],\"advice\":[1],\"hardware\":{\"counters\":[1]},\"decisive\":1e300,\"lines\":{}}"};
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err e = {0};
		struct grading g;
		CLEANUP(json_freep) struct json *j = json_parse(bad[i], strlen(bad[i]), "report", &e);
		CHECK_MSG(j, "%s", e.text);
		int rc = report_read(j, "a.cu", "x", 1, &g, &e);
		CHECK_EQ(rc, i < 4 ? -1 : 0);
		if (rc == 0) {
			free(print_one(&g, true, true));
			grading_free(&g);
		}
	}
}

TEST(json)
{
	struct case_report cases[3];
	struct grading g = grading(cases);
	struct err e = {0};
	CLEANUP_BUF struct buf text = {0};
	g.verdict = VERDICT_WA;
	g.efficiency = g.time_us = NAN;
	snprintf(g.why, sizeof g.why, "quotes \" and \x01 and \xff");
	cases[0].error_ratio = INFINITY;
	cases[0].n_wrong = 1;
	cases[0].worst[0] = (struct wrong_element){.tensor = "y", .element = {5, NAN, -INFINITY, 0.25, INFINITY}};
	report_json(&g, false, &text);
	CLEANUP(json_freep) struct json *j = json_parse(buf_str(&text), text.size, "report", &e);
	CHECK_MSG(j, "%s\n%s", e.text, buf_str(&text));
	static const char *const members[] = {"problem", "device", "modelled", "verdict", "score", "cases", "kernels", "book", "diagnostics"};
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		CHECK_MSG(json_get(json_root(j), members[i]), "%s", members[i]);
	const char *s;
	CHECK_EQ(json_string(j, json_root(j), "text", "", &s, &e), 0);
	CHECK_STR(s, "quotes \" and \x01 and \xef\xbf\xbd");
	CHECK(!json_get(json_root(j), "efficiency"));
	const struct cJSON *all, *first;
	CHECK_EQ(json_array(j, json_root(j), "cases", "", &all, &e), 0);
	CHECK_EQ(json_count(all), 3);
	first = json_first(all);
	CHECK_EQ(json_string(j, first, "error_ratio", "", &s, &e), 0);
	CHECK_STR(s, "inf");
	CHECK(json_value(json_get(json_next(first), "error_ratio")) == 0.25);
	CHECK(!json_get(json_next(first), "worst"));
}

static const char *advised(void (*change)(struct case_report *r, struct grading *g))
{
	static struct advice a;
	static char all[ADVICE_LINES * ADVICE_LENGTH + 8];
	struct case_report cases[3];
	struct grading g = grading(cases);
	cases[2].book.limiter = LIMIT_DRAM;
	if (change)
		change(&cases[2], &g);
	advice_of(&g, &a);
	*all = 0;
	for (unsigned i = 0; i < a.n; i++) {
		strcat(all, a.lines[i]);
		strcat(all, "\n");
	}
	return all;
}

static void twice(struct case_report *r, struct grading *g) { (void)g; r->book.weight_passes = 2; }
static void small_grid(struct case_report *r, struct grading *g) { (void)g; r->book.kernels[0].grid[0] = 4; }
static void strided(struct case_report *r, struct grading *g) { (void)g; r->book.load_efficiency = 0.125; }
static void near_floor(struct case_report *r, struct grading *g) { (void)g; r->efficiency = 0.92; }
static void conflicts(struct case_report *r, struct grading *g)
{
	(void)g;
	r->book.shared_conflicts = 900;
	r->book.shared_wavefronts = 1000;
	r->book.kernels[0].modelled.shared_us = 19;
}
static void divergent_constants(struct case_report *r, struct grading *g)
{
	(void)g;
	r->book.limiter = LIMIT_CONSTANT;
	r->book.counters.constant_load_requests = 10;
	r->book.counters.constant_load_passes = 139;
}
static void three(struct case_report *r, struct grading *g)
{
	(void)g;
	r->book.launches = 3;
	r->book.intermediate_bytes = 4000000;
}
static void narrow(struct case_report *r, struct grading *g)
{
	(void)g;
	r->book.limiter = LIMIT_LATENCY;
	r->book.counters = (struct counters){.global_load_requests = 100, .global_load_bytes = 12800, .instructions = 1000};
}

TEST(hints_know_finer_kinds)
{
	static const struct { uint32_t kind; const char *detail, *hint; } table[] = {
		{FAULT_RACE_GLOBAL, "lanes 0 and 1 of warp 0 write different values to one address with one 4-byte store", "Let one lane write"},
		{FAULT_RACE_GLOBAL, "warp 1 writes y[0], warp 0 of the same block reads it with no barrier between", "__syncthreads()"},
		{FAULT_RACE_GLOBAL, "block (1, 0, 0) wrote y[0], and nothing orders blocks of one launch", "Nothing orders blocks"},
		{FAULT_OUT_OF_BOUNDS, "4-byte write at offset 0 of shared memory (0 bytes a block)", "third argument"},
		{FAULT_OUT_OF_BOUNDS, "4-byte read 4 bytes past the end of Wq (8192 bytes)", "Hold the index"},
	};
	static struct advice a;
	struct case_report cases[3];
	struct grading g = grading(cases);
	g.verdict = VERDICT_RACE;
	g.decisive = &cases[0];
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		cases[0].fault = (struct fault){.kind = table[i].kind};
		snprintf(cases[0].fault.detail, sizeof cases[0].fault.detail, "%s", table[i].detail);
		advice_of(&g, &a);
		CHECK_EQ(a.n, 1);
		HAS(a.lines[0], table[i].hint);
	}
}

static unsigned widest(const char *text)
{
	unsigned most = 0;
	CLEANUP_FREE char *copy = strdup(text);
	char *next;
	for (char *line = copy; line && (next = strchr(line, '\n')); line = next + 1) {
		*next = 0;
		CHECK_MSG(next == line || next[-1] != ' ', "a blank ends: %s", line);
		unsigned n = (unsigned)term_columns(line);
		most = n > most ? n : most;
	}
	return most;
}

TEST(a_narrow_terminal_is_enough)
{
	struct case_report cases[3];
	struct grading g = grading(cases);
	for (int verdict = 0; verdict < 2; verdict++)
		for (int width = 60; width <= 100; width += 10) {
			char *text = NULL;
			size_t size;
			struct term t = {.width = width, .utf8 = true, .is_terminal = true};
			if (verdict) {
				g.verdict = VERDICT_WA;
				g.decisive = &cases[0];
				cases[0].verdict = VERDICT_WA;
				snprintf(g.why, sizeof g.why, "2 of 8 elements of y are out of bound; the worst is y[5]");
			}
			cases[1].quantization_error = 0.15;
			t.file = open_memstream(&text, &size);
			report_print(&g, &t, false);
			fclose(t.file);
			CHECK_MSG(widest(text) <= (unsigned)width, "%u columns on %d:\n%s", widest(text), width, text);
			free(text);
		}
	struct term t = {.width = 100, .utf8 = true};
	char *text = NULL;
	size_t size;
	t.file = open_memstream(&text, &size);
	report_print(&g, &t, false);
	fclose(t.file);
	widest(text);
	free(text);
}

TEST(an_excerpt_is_cut_on_a_terminal_only_and_says_so)
{
	static const char line[] = "0123456789012345678901234567890123456789012345678901234567890123456789";
	for (int i = 0; i < 2; i++) {
		char *text = NULL;
		size_t size;
		struct term t = {.width = 50, .utf8 = true, .is_terminal = i == 1};
		t.file = open_memstream(&text, &size);
		excerpt_print(&t, line, sizeof line - 1, 1, 0);
		fclose(t.file);
		CHECK_STR(text, i ? "     1 │ 012345678901234567890123456789012345678…\n" :
				    "     1 │ 0123456789012345678901234567890123456789012345678901234567890123456789\n");
		free(text);
	}
}

TEST(advice)
{
	CHECK_STR(advised(NULL), "");
	HAS(advised(twice), "W is loaded 2.00 times over");
	HAS(advised(small_grid), "4 blocks for 132 multiprocessors");
	HAS(advised(strided), "Only 12 % of the bytes");
	HAS(advised(near_floor), "little is left to gain");
	HAS(advised(conflicts), "Bank conflicts: 900 of 1,000");
	HAS(advised(divergent_constants), "its loads take 13.9 passes each");
	HAS(advised(three), "3 launches hand 4.00 MB to each other");
	HAS(advised(narrow), "A lane loads 4.0 bytes at a time");
}

static char *rendered(const char *markdown, int width)
{
	char *text = NULL;
	size_t size;
	struct term t = {.width = width, .utf8 = true};
	t.file = open_memstream(&text, &size);
	markdown_print(&t, markdown, strlen(markdown));
	fclose(t.file);
	return text;
}

#define RENDERS(markdown, expected)                                        \
	do {                                                               \
		CLEANUP_FREE char *text = rendered(markdown, 40);          \
		CHECK_STR(text, expected);                                 \
	} while (0)

TEST(markdown)
{
	RENDERS("# Title\n\ntext **bold**\nand `code`.\n", "Title\n\ntext bold and code.\n");
	RENDERS("- one\n- two\n", "• one\n• two\n");
	RENDERS("$y_n = \\sum_{k=0}^{K-1} w_{n,k} \\cdot x_k$, $x^2$, $a \\le b$\n", "y_n = Σ_(k=0)^(K-1) w_(n,k) · x_k, x^2,\na ≤ b\n");
	RENDERS("```\na  b\n```\n", "    a  b\n");
	RENDERS("| a | b |\n|---|---|\n| `x|y` | long |\nafter\n", "  a    b\n  x|y  long\nafter\n");
	RENDERS("a word that is longer than what the line can hold goes on\n", "a word that is longer than what the line\ncan hold goes on\n");
	RENDERS("costs $5\n", "costs $5\n");
}

TEST(columns)
{
	CHECK_EQ(term_columns("abc"), 3);
	CHECK_EQ(term_columns("µ"), 1);
	CHECK_EQ(term_columns("中文"), 4);
	CHECK_EQ(term_columns("\033[1mab\033[0m"), 2);
}

TEST(excerpts)
{
	char *text = NULL;
	size_t size, length;
	struct term t = {.width = 60, .utf8 = true};
	static const char lines[] = "a\r\n\tif (x)\xff\x01\nlast";
	t.file = open_memstream(&text, &size);
	excerpt_print(&t, lines, sizeof lines - 1, 1, 1);
	excerpt_print(&t, lines, sizeof lines - 1, 2, 2);
	excerpt_print(&t, lines, sizeof lines - 1, 3, 5);
	excerpt_print(&t, lines, sizeof lines - 1, 4, 1);
	excerpt_print(&t, lines, sizeof lines - 1, 0, 1);
	fclose(t.file);
	CHECK_STR(text, "     1 │ a\n       │ ^\n     2 │     if (x)??\n       │     ^\n     3 │ last\n       │     ^\n");
	free(text);
	CHECK(!excerpt_line(lines, sizeof lines - 1, 9, &length));
}
