/* The emulated GPU against hardware: every form of tests/golden/forms.txt gives the bits that a real GPU gave.
 *
 * The golden data was made by build/golden_gpu on the device named in its first line.  Approximations and float matrix
 * sums may differ by the tolerance of the form; NaNs compare equal whatever their payload where the form is a float's.
 */
#include "test.h"

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/ptx/alu.h"
#include "sandbox/ptx/emu.h"
#include "tests/golden/forms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct golden {
	uint64_t hash;
	unsigned status, n_out;
	const unsigned char *values;
};

static unsigned width(char kind)
{
	return kind == 'p' ? 1 : kind == 'h' ? 2 : kind == 'r' ? 4 : 8;
}

/* The record of a form in the file, by hash: forms may be added and removed without making all data anew. */
static bool golden_find(const struct buf *file, const struct form *f, struct golden *out)
{
	const unsigned char *p = (unsigned char *)memchr(file->data, '\n', file->size) + 1, *end = (unsigned char *)file->data + file->size;
	while (p + 10 <= end) {
		memcpy(&out->hash, p, 8);
		out->status = p[8];
		out->n_out = p[9];
		const unsigned char *kinds = p + 10;
		out->values = kinds + out->n_out;
		p = out->values;
		for (unsigned i = 0; i < out->n_out; i++)
			p += FORM_THREADS * width((char)kinds[i]);
		if (out->hash == f->hash)
			return p <= end;
	}
	return false;
}

static double float_value(uint64_t bits, const char *type)
{
	if (strcmp(type, "f64") == 0) {
		double d;
		memcpy(&d, &bits, 8);
		return d;
	}
	if (strcmp(type, "f16") == 0)
		return alu_f16_to_f32((uint16_t)bits);
	if (strcmp(type, "bf16") == 0)
		return alu_bf16_to_f32((uint16_t)bits);
	float f;
	uint32_t w = (uint32_t)bits;
	memcpy(&f, &w, 4);
	return f;
}

static bool is_float(const struct form *f)
{
	static const char *const types[] = {".f32", ".f64", ".f16", ".bf16", ".tf32"};
	for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
		if (strstr(f->text, types[i]))
			return true;
	return false;
}

/* Whether two results of a float form agree: same bits, both NaN (of any payload), or within the tolerance in units of
 * the last place of `scale`. */
static bool float_agrees(const struct form *f, uint64_t got, uint64_t expected, double scale)
{
	double g = float_value(got, f->ftype), x = float_value(expected, f->ftype);
	if (isnan(g) && isnan(x))
		return true;
	if (isinf(g) || isinf(x) || isnan(g) || isnan(x))
		return got == expected;
	bool f64 = strcmp(f->ftype, "f64") == 0, f16 = strncmp(f->ftype, "f16", 3) == 0, bf16 = strcmp(f->ftype, "bf16") == 0;
	int bits = f64 ? 53 : f16 ? 11 : bf16 ? 8 : 24;
	int lowest = f64 ? -1021 : f16 ? -13 : -125;	/* frexp's exponent of the smallest normal number */
	int exponent;
	frexp(fmax(fabs(x), scale), &exponent);
	if (exponent < lowest)
		exponent = lowest;
	return fabs(g - x) <= f->tolerance * ldexp(1, exponent - bits);
}

static uint64_t golden_value(const struct form *f, const struct golden *g, unsigned out, unsigned thread)
{
	const unsigned char *p = g->values;
	for (unsigned i = 0; i < out; i++)
		p += FORM_THREADS * width(f->out[i].kind);
	uint64_t v = 0;
	memcpy(&v, p + thread * width(f->out[out].kind), width(f->out[out].kind));
	return v;
}

/* The largest finite magnitude of a matrix form's results: what its rounding errors are measured against. */
static double scale_of(const struct form *f, const struct golden *g)
{
	double scale = 0;
	if (!strstr(f->text, "mma"))
		return 0;
	for (unsigned o = 0; o < f->n_out; o++)
		for (unsigned t = 0; t < FORM_THREADS; t++) {
			double v = fabs(float_value(golden_value(f, g, o, t), f->ftype));
			if (isfinite(v))
				scale = fmax(scale, v);
		}
	return scale;
}

static bool agrees(const struct form *f, uint64_t got, uint64_t expected, double scale)
{
	if (got == expected)
		return true;
	if (strcmp(f->ftype, "f16x2") == 0) {
		for (int i = 0; i < 2; i++)
			if (!float_agrees(&(struct form){.tolerance = f->tolerance, .ftype = "f16"}, got >> 16 * i & 0xffff,
					  expected >> 16 * i & 0xffff, scale))
				return false;
		return true;
	}
	return f->tolerance > 0 && is_float(f) && float_agrees(f, got, expected, scale);
}

/* Run one form; print the first difference.  True if all agree. */
static bool form_matches(struct emu *g, const struct form *f, const struct golden *golden)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	struct err e;
	const char *ptx = form_ptx(f, a);
	struct emu_module *m = emu_load(g, ptx, strlen(ptx), NULL, 0, &e);
	if (!m) {
		printf("%s\n  not loaded: %s\n", f->line, e.text);
		return false;
	}
	struct mem *mem = emu_mem(g);
	uint64_t params[2], in_size = (uint64_t)f->n_in * FORM_THREADS * 8 + 8, out_size = (uint64_t)f->n_out * FORM_THREADS * 8;
	const char *why;
	CHECK(mem_alloc(mem, in_size, MEM_INITIALISED, "in", &params[0]) == 0);
	CHECK(mem_alloc(mem, out_size, 0, "out", &params[1]) == 0);
	memcpy(mem_host(mem, params[0], in_size, &why), form_inputs(f, a), in_size);
	struct emu_report r;
	CHECK_MSG(emu_launch(g, &(struct emu_launch){.kernel = emu_kernel_find(m, "form"), .grid = {1, 1, 1},
			.block = {FORM_THREADS, 1, 1}, .params = params}, &r, &e) == 0, "%s: %s", f->line, e.text);
	bool good = r.fault.kind == FAULT_NONE;
	if (!good)
		printf("%s\n  fault: %s: %s\n", f->line, fault_name(r.fault.kind), r.fault.detail);
	const uint64_t *got = mem_host(mem, params[1], out_size, &why), *in = mem_host(mem, params[0], in_size, &why);
	double scale = scale_of(f, golden);
	unsigned wrong = 0;
	for (unsigned o = 0; good && o < f->n_out; o++)
		for (unsigned t = 0; t < FORM_THREADS; t++) {
			uint64_t v = got[o * FORM_THREADS + t], x = golden_value(f, golden, o, t);
			if (agrees(f, v, x, scale) || wrong++)
				continue;
			printf("%s\n  thread %u: %c = %llx, the GPU gave %llx; operands", f->line, t, f->out[o].name,
			       (unsigned long long)v, (unsigned long long)x);
			for (unsigned i = 0; i < f->n_in; i++)
				printf(" %c=%llx", f->in[i].name, (unsigned long long)in[i * FORM_THREADS + t]);
			printf("\n");
		}
	if (wrong)
		printf("  %u of %u values differ\n", wrong, f->n_out * FORM_THREADS);
	emu_report_free(&r);
	mem_release_all(mem);
	emu_unload(g, m);
	return good && !wrong;
}

TEST_WITHIN(emulator_gives_the_bits_of_the_gpu, 120)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	CLEANUP_BUF struct buf file = {0};
	struct form *forms;
	size_t n;
	struct err e;
	CHECK_MSG(forms_read("tests/golden/forms.txt", a, &forms, &n, &e) == 0, "%s", e.text);
	CHECK_MSG(buf_read_file(&file, "tests/golden/h200.bin", 64 << 20, &e) == 0, "%s", e.text);
	struct profile p;
	CHECK_MSG(profile_load("h200", &p, &e) == 0, "%s", e.text);
	struct emu *g = emu_open(&p, &(struct emu_options){.threads = 1, .memory = 64 << 20, .checks = true}, &e);
	CHECK_MSG(g, "%s", e.text);
	unsigned compared = 0, wrong = 0, only = 0;
	const char *word = getenv("FORM");	/* FORM=cvt.rn: those forms alone */
	for (size_t i = 0; i < n; i++) {
		struct golden golden;
		if (word && !strstr(forms[i].line, word))
			continue;
		only++;
		if (!golden_find(&file, &forms[i], &golden)) {
			printf("no golden data for: %s\n", forms[i].line);
			wrong++;
			continue;
		}
		compared++;
		wrong += !form_matches(g, &forms[i], &golden);
	}
	printf("%u forms compared, %u differ\n", compared, wrong);
	emu_close(g);
	CHECK_EQ(wrong, 0);
	CHECK(compared == only && compared > 0);
}
