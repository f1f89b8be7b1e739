// Step 2: a warp a row.
//
// Against step 1: the 32 lanes share a row, lane l takes k = l, l + 32, l + 64, ... Neighbouring lanes read neighbouring
// addresses, so a load of the warp is 128 bytes in one piece: four sectors, all of it used. There are 32 times as many
// warps. The price is that a row's sum is in 32 pieces at the end: five shuffles add them up by halves.
//
// The compiler unrolls the loop by four. So a warp has up to four loads of 128 bytes under way, 16 warps on a multiprocessor 8 KB;
// memory wants about 27 (33 bytes a nanosecond and multiprocessor, 0.8 us from the order to the goods).
__global__ void gemv(const float *W, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const float *w = W + (size_t)row * K;

	float sum = 0;
	for (int k = lane; k < K; k += 32)
		sum += w[k] * x[k];
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128>>>(W, x, y, N, K);
}
