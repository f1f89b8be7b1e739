// The kernel is launched by a thread, after solve() has returned.  A guest has one thread.
// judge: int4-gemv
// expect: RE
#include <cstdint>
#include <pthread.h>
#include <unistd.h>

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

static struct { const uint32_t *Wq; const float *scales, *zeros, *x; float *y; int N, K; } call;

static void *later(void *)
{
	usleep(1000);
	gemv<<<(call.N + 3) / 4, 128>>>(call.Wq, call.scales, call.zeros, call.x, call.y, call.N, call.K);
	return nullptr;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	pthread_t thread;
	call = {Wq, scales, zeros, x, y, N, K};
	pthread_create(&thread, nullptr, later, nullptr);
}
