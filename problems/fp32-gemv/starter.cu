// FP32 GEMV: y[n] = sum over k of W[n][k] * x[k]
//
// W   [N, K]  FP32, row-major: row n begins at W + (size_t)n * K
// x   [K]     FP32
// y   [N]     FP32
//
// N and K are any numbers from 1 on. One launch, no scratch memory, sums in FP32.

__global__ void gemv(const float *W, const float *x, float *y, int N, int K)
{
	int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	int row = blockIdx.x * (blockDim.x / 32) + warp;
	if (row >= N)
		return;

	float sum = 0;
	// Your part: the 32 lanes share the K products of this row, so that neighbouring lanes read neighbouring weights.
	// Then add up the 32 sums.

	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	const int warps = 4;	// a block: one row a warp
	gemv<<<(N + warps - 1) / warps, 32 * warps>>>(W, x, y, N, K);
}
