// Step 1: tiles, and no tensor cores. Tiles of x and of dequantized weights lie in shared memory as FP32; a thread has one
// column and TM rows.
//
// For each fma a value of x comes from shared memory (the weight serves TM of them). M = 128, N = 8192, K = 4096 are
// 4.3 G fma: at 128 lanes, 132 SMs and 1.9 GHz no less than 134 us, when every cycle is an fma, and here it is every third.
// The weights are dequantized again for every 32 rows. For few rows the time is that of K / 32 = 128 turns of two barriers
// and one load, with nothing under way in between.
//
// Measured on an H200 with N = 8192, K = 4096, us (in brackets, of the floor at 4.5 TB/s and 800 TFLOP/s):
// M = 1 106 (4%), M = 4 116 (3%), M = 16 353 (1%), M = 32 507 (1%), M = 64 546 (1%),
// M = 128 578 (2%), M = 256 1115 (2%), M = 1024 4023 (2%).
#include <cstdint>
#include <cuda_fp16.h>

constexpr int BN = 32, BK = 32, THREADS = 128, ROW_GROUPS = THREADS / BN;

template <int TM>
__global__ void __launch_bounds__(THREADS)
gemm(const __half *__restrict__ x, const uint32_t *__restrict__ Wq, const __half *__restrict__ scales,
     const __half *__restrict__ zeros, __half *__restrict__ y, int M, int N, int K)
{
	constexpr int BM = TM * ROW_GROUPS;
	__shared__ float xs[BK][BM + 4], ws[BK][BN + 1];
	const int tid = threadIdx.x, m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
	const int column = tid % BN, first = tid / BN * TM;
	const int load_n = tid / 4, load_c = tid % 4;	// the word that this thread dequantizes
	float sum[TM] = {};

	for (int k0 = 0; k0 < K; k0 += BK) {
		__syncthreads();
		for (int i = tid; i < BM * BK; i += THREADS) {
			int m = i / BK, k = i % BK;
			xs[k][m] = m0 + m < M ? __half2float(x[(size_t)(m0 + m) * K + k0 + k]) : 0.0f;
		}
		if (n0 + load_n < N) {
			const size_t n = n0 + load_n;
			const uint32_t word = Wq[n * (K / 8) + k0 / 8 + load_c];
			const float s = __half2float(scales[n * (K / 128) + k0 / 128]);
			const float z = __half2float(zeros[n * (K / 128) + k0 / 128]);
#pragma unroll
			for (int i = 0; i < 8; i++)
				ws[8 * load_c + i][load_n] = ((float)(word >> 4 * i & 15) - z) * s;
		} else {
#pragma unroll
			for (int i = 0; i < 8; i++)
				ws[8 * load_c + i][load_n] = 0.0f;
		}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < BK; k++) {
			const float w = ws[k][column];
#pragma unroll
			for (int r = 0; r < TM; r++)
				sum[r] = fmaf(w, xs[k][first + r], sum[r]);
		}
	}
#pragma unroll
	for (int r = 0; r < TM; r++)
		if (m0 + first + r < M && n0 + column < N)
			y[(size_t)(m0 + first + r) * N + n0 + column] = __float2half(sum[r]);
}

template <int TM>
void launch(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, __half *y, int M, int N, int K)
{
	constexpr int BM = TM * ROW_GROUPS;
	gemm<TM><<<dim3((N + BN - 1) / BN, (M + BM - 1) / BM), THREADS>>>(x, Wq, scales, zeros, y, M, N, K);
}

extern "C" void solve(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, __half *y,
		      void *workspace, int M, int N, int K)
{
	if (M <= 4)
		launch<1>(x, Wq, scales, zeros, y, M, N, K);
	else
		launch<8>(x, Wq, scales, zeros, y, M, N, K);
}
