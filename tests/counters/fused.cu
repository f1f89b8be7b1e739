// One launch: weights are dequantized in registers on their way to the sum.
__global__ void gemm(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, __half *y, int M, int N, int K)
{
	int n = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
	if (n >= N)
		return;
	for (int m0 = 0; m0 < M; m0 += 8) {
		float sum[8] = {};
		for (int c = lane; c < K / 8; c += 32) {
			uint32_t q = Wq[(size_t)n * (K / 8) + c];
			float s = __half2float(scales[(size_t)n * (K / 128) + c / 16]);
			float z = __half2float(zeros[(size_t)n * (K / 128) + c / 16]);
			for (int i = 0; i < 8; i++) {
				float w = ((float)(q >> 4 * i & 15) - z) * s;
				for (int m = 0; m < 8; m++)
					if (m0 + m < M)
						sum[m] += w * __half2float(x[(size_t)(m0 + m) * K + 8 * c + i]);
			}
		}
		for (int m = 0; m < 8; m++) {
			for (int o = 16; o; o /= 2)
				sum[m] += __shfl_down_sync(0xffffffff, sum[m], o);
			if (lane == 0 && m0 + m < M)
				y[(size_t)(m0 + m) * N + n] = __float2half(sum[m]);
		}
	}
}

extern "C" void solve(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, __half *y, void *workspace,
		      int M, int N, int K)
{
	gemm<<<(N + 3) / 4, 128>>>(x, Wq, scales, zeros, y, M, N, K);
}
