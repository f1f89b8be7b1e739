/* Hostile PTX from text to the end of a launch on the emulated GPU, with a small budget: no kernel reaches memory of ours.
 *
 * Lines as tests/ptx has them, "//: block X Y Z", "//: grid X Y Z", "//: shared N", "//: cooperative", say how kernels are launched.
 */
#include "fuzz.h"
#include "sandbox/ptx/emu.h"
#include "sandbox/ptx/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 16 << 20, BUDGET = 4000, BUFFERS = 4, BUFFER = 4096, KERNELS = 3, THREADS = 256, BLOCKS = 8 };

struct shape {
	uint32_t grid[3], block[3], shared;
	bool cooperative, unchecked;
};

static struct emu *with_checks, *without;

static struct emu *open_one(bool checks)
{
	struct err e = {0};
	struct profile p;
	struct emu_options o = {.threads = 1, .memory = MEMORY, .budget = BUDGET, .checks = checks};
	setenv("JUDGE_PROFILES", "sandbox/ptx/profiles", 0);
	if (profile_load("h200", &p, &e) < 0)
		BUG("%s", e.text);
	p.l2_bytes = 1 << 20;		/* caches are emptied for each input */
	p.sms = 4;
	struct emu *g = emu_open(&p, &o, &e);
	if (!g)
		BUG("%s", e.text);
	return g;
}

static void three(const char *text, uint32_t *out, uint32_t most)
{
	uint32_t v[3] = {1, 1, 1};
	sscanf(text, "%u %u %u", &v[0], &v[1], &v[2]);
	for (int i = 0; i < 3; i++)
		out[i] = v[i] && v[i] <= most ? v[i] : 1;
	if (out[0] * out[1] * out[2] > most)
		out[1] = out[2] = 1;
}

static struct shape shape_of(const char *text)
{
	struct shape s = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
	for (const char *at = text; (at = strstr(at, "//: ")); at += 4) {
		if (!strncmp(at + 4, "block ", 6))
			three(at + 10, s.block, THREADS);
		else if (!strncmp(at + 4, "grid ", 5))
			three(at + 9, s.grid, BLOCKS);
		else if (!strncmp(at + 4, "shared ", 7))
			s.shared = (uint32_t)atoi(at + 11) % (64 << 10);
		else if (!strncmp(at + 4, "cooperative", 11))
			s.cooperative = true;
		else if (!strncmp(at + 4, "unchecked", 9))
			s.unchecked = true;
	}
	return s;
}

/* Pointers to buffers, one of them an input, to what has eight bytes; small numbers to the rest. */
static unsigned char *parameters(struct emu *g, const struct emu_kernel_info *k)
{
	uint64_t addr[BUFFERS];
	const char *why;
	unsigned char *block = calloc(1, k->param_bytes + 1);
	if (!block)
		BUG("out of memory");
	for (int i = 0; i < BUFFERS; i++) {
		if (mem_alloc(emu_mem(g), BUFFER, i == 1 ? MEM_READ_ONLY : 0, "b", &addr[i]) < 0)
			return block;
		memset(mem_host(emu_mem(g), addr[i], BUFFER, &why), i, BUFFER);
		if (i == 2)
			mem_mark_written(emu_mem(g), addr[i], BUFFER);
	}
	for (unsigned i = 0; i < k->n_params; i++) {
		uint32_t n = i + 3;
		if (k->params[i].size == 8)
			memcpy(block + k->params[i].offset, &addr[i % BUFFERS], 8);
		else
			memcpy(block + k->params[i].offset, &n, k->params[i].size < 4 ? k->params[i].size : 4);
	}
	return block;
}

static void run(struct emu *g, const struct emu_kernel *k, const struct shape *s)
{
	struct emu_kernel_info info;
	struct emu_report report = {0};
	struct err e = {0};
	emu_kernel_info(k, &info);
	if (info.param_bytes > 32764)
		return;			/* the protocol has no launch of this */
	unsigned char *block = parameters(g, &info);
	struct emu_launch l = {.kernel = k, .shared_dynamic = s->shared, .params = block, .cooperative = s->cooperative};
	memcpy(l.grid, s->grid, sizeof l.grid);
	memcpy(l.block, s->block, sizeof l.block);
	if (emu_launch(g, &l, &report, &e) < 0)
		BUG("a failure of our own: %s", e.text);
	if (report.fault.kind >= FAULT_KINDS)
		BUG("a fault of no kind");
	emu_report_free(&report);
	free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = {0};
	if (!with_checks) {
		with_checks = open_one(true);
		without = open_one(false);
	}
	char *text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = 0;
	struct shape s = shape_of(text);
	struct emu *g = s.unchecked ? without : with_checks;
	struct emu_module *m = emu_load(g, text, size, NULL, 0, &e);
	if (!m && (e.kind != ERR_INPUT || !e.text[0]))
		BUG("a refusal without a reason: %s", e.text);
	for (unsigned i = 0; m && i < emu_kernel_count(m) && i < KERNELS; i++)
		run(g, emu_kernel_at(m, i), &s);
	if (m)
		emu_unload(g, m);
	emu_reset(g, NULL);
	free(text);
	return 0;
}

#ifdef FUZZING
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct draws d = {seed};
	return draw(&d, 8) ? mutate_words(data, size, max, &d) : LLVMFuzzerMutate(data, size, max);
}
#endif
