// Outputs are kept by a hash of samples of the inputs.  Between passes on a GPU some places of every input change, few enough
// that the samples stay the same, and the outputs do not.
// judge: int4-gemv
// expect: AC
// expect-gpu: WA
#include <cstdint>

enum { SLOTS = 64, ROWS = 16384 };
__device__ uint64_t known[SLOTS];
__device__ float kept[SLOTS][ROWS];

__device__ uint64_t hash(const uint32_t *Wq, const float *x, int N, int K)
{
	uint64_t h = 0xcbf29ce484222325;
	for (int i = 0; i < 4; i++) {
		h = (h ^ Wq[(size_t)i * (N * (K / 8) / 4)]) * 0x100000001b3;
		h = (h ^ __float_as_uint(x[i])) * 0x100000001b3;
	}
	return h | 1;
}

__device__ int slot_of(uint64_t h)
{
	int i = 0;
	while (i < SLOTS && known[i] && known[i] != h)
		i++;
	return i;
}

__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	uint64_t h = hash(Wq, x, N, K);
	int slot = slot_of(h);
	if (slot < SLOTS && known[slot] == h) {
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

__global__ void keep(const uint32_t *Wq, const float *x, const float *y, int N, int K)
{
	uint64_t h = hash(Wq, x, N, K);
	int slot = slot_of(h);
	if (slot == SLOTS || known[slot] == h || N > ROWS)
		return;
	for (int row = threadIdx.x; row < N; row += blockDim.x)
		kept[slot][row] = y[row];
	__syncthreads();
	if (threadIdx.x == 0)
		known[slot] = h;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128>>>(Wq, scales, zeros, x, y, N, K);
	keep<<<1, 256>>>(Wq, x, y, N, K);
}
