/* The alu's handlers against references written apart from them, in every build that runs on this machine. */
#include "test.h"

#include "alu_run.h"

#include <fenv.h>
#include <math.h>

static const char declarations[] = ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<40>; .reg .f32 %f<8>; .reg .b64 %l<8>;"
				   ".reg .f64 %d<8>; .reg .b128 %q<3>;\n";

/* ---- builds ---- */

static const char *const isas[] = {"plain", "avx2", "avx512"};
/* Whether build i runs here; it is then the chosen one. */
static bool choose_isa(unsigned i)
{
	setenv("JUDGE_ISA", isas[i], 1);
	return strcmp(alu_isa(), isas[i]) == 0;
}

/* ---- values ---- */

static uint64_t seed;
static uint64_t draw(void)
{
	uint64_t z = (seed += 0x9e3779b97f4a7c15u);
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}
static uint64_t integer(void)
{
	static const uint64_t special[] = {0, 1, 2, 31, 32, 33, 63, 64, 127, 128, 255, 256, 32767, 32768, 65535, 0x7fffffff, 0x80000000,
		0xffffffff, 0xfffffffe, 0x7fffffffffffffff, 0x8000000000000000, ~0ull, 0x00ff00ff00ff00ff, 0x8080808080808080};
	uint64_t r = draw();
	return r & 1 ? special[(r >> 8) % (sizeof special / sizeof *special)] : r & 2 ? draw() : (uint64_t)((int64_t)draw() >> (r >> 8) % 64);
}
static uint32_t float_bits(void)
{
	static const uint32_t special[] = {0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 1,
		0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x00800001, 0x7f7fffff, 0xff7fffff, 0x3f7fffff, 0x3f800001, 0x4f000000,
		0xcf000000, 0x4b7fffff, 0x477ff000, 0x477fefff, 0x33000000, 0x33000001, 0x387fefff};
	uint64_t r = draw();
	if (r % 3 == 0)
		return special[(r >> 8) % (sizeof special / sizeof *special)];
	return r % 3 == 1 ? (uint32_t)draw() : (uint32_t)(draw() & 0x807fffff) | (uint32_t)(115 + (r >> 8) % 24) << 23;
}
static uint64_t double_bits(void)
{
	uint64_t r = draw(), x;
	uint32_t f = float_bits();
	float g;
	double d;
	memcpy(&g, &f, 4);
	d = g;
	memcpy(&x, &d, 8);
	return r & 1 ? x : r & 2 ? draw() : (draw() & 0x800fffffffffffff) | (uint64_t)(1015 + (r >> 8) % 16) << 52;
}
static uint16_t half_bits(void) { return (uint16_t)(draw() % 5 ? draw() : 0x7800 + (draw() & 0x87ff)); }

static float f_of(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
static uint32_t u_of(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static double d_of(uint64_t u) { double f; memcpy(&f, &u, 8); return f; }
static uint64_t w_of(double f) { uint64_t u; memcpy(&u, &f, 8); return u; }

static uint64_t value(char kind)
{
	switch (kind) {
	case 'f': return float_bits();
	case 'd': return double_bits();
	case 'h': return half_bits();
	case 'H': return half_bits() | (uint32_t)half_bits() << 16;
	case 's': return draw() & 1 ? draw() % 70 : integer();
	default: return integer();
	}
}

/* ---- running one instruction ---- */

/* Register name of an operand letter: its number is 1 for d, 2.. for sources. */
static const char *reg(struct arena *a, char kind, unsigned n)
{
	const char *class = kind == 'f' ? "f" : kind == 'd' ? "d" : kind == 'w' ? "l" : kind == 'h' ? "h" : kind == 'p' ? "p" : "r";
	return arena_printf(a, "%%%s%u", class, n);
}
static uint64_t lane(const void *row, char kind, int i)
{
	if (kind == 'p')
		return *(const uint32_t *)row >> i & 1;
	return kind == 'w' || kind == 'd' ? ((const uint64_t *)row)[i] : ((const uint32_t *)row)[i];
}
static void set_lane(void *row, char kind, int i, uint64_t v)
{
	if (kind == 'p')
		*(uint32_t *)row = (*(uint32_t *)row & ~(1u << i)) | (uint32_t)(v & 1) << i;
	else if (kind == 'w' || kind == 'd')
		((uint64_t *)row)[i] = v;
	else
		((uint32_t *)row)[i] = (uint32_t)(kind == 'h' ? v & 0xffff : v);
}

typedef uint64_t reference(uint64_t a, uint64_t b, uint64_t c);

/* "op" of kinds "daab": destination first.  Every build, all lanes and some; other lanes keep what they had; then d
 * in the row of the first source, if it may be. */
static void check(const char *op, const char *kinds, reference *ref, unsigned rounds)
{
	struct err e;
	size_t n = strlen(kinds);
	for (unsigned isa = 0; isa < 3; isa++) {
		if (!choose_isa(isa))
			continue;
		for (unsigned same = 0; same < 2; same++) {
			if (same && (n < 2 || kinds[0] != kinds[1]))
				continue;
			struct arena *a = arena_new();
			const char *text = arena_printf(a, "%s%s %s", declarations, op, reg(a, kinds[0], same ? 2 : 1));
			for (unsigned i = 1; i < n; i++)
				text = arena_printf(a, "%s, %s", text, reg(a, kinds[i], i + 1));
			struct run *r = run_new(a, arena_printf(a, "%s;", text), &e);
			CHECK_MSG(r && r->n == 1, "%s: %s", op, r ? "not one instruction" : e.text);
			void *rows[5];
			for (unsigned i = 0; i < n; i++)
				rows[i] = run_row(r, reg(a, kinds[i], i == 0 && same ? 2 : i + 1));
			seed = 12345;
			for (unsigned round = 0; round < rounds; round++) {
				uint64_t in[4][32] = {0}, before[32];
				uint32_t mask = round % 3 == 0 ? ~0u : (uint32_t)draw();
				for (int l = 0; l < 32; l++) {
					set_lane(rows[0], kinds[0], l, draw());
					for (unsigned i = 1; i < n; i++) {
						set_lane(rows[i], kinds[i], l, value(kinds[i]));
						in[i][l] = lane(rows[i], kinds[i], l);
					}
					before[l] = lane(rows[0], kinds[0], l);
				}
				run_exec(r, mask);
				for (int l = 0; l < 32; l++) {
					uint64_t got = lane(rows[0], kinds[0], l);
					uint64_t want = mask >> l & 1 ? ref(in[1][l], in[2][l], in[3][l]) : before[l];
					CHECK_MSG(got == want, "%s (%s): %llx %llx %llx gives %llx, expected %llx%s", op, isas[isa],
						  (long long)in[1][l], (long long)in[2][l], (long long)in[3][l], (long long)got,
						  (long long)want, mask >> l & 1 ? "" : " (a lane that is off)");
				}
			}
			arena_free(a);
		}
	}
	unsetenv("JUDGE_ISA");
}

/* A reference as an expression in a, b, c. */
#define REF(name, expr) static uint64_t name(uint64_t a, uint64_t b, uint64_t c) { (void)a; (void)b; (void)c; return (uint64_t)(expr); }
#define U(x) ((uint32_t)(x))
#define S(x) ((int32_t)(x))
#define SH(x) ((int16_t)(x))

/* ---- integers ---- */

REF(ref_add, U(a + b))
REF(ref_sub64, a - b)
REF(ref_mad, U(U(a) * U(b) + U(c)))
REF(ref_mulhi_s, U((int64_t)S(a) * S(b) >> 32))
REF(ref_mulhi_s64, (__int128)(int64_t)a * (int64_t)b >> 64)
REF(ref_wide_s, (int64_t)S(a) * S(b))
REF(ref_wide_s16, U(SH(a) * SH(b)))
static uint64_t saturated(int64_t r) { return U(r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r); }
REF(ref_add_sat, saturated((int64_t)S(a) + S(b)))
REF(ref_sub_sat, saturated((int64_t)S(a) - S(b)))
REF(ref_mad_hi_sat, saturated(((int64_t)S(a) * S(b) >> 32) + S(c)))
REF(ref_div_u, U(b) ? U(a) / U(b) : U(~0u))
REF(ref_div_s, S(b) ? U((int64_t)S(a) / S(b)) : U(~0u))
REF(ref_rem_s, S(b) ? U((int64_t)S(a) % S(b)) : U(~0u))
REF(ref_rem_u, U(b) ? U(a) % U(b) : U(~0u))
REF(ref_div_s64, b == 0 ? ~0ull : b == ~0ull ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b))
REF(ref_min_s16, (SH(a) < SH(b) ? a : b) & 0xffff)
REF(ref_mul24hi, U((uint64_t)(a & 0xffffff) * (b & 0xffffff) >> 16))
REF(ref_sad, U(c) + (S(a) > S(b) ? U(a) - U(b) : U(b) - U(a)))
static uint64_t ref_dp4a(uint64_t a, uint64_t b, uint64_t c)
{
	uint32_t sum = U(c);
	for (int i = 0; i < 4; i++)
		sum += U((int8_t)(a >> 8 * i) * (int)(uint8_t)(b >> 8 * i));
	return sum;
}
static uint64_t ref_dp2a_hi(uint64_t a, uint64_t b, uint64_t c)
{
	return U(U(c) + U(SH(a)) * U((int8_t)(b >> 16)) + U(SH(a >> 16)) * U((int8_t)(b >> 24)));
}

TEST(integer_arithmetic)
{
	check("add.s32", "rrr", ref_add, 30);
	check("sub.u64", "www", ref_sub64, 30);
	check("mad.lo.s32", "rrrr", ref_mad, 30);
	check("mul.hi.s32", "rrr", ref_mulhi_s, 30);
	check("mul.hi.s64", "www", ref_mulhi_s64, 30);
	check("mul.wide.s32", "wrr", ref_wide_s, 30);
	check("mul.wide.s16", "rhh", ref_wide_s16, 30);
	check("add.sat.s32", "rrr", ref_add_sat, 30);
	check("sub.sat.s32", "rrr", ref_sub_sat, 30);
	check("mad.hi.sat.s32", "rrrr", ref_mad_hi_sat, 30);
	check("min.s16", "hhh", ref_min_s16, 30);
	check("mul24.hi.u32", "rrr", ref_mul24hi, 30);
	check("sad.s32", "rrrr", ref_sad, 30);
	check("dp4a.s32.u32", "rrrr", ref_dp4a, 30);
	check("dp2a.hi.s32.s32", "rrrr", ref_dp2a_hi, 30);
}

TEST(division_never_traps)
{
	check("div.u32", "rrr", ref_div_u, 300);
	check("div.s32", "rrr", ref_div_s, 300);
	check("rem.u32", "rrr", ref_rem_u, 300);
	check("rem.s32", "rrr", ref_rem_s, 300);
	check("div.s64", "www", ref_div_s64, 100);
}

/* 128-bit sums and differences by way of the carry. */
TEST(carries_chain)
{
	struct err e;
	for (unsigned isa = 0; isa < 3; isa++) {
		if (!choose_isa(isa))
			continue;
		struct arena *a = arena_new();
		struct run *r = run_new(a, arena_printf(a, "%s add.cc.u32 %%r1, %%r3, %%r5; addc.u32 %%r2, %%r4, %%r6;"
			"sub.cc.u32 %%r7, %%r3, %%r5; subc.u32 %%r8, %%r4, %%r6;"
			"mad.lo.cc.u32 %%r9, %%r3, %%r5, %%r4; madc.hi.u32 %%r10, %%r3, %%r5, 0;", declarations), &e);
		CHECK_MSG(r, "%s", e.text);
		uint32_t *row[11];
		for (unsigned i = 1; i < 11; i++)
			row[i] = run_row(r, arena_printf(a, "%%r%u", i));
		for (int round = 0; round < 50; round++) {
			for (int l = 0; l < 32; l++)
				for (int i = 3; i < 7; i++)
					row[i][l] = U(integer());
			run_exec(r, ~0u);
			for (int l = 0; l < 32; l++) {
				uint64_t x = row[3][l] | (uint64_t)row[4][l] << 32, y = row[5][l] | (uint64_t)row[6][l] << 32;
				CHECK_EQ(row[1][l] | (uint64_t)row[2][l] << 32, x + y);
				CHECK_EQ(row[7][l] | (uint64_t)row[8][l] << 32, x - y);
				CHECK_EQ(row[9][l] | (uint64_t)row[10][l] << 32, (uint64_t)row[3][l] * row[5][l] + row[4][l]);
			}
		}
		arena_free(a);
	}
}

/* ---- bits ---- */

REF(ref_shl, U(b) > 31 ? 0 : U(a << U(b)))
REF(ref_shr_s, U(S(a) >> (U(b) > 31 ? 31 : U(b))))
REF(ref_shr_s16, (SH(a) >> (U(b) > 15 ? 15 : U(b))) & 0xffff)
REF(ref_shr_s64, (int64_t)a >> (U(b) > 63 ? 63 : U(b)))
REF(ref_shf_l, U((b << 32 | U(a)) << (c & 31) >> 32))
REF(ref_shf_r_clamp, U(c) > 31 ? U(b) : U((b << 32 | U(a)) >> U(c)))
static uint64_t lut(uint64_t a, uint64_t b, uint64_t c, unsigned table)
{
	uint32_t r = 0;
	for (int i = 0; i < 32; i++)
		r |= (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1u) << i;
	return r;
}
static unsigned table;
REF(ref_lop3, lut(a, b, c, table))
static uint64_t ref_prmt(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t pool = U(a) | b << 32;
	uint32_t r = 0;
	for (int i = 0; i < 4; i++) {
		unsigned n = c >> 4 * i & 15;
		uint32_t byte = pool >> 8 * (n & 7) & 0xff;
		r |= (n & 8 ? byte & 0x80 ? 0xff : 0 : byte) << 8 * i;
	}
	return r;
}
/* The manual's own loop. */
static uint64_t ref_bfe_s(uint64_t a, uint64_t b, uint64_t c)
{
	int pos = b & 0xff, len = c & 0xff, at = pos + len - 1 < 31 ? pos + len - 1 : 31;
	uint32_t sign = len ? a >> at & 1 : 0, r = 0;
	for (int i = 0; i <= 31; i++)
		r |= (i < len && pos + i <= 31 ? a >> (pos + i) & 1 : sign) << i;
	return r;
}
REF(ref_bfe_u, (b & 0xff) > 31 ? 0 : U(a) >> (b & 0xff) & ((c & 0xff) > 31 ? ~0u : (1u << (c & 0xff)) - 1))
static uint64_t ref_bfind_s(uint64_t a, uint64_t b, uint64_t c)
{
	(void)b, (void)c;
	uint32_t x = S(a) < 0 ? ~U(a) : U(a);
	for (int i = 31; i >= 0; i--)
		if (x >> i & 1)
			return (uint64_t)i;
	return 0xffffffff;
}
REF(ref_popc64, __builtin_popcountll(a))
REF(ref_clz, U(a) ? __builtin_clz(U(a)) : 32)

TEST(shifts_clamp)
{
	check("shl.b32", "rrs", ref_shl, 40);
	check("shr.s32", "rrs", ref_shr_s, 40);
	check("shr.s16", "hhs", ref_shr_s16, 40);
	check("shr.s64", "wws", ref_shr_s64, 40);
	check("shf.l.wrap.b32", "rrrs", ref_shf_l, 40);
	check("shf.r.clamp.b32", "rrrs", ref_shf_r_clamp, 40);
}

TEST_WITHIN(lop3_has_every_table, 60)
{
	for (table = 0; table < 256; table++) {
		struct arena *a = arena_new();
		for (unsigned isa = 0; isa < 3; isa++) {
			struct err e;
			if (!choose_isa(isa))
				continue;
			struct run *r = run_new(a, arena_printf(a, "%s lop3.b32 %%r1, %%r2, %%r3, %%r4, %u;", declarations, table), &e);
			CHECK_MSG(r, "%s", e.text);
			uint32_t *d = run_row(r, "%r1"), *x = run_row(r, "%r2"), *y = run_row(r, "%r3"), *z = run_row(r, "%r4");
			for (int l = 0; l < 32; l++)
				x[l] = U(draw()), y[l] = U(draw()), z[l] = U(draw());
			run_exec(r, ~0u);
			for (int l = 0; l < 32; l++)
				CHECK_EQ(d[l], ref_lop3(x[l], y[l], z[l]));
		}
		arena_free(a);
	}
}

TEST(bit_fields)
{
	check("prmt.b32", "rrrr", ref_prmt, 100);
	check("bfe.s32", "rrss", ref_bfe_s, 100);
	check("bfe.u32", "rrss", ref_bfe_u, 100);
	check("bfind.s32", "rr", ref_bfind_s, 40);
	check("popc.b64", "rw", ref_popc64, 40);
	check("clz.b32", "rr", ref_clz, 40);
}

TEST(prmt_by_a_constant)
{
	struct err e;
	for (unsigned isa = 0; isa < 3; isa++) {
		if (!choose_isa(isa))
			continue;
		for (unsigned round = 0; round < 60; round++) {
			struct arena *a = arena_new();
			unsigned sel = (unsigned)draw() & (round % 4 ? 0x7777 : 0xffff);
			struct run *r = run_new(a, arena_printf(a, "%s prmt.b32 %%r1, %%r2, %%r3, %u;", declarations, sel), &e);
			CHECK_MSG(r, "%s", e.text);
			uint32_t *d = run_row(r, "%r1"), *x = run_row(r, "%r2"), *y = run_row(r, "%r3"), mask = U(draw());
			for (int l = 0; l < 32; l++)
				d[l] = 7, x[l] = U(draw()), y[l] = U(draw());
			run_exec(r, mask);
			for (int l = 0; l < 32; l++)
				CHECK_EQ(d[l], mask >> l & 1 ? ref_prmt(x[l], y[l], sel) : 7);
			run_exec(r, ~0u);
			for (int l = 0; l < 32; l++)
				CHECK_EQ(d[l], ref_prmt(x[l], y[l], sel));
			arena_free(a);
		}
	}
}

/* bfi has four sources: by hand. */
TEST(bit_field_insert)
{
	struct err e;
	for (unsigned isa = 0; isa < 3; isa++) {
		if (!choose_isa(isa))
			continue;
		struct arena *a = arena_new();
		struct run *r = run_new(a, arena_printf(a, "%s bfi.b32 %%r2, %%r2, %%r3, %%r4, %%r5;", declarations), &e);
		CHECK_MSG(r, "%s", e.text);
		uint32_t *row[6], field[32];
		for (unsigned i = 2; i < 6; i++)
			row[i] = run_row(r, arena_printf(a, "%%r%u", i));
		for (int round = 0; round < 60; round++) {
			for (int l = 0; l < 32; l++) {
				field[l] = row[2][l] = U(draw()), row[3][l] = U(draw());
				row[4][l] = U(value('s')), row[5][l] = U(value('s'));
			}
			run_exec(r, ~0u);
			for (int l = 0; l < 32; l++) {
				uint32_t want = row[3][l];
				for (unsigned i = 0, pos = row[4][l] & 255; i < (row[5][l] & 255) && pos + i < 32; i++)
					want = (want & ~(1u << (pos + i))) | (field[l] >> i & 1) << (pos + i);
				CHECK_EQ(row[2][l], want);
			}
		}
		arena_free(a);
	}
}

/* ---- floats ---- */

static uint32_t flushed(uint32_t u) { return u & 0x7f800000 ? u : u & 0x80000000; }
static uint32_t plain_nan(float f) { return isnan(f) ? 0x7fffffff : u_of(f); }
static int rounding = FE_TONEAREST;
/* In `volatile`, so that the compiler neither folds nor moves the operation out of the rounding. */
#define ROUNDED(T, expr) __extension__ ({ fesetround(rounding); volatile T r_ = (expr); fesetround(FE_TONEAREST); r_; })
static uint64_t ref_fadd(uint64_t a, uint64_t b, uint64_t c)
{
	(void)c;
	volatile float x = f_of(U(a)), y = f_of(U(b));
	return plain_nan(ROUNDED(float, x + y));
}
static uint64_t ref_fma(uint64_t a, uint64_t b, uint64_t c)
{
	volatile float x = f_of(U(a)), y = f_of(U(b)), z = f_of(U(c));
	return plain_nan(ROUNDED(float, fmaf(x, y, z)));
}
static uint64_t ref_fma_ftz(uint64_t a, uint64_t b, uint64_t c)
{
	return flushed(plain_nan(fmaf(f_of(flushed(U(a))), f_of(flushed(U(b))), f_of(flushed(U(c))))));
}
static uint64_t ref_fma_sat(uint64_t a, uint64_t b, uint64_t c)
{
	float r = fmaf(f_of(U(a)), f_of(U(b)), f_of(U(c)));
	return r > 0 ? u_of(r < 1 ? r : 1) : 0;
}
static uint64_t ref_fdiv(uint64_t a, uint64_t b, uint64_t c)
{
	(void)c;
	volatile float x = f_of(U(a)), y = f_of(U(b));
	return plain_nan(ROUNDED(float, x / y));
}
static uint64_t ref_fsqrt(uint64_t a, uint64_t b, uint64_t c)
{
	(void)b, (void)c;
	volatile float x = f_of(U(a));
	return plain_nan(ROUNDED(float, sqrtf(x)));
}
static uint64_t ref_dfma(uint64_t a, uint64_t b, uint64_t c)
{
	volatile double x = d_of(a), y = d_of(b), z = d_of(c);
	double r = ROUNDED(double, fma(x, y, z));
	const uint64_t quiet = 0x0008000000000000;
	if (!isnan(r))
		return w_of(r);
	return isnan(y) ? b | quiet : isnan(z) ? c | quiet : isnan(x) ? a | quiet : 0xfff8000000000000;
}
static uint64_t ref_fmin(uint64_t a, uint64_t b, uint64_t c)
{
	(void)c;
	float x = f_of(U(a)), y = f_of(U(b));
	if (isnan(x) || isnan(y))
		return isnan(x) ? isnan(y) ? 0x7fffffff : u_of(y) : u_of(x);
	return x < y || (x == y && signbit(x)) ? u_of(x) : u_of(y);
}
static uint64_t ref_fmax_nan(uint64_t a, uint64_t b, uint64_t c)
{
	(void)c;
	float x = f_of(U(a)), y = f_of(U(b));
	if (isnan(x) || isnan(y))
		return 0x7fffffff;
	return x > y || (x == y && !signbit(x)) ? u_of(x) : u_of(y);
}

TEST(floats_round_as_asked)
{
	static const struct { const char *name; int mode; } modes[] = {{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD},
		{"rp", FE_UPWARD}};
	for (unsigned i = 0; i < 4; i++) {
		char op[32];
		rounding = modes[i].mode;
#define FORM(text, kinds, ref) (snprintf(op, sizeof op, text, modes[i].name), check(op, kinds, ref, 200))
		FORM("add.%s.f32", "fff", ref_fadd);
		FORM("fma.%s.f32", "ffff", ref_fma);
		FORM("div.%s.f32", "fff", ref_fdiv);
		FORM("sqrt.%s.f32", "ff", ref_fsqrt);
		FORM("fma.%s.f64", "dddd", ref_dfma);
#undef FORM
	}
	rounding = FE_TONEAREST;
	check("fma.rn.ftz.f32", "ffff", ref_fma_ftz, 300);
	check("fma.rn.sat.f32", "ffff", ref_fma_sat, 100);
	check("min.f32", "fff", ref_fmin, 100);
	check("max.NaN.f32", "fff", ref_fmax_nan, 100);
}

/* The smallest units that PTX grants, and more: each function against libm in double. */
static void check_approximation(const char *op, double (*f)(double), float from, float to, double absolute, double relative)
{
	struct err e;
	for (unsigned isa = 0; isa < 3; isa++) {
		if (!choose_isa(isa))
			continue;
		struct arena *a = arena_new();
		struct run *r = run_new(a, arena_printf(a, "%s %s %%f1, %%f2;", declarations, op), &e);
		CHECK_MSG(r, "%s", e.text);
		float *d = run_row(r, "%f1"), *x = run_row(r, "%f2");
		for (int round = 0; round < 2000; round++) {
			for (int l = 0; l < 32; l++)
				x[l] = from + (to - from) * (float)(draw() % 16777216) / 16777216.0f;
			run_exec(r, ~0u);
			for (int l = 0; l < 32; l++) {
				double want = f(x[l]);
				CHECK_MSG(fabs(d[l] - want) <= absolute + relative * fabs(want), "%s %a gives %a, expected %a", op, x[l], d[l], want);
			}
		}
		arena_free(a);
	}
}
static double reciprocal(double x) { return 1 / x; }
static double reciprocal_root(double x) { return 1 / sqrt(x); }
TEST(approximations_are_close)
{
	check_approximation("ex2.approx.f32", exp2, -126, 127, 0, 0x1p-23);
	check_approximation("lg2.approx.f32", log2, 0.5f, 2, 0x1p-22, 0);
	check_approximation("lg2.approx.f32", log2, 2, 1e30f, 0, 0x1p-22);
	check_approximation("sin.approx.f32", sin, -6.28f, 6.28f, 0x1p-20, 0);
	check_approximation("cos.approx.f32", cos, -6.28f, 6.28f, 0x1p-20, 0);
	check_approximation("tanh.approx.f32", tanh, -10, 10, 0, 0x1p-20);
	check_approximation("rcp.approx.f32", reciprocal, 1e-3f, 1e3f, 0, 0x1p-23);
	check_approximation("rsqrt.approx.f32", reciprocal_root, 1e-3f, 1e3f, 0, 0x1p-22);
	check_approximation("sqrt.approx.f32", sqrt, 0, 1e3f, 0, 0x1p-23);
}

static uint32_t approximate(const char *op, uint32_t x)
{
	struct arena *a = arena_new();
	struct err e;
	struct run *r = run_new(a, arena_printf(a, "%s %s %%f1, %%f2;", declarations, op), &e);
	CHECK_MSG(r, "%s", e.text);
	((uint32_t *)run_row(r, "%f2"))[5] = x;
	run_exec(r, 1u << 5);
	uint32_t d = ((uint32_t *)run_row(r, "%f1"))[5];
	arena_free(a);
	return d;
}
TEST(approximations_of_special_values)
{
	const uint32_t inf = 0x7f800000, minus_inf = 0xff800000, nan = 0x7fffffff, one = 0x3f800000, minus_zero = 0x80000000;
	static const char *const all[] = {"ex2.approx.f32", "lg2.approx.f32", "sin.approx.f32", "cos.approx.f32", "tanh.approx.f32",
		"rcp.approx.f32", "rsqrt.approx.f32", "sqrt.approx.f32"};
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		CHECK_EQ(approximate(all[i], 0x7fc00001), nan);
	CHECK_EQ(approximate("ex2.approx.f32", minus_inf), 0);
	CHECK_EQ(approximate("ex2.approx.f32", inf), inf);
	CHECK_EQ(approximate("ex2.approx.f32", minus_zero), one);
	CHECK_EQ(approximate("ex2.approx.f32", u_of(-149)), 1);
	CHECK_EQ(approximate("ex2.approx.ftz.f32", u_of(-130)), 0);
	CHECK_EQ(approximate("lg2.approx.f32", 0), minus_inf);
	CHECK_EQ(approximate("lg2.approx.f32", minus_zero), minus_inf);
	CHECK_EQ(approximate("lg2.approx.f32", u_of(-1)), nan);
	CHECK_EQ(approximate("lg2.approx.f32", inf), inf);
	CHECK_EQ(approximate("lg2.approx.f32", one), 0);
	CHECK_EQ(approximate("lg2.approx.f32", 1), u_of(-149));
	CHECK_EQ(approximate("sin.approx.f32", minus_zero), minus_zero);
	CHECK_EQ(approximate("sin.approx.f32", inf), nan);
	CHECK_EQ(approximate("cos.approx.f32", minus_zero), one);
	CHECK_EQ(approximate("rcp.approx.f32", minus_zero), minus_inf);
	CHECK_EQ(approximate("rcp.approx.ftz.f32", 1), inf);
	CHECK_EQ(approximate("rsqrt.approx.f32", minus_zero), minus_inf);
	CHECK_EQ(approximate("rsqrt.approx.f32", inf), 0);
	CHECK_EQ(approximate("rsqrt.approx.f32", u_of(-1)), nan);
	CHECK_EQ(approximate("sqrt.approx.f32", minus_zero), minus_zero);
	CHECK_EQ(approximate("tanh.approx.f32", minus_inf), u_of(-1));
}

/* ---- 16-bit floats ---- */

static double half_value(uint16_t h)
{
	int e = h >> 10 & 31, m = h & 1023;
	double v = e == 31 ? m ? NAN : INFINITY : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
	return h & 0x8000 ? -v : v;
}
/* Nearest of the two neighbours on the grid, even in a tie: scaled so that the grid is the integers. */
static uint16_t nearest(double x, int fraction, int least, uint32_t infinity)
{
	uint16_t sign = signbit(x) ? 0x8000 : 0;
	if (isnan(x))
		return 0x7fff;
	int e = x == 0 || isinf(x) ? least : ilogb(x) < least ? least : ilogb(x);
	if (isinf(x))
		return (uint16_t)(sign | infinity);
	double m = nearbyint(ldexp(fabs(x), fraction - e));
	uint32_t bits = (uint32_t)m + ((uint32_t)(e - least) << fraction);
	return (uint16_t)(sign | (bits > infinity ? infinity : bits));
}
static uint16_t to_half(double x) { return nearest(x, 10, -14, 0x7c00); }
static uint16_t to_brain(double x) { return nearest(x, 7, -126, 0x7f80); }

TEST_WITHIN(every_half_converts, 60)
{
	struct err e;
	for (unsigned isa = 0; isa < 3; isa++) {
		if (!choose_isa(isa))
			continue;
		struct arena *a = arena_new();
		struct run *r = run_new(a, arena_printf(a, "%s cvt.f32.f16 %%f1, %%h1; cvt.rn.f16.f32 %%h2, %%f1; cvt.rn.f16.f32 %%h3, %%f2;"
			"cvt.rn.bf16.f32 %%h4, %%f2;", declarations), &e);
		CHECK_MSG(r, "%s", e.text);
		uint32_t *h = run_row(r, "%h1"), *back = run_row(r, "%h2"), *f = run_row(r, "%f1"), *g = run_row(r, "%f2");
		uint32_t *g16 = run_row(r, "%h3"), *gb = run_row(r, "%h4");
		for (uint32_t base = 0; base < 65536; base += 32) {
			for (uint32_t l = 0; l < 32; l++) {
				h[l] = base + l;
				/* every f32 exponent and top bits, and near the ties of both formats */
				g[l] = (base + l) << 16 | (U(draw()) & 0x3fff) * (base & 32 ? 0 : 1) | (l % 3 == 0 ? 0x1000 : l % 3 == 1 ? 0x8000 : 0);
			}
			run_exec(r, ~0u);
			for (uint32_t l = 0; l < 32; l++) {
				double v = half_value((uint16_t)h[l]);
				CHECK_EQ(f[l], isnan(v) ? 0x7fffffff : u_of((float)v));
				CHECK_EQ(back[l], isnan(v) ? 0x7fff : h[l]);
				CHECK_EQ(u_of(alu_f16_to_f32((uint16_t)h[l])), f[l]);
				CHECK_EQ(g16[l], to_half(f_of(g[l])));
				CHECK_EQ(gb[l], to_brain(f_of(g[l])));
				CHECK_EQ(alu_f32_to_f16(f_of(g[l])), g16[l]);
				CHECK_EQ(alu_f32_to_bf16(f_of(g[l])), gb[l]);
			}
		}
		arena_free(a);
	}
}

/* Products of 16-bit floats are exact in double; a sum with a third is compared by the parts' exact difference. */
static uint16_t fused_half(double x, double y, double z, uint16_t (*round)(double))
{
	long double p = (long double)x * y, s = p + z;		/* 64 bits: f16 sums of ordinary size are exact */
	return round((double)s);
}
static double moderate(uint16_t h) { return half_value((h & 0x83ff) | (8 + h % 11) << 10); }
TEST(fused_half_rounds_once)
{
	struct err e;
	for (unsigned isa = 0; isa < 3; isa++) {
		if (!choose_isa(isa))
			continue;
		struct arena *a = arena_new();
		struct run *r = run_new(a, arena_printf(a, "%s fma.rn.f16x2 %%r1, %%r2, %%r3, %%r4;", declarations), &e);
		CHECK_MSG(r, "%s", e.text);
		uint32_t *d = run_row(r, "%r1"), *x = run_row(r, "%r2"), *y = run_row(r, "%r3"), *z = run_row(r, "%r4");
		for (int round = 0; round < 3000; round++) {
			for (int l = 0; l < 32; l++) {
				uint32_t *all[3] = {x, y, z};
				for (int i = 0; i < 3; i++)
					all[i][l] = to_half(moderate((uint16_t)draw())) | (uint32_t)to_half(moderate((uint16_t)draw())) << 16;
			}
			run_exec(r, ~0u);
			for (int l = 0; l < 32; l++)
				for (int s = 0; s < 32; s += 16)
					CHECK_EQ(d[l] >> s & 0xffff, fused_half(half_value((uint16_t)(x[l] >> s)), half_value((uint16_t)(y[l] >> s)),
						half_value((uint16_t)(z[l] >> s)), to_half));
		}
		arena_free(a);
	}
}

/* The same bits in every build, on anything: what has no simple reference. */
TEST_WITHIN(builds_agree, 60)
{
	static const struct { const char *op, *kinds; } forms[] = {
		{"fma.rn.bf16x2", "HHHH"}, {"mul.bf16x2", "HHH"}, {"add.bf16x2", "HHH"}, {"fma.rn.relu.f16x2", "HHHH"}, {"fma.rn.ftz.f16x2", "HHHH"},
		{"mul.sat.f16x2", "HHH"}, {"ex2.approx.f16x2", "HH"}, {"tanh.approx.bf16x2", "HH"}, {"ex2.approx.f32", "ff"}, {"lg2.approx.f32", "ff"},
		{"sin.approx.f32", "ff"}, {"cos.approx.ftz.f32", "ff"}, {"tanh.approx.f32", "ff"}, {"div.full.f32", "fff"}, {"div.approx.ftz.f32", "fff"},
		{"rsqrt.approx.f32", "ff"}, {"min.xorsign.abs.f16x2", "HHH"}, {"cvt.rni.s32.f32", "rf"}, {"cvt.rmi.u32.f32", "rf"},
		{"cvt.rzi.s64.f32", "wf"}, {"cvt.rpi.u16.f32", "hf"}, {"cvt.rn.f32.u64", "fw"}, {"cvt.rz.f32.u32", "fr"}, {"cvt.rn.f16.s32", "hr"},
		{"cvt.rm.ftz.f32.f64", "fd"}, {"cvt.rn.f16x2.f32", "rff"}, {"cvt.rn.satfinite.e4m3x2.f32", "hff"}, {"cvt.rn.satfinite.e5m2x2.f16x2", "hH"},
		{"cvt.rn.f16x2.e4m3x2", "rh"}, {"cvt.sat.s8.s32", "rr"}, {"cvt.rna.tf32.f32", "rf"}, {"mul.rz.ftz.f32", "fff"}, {"rcp.rp.f64", "dd"},
		{"set.lt.f16x2.f16x2", "rHH"}, {"szext.wrap.s32", "rrs"}, {"vadd4.s32.s32.s32.sat", "rrrr"}, {"mul.hi.u64", "www"}, {"fns.b32", "rrrr"},
	};
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		uint64_t expected[64][32];
		const char *kinds = forms[i].kinds;
		for (unsigned isa = 0; isa < 3; isa++) {
			if (!choose_isa(isa))
				continue;
			struct arena *a = arena_new();
			struct err e;
			const char *text = arena_printf(a, "%s%s %s", declarations, forms[i].op, reg(a, kinds[0], 1));
			for (unsigned k = 1; kinds[k]; k++)
				text = arena_printf(a, "%s, %s", text, reg(a, kinds[k], k + 1));
			struct run *r = run_new(a, arena_printf(a, "%s;", text), &e);
			CHECK_MSG(r, "%s: %s", forms[i].op, e.text);
			seed = 99;
			for (unsigned round = 0; round < 64; round++) {
				for (unsigned k = 1; kinds[k]; k++)
					for (int l = 0; l < 32; l++)
						set_lane(run_row(r, reg(a, kinds[k], k + 1)), kinds[k], l, value(kinds[k]));
				run_exec(r, ~0u);
				for (int l = 0; l < 32; l++) {
					uint64_t got = lane(run_row(r, reg(a, kinds[0], 1)), kinds[0], l);
					if (isa == 0)
						expected[round][l] = got;
					CHECK_MSG(got == expected[round][l], "%s: %s gives %llx, plain %llx", forms[i].op, isas[isa], (long long)got,
						  (long long)expected[round][l]);
				}
			}
			arena_free(a);
		}
	}
}

/* ---- predicates ---- */

TEST(setp_gives_both_predicates)
{
	struct err e;
	for (unsigned isa = 0; isa < 3; isa++) {
		if (!choose_isa(isa))
			continue;
		struct arena *a = arena_new();
		struct run *r = run_new(a, arena_printf(a, "%s setp.lt.and.s32 %%p1|%%p2, %%r1, %%r2, !%%p3; setp.ltu.or.f32 %%p4|%%p5, %%f1, %%f2, %%p3;"
			"selp.b32 %%r3, %%r1, %%r2, !%%p1; set.ge.u32.u32 %%r4, %%r1, %%r2; set.eq.f32.f32 %%f3, %%f1, %%f2;", declarations), &e);
		CHECK_MSG(r, "%s", e.text);
		int32_t *x = run_row(r, "%r1"), *y = run_row(r, "%r2"), *s = run_row(r, "%r3"), *t = run_row(r, "%r4");
		uint32_t *f = run_row(r, "%f1"), *g = run_row(r, "%f2"), *h = run_row(r, "%f3"), *p[6];
		for (unsigned i = 1; i < 6; i++)
			p[i] = run_row(r, arena_printf(a, "%%p%u", i));
		for (int round = 0; round < 100; round++) {
			for (int l = 0; l < 32; l++) {
				x[l] = S(integer()), y[l] = S(integer());
				f[l] = float_bits(), g[l] = float_bits();
			}
			*p[3] = U(draw());
			run_exec(r, ~0u);
			for (int l = 0; l < 32; l++) {
				bool c = *p[3] >> l & 1, less = x[l] < y[l];
				bool ltu = isnan(f_of(f[l])) || isnan(f_of(g[l])) || f_of(f[l]) < f_of(g[l]);
				CHECK_EQ(*p[1] >> l & 1, less && !c);
				CHECK_EQ(*p[2] >> l & 1, !less && !c);
				CHECK_EQ(*p[4] >> l & 1, ltu || c);
				CHECK_EQ(*p[5] >> l & 1, !ltu || c);
				CHECK_EQ(s[l], *p[1] >> l & 1 ? y[l] : x[l]);
				CHECK_EQ(t[l], U(x[l]) >= U(y[l]) ? -1 : 0);
				CHECK_EQ(h[l], f_of(f[l]) == f_of(g[l]) ? 0x3f800000 : 0);
			}
		}
		arena_free(a);
	}
}

/* ---- matrices ---- */

/* A wmma through fragments laid out by alu_wmma_coord, small integers, so that every sum is exact. */
static void check_wmma(const char *op, enum ptx_type t, unsigned m, unsigned n, unsigned k, unsigned regs_a, unsigned regs_b)
{
	struct err e;
	for (unsigned isa = 0; isa < 3; isa++) {
		if (!choose_isa(isa))
			continue;
		struct arena *a = arena_new();
		const char *text = arena_printf(a, "%s %s {", declarations, op);
		const unsigned counts[4] = {8, regs_a, regs_b, 8}, first[4] = {0, 8, 16, 24};
		for (unsigned o = 0; o < 4; o++)
			for (unsigned i = 0; i < counts[o]; i++)
				text = arena_printf(a, "%s%%r%u%s", text, first[o] + i, i + 1 < counts[o] ? ", " : o < 3 ? "}, {" : "};");
		struct run *r = run_new(a, text, &e);
		CHECK_MSG(r && r->n == 1, "%s: %s", op, r ? "" : e.text);
		double A[32][32], B[32][32], C[32][32];
		unsigned bits = t == PTX_T_S8 ? 8 : t == PTX_T_TF32 ? 32 : 16, per = 32 / bits;
		for (unsigned f = FRAGMENT_A; f <= FRAGMENT_C; f++)
			for (unsigned l = 0; l < 32; l++)
				for (unsigned i = 0; i < alu_wmma_elements(f, t, m, n, k); i++) {
					unsigned row, column;
					alu_wmma_coord(f, t, m, n, k, l, i, &row, &column);
					CHECK(row < (f == FRAGMENT_B ? k : m) && column < (f == FRAGMENT_A ? k : n));
					int v = (int)((row * 7 + column * 3 + f) % 11) - 5;
					(f == FRAGMENT_A ? A : f == FRAGMENT_B ? B : C)[row][column] = v;
					unsigned element = f == FRAGMENT_C ? 1 : per, reg_no = first[f == FRAGMENT_A ? 1 : f == FRAGMENT_B ? 2 : 3] + i / element;
					uint32_t *w = (uint32_t *)run_row(r, arena_printf(a, "%%r%u", reg_no)) + l;
					uint32_t x = f == FRAGMENT_C ? t == PTX_T_S8 ? U(v) : u_of((float)v) :
						t == PTX_T_S8 ? U(v) & 0xff : t == PTX_T_TF32 ? u_of((float)v) : t == PTX_T_F16 ? to_half(v) : to_brain(v);
					unsigned at = f == FRAGMENT_C ? 0 : i % element * bits;
					*w = f == FRAGMENT_C || bits == 32 ? x : (*w & ~(((1u << bits) - 1) << at)) | x << at;
				}
		run_exec(r, ~0u);
		for (unsigned l = 0; l < 32; l++)
			for (unsigned i = 0; i < 8; i++) {
				unsigned row, column;
				alu_wmma_coord(FRAGMENT_C, t, m, n, k, l, i, &row, &column);
				double want = C[row][column];
				for (unsigned x = 0; x < k; x++)
					want += A[row][x] * B[x][column];
				uint32_t got = ((uint32_t *)run_row(r, arena_printf(a, "%%r%u", i)))[l];
				CHECK_EQ(got, t == PTX_T_S8 ? U((int)want) : u_of((float)want));
			}
		arena_free(a);
	}
}
TEST(wmma_multiplies_in_every_shape)
{
	check_wmma("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", PTX_T_F16, 16, 16, 16, 8, 8);
	check_wmma("wmma.mma.sync.aligned.col.row.m32n8k16.f32.f32", PTX_T_F16, 32, 8, 16, 8, 8);
	check_wmma("wmma.mma.sync.aligned.row.row.m8n32k16.f32.f32", PTX_T_F16, 8, 32, 16, 8, 8);
	check_wmma("wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32", PTX_T_BF16, 16, 16, 16, 4, 4);
	check_wmma("wmma.mma.sync.aligned.row.col.m8n32k16.f32.bf16.bf16.f32", PTX_T_BF16, 8, 32, 16, 2, 8);
	check_wmma("wmma.mma.sync.aligned.row.col.m32n8k16.f32.bf16.bf16.f32", PTX_T_BF16, 32, 8, 16, 8, 2);
	check_wmma("wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32", PTX_T_S8, 16, 16, 16, 2, 2);
	check_wmma("wmma.mma.sync.aligned.row.col.m32n8k16.s32.s8.s8.s32", PTX_T_S8, 32, 8, 16, 4, 1);
	check_wmma("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", PTX_T_TF32, 16, 16, 8, 4, 4);
}

/* One element of D of m16n8k16 f16 by the rule of the tensor core, for numbers near and far. */
static double cut_sum(const double *a, const double *b, double c, int k)
{
	int top = c ? ilogb(c) : -1000;
	for (int i = 0; i < k; i++)
		if (a[i] && b[i]) {
			int e = (ilogb(a[i]) < -14 ? -14 : ilogb(a[i])) + (ilogb(b[i]) < -14 ? -14 : ilogb(b[i]));
			top = e > top ? e : top;
		}
	double unit = ldexp(1, top - 25), sum = trunc(c / unit);
	for (int i = 0; i < k; i++)
		sum += trunc(a[i] * b[i] / unit);
	sum *= unit;
	if (sum == 0)
		return 0;
	double last = ldexp(1, ilogb(sum) - 23);
	return trunc(sum / last) * last;
}
TEST(mma_cuts_as_the_tensor_core)
{
	struct err e;
	for (unsigned isa = 0; isa < 3; isa++) {
		if (!choose_isa(isa))
			continue;
		struct arena *a = arena_new();
		struct run *r = run_new(a, arena_printf(a, "%s mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%%r0,%%r1,%%r2,%%r3}, {%%r4,%%r5,%%r6,%%r7},"
			"{%%r8,%%r9}, {%%r3,%%r2,%%r1,%%r0};", declarations), &e);
		CHECK_MSG(r, "%s", e.text);
		uint32_t *row[10], c[4][32];
		for (unsigned i = 0; i < 10; i++)
			row[i] = run_row(r, arena_printf(a, "%%r%u", i));
		for (int round = 0; round < 60; round++) {
			for (int l = 0; l < 32; l++) {
				for (int i = 4; i < 10; i++)
					row[i][l] = round % 2 ? U(draw()) & 0xbfffbfff : U(draw()) & 0xb3ffb3ff;
				for (int i = 0; i < 4; i++)
					c[i][l] = row[i][l] = round % 7 == 3 ? U(draw()) & 0x8fffffff :
						(U(draw()) & 0x807fffff) | (U(100 + draw() % 40) << 23);
			}
			run_exec(r, ~0u);
			for (unsigned l = 0; l < 32; l++)
				for (unsigned i = 0; i < 4; i++) {
					unsigned y = l / 4 + (i & 2 ? 8 : 0), x = l % 4 * 2 + (i & 1);
					double p[16], q[16];
					for (unsigned k = 0; k < 16; k++) {
						unsigned ra = 4 + (y > 7) + 2 * (k > 7), la = y % 8 * 4 + k % 8 / 2;
						p[k] = half_value((uint16_t)(row[ra][la] >> 16 * (k & 1)));
						q[k] = half_value((uint16_t)(row[8 + (k > 7)][x * 4 + k % 8 / 2] >> 16 * (k & 1)));
					}
					double want = cut_sum(p, q, f_of(c[3 - i][l]), 16);
					CHECK_MSG(row[i][l] == u_of((float)want), "%s: element %u,%u is %a, expected %a", isas[isa], y, x, f_of(row[i][l]), want);
				}
		}
		arena_free(a);
	}
}

TEST(integer_mma_wraps_or_clamps)
{
	struct err e;
	for (unsigned clamp = 0; clamp < 2; clamp++) {
		struct arena *a = arena_new();
		struct run *r = run_new(a, arena_printf(a, "%s mma.sync.aligned.m16n8k32.row.col%s.s32.s8.u8.s32 {%%r0,%%r1,%%r2,%%r3}, {%%r4,%%r5,%%r6,%%r7},"
			"{%%r8,%%r9}, {%%r10,%%r11,%%r12,%%r13};", declarations, clamp ? ".satfinite" : ""), &e);
		CHECK_MSG(r, "%s", e.text);
		for (int i = 4; i < 14; i++)
			for (int l = 0; l < 32; l++)
				((uint32_t *)run_row(r, arena_printf(a, "%%r%u", i)))[l] = i < 8 ? 0x80808080 : i < 10 ? 0xffffffff : 0x80000005;
		run_exec(r, ~0u);
		for (int l = 0; l < 32; l++)
			CHECK_EQ(((uint32_t *)run_row(r, "%r2"))[l], clamp ? 0x80000000 : 0x80000005 - 32u * 128 * 255);
		arena_free(a);
	}
}

/* ---- moves ---- */

TEST(pack_and_unpack)
{
	struct err e;
	struct arena *a = arena_new();
	struct run *r = run_new(a, arena_printf(a, "%s mov.b64 %%l1, {%%h1, %%h2, %%h3, %%h4}; mov.b64 {%%r1, %%r2}, %%l1; mov.b32 {_, %%h5}, %%r2;"
		"mov.b128 %%q1, {%%l1, %%l2}; mov.b128 %%q2, %%q1; mov.b128 {%%l3, %%l4}, %%q2; mov.b32 %%r3, {%%h1, 7};", declarations), &e);
	CHECK_MSG(r, "%s", e.text);
	for (unsigned i = 1; i < 5; i++)
		for (uint32_t l = 0; l < 32; l++)
			((uint32_t *)run_row(r, arena_printf(a, "%%h%u", i)))[l] = i << 12 | l;
	for (uint32_t l = 0; l < 32; l++)
		((uint64_t *)run_row(r, "%l2"))[l] = 0x1234567800000000 + l;
	run_exec(r, ~0u);
	for (uint32_t l = 0; l < 32; l++) {
		uint64_t packed = 0x4000300020001000ull + 0x0001000100010001ull * l;
		CHECK_EQ(((uint64_t *)run_row(r, "%l1"))[l], packed);
		CHECK_EQ(((uint32_t *)run_row(r, "%r1"))[l], U(packed));
		CHECK_EQ(((uint32_t *)run_row(r, "%h5"))[l], 0x4000 + l);
		CHECK_EQ(((uint64_t *)run_row(r, "%l3"))[l], packed);
		CHECK_EQ(((uint64_t *)run_row(r, "%l4"))[l], 0x1234567800000000 + l);
		CHECK_EQ(((uint32_t *)run_row(r, "%r3"))[l], 0x00071000 + l);
	}
	arena_free(a);
}

/* ---- what is refused ---- */

static void check_refused(const char *insn, const char *part)
{
	struct arena *a = arena_new();
	struct err e = {0};
	CHECK_MSG(!run_new(a, arena_printf(a, "%s%s", declarations, insn), &e), "accepted: %s", insn);
	CHECK_MSG(strstr(e.text, part) && strstr(e.text, "line "), "%s: '%s' does not say '%s'", insn, e.text, part);
	CHECK_EQ(e.kind, ERR_INPUT);
	arena_free(a);
}
TEST(refusals_say_what_and_where)
{
	check_refused("add.u32 %r1, %r2, %l1;", "operand 3");
	check_refused("add.u64 %l1, %l2, %r1;", "64 are wanted");
	check_refused("mov.b64 %l1, {%r1, %h1};", "operand 2");
	check_refused("fma.rn.f32 %f1, %f2, %f3;", "missing");
	check_refused("add.u32 %r1, %r2, %r3, %r4;", "too many");
	check_refused("add.sat.u32 %r1, %r2, %r3;", ".sat has no meaning");
	check_refused("add.u32 7, %r2, %r3;", "operand 1");
	check_refused("lop3.b32 %r1, %r2, %r3, %r4, %r5;", "lop3.b32 is not supported");
	check_refused("cvt.f16.f32 %h1, %f1;", "not supported");
	check_refused("cvt.rzi.s8.f32 %h1, %d1;", "operand 2");
	check_refused("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%f1,%f2,%f3,%f4};", "number of registers");
	check_refused("cvt.rn.e4m3x2.f32 %h1, %f1, %f2;", ".satfinite");
}
