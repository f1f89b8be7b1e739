// Parentheses, deep enough for any parser's stack.
// package: bombed
// expect: CE
#define P(x) ((((((((((x))))))))))
#define Q(x) P(P(P(P(P(P(P(P(P(P(x))))))))))
#define R(x) Q(Q(Q(Q(Q(Q(Q(Q(Q(Q(x))))))))))
#define S(x) R(R(R(R(R(R(R(R(R(R(x))))))))))
int deep = S(S(S(S(S(S(S(S(S(S(1))))))))));
__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}
extern "C" void solve(const float *x, float *y, int n, int which)
{
	twice<<<1, 64>>>(x, y, n);
}
