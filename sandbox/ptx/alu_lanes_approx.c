/* Approximate f32 and f64 functions on lanes: those of the special function unit. */
#include "alu_approx.h"

#define APPROX(name, expr)						\
HANDLER(name)								\
{									\
	f32 *d = ROW(f32, in->d);					\
	const f32 *a = ROW(f32, in->a), *b = ROW(f32, in->b);		\
	const uint32_t limit = flush_limit(in->imm);			\
	(void)b;							\
	STORE(f32, flush_if(canon(expr), limit));			\
}
#define X flush_if(a[i], limit)
#define Y flush_if(b[i], limit)
APPROX(ex2_approx, approx_ex2(X))
APPROX(lg2_approx, approx_lg2(X))
APPROX(sin_approx, approx_sin(X, 0))
APPROX(cos_approx, approx_sin(X, 1))
APPROX(tanh_approx, approx_tanh(a[i]))
APPROX(rcp_approx, 1.0f / X)
APPROX(sqrt_approx, __builtin_sqrtf(X))
APPROX(rsqrt_approx, 1.0f / __builtin_sqrtf(X))
/* By the reciprocal, scaled so that it is a normal number; div.approx does so for small divisors alone, and has 0 for
 * that of one above 2^126. */
INLINE float div_scaled(float x, float y, bool large)
{
	float m = __builtin_fabsf(y), scale = large && m > 0x1p126f ? 0.25f : m < 0x1p-126f ? 0x1p24f : 1.0f;
	return (x * scale) * flush(1.0f / (y * scale));
}
APPROX(div_approx, div_scaled(X, Y, false))
APPROX(div_full, div_scaled(X, Y, true))

/* f64: .ftz forms look at and give the upper 32 bits alone. */
INLINE double flush64(double x)
{
	uint64_t u = bits64_of(x);
	return f64_of((u & 0x7fffffffffffffff) < 0x0010000000000000 ? u & 0x8000000000000000 : u);
}
INLINE double upper(double x) { return f64_of(bits64_of(x) & 0xffffffff00000000); }
INLINE double upper_nan(double x) { return x != x ? f64_of(0x7fffffff00000000) : upper(x); }
LANES(rcp_approx_ftz_f64, f64, f64, f64, f64, upper_nan(flush64(1.0 / flush64(upper(a[i])))))
LANES(rsqrt_approx_ftz_f64, f64, f64, f64, f64, upper_nan(flush64(1.0 / __builtin_sqrt(flush64(upper(a[i]))))))
LANES(rsqrt_approx_f64, f64, f64, f64, f64, canon64(1.0 / __builtin_sqrt(a[i]), a[i], 0, 0))
