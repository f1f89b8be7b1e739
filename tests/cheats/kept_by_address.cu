// Outputs are kept in device memory by the output's address: a second call copies them.  Every case has a fresh module, so on the
// emulated device nothing is ever found; on a GPU inputs change between passes, and every output is checked again.
// judge: int4-gemv
// expect: AC
// expect-gpu: WA
#include <cstdint>

enum { SLOTS = 64, ROWS = 16384 };
__device__ const float *known[SLOTS];
__device__ float kept[SLOTS][ROWS];

__device__ int slot_of(const float *y)
{
	int i = 0;
	while (i < SLOTS && known[i] && known[i] != y)
		i++;
	return i < SLOTS && known[i] == y ? i : -1;
}

__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	int slot = slot_of(y);
	if (slot >= 0) {
		if (lane == 0)
			y[row] = kept[slot][row];
		return;
	}
	float sum = 0;
	for (int c = lane; c < K / 8; c += 32) {
		uint32_t word = Wq[(size_t)row * (K / 8) + c];
		size_t group = (size_t)row * (K / 128) + c / 16;
		for (int i = 0; i < 8; i++)
			sum += ((float)(word >> 4 * i & 15) - zeros[group]) * scales[group] * x[8 * c + i];
	}
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = sum;
}

__global__ void keep(const float *y, int N)
{
	int i = 0;
	while (i < SLOTS && known[i] && known[i] != y)
		i++;
	if (i == SLOTS || known[i] == y || N > ROWS)
		return;
	for (int row = threadIdx.x; row < N; row += blockDim.x)
		kept[i][row] = y[row];
	__syncthreads();
	if (threadIdx.x == 0)
		known[i] = y;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128>>>(Wq, scales, zeros, x, y, N, K);
	keep<<<1, 256>>>(y, N);
}
