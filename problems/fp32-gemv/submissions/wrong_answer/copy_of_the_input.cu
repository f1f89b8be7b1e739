// y[n] is x[n mod K].
// expect: WA
__global__ void gemv(const float *W, const float *x, float *y, int N, int K)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	if (row < N)
		y[row] = x[row % K];
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 127) / 128, 128>>>(W, x, y, N, K);
}
