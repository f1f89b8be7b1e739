// The plain kernel that "speedup" is measured against: one thread a row, nothing shared, nothing vectorised.
__global__ void gemv(const float *W, const float *x, float *y, int N, int K)
{
	int n = blockIdx.x * blockDim.x + threadIdx.x;
	if (n >= N)
		return;
	float sum = 0;
	for (int k = 0; k < K; k++)
		sum += W[(size_t)n * K + k] * x[k];
	y[n] = sum;
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 63) / 64, 64>>>(W, x, y, N, K);
}
