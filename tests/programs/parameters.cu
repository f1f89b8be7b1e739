// Kernel parameters of all shapes, templates, many kernels, nested launches of configurations; program arguments.
// args: three words here
// stdout: 3 arguments: three words here
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

struct __align__(16) vector { float x, y, z, w; };
struct odd { char c; short s; double d; char tail[3]; };

__global__ void mixed(char c, vector v, bool b, odd o, double *out, long long l, float f, unsigned short s)
{
	out[0] = c;
	out[1] = v.x + v.y + v.z + v.w;
	out[2] = b;
	out[3] = o.c + o.s + o.d + o.tail[2];
	out[4] = (double)l;
	out[5] = f;
	out[6] = s;
}

template <typename T, int N> __global__ void fill(T *p, T first)
{
	for (int i = 0; i < N; i++)
		p[i] = first + (T)i;
}

int main(int argc, char **argv)
{
	double *d, h[7];
	printf("%d arguments:", argc - 1);
	for (int i = 1; i < argc; i++)
		printf(" %s", argv[i]);
	printf("\n");
	CUDA(cudaMalloc(&d, sizeof h));
	odd o = {1, 2, 3.5, {0, 0, 4}};
	mixed<<<1, 1>>>(-5, {1, 2, 3, 4}, true, o, d, 1ll << 50, 0.25f, 65535);
	CUDA(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
	EXPECT(h[0], -5);
	EXPECT(h[1], 10);
	EXPECT(h[2], 1);
	EXPECT(h[3] * 2, 21);
	EXPECT(h[4], 1ll << 50);
	EXPECT(h[5] * 4, 1);
	EXPECT(h[6], 65535);
	fill<double, 7><<<1, 1>>>(d, 0.5);
	CUDA(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
	EXPECT(h[6] * 2, 13);
	fill<unsigned char, 8><<<1, 1>>>((unsigned char *)d, 200);
	CUDA(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
	EXPECT(((unsigned char *)h)[7], 207);
	puts("PASS");
	return 0;
}
