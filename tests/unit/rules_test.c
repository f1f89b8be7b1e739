/* Rules: which are broken, by how much, and what is said where a case is hidden. */
#include "test.h"

#include "judge/rules.h"
#include "sandbox/ptx/profile.h"

#include <string.h>

enum { N = 4096, K = 4096, CODES = N * K / 2, FULL = 2 * N * K };	/* FULL: the weights in FP16 */

static struct problem problem = {
	.n_arguments = 4, .n_names = 1, .names = {"N"}, .max_launches = -1, .unit = "fp32", .flops = "N",
	.arguments = {{.name = "x", .role = ROLE_INPUT, .type = TYPE_F16}, {.name = "Wq", .role = ROLE_INPUT, .type = TYPE_U32},
		      {.name = "y", .role = ROLE_OUTPUT, .type = TYPE_F16}, {.name = "workspace", .role = ROLE_WORKSPACE, .type = TYPE_U8}},
};
static struct case_spec timed = {.name = "decode", .timing = true}, sample = {.name = "sample", .visible = true}, hidden = {.name = "odd"};
static struct profile device = {.dram_read_gbs = 4000};
static struct session_run run;
static struct book book;
static struct testcase t;
static struct mem_traffic traffic[] = {{"Wq", CODES, CODES, 0}, {"y", 64, 0, 64}, {"workspace", FULL, FULL, FULL}};

/* One kernel that writes the weights to the workspace, one that reads them. */
static void reset(void)
{
	problem.max_launches = -1;
	problem.scratch_bytes = problem.max_intermediate_bytes = NULL;
	memset(problem.max_passes, 0, sizeof problem.max_passes);
	t = (struct testcase){.problem = &problem, .spec = &timed, .sizes = {1, {{"N", N}}}};
	t.tensors[0].bytes = 1000;
	t.tensors[1].bytes = CODES;
	t.tensors[2].bytes = 64;
	traffic[0] = (struct mem_traffic){"Wq", CODES, CODES, 0};
	traffic[2] = (struct mem_traffic){"workspace", FULL, FULL, FULL};
	run = (struct session_run){.traffic = traffic, .n_traffic = 3};
	book = (struct book){.launches = 2, .weights = "Wq", .weight_bytes = CODES, .weight_passes = 1, .intermediate_bytes = FULL,
			     .n_kernels = 2, .kernels = {{.name = "gemm", .launches = 1, .counters.global_store_bytes = 64},
							 {.name = "dequantize", .launches = 1, .counters.global_store_bytes = FULL}}};
}

static const char *broken(const struct profile *counted)
{
	static char why[700];
	struct err e = {0};
	int n = rules_broken(&t, &run, &book, counted, why, sizeof why, &e);
	CHECK_MSG(n >= 0, "%s", e.text);
	CHECK_EQ(n, *why != 0);
	return why;
}

TEST(none)
{
	reset();
	CHECK_STR(broken(&device), "");
	problem.max_launches = 2;
	problem.scratch_bytes = "0";
	problem.max_intermediate_bytes = "2*N*N";
	problem.max_passes[1] = 1;
	CHECK_STR(broken(&device), "");
}

TEST(launches)
{
	reset();
	problem.max_launches = 1;
	CHECK_STR(broken(&device), "2 launches, 1 allowed");
	CHECK_STR(broken(NULL), "2 launches, 1 allowed");
	t.spec = &hidden;
	CHECK_STR(broken(&device), "more launches than are allowed");
}

TEST(scratch)
{
	reset();
	problem.scratch_bytes = "0";
	run.allocated_bytes = 16384;
	CHECK_STR(broken(&device), "16,384 B of memory allocated, none allowed");
	problem.scratch_bytes = "N*4-1";
	CHECK_STR(broken(NULL), "16,384 B of memory allocated, 16,383 B allowed");
	t.spec = &hidden;
	CHECK_STR(broken(&device), "more memory allocated than is allowed");
	run.allocated_bytes--;
	CHECK_STR(broken(&device), "");
}

TEST(intermediates)
{
	reset();
	problem.max_intermediate_bytes = "0";
	CHECK(!strcmp(broken(NULL), "") && rules_count_bytes(&problem));
	CHECK_STR(broken(&device), "intermediates pass through memory (workspace): 33.6 MB written, most of it by dequantize, and 33.6 MB read again, "
		  "none allowed: up to 16.8 µs of DRAM's time. All that must be moved takes 2.10 µs, at 4.00 TB/s");
	t.spec = &sample;
	CHECK_STR(broken(&device), "intermediates pass through memory (workspace): 33.6 MB written, most of it by dequantize, and 33.6 MB read again, "
		  "none allowed");
	t.spec = &hidden;
	CHECK_STR(broken(&device), "intermediates pass through memory");
	problem.max_intermediate_bytes = "2*N*N-1";
	t.spec = &sample;
	CHECK(strstr(broken(&device), "33,554,431 B allowed"));
}

/* One kernel's partial sums, in memory that it allocated, and that nobody reads. */
TEST(intermediates_of_one_kernel)
{
	reset();
	problem.max_intermediate_bytes = "0";
	t.spec = &sample;
	traffic[2] = (struct mem_traffic){"", 4096, 0, 4096};
	book.intermediate_bytes = 4096;
	book.n_kernels = 1;
	CHECK_STR(broken(&device), "intermediates pass through memory (memory of its own): 4.10 KB written, none allowed");
}

TEST(passes)
{
	reset();
	problem.max_passes[1] = 1.1;
	CHECK(rules_count_bytes(&problem));
	CHECK_STR(broken(&device), "");
	book.weight_passes = 2;
	CHECK_STR(broken(&device), "Wq read 2.00 times, 1.1 allowed: up to 2.10 µs of DRAM's time. All that must be moved takes 2.10 µs, at 4.00 TB/s");
	CHECK_STR(broken(NULL), "");
	t.spec = &sample;
	book.weight_passes = 1.104;
	CHECK_STR(broken(&device), "Wq read 1.104 times, 1.1 allowed");
	t.spec = &hidden;
	CHECK_STR(broken(&device), "Wq read more often than is allowed");
	t.tensors[1].bytes = RULES_LEAST_WEIGHTS - 1;
	CHECK_STR(broken(&device), "");
}

/* An input that is not the one that the book calls weights. */
TEST(passes_of_another)
{
	reset();
	t.spec = &sample;
	strcpy(book.weights, "x");
	problem.max_passes[1] = 1;
	CHECK_STR(broken(&device), "");
	traffic[0].load_bytes = 16 * (uint64_t)CODES;
	CHECK_STR(broken(&device), "Wq read 16.0 times, 1 allowed");
}

TEST(several)
{
	reset();
	t.spec = &sample;
	problem.max_launches = 1;
	problem.max_intermediate_bytes = "0";
	problem.max_passes[1] = 1.1;
	book.weight_passes = 4;
	CHECK_STR(broken(&device), "2 launches, 1 allowed; intermediates pass through memory (workspace): 33.6 MB written, most of it by dequantize, "
		  "and 33.6 MB read again, none allowed; Wq read 4.00 times, 1.1 allowed");
}

TEST(a_limit_that_cannot_be)
{
	char why[100];
	struct err e = {0};
	reset();
	problem.scratch_bytes = "N/3";
	CHECK_EQ(rules_broken(&t, &run, &book, &device, why, sizeof why, &e), -1);
	CHECK_STR(e.text, "rules.scratch_bytes: N/3: 4096 is not a multiple of 3");
}
