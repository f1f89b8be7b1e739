// Step 4: eight loads under way, whatever their width.
//
// Against step 2, not 3: loads of 4 bytes again, good for any K, but eight of them are issued before the first is used. They
// don't depend on one another, so their waits pass at the same time. What counts for memory is not the width of a load but
// the bytes that are under way: 8 x 128 bytes a warp here, 512 with one float4.
//
// Where K is a multiple of four this is behind step 3, whose loop the compiler unrolls too: four float4 are 2 KB. Elsewhere
// it is far ahead. The last piece of a row, up to 255 elements, goes one load at a time.
constexpr int AHEAD = 8;

__global__ void gemv(const float *__restrict__ W, const float *__restrict__ x, float *__restrict__ y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const float *w = W + (size_t)row * K;

	float sum = 0;
	int k = lane;
	for (; k + 32 * (AHEAD - 1) < K; k += 32 * AHEAD) {
		float a[AHEAD];
#pragma unroll
		for (int i = 0; i < AHEAD; i++)
			a[i] = w[k + 32 * i];
#pragma unroll
		for (int i = 0; i < AHEAD; i++)
			sum = fmaf(a[i], x[k + 32 * i], sum);
	}
	for (; k < K; k += 32)
		sum = fmaf(w[k], x[k], sum);
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128>>>(W, x, y, N, K);
}
