// An answer is left in memory that is freed, for the next call to find there.  Fresh memory holds nothing that was written.
// judge: int4-gemv
// expect: UB
#include <cstdint>

__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
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

__global__ void copy(const float *from, float *to, int n)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		to[i] = from[i];
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	float *answer;
	cudaMalloc(&answer, N * sizeof *answer);
	gemv<<<(N + 3) / 4, 128>>>(Wq, scales, zeros, x, answer, N, K);
	cudaFree(answer);
	cudaMalloc(&answer, N * sizeof *answer);
	copy<<<1, 256>>>(answer, y, N);
}
