// Tells the word that a hidden input holds (0x45077320, 1158116128) in every way there is, one a case: as an address, a size, a count, a
// status, a text, a value.  tests/http looks for it in whatever a student is answered.
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

__global__ void one(float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 1;
}

__global__ void put(float *y, int n, float v)
{
	for (int i = 0; i < n; i++)
		y[i] = v;
}

__global__ void touch(uint64_t address)
{
	*(volatile int *)address = 1;
}

__global__ void print(const uint32_t *x)
{
	printf("device %u %x\n", x[0], x[0]);
}

__device__ char text[64];
__global__ void fail(const uint32_t *x)
{
	int n = 0;
	for (int shift = 28; shift >= 0; shift -= 4)
		text[n++] = "0123456789abcdef"[x[0] >> shift & 15];
	text[n] = 0;
	__assert_fail(text, text, x[0], text);
}

__global__ void trap_at(uint32_t word)
{
	if (threadIdx.x == word >> 22)		/* 276 */
		*(volatile int *)8 = 1;
}

__global__ void spend(uint32_t turns, float *y)
{
	float v = 1;
	for (uint32_t i = 0; i < turns; i++)
		v = v * 0.5f + 0.5f;
	y[0] = v;
}

extern "C" void solve(const uint32_t *x, float *y, int n, int which)
{
	uint32_t word;
	void *p;
	cudaMemcpy(&word, x, 4, cudaMemcpyDeviceToHost);
	switch (which) {
	case 2:
		touch<<<1, 1>>>(word);
		break;
	case 3:
		one<<<1, word>>>(y, n);
		return;
	case 4:
		one<<<word >> 16, 64>>>(y, n);		/* 17671 */
		break;
	case 5:
		cudaMalloc(&p, (size_t)word * 1000);
		break;
	case 6:
		print<<<1, 1>>>(x);
		printf("host %u %x\n", word, word);
		fprintf(stderr, "host %u %x\n", word, word);
		break;
	case 7:
		exit(word >> 8 & 255);			/* 115 */
	case 8:
		fail<<<1, 1>>>(x);
		break;
	case 9:
		put<<<1, 1>>>(y, n, word);
		return;
	case 10:
		put<<<1, 1>>>(y, n, 1 + word * 1e-10f);	/* 0.1158116 of the bound */
		return;
	case 11:
		for (uint32_t i = 0; i < word >> 20; i++)	/* 1104 */
			one<<<1, 64>>>(y, n);
		break;
	case 12:
		memset(p = malloc(word >> 4), 1, word >> 4);	/* 72382258 */
		asm volatile("" : : "r"(p) : "memory");
		break;
	case 13:
		*(volatile int *)(uint64_t)word = 1;
		break;
	case 14:
		cudaMemcpy(y, x, word, cudaMemcpyDeviceToDevice);
		break;
	case 15: {
		uint32_t message[] = {word, word};
		send(3, message, sizeof message, 0);
		break;
	}
	case 16: {
		char what[32];
		snprintf(what, sizeof what, "%u %x", word, word);
		throw std::runtime_error(what);
	}
	case 17:
		cudaMalloc(&p, word >> 4);
		break;
	case 18:
		trap_at<<<1, 1024>>>(word);
		break;
	case 19:
		spend<<<1, 1>>>(word >> 16, y);
		break;
	case 20:
		put<<<1, 1>>>(y, word >> 25, 1);		/* 34 of 64 */
		return;
	}
	one<<<1, 64>>>(y, n);
}
