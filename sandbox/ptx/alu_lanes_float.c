/* f32 and f64 arithmetic on lanes, rounded once in the mode asked for. */
#include "alu_lane.h"

/* ---- fused multiply and add ---- */

/* Rounded once, to nearest.  Without the instruction: the product of two f32 is exact in double; the sum is rounded to
 * odd there, which keeps what the last rounding must know. */
INLINE float fused(float a, float b, float c)
{
#ifdef __FMA__
	return __builtin_fmaf(a, b, c);
#else
	double p = (double)a * b, s = p + c, back = s - p, rest = (p - (s - back)) + (c - back);
	uint64_t u = bits64_of(s), away = 1 - 2 * ((bits64_of(rest) ^ u) >> 63);
	return (float)f64_of(u + ((rest < 0 || rest > 0) && !(u & 1) ? away : 0));
#endif
}
/* In a directed mode two roundings are as one: the coarser grid is a part of the finer. */
INLINE float fused_directed(float a, float b, float c)
{
#ifdef __FMA__
	return __builtin_fmaf(a, b, c);
#else
	return (float)((double)a * b + c);
#endif
}

#define LANESF(name, expr) LANES(name, f32, f32, f32, f32, expr)
#define LANESD(name, expr) LANES(name, f64, f64, f64, f64, expr)

LANESF(add_f32, canon(a[i] + b[i]))
LANESF(sub_f32, canon(a[i] - b[i]))
LANESF(mul_f32, canon(a[i] * b[i]))
LANESF(fma_f32, canon(fused(a[i], b[i], c[i])))
LANESF(add_ftz_f32, flush(canon(flush(a[i]) + flush(b[i]))))
LANESF(sub_ftz_f32, flush(canon(flush(a[i]) - flush(b[i]))))
LANESF(mul_ftz_f32, flush(canon(flush(a[i]) * flush(b[i]))))
LANESF(fma_ftz_f32, flush(canon(fused(flush(a[i]), flush(b[i]), flush(c[i])))))
LANESF(div_f32, canon(a[i] / b[i]))
LANESF(rcp_f32, canon(1.0f / a[i]))
LANESF(sqrt_f32, canon(__builtin_sqrtf(a[i])))

LANESD(add_f64, canon64(a[i] + b[i], a[i], b[i], 0))
LANESD(sub_f64, canon64(a[i] - b[i], a[i], b[i], 0))
LANESD(mul_f64, canon64(a[i] * b[i], b[i], a[i], 0))
LANESD(fma_f64, canon64(__builtin_fma(a[i], b[i], c[i]), b[i], c[i], a[i]))
LANESD(div_f64, canon64(a[i] / b[i], a[i], b[i], 0))
LANESD(rcp_f64, canon64(1.0 / a[i], a[i], 0, 0))
LANESD(sqrt_f64, canon64(__builtin_sqrt(a[i]), a[i], 0, 0))

/* ---- any rounding, .ftz and .sat ----
 * x, y, z are the operands after .ftz. */

#define LOOP_F32(expr) do {						\
	if (sat)							\
		STORE(f32, saturate(flush_if(canon(expr), limit)));	\
	else								\
		STORE(f32, flush_if(canon(expr), limit));		\
} while (0)
#define ANY_F32(name, nearest, directed)				\
HANDLER(name)								\
{									\
	f32 *d = ROW(f32, in->d);					\
	const f32 *a = ROW(f32, in->a), *b = ROW(f32, in->b), *c = ROW(f32, in->c); \
	const uint32_t limit = flush_limit(in->imm), mode = in->imm >> IMM_ROUND_SHIFT & 3; \
	const bool sat = in->imm & IMM_SAT;				\
	(void)b; (void)c;						\
	if (mode == ROUND_NEAREST) {					\
		LOOP_F32(nearest);					\
	} else {							\
		uint32_t old = round_begin(mode);			\
		LOOP_F32(directed);					\
		round_end(old);						\
	}								\
}
#define X flush_if(a[i], limit)
#define Y flush_if(b[i], limit)
#define Z flush_if(c[i], limit)
ANY_F32(add_f32_any, X + Y, X + Y)
ANY_F32(sub_f32_any, X - Y, X - Y)
ANY_F32(mul_f32_any, X * Y, X * Y)
ANY_F32(fma_f32_any, fused(X, Y, Z), fused_directed(X, Y, Z))
ANY_F32(div_f32_any, X / Y, X / Y)
ANY_F32(rcp_f32_any, 1.0f / X, 1.0f / X)
ANY_F32(sqrt_f32_any, __builtin_sqrtf(X), __builtin_sqrtf(X))

#define DIRECTED_F64(name, expr, x, y, z)				\
HANDLER(name)								\
{									\
	f64 *d = ROW(f64, in->d);					\
	const f64 *a = ROW(f64, in->a), *b = ROW(f64, in->b), *c = ROW(f64, in->c); \
	uint32_t old = round_begin(in->imm >> IMM_ROUND_SHIFT & 3);	\
	(void)b; (void)c;						\
	STORE(f64, canon64(expr, x, y, z));				\
	round_end(old);							\
}
DIRECTED_F64(add_f64_any, a[i] + b[i], a[i], b[i], 0)
DIRECTED_F64(sub_f64_any, a[i] - b[i], a[i], b[i], 0)
DIRECTED_F64(mul_f64_any, a[i] * b[i], b[i], a[i], 0)
DIRECTED_F64(fma_f64_any, __builtin_fma(a[i], b[i], c[i]), b[i], c[i], a[i])
DIRECTED_F64(div_f64_any, a[i] / b[i], a[i], b[i], 0)
DIRECTED_F64(rcp_f64_any, 1.0 / a[i], a[i], 0, 0)
DIRECTED_F64(sqrt_f64_any, __builtin_sqrt(a[i]), a[i], 0, 0)

/* ---- min, max: the operand that is a number; -0 < +0 ---- */

INLINE float min_number(float x, float y)
{
	float r = order(bits_of(x)) < order(bits_of(y)) ? x : y;
	return canon(x != x ? y : y != y ? x : r);
}
INLINE float max_number(float x, float y)
{
	float r = order(bits_of(x)) > order(bits_of(y)) ? x : y;
	return canon(x != x ? y : y != y ? x : r);
}
INLINE double min_number64(double x, double y)
{
	double r = order64(bits64_of(x)) < order64(bits64_of(y)) ? x : y;
	r = x != x ? y : y != y ? x : r;
	return r != r ? f64_of(NAN64) : r;
}
INLINE double max_number64(double x, double y)
{
	double r = order64(bits64_of(x)) > order64(bits64_of(y)) ? x : y;
	r = x != x ? y : y != y ? x : r;
	return r != r ? f64_of(NAN64) : r;
}
LANESF(min_f32, min_number(a[i], b[i]))
LANESF(max_f32, max_number(a[i], b[i]))
LANESF(min_ftz_f32, min_number(flush(a[i]), flush(b[i])))
LANESF(max_ftz_f32, max_number(flush(a[i]), flush(b[i])))
LANESD(min_f64, min_number64(a[i], b[i]))
LANESD(max_f64, max_number64(a[i], b[i]))

/* One step with all modifiers; .xorsign.abs joins magnitudes and gives the product's sign. */
INLINE float pick(float x, float y, uint32_t imm)
{
	const uint32_t sign = imm & IMM_XORSIGN ? 0x80000000 : 0;
	uint32_t ux = bits_of(x), uy = bits_of(y), to = (ux ^ uy) & sign;
	float p = f32_of(ux & ~sign), q = f32_of(uy & ~sign);
	float r = imm & IMM_MAX ? max_number(p, q) : min_number(p, q);
	if (imm & IMM_NAN)
		r = x != x || y != y ? f32_of(NAN32) : r;
	return r != r ? r : f32_of(bits_of(r) | to);
}
HANDLER(minmax_f32_any)
{
	f32 *d = ROW(f32, in->d);
	const f32 *a = ROW(f32, in->a), *b = ROW(f32, in->b), *c = ROW(f32, in->c);
	const uint32_t imm = in->imm, limit = flush_limit(imm);
	if (imm & IMM_THREE)
		STORE(f32, pick(pick(X, Y, imm), Z, imm));
	else
		STORE(f32, pick(X, Y, imm));
}

/* ---- abs, neg ---- */

#define IS_NAN(u) (((u) & 0x7fffffff) > 0x7f800000)
LANES32(abs_f32, IS_NAN(a[i]) ? NAN32 : a[i] & 0x7fffffff)
LANES32(neg_f32, IS_NAN(a[i]) ? NAN32 : a[i] ^ 0x80000000)
LANES32(abs_ftz_f32, IS_NAN(a[i]) ? NAN32 : bits_of(flush(f32_of(a[i]))) & 0x7fffffff)
LANES32(neg_ftz_f32, IS_NAN(a[i]) ? NAN32 : bits_of(flush(f32_of(a[i]))) ^ 0x80000000)
LANESD(abs_f64, canon64(f64_of(bits64_of(a[i]) & 0x7fffffffffffffff), a[i], 0, 0))
LANESD(neg_f64, canon64(f64_of(bits64_of(a[i]) ^ 0x8000000000000000), a[i], 0, 0))
