/* What NVIDIA's tools write, taken apart: logs as an H200 gave them. */
#include "test.h"

#include "judge/ncu.h"
#include "judge/sanitize.h"

#include <string.h>
#include "sandbox/base/tame.h"

#include <string.h>

static const char memcheck[] =
	"========= COMPUTE-SANITIZER\n"
	"========= Invalid __global__ read of size 4 bytes\n"
	"=========     at gemv(const unsigned int *, const float *, const float *, const float *, float *, int, int)+0x340 in solution.cu:13\n"
	"=========     by thread (96,0,0) in block (2,0,0)\n"
	"=========     Access to 0x7f7524a000c0 is out of bounds\n"
	"=========     and is 129 bytes after the nearest allocation at 0x7f7524a00000 of size 64 bytes\n"
	"=========     Saved host backtrace up to driver entry point at kernel launch time\n"
	"=========         Host Frame: cuLaunchKernel [0x39fb94] in libcuda.so.1\n"
	"========= \n"
	"========= Invalid __global__ read of size 4 bytes\n"
	"=========     at gemv(const unsigned int *, const float *, const float *, const float *, float *, int, int)+0x340 in solution.cu:13\n"
	"=========     by thread (97,0,0) in block (2,0,0)\n"
	"=========     Access to 0x7f7524a000c4 is out of bounds\n"
	"========= ERROR SUMMARY: 2 errors\n";

static const char racecheck[] =
	"========= COMPUTE-SANITIZER\n"
	"========= Error: Race reported between Write access at gemv(const unsigned int *, int)+0x2c0 in solution.cu:20\n"
	"=========     and Read access at gemv(const unsigned int *, int)+0x4d0 in solution.cu:25 [1264 hazards]\n"
	"=========     and Read access at gemv(const unsigned int *, int)+0x560 in solution.cu:25 [1264 hazards]\n"
	"========= \n"
	"========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n";

TEST(memcheck_record)
{
	struct sanitizer_report r = {0};
	sanitize_parse(memcheck, "memcheck", "my.cu", &r);
	CHECK_EQ(r.n, 1u);		/* both are of one place */
	const struct fault *f = &r.findings[0].fault;
	CHECK_EQ((int)r.findings[0].verdict, (int)VERDICT_IMA);
	CHECK_STR(f->kernel, "gemv");
	CHECK_STR(f->file, "my.cu");
	CHECK_EQ(f->line, 13u);
	CHECK(f->has_thread && f->thread[0] == 96 && f->block[0] == 2);
	CHECK_STR(f->detail, "Invalid __global__ read of size 4 bytes; Access to 0x7f7524a000c0 is out of bounds; and is 129 bytes after the "
			     "nearest allocation at 0x7f7524a00000 of size 64 bytes");
}

TEST(racecheck_record)
{
	struct sanitizer_report r = {0};
	sanitize_parse(racecheck, "racecheck", "my.cu", &r);
	CHECK_EQ(r.n, 1u);
	CHECK_EQ((int)r.findings[0].verdict, (int)VERDICT_RACE);
	CHECK_EQ(r.findings[0].fault.line, 20u);
	CHECK_STR(r.findings[0].fault.detail, "Race reported between Write access at gemv in my.cu:20; and Read access at gemv in my.cu:25 "
					      "[1264 hazards]");
}

TEST(clean_log_finds_nothing)
{
	struct sanitizer_report r = {0};
	sanitize_parse("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", "memcheck", "my.cu", &r);
	sanitize_parse("", "memcheck", "my.cu", &r);
	sanitize_parse("=========", "memcheck", "my.cu", &r);
	CHECK_EQ(r.n, 0u);
}

/* A file's name is what the submission's #line says. */
TEST(escapes_in_names_are_no_escapes)
{
	struct sanitizer_report r = {0};
	sanitize_parse("========= Invalid read at ev\033[2Jil(int)+0x10 in a\033]0;x\007.cu:7\n", "memcheck", "my.cu", &r);
	CHECK_EQ(r.n, 1u);
	CHECK_STR(r.findings[0].fault.file, "a?]0;x?.cu");
	CHECK_STR(r.findings[0].fault.detail, "Invalid read at ev?[2Jil in a?]0;x?.cu:7");
}

TEST(characters_stay_and_controls_go)
{
	char text[] = "\xe4\xb8\x9b \xc3\xa9 \xc2\x9b" "2J \x9b" "2J \x7f\n";
	tame(text);
	CHECK_STR(text, "\xe4\xb8\x9b \xc3\xa9 ??2J ?2J ??");
}

TEST(no_line_is_too_long)
{
	struct sanitizer_report r = {0};
	static char log[200000];
	int n = snprintf(log, sizeof log, "========= Invalid read in solution.cu:7 ");
	memset(log + n, '(', sizeof log - (size_t)n - 1);
	sanitize_parse(log, "memcheck", "my.cu", &r);
	CHECK_EQ(r.n, 1u);
	CHECK_EQ(r.findings[0].fault.line, 7u);
}

static const char ncu_two_launches[] =
	"==PROF== Connected to process 1\n"
	"\"ID\",\"Process ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
	"\"0\",\"1\",\"gemv(const unsigned int *, int)\",\"Command line profiler metrics\",\"dram__bytes_read.sum\",\"byte\",\"9,460,480\"\n"
	"\"0\",\"1\",\"gemv(const unsigned int *, int)\",\"Command line profiler metrics\",\"smsp__inst_executed.sum\",\"inst\",\"5,111,808\"\n"
	"\"1\",\"1\",\"again\",\"Command line profiler metrics\",\"dram__bytes_read.sum\",\"byte\",\"20\"\n";

TEST(ncu_table)
{
	struct ncu_counts c = {0};
	ncu_parse(ncu_two_launches, 0, &c);
	CHECK_EQ(c.launches, 2u);
	CHECK(c.value[NCU_dram_read_bytes] == 9460500);
	CHECK(c.value[NCU_instructions] == 5111808);
	CHECK(c.counted[NCU_dram_read_bytes] && !c.counted[NCU_dram_write_bytes]);
}

/* What prepare() launches comes first, and is not what the emulated device counts. */
TEST(ncu_last_launches)
{
	struct ncu_counts one = {0}, more = {0};
	ncu_parse(ncu_two_launches, 1, &one);
	CHECK_EQ(one.launches, 1u);
	CHECK(one.value[NCU_dram_read_bytes] == 20);
	CHECK(!one.counted[NCU_instructions]);
	ncu_parse(ncu_two_launches, 3, &more);
	CHECK_EQ(more.launches, 2u);
	CHECK(more.value[NCU_dram_read_bytes] == 9460500);
}

TEST(ncu_without_a_table)
{
	struct ncu_counts c = {0};
	ncu_parse("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n", 0, &c);
	ncu_parse("\"0\",\"1\"\n\"", 1, &c);
	CHECK_EQ(c.launches, 0u);
}
