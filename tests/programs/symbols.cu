// Device variables and constants by name: copies with offsets, addresses, sizes, initial values.
// stdout: PASS
#include <cstdio>
#include <cstdlib>

#define CUDA(call)                                                                      \
	do {                                                                            \
		cudaError_t error_ = (call);                                            \
		if (error_ != cudaSuccess) {                                            \
			printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(error_));\
			exit(1);                                                        \
		}                                                                       \
	} while (0)
#define EXPECT(got, want)                                                               \
	do {                                                                            \
		long long got_ = (long long)(got), want_ = (long long)(want);           \
		if (got_ != want_) {                                                    \
			printf("line %d: %s is %lld, not %lld\n", __LINE__, #got, got_, want_);\
			exit(1);                                                        \
		}                                                                       \
	} while (0)

__device__ int counter = 41;
__device__ float table[8] = {1, 2, 3};
__constant__ float weights[4];
struct point { int x, y; };
__constant__ point origin = {7, 9};

__global__ void use(float *out)
{
	counter++;
	out[0] = weights[0] + weights[1] + weights[2] + weights[3];
	out[1] = table[2] + table[7];
	out[2] = origin.x * 10 + origin.y;
}

int main()
{
	float w[4] = {1, 10, 100, 1000}, *d, out[3], last = 0.5f;
	int c = 0;
	void *address;
	size_t size;
	CUDA(cudaMalloc(&d, sizeof out));
	CUDA(cudaMemcpyToSymbol(weights, w, sizeof w));
	CUDA(cudaMemcpyToSymbol(table, &last, sizeof last, 7 * sizeof(float)));
	use<<<1, 1>>>(d);
	CUDA(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
	EXPECT(out[0], 1111);
	EXPECT(out[1] * 2, 7);
	EXPECT(out[2], 79);
	CUDA(cudaMemcpyFromSymbol(&c, counter, sizeof c));
	EXPECT(c, 42);
	CUDA(cudaGetSymbolAddress(&address, table));
	CUDA(cudaGetSymbolSize(&size, table));
	EXPECT(size, 8 * sizeof(float));
	CUDA(cudaMemcpy(&last, (float *)address + 1, sizeof last, cudaMemcpyDeviceToHost));
	EXPECT(last, 2);
	CUDA(cudaMemset(address, 0, size));
	CUDA(cudaMemcpyFromSymbol(&last, table, sizeof last, 0));
	EXPECT(last, 0);
	EXPECT(cudaMemcpyToSymbol(weights, w, sizeof w, 4), cudaErrorInvalidValue);
	EXPECT(cudaGetSymbolSize(&size, w), cudaErrorInvalidSymbol);
	puts("PASS");
	return 0;
}
