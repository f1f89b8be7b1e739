// The host does the arithmetic, and the device only gets the result.  What is copied between them costs its time on the emulated
// device; on a GPU what was copied once is copied again, for inputs that are others by then.
// judge: int4-gemv
// expect: AC
// expect-gpu: WA
#include <cstdint>
#include <vector>

__global__ void copy(const float *from, float *to, int n)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		to[i] = from[i];
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	size_t groups = (size_t)N * (K / 128);
	std::vector<uint32_t> w((size_t)N * (K / 8));
	std::vector<float> s(groups), z(groups), v(K), sum(N);
	cudaMemcpy(w.data(), Wq, w.size() * 4, cudaMemcpyDeviceToHost);
	cudaMemcpy(s.data(), scales, groups * 4, cudaMemcpyDeviceToHost);
	cudaMemcpy(z.data(), zeros, groups * 4, cudaMemcpyDeviceToHost);
	cudaMemcpy(v.data(), x, K * 4, cudaMemcpyDeviceToHost);
	for (int row = 0; row < N; row++) {
		double total = 0;
		for (int g = 0; g < K / 128; g++) {
			double part = 0;
			for (int k = 128 * g; k < 128 * g + 128; k++)
				part += ((w[(size_t)row * (K / 8) + k / 8] >> 4 * (k % 8) & 15) - (double)z[(size_t)row * (K / 128) + g]) * v[k];
			total += part * s[(size_t)row * (K / 128) + g];
		}
		sum[row] = (float)total;
	}
	float *result;
	cudaMalloc(&result, N * 4);
	cudaMemcpy(result, sum.data(), N * 4, cudaMemcpyHostToDevice);
	copy<<<1, 1024>>>(result, y, N);
}
