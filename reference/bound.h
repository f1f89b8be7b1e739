/* How far a right kernel may be from the float64 value of an output element.
 *
 * The bound comes from the size of the terms of the sum, never of the sum itself, so cancellation neither fails a
 * right kernel nor hides a wrong one:
 *
 *	|got - y| <= 1.02 u_out |y| + eta + 6 u_w sqrt((R2 + G2) / 3) + (sqrt(K) + K/16) 2^-24 S
 *
 *	y   sum of w_k x_k, in float64 from the stored integers and scales
 *	R2  sum of (w_k x_k)^2
 *	G2  sum over groups of (s_g z_g X_g)^2, X_g the sum of x over the group; 0 for symmetric formats
 *	S   sum of |s| (|q| + |z|) |x_k|; symmetric: of |w_k x_k|.  q and z apart: where q = z the weight is 0, yet
 *	    a right kernel that computes sum(q x) - z sum(x) rounds
 *	u   half a unit in the last place of 1: f16 2^-11, bf16 2^-8, f32 2^-24; u_out that of the output's type, u_w
 *	    that of the type weights may be rounded to
 *	eta the smallest step of the output's type
 *
 * First part: the output's rounding, once (1.02: from a value already off by the rest).  Second: each dequantized
 * weight is rounded by at most u_w, nearly centred and independent, variance u_w^2/3 of uniform errors, and 6 sigma
 * leaves about 2e-9 false rejections an element.  A kernel that computes fma(q, s, -z s) rounds -z s once a group:
 * G2.  Third: sqrt(K) u S is the probabilistic form of Higham's gamma_K for sums in f32 (Higham and Mary, A new
 * approach to probabilistic rounding error analysis, 2019); K/16 covers tensor-core additions that truncate, one per
 * k16 step.
 *
 * Where every partial sum in any order is exact in f32 (integers of few bits times powers of two, below 2^24 steps),
 * the bound is 0 and got must be y rounded once to the output's type: bound_exact().  A value of 0 keeps one smallest
 * step, since a zero's sign is nobody's fault.
 */
#ifndef REFERENCE_BOUND_H
#define REFERENCE_BOUND_H

#include "problem.h"

struct bound_terms {
	double y, r2, g2, s;
};

struct bound_rule {
	enum element_type out;		/* TYPE_F16, TYPE_BF16 or TYPE_F32 */
	enum element_type weights;	/* what the statement allows weights to be rounded to */
};

/* y, R2 and S of one output: w the weights, c = |s| (|q| + |z|).  g2 is left to bound_group_term(). */
struct bound_terms bound_dot(const double *w, const double *c, const double *x, size_t k);
/* G2: scale[g], zero[g], and x_sums[g] = sum of x over group g (bound_group_sums). */
double bound_group_term(const double *scale, const double *zero, const double *x_sums, size_t groups);
void bound_group_sums(const double *x, size_t k, size_t group, double *x_sums);

double bound_of(const struct bound_rule *rule, const struct bound_terms *t, size_t k);
/* For exact designs: the value and bound that ask for the exact bits. */
void bound_exact(const struct bound_rule *rule, double y, double *expected, double *bound);

#endif
