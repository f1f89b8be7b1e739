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
/* By the reciprocal, which is 0 for a divisor above 2^126. */
APPROX(div_approx, X * flush(1.0f / Y))
/* Scaled so that the reciprocal is a normal number. */
INLINE float div_scaled(float x, float y)
{
	float m = __builtin_fabsf(y), scale = m > 0x1p126f ? 0.25f : m < 0x1p-126f ? 0x1p24f : 1.0f;
	return (x * scale) * (1.0f / (y * scale));
}
APPROX(div_full, div_scaled(X, Y))

/* f64: .ftz forms look at and give the upper 32 bits alone. */
INLINE double flush64(double x)
{
	uint64_t u = bits64_of(x);
	return f64_of((u & 0x7fffffffffffffff) < 0x0010000000000000 ? u & 0x8000000000000000 : u);
}
INLINE double upper(double x) { return f64_of(bits64_of(x) & 0xffffffff00000000); }
#define APPROX64(name, expr) LANES(name, f64, f64, f64, f64, canon64(expr, a[i], 0, 0))
APPROX64(rcp_approx_ftz_f64, upper(flush64(1.0 / flush64(upper(a[i])))))
APPROX64(rsqrt_approx_ftz_f64, upper(flush64(1.0 / __builtin_sqrt(flush64(upper(a[i]))))))
APPROX64(rsqrt_approx_f64, 1.0 / __builtin_sqrt(a[i]))
