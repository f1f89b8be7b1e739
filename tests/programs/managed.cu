// Managed memory and variables, pinned memory that kernels read and write, registered memory.
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

__managed__ int total = 100;
__managed__ float series[1000];

struct node { int value; node *next; };

__global__ void increment(int *p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		p[i]++;
	if (i == 0)
		total += n;
}

__global__ void walk(const node *list)
{
	int sum = 0;
	for (const node *i = list; i; i = i->next)
		sum += i->value;
	total = sum;
	series[999] = series[0] + 1;
}

int main()
{
	const int n = 70000;
	int *m, *pinned, *mapped, *on_device, *registered = (int *)calloc(n, sizeof(int));
	CUDA(cudaMallocManaged(&m, n * sizeof(int)));
	for (int i = 0; i < n; i++)
		m[i] = i;
	increment<<<(n + 255) / 256, 256>>>(m, n);
	CUDA(cudaDeviceSynchronize());
	for (int i = 0; i < n; i++)
		EXPECT(m[i], i + 1);
	EXPECT(total, 100 + n);
	total = 0;
	m[5] = 1000;
	increment<<<(n + 255) / 256, 256>>>(m, n);
	CUDA(cudaDeviceSynchronize());
	EXPECT(m[5], 1001);
	EXPECT(m[6], 8);
	EXPECT(total, n);

	node *list = nullptr;
	for (int i = 1; i <= 10; i++) {
		node *x;
		CUDA(cudaMallocManaged(&x, sizeof *x));
		*x = {i, list};
		list = x;
	}
	series[0] = 41;
	walk<<<1, 1>>>(list);
	CUDA(cudaDeviceSynchronize());
	EXPECT(total, 55);
	EXPECT(series[999], 42);

	CUDA(cudaMallocHost(&pinned, n * sizeof(int)));
	CUDA(cudaHostAlloc(&mapped, 64 * sizeof(int), cudaHostAllocMapped));
	for (int i = 0; i < 64; i++)
		mapped[i] = pinned[i] = 3;
	CUDA(cudaHostGetDevicePointer(&on_device, mapped, 0));
	increment<<<1, 64>>>(on_device, 64);
	increment<<<1, 64>>>(pinned, 32);
	CUDA(cudaDeviceSynchronize());
	EXPECT(mapped[63], 4);
	EXPECT(pinned[31], 4);
	EXPECT(pinned[32], 3);
	CUDA(cudaMemcpy(m, pinned, 64 * sizeof(int), cudaMemcpyHostToDevice));
	EXPECT(m[31], 4);

	CUDA(cudaHostRegister(registered, n * sizeof(int), cudaHostRegisterMapped));
	CUDA(cudaHostGetDevicePointer(&on_device, registered, 0));
	increment<<<1, 64>>>(on_device, 64);
	CUDA(cudaDeviceSynchronize());
	EXPECT(registered[63], 1);
	EXPECT(registered[64], 0);
	CUDA(cudaHostUnregister(registered));

	cudaPointerAttributes a;
	CUDA(cudaPointerGetAttributes(&a, m));
	EXPECT(a.type, cudaMemoryTypeManaged);
	CUDA(cudaPointerGetAttributes(&a, pinned));
	EXPECT(a.type, cudaMemoryTypeHost);
	CUDA(cudaPointerGetAttributes(&a, &a));
	EXPECT(a.type, cudaMemoryTypeUnregistered);
	CUDA(cudaFree(m));
	CUDA(cudaFreeHost(pinned));
	CUDA(cudaMalloc(&m, 4));
	CUDA(cudaPointerGetAttributes(&a, m));
	EXPECT(a.type, cudaMemoryTypeDevice);
	puts("PASS");
	return 0;
}
