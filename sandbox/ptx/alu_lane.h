/* What the handler bodies share.  Included by alu_lanes_*.c alone, each compiled once per ISA with -DALU_ISA=name.
 *
 * A body is a loop of 32 steps without calls or branches, which gcc turns into vectors.  A row may be written while it
 * is read, lane by lane, so the loops carry `ivdep`; rows are told apart from other memory by may_alias types.
 * Every operation used is exact or correctly rounded by IEEE 754, so all builds give the same bits; what would differ
 * (payloads of NaN) is set as the GPU does it.
 */
#ifndef PTX_ALU_LANE_H
#define PTX_ALU_LANE_H

#include "alu_fns.h"

#include <math.h>
#include <string.h>
#include <immintrin.h>

#ifndef ALU_ISA
#error "compile with -DALU_ISA=plain, avx2 or avx512"
#endif

#define LANE_PASTE2(isa, name) alu_##isa##_##name
#define LANE_PASTE(isa, name) LANE_PASTE2(isa, name)
#define LANE_FN(name) LANE_PASTE(ALU_ISA, name)

#define FN(name) alu_fn LANE_FN(name);
#include "alu_fns.def"
#undef FN

typedef uint32_t __attribute__((may_alias)) u32;
typedef int32_t __attribute__((may_alias)) s32;
typedef uint64_t __attribute__((may_alias)) u64;
typedef int64_t __attribute__((may_alias)) s64;
typedef uint16_t __attribute__((may_alias)) u16;
typedef float __attribute__((may_alias)) f32;
typedef double __attribute__((may_alias)) f64;

#define INLINE static inline __attribute__((always_inline, unused))

static const uint32_t lane_bit[32] __attribute__((aligned(64), unused)) = {
	1u << 0, 1u << 1, 1u << 2, 1u << 3, 1u << 4, 1u << 5, 1u << 6, 1u << 7,
	1u << 8, 1u << 9, 1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
	1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
	1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31
};
static const uint64_t lane_bit64[32] __attribute__((aligned(64), unused)) = {
	1u << 0, 1u << 1, 1u << 2, 1u << 3, 1u << 4, 1u << 5, 1u << 6, 1u << 7,
	1u << 8, 1u << 9, 1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
	1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
	1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31
};

/* EACH: over the lanes, independent of each other. */
#define EACH _Pragma("GCC ivdep") for (int i = 0; i < 32; i++)
#define ROW(T, r) ((T *)__builtin_assume_aligned(regs + (r), 64))
#define PRED(r) (*(u32 *)(regs + (r)))
#define HANDLER(name) void LANE_FN(name)(unsigned char *regs, const struct alu_insn *in, uint32_t mask)

/* d[i] = expr for the lanes of mask. */
#define STORE(T, expr) do {						\
	if (mask == ~0u) {						\
		EACH d[i] = (T)(expr);					\
	} else if (sizeof(T) == 8) {					\
		uint64_t m_ = mask;					\
		EACH { T r_ = (T)(expr); d[i] = m_ & lane_bit64[i] ? r_ : d[i]; } \
	} else {							\
		EACH { T r_ = (T)(expr); d[i] = mask & lane_bit[i] ? r_ : d[i]; } \
	}								\
} while (0)

/* A handler of up to three sources: D, A, B, C are the types of the rows d, a, b, c. */
#define LANES(name, D, A, B, C, expr)					\
HANDLER(name)								\
{									\
	D *d = ROW(D, in->d);						\
	const A *a = ROW(A, in->a);					\
	const B *b = ROW(B, in->b);					\
	const C *c = ROW(C, in->c);					\
	const uint32_t imm = in->imm;					\
	(void)a; (void)b; (void)c; (void)imm;				\
	STORE(D, expr);							\
}
#define LANES32(name, expr) LANES(name, u32, u32, u32, u32, expr)
#define LANES64(name, expr) LANES(name, u64, u64, u64, u64, expr)

INLINE void put_pred(unsigned char *regs, uint32_t row, uint32_t mask, uint32_t bits)
{
	if (row != ALU_SINK)
		PRED(row) = (PRED(row) & ~mask) | (bits & mask);
}

/* One bit a lane, from lanes that are all ones or zero. */
INLINE uint32_t gather_bits(const int32_t *v)
{
	uint32_t bits = 0;
#ifdef __AVX2__
	for (int i = 0; i < 4; i++) {
		__m256i x = _mm256_load_si256((const __m256i *)(v + 8 * i));
		bits |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(x)) << 8 * i;
	}
#else
	for (int i = 0; i < 8; i++) {
		__m128i x = _mm_load_si128((const __m128i *)(v + 4 * i));
		bits |= (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(x)) << 4 * i;
	}
#endif
	return bits;
}
/* bits = the lanes for which expr holds. */
#define WHERE(bits, expr) do {						\
	int32_t w_[32] __attribute__((aligned(64)));			\
	for (int i = 0; i < 32; i++)					\
		w_[i] = -(int32_t)(expr);				\
	(bits) = gather_bits(w_);					\
} while (0)

INLINE float f32_of(uint32_t x) { float f; memcpy(&f, &x, 4); return f; }
INLINE uint32_t bits_of(float f) { uint32_t x; memcpy(&x, &f, 4); return x; }
INLINE double f64_of(uint64_t x) { double f; memcpy(&f, &x, 8); return f; }
INLINE uint64_t bits64_of(double f) { uint64_t x; memcpy(&x, &f, 8); return x; }

#define NAN32 0x7fffffffu
#define NAN64 0xfff8000000000000ull		/* what an operation on numbers gives */

/* The canonical NaN for any NaN. */
INLINE float canon(float x) { return x != x ? f32_of(NAN32) : x; }
/* f64 keeps what it was given: the first operand that is a NaN, made quiet. */
INLINE double quiet(double x) { return f64_of(bits64_of(x) | 0x0008000000000000); }
INLINE double canon64(double r, double x, double y, double z)
{
	double n = x != x ? quiet(x) : y != y ? quiet(y) : z != z ? quiet(z) : f64_of(NAN64);
	return r != r ? n : r;
}

/* Subnormals to a zero of the same sign. */
INLINE float flush(float x)
{
	uint32_t u = bits_of(x), magnitude = (u & 0x7f800000) == 0 ? 0x7fffffff : 0;
	return f32_of(u & ~magnitude);
}
/* The same for all below a limit of 31 bits. */
INLINE float flush_if(float x, uint32_t limit)
{
	uint32_t u = bits_of(x), magnitude = (int32_t)(u & 0x7fffffff) < (int32_t)limit ? 0x7fffffff : 0;
	return f32_of(u & ~magnitude);
}
INLINE uint32_t flush_limit(uint32_t imm) { return imm & IMM_FTZ ? 0x00800000 : 0; }

/* [0, 1]; NaN and -0 give +0. */
INLINE float saturate(float x) { return x > 0 ? x < 1 ? x : 1.0f : 0.0f; }
INLINE double saturate64(double x) { return x > 0 ? x < 1 ? x : 1.0 : 0.0; }

/* An order of floats as integers: -0 < +0, NaN at the ends. */
INLINE int32_t order(uint32_t u) { return (int32_t)(u ^ ((uint32_t)((int32_t)u >> 31) & 0x7fffffff)); }
INLINE int64_t order64(uint64_t u) { return (int64_t)(u ^ ((uint64_t)((int64_t)u >> 63) & 0x7fffffffffffffff)); }

/* The rounding of the SSE unit between round_begin and round_end.  Both are barriers for memory, so what is loaded,
 * computed and stored in between is computed in between. */
INLINE uint32_t round_begin(uint32_t mode)
{
	uint32_t old, set;
	__asm__ volatile("stmxcsr %0" : "=m"(old) : : "memory");
	set = (old & ~0x6000u) | mode << 13;
	__asm__ volatile("ldmxcsr %0" : : "m"(set) : "memory");
	return old;
}
INLINE void round_end(uint32_t old) { __asm__ volatile("ldmxcsr %0" : : "m"(old) : "memory"); }

/* ---- half precision ---- */

INLINE float half_to_f32(uint32_t h)
{
	uint32_t u = (h & 0x7fff) << 13, e = u & 0x0f800000;
	uint32_t normal = u + ((127 - 15) << 23), sub = bits_of(f32_of(u + (113u << 23)) - f32_of(113u << 23));
	u = e == 0 ? sub : e == 0x0f800000 ? u + ((255 - 31) << 23) : normal;
	return f32_of(u | (h & 0x8000) << 16);
}
/* Round to nearest even; NaN is 0x7fff. */
INLINE uint32_t half_of_f32(float x)
{
	uint32_t u = bits_of(x), sign = u & 0x80000000, a = u ^ sign;
	uint32_t sub = bits_of(f32_of(a) + 0.5f) - bits_of(0.5f);
	uint32_t normal = (a - ((127 - 15) << 23) + 0xfff + (a >> 13 & 1)) >> 13;
	uint32_t h = a > 0x7f800000 ? 0x7fff : a >= 0x47800000 ? 0x7c00 : a < 0x38800000 ? sub : normal;
	return h | (a > 0x7f800000 ? 0 : sign >> 16);
}
INLINE float bf16_to_f32(uint32_t h) { return f32_of(h << 16); }
INLINE uint32_t bf16_of_f32(float x)
{
	uint32_t u = bits_of(x);
	return (u & 0x7fffffff) > 0x7f800000 ? 0x7fff : (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

#endif
