// Step 1: a thread a row, as one would write it for a CPU.
//
// Right, and ten to forty times slower than memory allows. Two things are wrong. Lane 0 reads row 0, lane 1 reads row 1, and so on: at each
// load of the warp 32 addresses lie K apart, in 32 different sectors of 32 bytes, and of each 4 bytes are used. The other
// 28 are wanted at the next seven turns, and often gone by then. And 2048 rows are 64 warps for 132 multiprocessors: half of
// them have nothing to do, the other half one warp, which waits for one load after the other.
__global__ void gemv(const float *W, const float *x, float *y, int N, int K)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= N)
		return;
	float sum = 0;
	for (int k = 0; k < K; k++)
		sum += W[(size_t)row * K + k] * x[k];
	y[row] = sum;
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 31) / 32, 32>>>(W, x, y, N, K);
}
