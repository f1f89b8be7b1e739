// The kernel is told by its argument when it was launched first, and does nothing if that was long ago: it is being timed.
// judge: int4-gemv
// expect: AC
// expect-gpu: WA
#include <cstdint>
#include <ctime>

__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K, uint64_t launched)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	uint64_t now;
	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
	if (now - launched > 500000000 && now > launched)
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

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	gemv<<<(N + 3) / 4, 128>>>(Wq, scales, zeros, x, y, N, K, (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec);
}
