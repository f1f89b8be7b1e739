// Straight-line code that ptxas would optimise for minutes.
// package: bombed
// expect: CE
// says: took longer than
__global__ void twice(const float *x, float *y, int n)
{
	float v[128];
#pragma unroll
	for (int i = 0; i < 128; i++)
		v[i] = x[(i * n) & 63];
#pragma unroll
	for (int k = 0; k < 3000; k++)
#pragma unroll
		for (int i = 0; i < 128; i++)
			v[i] = fmaf(v[(i * 37 + k) & 127], v[(i * 11 + 5 * k) & 127], v[i]);
	float sum = 0;
#pragma unroll
	for (int i = 0; i < 128; i++)
		sum += v[i];
	y[threadIdx.x] = sum;
}
extern "C" void solve(const float *x, float *y, int n, int which)
{
	twice<<<1, 64>>>(x, y, n);
}
