// Three launches: the weights become an FP16 matrix in memory, that is multiplied into FP32 sums, those are rounded.
__global__ void dequantize(const uint32_t *Wq, const __half *scales, const __half *zeros, __half *W, int N, int K)
{
	size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
	if (c >= (size_t)N * (K / 8))
		return;
	uint32_t q = Wq[c];
	float s = __half2float(scales[c / 16]), z = __half2float(zeros[c / 16]);
	for (int i = 0; i < 8; i++)
		W[8 * c + i] = __float2half(((float)(q >> 4 * i & 15) - z) * s);
}

__global__ void multiply(const __half *x, const __half *W, float *sums, int M, int N, int K)
{
	int n = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32, m = blockIdx.y;
	if (n >= N)
		return;
	float sum = 0;
	for (int k = lane; k < K; k += 32)
		sum += __half2float(W[(size_t)n * K + k]) * __half2float(x[(size_t)m * K + k]);
	for (int o = 16; o; o /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, o);
	if (lane == 0)
		sums[(size_t)m * N + n] = sum;
}

__global__ void narrow(const float *sums, __half *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = __float2half(sums[i]);
}

extern "C" void solve(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, __half *y, void *workspace,
		      int M, int N, int K)
{
	__half *W;
	float *sums;
	cudaMalloc(&W, sizeof *W * N * K);
	cudaMalloc(&sums, sizeof *sums * M * N);
	dequantize<<<(unsigned)(((size_t)N * (K / 8) + 255) / 256), 256>>>(Wq, scales, zeros, W, N, K);
	multiply<<<dim3((N + 3) / 4, M), 128>>>(x, W, sums, M, N, K);
	narrow<<<(M * N + 255) / 256, 256>>>(sums, y, M * N);
	cudaFree(W);
	cudaFree(sums);
}
