/* Problem packages: every field of problem.json missing or wrong is a message with file, field, fault and mend. */
#include "test.h"

#include "judge/problem.h"
#include "judge/testcase.h"
#include "sandbox/base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One field a line, so that a line can be taken out. */
static const char good[] =
	"{\n"
	"\"format\": 1,\n"
	"\"id\": \"demo\",\n"
	"\"title\": {\"en\": \"Demo\"},\n"
	"\"difficulty\": \"easy\",\n"
	"\"tags\": [\"int4\"],\n"
	"\"entry\": \"solve\",\n"
	"\"arguments\": [{\"name\": \"W\", \"role\": \"input\", \"type\": \"u32\", \"shape\": [\"N\", \"K/8\"]},"
	" {\"name\": \"h\", \"role\": \"input\", \"type\": \"f16\", \"shape\": [\"K\"]},"
	" {\"name\": \"y\", \"role\": \"output\", \"type\": \"f32\", \"shape\": [\"N\"]},"
	" {\"name\": \"space\", \"role\": \"workspace\", \"type\": \"u8\", \"shape\": [\"4*N+64\"]},"
	" {\"name\": \"N\", \"role\": \"scalar\", \"type\": \"i32\"}, {\"name\": \"K\", \"role\": \"scalar\", \"type\": \"i32\"}],\n"
	"\"prepare\": [\"W\", \"space\", \"N\"],\n"
	"\"sizes\": [\"G\"],\n"
	"\"cases\": [{\"name\": \"sample\", \"visible\": true, \"N\": 8, \"K\": 256, \"G\": 128},"
	" {\"name\": \"odd\", \"N\": [1, 257], \"K\": {\"from\": 128, \"to\": 4096, \"multiple\": 128}, \"G\": 64, \"data\": \"outliers\"}],\n"
	"\"timing\": [{\"name\": \"big\", \"device\": \"emulated\", \"N\": 64, \"K\": 1024, \"G\": 128}],\n"
	"\"work\": {\"bytes\": \"auto\", \"flops\": \"2*N*K\", \"unit\": \"fp32\"},\n"
	"\"rules\": {\"max_launches\": null, \"scratch_bytes\": \"4*N\"},\n"
	"\"score\": {\"correct\": 60, \"efficiency\": 40, \"full_at\": 0.8, \"tiers\": {\"bronze\": 0.5, \"silver\": 0.8, \"gold\": 0.9}},\n"
	"\"limits\": {\"seconds\": 5, \"memory_mib\": 256, \"million_instructions\": 70}\n"
	"}\n";

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[200];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	CHECK(f);
	fputs(text, f);
	fclose(f);
}

/* Load a package whose problem.json is `text`; the message, or "accepted". */
static const char *load(const char *text, void (*look)(const struct problem *p))
{
	static struct err e;
	char top[] = "/tmp/judge-problem-XXXXXX", folder[64], path[128];
	memset(&e, 0, sizeof e);
	CHECK(mkdtemp(top));
	snprintf(folder, sizeof folder, "%s/demo", top);
	mkdir(folder, 0700);
	write_file(folder, "problem.json", text);
	write_file(folder, "oracle.c", "void generate(void);");
	struct problem *p = problem_open(folder, &e);
	snprintf(path, sizeof path, "%s/problem.json", folder);
	unlink(path);
	snprintf(path, sizeof path, "%s/oracle.c", folder);
	unlink(path);
	rmdir(folder);
	rmdir(top);
	if (!p)
		return e.text;
	if (look)
		look(p);
	problem_close(p);
	return "accepted";
}

static char *replaced(const char *find, const char *with)
{
	const char *at = strstr(good, find);
	CHECK_MSG(at, "no \"%s\" in the good package", find);
	char *text = NULL;
	CHECK(asprintf(&text, "%.*s%s%s", (int)(at - good), good, with, at + strlen(find)) > 0);
	return text;
}

#define WRONG(find, with, message)                                                     \
	do {                                                                           \
		CLEANUP_FREE char *text = replaced(find, with);                        \
		CHECK_STR(load(text, NULL), message);                                  \
	} while (0)

static void look_at_good(const struct problem *p)
{
	struct buf text = {0};
	CHECK_STR(p->id, "demo");
	CHECK_EQ(p->n_cases, 3);
	CHECK_EQ(p->n_arguments, 6);
	CHECK_EQ(p->n_names, 3);
	CHECK(p->seconds == 5);
	CHECK_EQ(p->instructions, 70000000);
	CHECK_EQ(p->max_launches, -1);
	problem_prelude(p, &text);
	CHECK_STR(buf_str(&text), "#include <stdint.h>\n#include <cuda_fp16.h>\n"
		  "extern \"C\" void solve(const uint32_t *W, const __half *h, float *y, void *space, int N, int K);\n"
		  "extern \"C\" void prepare(const uint32_t *W, void *space, int N);\n");
	buf_free(&text);
	CHECK_EQ(strlen(p->version), 32);
}

TEST(good_package)
{
	CHECK_STR(load(good, look_at_good), "accepted");
}

/* Take out each field in turn, at every level: what is required is missed by name. */
TEST(missing_fields)
{
	static const char *const fields[][2] = {
		{"\"format\": 1,\n", "demo/problem.json: field format is missing"},
		{"\"id\": \"demo\",\n", "demo/problem.json: field id is missing"},
		{"\"title\": {\"en\": \"Demo\"},\n", "demo/problem.json: field title is missing"},
		{"\"en\": \"Demo\"", "demo/problem.json: field title.en is missing"},
		{"\"difficulty\": \"easy\",\n", "demo/problem.json: field difficulty is missing"},
		{"\"tags\": [\"int4\"],\n", "demo/problem.json: field tags is missing"},
		{"\"entry\": \"solve\",\n", "demo/problem.json: field entry is missing"},
		{"\"name\": \"W\", ", "demo/problem.json: field arguments[0].name is missing"},
		{"\"role\": \"input\", ", "demo/problem.json: field arguments[0].role is missing"},
		{"\"type\": \"u32\", ", "demo/problem.json: field arguments[0].type is missing"},
		{", \"shape\": [\"N\", \"K/8\"]", "demo/problem.json: field arguments[0].shape is missing"},
		{"\"name\": \"sample\", ", "demo/problem.json: field cases[0].name is missing"},
		{", \"K\": 256", "demo/problem.json: cases[0]: field K is missing"},
		{", \"G\": 64", "demo/problem.json: cases[1]: field G is missing"},
		{"\"from\": 128, ", "demo/problem.json: field cases[1].K.from is missing"},
		{", \"to\": 4096", "demo/problem.json: field cases[1].K.to is missing"},
		{"\"device\": \"emulated\", ", "demo/problem.json: field timing[0].device is missing"},
		{"\"work\": {\"bytes\": \"auto\", \"flops\": \"2*N*K\", \"unit\": \"fp32\"},\n", "demo/problem.json: field work is missing"},
		{"\"bytes\": \"auto\", ", "demo/problem.json: field work.bytes is missing"},
		{"\"flops\": \"2*N*K\", ", "demo/problem.json: field work.flops is missing"},
		{", \"unit\": \"fp32\"", "demo/problem.json: field work.unit is missing"},
		{"\"rules\": {\"max_launches\": null, \"scratch_bytes\": \"4*N\"},\n", "demo/problem.json: field rules is missing"},
		{"\"max_launches\": null, ", "demo/problem.json: rules: field max_launches is missing"},
		{", \"scratch_bytes\": \"4*N\"", "demo/problem.json: rules: field scratch_bytes is missing"},
		{"\"correct\": 60, ", "demo/problem.json: field score.correct is missing"},
		{"\"efficiency\": 40, ", "demo/problem.json: field score.efficiency is missing"},
		{"\"full_at\": 0.8, ", "demo/problem.json: field score.full_at is missing"},
		{"\"bronze\": 0.5, ", "demo/problem.json: field score.tiers.bronze is missing"},
		{", \"gold\": 0.9", "demo/problem.json: field score.tiers.gold is missing"},
	};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		CLEANUP_FREE char *text = replaced(fields[i][0], "");
		const char *message = load(text, NULL);
		CHECK_MSG(!strncmp(message, fields[i][1], strlen(fields[i][1])), "without %s: %s", fields[i][0], message);
	}
}

TEST(wrong_heads)
{
	WRONG("\"format\": 1", "\"format\": 2", "demo/problem.json: format: 2 is not right: write 1");
	WRONG("\"id\": \"demo\"", "\"id\": \"other\"",
	      "demo/problem.json: id: is \"other\", but the folder is \"demo\": write \"demo\" or rename the folder");
	WRONG("{\"en\": \"Demo\"}", "\"Demo\"",
	      "demo/problem.json: field title is \"Demo\": write an object, e.g. {\"en\": \"INT4 GEMV\"}");
	WRONG("\"easy\"", "\"trivial\"", "demo/problem.json: difficulty: is \"trivial\": write \"easy\", \"medium\" or \"hard\"");
	WRONG("[\"int4\"]", "[4]", "demo/problem.json: tags[0]: is no tag: write a word of at most 30 bytes in quotes");
	WRONG("\"solve\"", "\"main\"", "demo/problem.json: entry: is \"main\": write \"solve\"");
	WRONG("\"tags\"", "\"tag\"", "demo/problem.json: tag: no such field: did you mean \"tags\"?");
	WRONG("{\n\"format\"", "[\n\"format\"", "demo/problem.json: line 2, column 9: \",\" or \"]\" is missing here");
	CHECK_STR(load("[]", NULL), "demo/problem.json: the file must hold an object: {\"format\": 1, ...}");
	CHECK_STR(load("", NULL), "demo/problem.json: line 1, column 1: the file is empty");
}

TEST(wrong_arguments)
{
	WRONG("\"role\": \"input\"", "\"role\": \"in\"",
	      "demo/problem.json: arguments[0].role: is \"in\": write \"input\", \"output\", \"workspace\" or \"scalar\"");
	WRONG("\"u32\"", "\"uint\"",
	      "demo/problem.json: arguments[0].type: is \"uint\": write one of i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 e4m3 e5m2 ");
	WRONG("\"K/8\"", "\"K/\"",
	      "demo/problem.json: arguments[0].shape[1]: K/: the expression ends where a size or number should be");
	WRONG("[\"N\", \"K/8\"]", "[]", "demo/problem.json: arguments[0].shape: has 0 dimensions: write 1 to 4");
	WRONG("[\"N\", \"K/8\"]", "[0]",
	      "demo/problem.json: arguments[0].shape[0]: is no size: write an expression in quotes, e.g. \"K/8\", or a whole number");
	WRONG("\"name\": \"h\"", "\"name\": \"W\"", "demo/problem.json: arguments[1].name: is \"W\", which an earlier argument has");
	WRONG("\"name\": \"h\"", "\"name\": \"h h\"",
	      "demo/problem.json: arguments[1].name: is \"h h\": write a name of letters, digits and _");
	WRONG("\"role\": \"output\"", "\"role\": \"input\"", "demo/problem.json: arguments: has no output: a problem needs at least one");
	WRONG("\"scalar\", \"type\": \"i32\"", "\"scalar\", \"type\": \"f32\"",
	      "demo/problem.json: arguments[4].type: is \"f32\": a scalar is \"i32\" or \"i64\"");
	WRONG("[\"W\", \"space\", \"N\"]", "[\"W\", \"spice\"]",
	      "demo/problem.json: prepare[1]: names no argument: write the name of one in \"arguments\"");
	WRONG("[\"W\", \"space\", \"N\"]", "[\"y\"]", "demo/problem.json: prepare[0]: prepare() gets no outputs: remove \"y\"");
}

TEST(wrong_cases)
{
	WRONG("\"visible\": true", "\"visble\": true", "demo/problem.json: cases[0].visble: no such field: did you mean \"visible\"?");
	WRONG("\"visible\": true", "\"visible\": 1", "demo/problem.json: field cases[0].visible is 1: write true or false");
	WRONG("\"visible\": true", "\"visible\": false",
	      "demo/problem.json: cases: has 0 visible and 2 hidden cases: a problem needs one of each at least");
	WRONG("\"name\": \"odd\"", "\"name\": \"sample\"", "demo/problem.json: cases[1].name: is \"sample\", which an earlier case has");
	WRONG("[1, 257]", "[]", "demo/problem.json: cases[1].N: is an empty list: write at least one size");
	WRONG("[1, 257]", "[1.5]", "demo/problem.json: cases[1].N[0]: is no size: write a whole number");
	WRONG("[1, 257]", "\"many\"",
	      "demo/problem.json: cases[1].N: is no size: write a whole number, a list of them, or {\"from\": 1, \"to\": 64, \"multiple\": 8}");
	WRONG("\"to\": 4096", "\"to\": 100", "demo/problem.json: cases[1].K: \"from\" 128 is above \"to\" 100");
	WRONG("\"multiple\": 128", "\"multiple\": 5000", "demo/problem.json: cases[1].K: no multiple of 5000 lies from 128 to 4096");
	WRONG("\"K\": 256", "\"K\": 250", "demo/problem.json: cases[0]: with N=8 K=250 G=128: shape of W: K/8: 250 is not a multiple of 8");
	WRONG("\"N\": 8,", "\"N\": 0,",
	      "demo/problem.json: cases[0]: with N=0 K=256 G=128: shape of W: N is 0: a tensor holds at least one element");
	WRONG("\"N\": 64, \"K\": 1024", "\"N\": 2000000, \"K\": 1024000",
	      "demo/problem.json: timing[0]: with N=2000000 K=1024000 G=128: W has 256000000000 elements of 4 bytes; a case holds at most 4096 MiB");
	WRONG("\"device\": \"emulated\"", "\"device\": \"cpu\"",
	      "demo/problem.json: timing[0].device: is \"cpu\": write \"gpu\" or \"emulated\"");
	WRONG("\"N\": 64,", "\"N\": [64],",
	      "demo/problem.json: timing[0].N: is no size: a timing case wants a whole number, the same in every run");
	WRONG("\"G\": 128}]", "\"G\": 128, \"visible\": true}]",
	      "demo/problem.json: timing[0].visible: no such field; known here: N, K, G, name, device, data");
}

TEST(wrong_ends)
{
	WRONG("\"2*N*K\"", "\"2*N*M\"", "demo/problem.json: work.flops: M is no size of this problem");
	WRONG("\"unit\": \"fp32\"", "\"unit\": \"fp8\"",
	      "demo/problem.json: work.unit: is \"fp8\": write \"fp32\", \"fp16\", \"tensor_f16\" or \"tensor_i8\"");
	WRONG("\"max_launches\": null", "\"max_launches\": 0",
	      "demo/problem.json: rules.max_launches: 0 is not right: write a whole number from 1 to 1000000");
	WRONG("\"correct\": 60", "\"correct\": 70", "demo/problem.json: score: correct and efficiency are 110 together: make it 100");
	WRONG("\"full_at\": 0.8", "\"full_at\": 80", "demo/problem.json: score.full_at: 80 is out of range: write a number from 0.01 to 1");
	WRONG("\"bronze\": 0.5", "\"bronze\": 0.85",
	      "demo/problem.json: score.tiers: bronze must not be above silver, nor silver above gold");
	WRONG("\"seconds\": 5", "\"seconds\": 0",
	      "demo/problem.json: limits.seconds: 0 is out of range: write a number from 0.1 to 600");
	WRONG("\"million_instructions\": 70", "\"million_instructions\": 0.5",
	      "demo/problem.json: limits.million_instructions: 0.5 is not right: write a whole number from 1 to 100000");
	WRONG("\"million_instructions\": 70", "\"compile_seconds\": 0.5",
	      "demo/problem.json: limits.compile_seconds: 0.5 is out of range: write a number from 1 to 600");
	WRONG("\"million_instructions\": 70", "\"compile_mib\": 255",
	      "demo/problem.json: limits.compile_mib: 255 is not right: write a whole number from 256 to 65536");
}

static void look_at_rules(const struct problem *p)
{
	CHECK_EQ(p->max_launches, 1);
	CHECK_STR(p->scratch_bytes, "0");
	CHECK_STR(p->max_intermediate_bytes, "N*8");
	CHECK(p->max_passes[0] == 1.25 && p->max_passes[1] == 0);
}

static void look_for_rules(const struct problem *p)
{
	CHECK(!p->max_intermediate_bytes && !p->max_passes[0] && !p->max_passes[1]);
}

/* The good package with these rules. */
#define RULES(rules, look, message)                                                                               \
	do {                                                                                                      \
		CLEANUP_FREE char *text = replaced("\"max_launches\": null, \"scratch_bytes\": \"4*N\"", rules);    \
		CHECK_STR(load(text, look), message);                                                             \
	} while (0)
#define TWO "\"max_launches\": 1, \"scratch_bytes\": 0, "

TEST(rules)
{
	RULES(TWO "\"max_intermediate_bytes\": \"N*8\", \"max_weight_passes\": {\"W\": 1.25}", look_at_rules, "accepted");
	RULES(TWO "\"max_intermediate_bytes\": null, \"max_weight_passes\": null", look_for_rules, "accepted");
	CHECK_STR(load(good, look_for_rules), "accepted");
	RULES(TWO "\"max_intermediates\": 0", NULL,
	      "demo/problem.json: rules.max_intermediates: no such field: did you mean \"max_intermediate_bytes\"?");
	RULES(TWO "\"max_intermediate_bytes\": \"M\"", NULL, "demo/problem.json: rules.max_intermediate_bytes: M is no size of this problem");
	RULES(TWO "\"max_intermediate_bytes\": \"N/3\"", NULL,
	      "demo/problem.json: cases[0]: with N=8 K=256 G=128: rules.max_intermediate_bytes: N/3: 8 is not a multiple of 3");
	RULES("\"max_launches\": 1, \"scratch_bytes\": \"N-9\"", NULL,
	      "demo/problem.json: cases[0]: with N=8 K=256 G=128: rules.scratch_bytes: N-9: the value is too large or negative");
	RULES(TWO "\"max_weight_passes\": 1.1", NULL,
	      "demo/problem.json: field rules.max_weight_passes is 1.1: write null, or how often each input may be read, e.g. {\"Wq\": 1.1}");
	RULES(TWO "\"max_weight_passes\": {}", NULL,
	      "demo/problem.json: rules.max_weight_passes: is empty: write null, or how often each input may be read, e.g. {\"W\": 1.1}");
	RULES(TWO "\"max_weight_passes\": {\"y\": 1.1}", NULL, "demo/problem.json: rules.max_weight_passes.y: no such field; known here: W, h");
	RULES(TWO "\"max_weight_passes\": {\"W\": 0.9}", NULL,
	      "demo/problem.json: rules.max_weight_passes.W: 0.9 is out of range: write a number from 1 to 1000");
	RULES(TWO "\"max_weight_passes\": {\"W\": \"once\"}", NULL, "demo/problem.json: field rules.max_weight_passes.W is \"once\": write a number from 1 to 1000");
}

static void look_at_place(const struct problem *p)
{
	CHECK_STR(p->teaches, "Read fast.");
	CHECK_STR(p->teaches_zh, "\xe8\xaf\xbb");
	CHECK_EQ(p->n_needs, 2);
	CHECK_STR(p->needs[0], "int4-gemv");
	CHECK_STR(p->needs[1], "b");
}

static void look_for_place(const struct problem *p)
{
	CHECK(!p->teaches && !p->teaches_zh && !p->n_needs);
}

/* The good package with these two fields. */
#define PLACE(teaches, needs, look, message)                                                                                        \
	do {                                                                                                                        \
		CLEANUP_FREE char *text = replaced("\"entry\"", "\"teaches\": " teaches ",\n\"needs\": " needs ",\n\"entry\"");         \
		CHECK_STR(load(text, look), message);                                                                               \
	} while (0)

TEST(what_it_teaches_and_needs)
{
	CHECK_STR(load(good, look_for_place), "accepted");
	PLACE("null", "null", look_for_place, "accepted");
	PLACE("{\"en\": \"Read fast.\", \"zh\": \"\xe8\xaf\xbb\"}", "[\"int4-gemv\", \"b\"]", look_at_place, "accepted");
	PLACE("\"x\"", "[]", NULL,
	      "demo/problem.json: field teaches is \"x\": write an object, e.g. {\"en\": \"what one can do after it, in a sentence\"}");
	PLACE("{\"zh\": \"x\"}", "[]", NULL, "demo/problem.json: field teaches.en is missing: write an English sentence");
	PLACE("{\"en\": \"\"}", "[]", NULL, "demo/problem.json: teaches.en: has 0 bytes: write an English sentence, of 1 to 300 bytes");
	PLACE("{\"en\": \"x\", \"zh\": \"\\u001b[31m\"}", "[]", NULL, "demo/problem.json: teaches.zh: holds a control character: remove it");
	PLACE("{\"en\": \"x\", \"de\": \"x\"}", "[]", NULL, "demo/problem.json: teaches.de: no such field; known here: en, zh");
	PLACE("null", "\"b\"", NULL, "demo/problem.json: field needs is \"b\": write a list of ids, e.g. [\"w8a16-gemv\"]");
	PLACE("null", "[\"B\"]", NULL, "demo/problem.json: needs[0]: is no problem's id: write one of small letters, digits and \"-\" in quotes");
	PLACE("null", "[\"../b\"]", NULL, "demo/problem.json: needs[0]: is no problem's id: write one of small letters, digits and \"-\" in quotes");
	PLACE("null", "[1]", NULL, "demo/problem.json: needs[0]: is no problem's id: write one of small letters, digits and \"-\" in quotes");
	PLACE("null", "[\"demo\"]", NULL, "demo/problem.json: needs[0]: is this problem itself: remove it");
	PLACE("null", "[\"b\", \"c\", \"b\"]", NULL, "demo/problem.json: needs[2]: is \"b\", which is in the list already: remove it");
	PLACE("null", "[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\"]", NULL,
	      "demo/problem.json: needs: has 9 problems: name at most 8");
}

static void look_at_product(const struct problem *p)
{
	struct sizes sizes = {2, {{"N", 64}, {"K", 1024}}};
	struct gemm_shape s;
	struct err e = {0};
	CHECK_MSG(problem_gemm(p, &sizes, &s, &e) == 0, "%s", e.text);
	CHECK_EQ(s.m, 1);
	CHECK_EQ(s.n, 128);
	CHECK_EQ(s.k, 1024);
}

static void look_for_product(const struct problem *p)
{
	CHECK(!p->gemm[0] && !p->gemm[1] && !p->gemm[2]);
}

/* The good package with this baseline. */
#define BASELINE(value, message)                                                                  \
	do {                                                                                      \
		CLEANUP_FREE char *text = replaced("\"work\"", "\"baseline\": " value ",\n\"work\""); \
		CHECK_STR(load(text, look_at_product), message);                                  \
	} while (0)

TEST(product_to_compare_with)
{
	CHECK_STR(load(good, look_for_product), "accepted");
	BASELINE("{\"gemm\": \"f16\", \"M\": \"1\", \"N\": \"2*N\", \"K\": \"K\"}", "accepted");
	BASELINE("{\"gemm\": \"f16\", \"M\": 1, \"N\": 128, \"K\": \"max(K, N)\"}", "accepted");
	BASELINE("\"f16\"", "demo/problem.json: field baseline is \"f16\": write an object with gemm, M, N and K");
	BASELINE("{\"M\": 1, \"N\": \"N\", \"K\": \"K\"}", "demo/problem.json: field baseline.gemm is missing: write \"f16\"");
	BASELINE("{\"gemm\": \"f16\", \"M\": 1, \"N\": \"N\"}", "demo/problem.json: field baseline.K is missing: write a size, e.g. \"N\", or 1");
	BASELINE("{\"gemm\": \"bf16\", \"M\": 1, \"N\": \"N\", \"K\": \"K\"}", "demo/problem.json: baseline.gemm: is \"bf16\": write \"f16\"");
	BASELINE("{\"gemm\": \"f16\", \"m\": 1, \"N\": \"N\", \"K\": \"K\"}", "demo/problem.json: baseline.m: no such field: did you mean \"M\"?");
	BASELINE("{\"gemm\": \"f16\", \"M\": \"M\", \"N\": \"N\", \"K\": \"K\"}", "demo/problem.json: baseline.M: M is no size of this problem");
	BASELINE("{\"gemm\": \"f16\", \"M\": 1, \"N\": \"N\", \"K\": \"K/7\"}",
		 "demo/problem.json: baseline: with N=64 K=1024 G=128 of timing case \"big\": K: K/7: 1024 is not a multiple of 7");
	BASELINE("{\"gemm\": \"f16\", \"M\": 0, \"N\": \"N\", \"K\": \"K\"}",
		 "demo/problem.json: baseline: with N=64 K=1024 G=128 of timing case \"big\": M: 0 is 0: write a size from 1 to 2147483647");
	BASELINE("{\"gemm\": \"f16\", \"M\": 1, \"N\": \"N*1000000\", \"K\": \"K\"}",
		 "demo/problem.json: baseline: with N=64 K=1024 G=128 of timing case \"big\": its operands take 125122 MiB in FP16; "
		 "4096 MiB are the most");
}

static void look_at_cases(const struct problem *p)
{
	struct secret a, b;
	struct testcase x, y;
	struct err e = {0};
	unsigned differ = 0;
	secret_from_hex(&a, "1", &e);
	secret_from_hex(&b, "2", &e);
	/* visible: the same whatever the secret; hidden: drawn from it; the same secret repeats it */
	CHECK_EQ(testcase_make(p, &p->cases[0], &a, "local", &x, &e), 0);
	CHECK_EQ(testcase_make(p, &p->cases[0], &b, "7", &y, &e), 0);
	CHECK(!memcmp(x.seed, y.seed, sizeof x.seed));
	CHECK_EQ(testcase_make(p, &p->cases[1], &a, "local", &x, &e), 0);
	CHECK_EQ(testcase_make(p, &p->cases[1], &a, "local", &y, &e), 0);
	CHECK(!memcmp(&x, &y, sizeof x));
	CHECK_EQ(testcase_make(p, &p->cases[1], &b, "local", &y, &e), 0);
	CHECK(memcmp(x.seed, y.seed, sizeof x.seed));
	for (int i = 0; i < 32; i++) {
		char judging[16];
		snprintf(judging, sizeof judging, "%d", i);
		CHECK_EQ(testcase_make(p, &p->cases[1], &a, judging, &y, &e), 0);
		int64_t n, k;
		CHECK(sizes_find(&y.sizes, "N", &n) == 0 && (n == 1 || n == 257));
		CHECK(sizes_find(&y.sizes, "K", &k) == 0 && k >= 128 && k <= 4096 && k % 128 == 0);
		CHECK_EQ(y.tensors[0].bytes, n * k / 2);
		CHECK_EQ(y.tensors[3].count, 4 * n + 64);
		CHECK_EQ(y.tensors[5].scalar, k);
		differ += memcmp(x.tensors, y.tensors, sizeof x.tensors) != 0;
	}
	CHECK(differ > 16);
	double bytes, flops;
	CHECK_EQ(testcase_make(p, &p->cases[2], &a, "local", &x, &e), 0);
	CHECK_EQ(testcase_work(&x, &bytes, &flops, &e), 0);
	CHECK(bytes == 64 * 1024 / 2 + 1024 * 2 + 64 * 4);
	CHECK(flops == 2.0 * 64 * 1024);
}

TEST(cases)
{
	CHECK_STR(load(good, look_at_cases), "accepted");
}

TEST(unknown_problems)
{
	struct err e = {0};
	CHECK(!problem_find("/nowhere/at-all", &e));
	CHECK_STR(e.text, "/nowhere/at-all: no such folder");
	CHECK(!problem_find("int4-gmev", &e));
	CHECK_STR(e.text, "no problem \"int4-gmev\": did you mean \"int4-gemv\"?");
	CHECK_EQ(e.kind, ERR_INPUT);
	CHECK(!problem_find("", &e));
}

/* The judge's own packages are without fault. */
TEST(own_packages)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	const char *const *ids;
	size_t n;
	struct err e = {0};
	setenv("JUDGE_HOME", ".", 0);
	CHECK_EQ(problem_ids(a, &ids, &n, &e), 0);
	CHECK(n >= 3);
	for (size_t i = 0; i < n; i++) {
		struct problem *p = problem_find(ids[i], &e);
		CHECK_MSG(p, "%s", e.text);
		unsigned hidden = 0, timed = 0;
		for (unsigned c = 0; c < p->n_cases; c++) {
			hidden += !p->cases[c].visible && !p->cases[c].timing;
			timed += p->cases[c].timing && !p->cases[c].gpu;
		}
		CHECK_MSG(hidden >= 10 && timed >= 1, "%s: %u hidden, %u timing cases", ids[i], hidden, timed);
		problem_close(p);
	}
}
