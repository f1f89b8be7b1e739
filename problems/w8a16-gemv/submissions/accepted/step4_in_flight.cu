// Step 4: two rows share x, and the next loads are always under way.
//
// Against step 3:
// - A warp does two rows. 16 codes need 32 bytes of x: with one row a warp, two thirds of all bytes that pass through L1
//   are x. Now it is half, and x is converted to float once for two rows.
// - x lies in shared memory, first and second half of each unit of 16 apart, so that lanes read neighbouring 16 bytes:
//   no conflicts.
// - The two 128-bit loads of the next unit are issued before this one is computed: 1 KB a warp under way at all times,
//   32 KB on an SM with 32 warps; memory asks for 27.
// - Four blocks of 8 warps stay on each SM for the whole run and take further rows: x is staged once, and no second wave
//   of blocks runs half empty. For matrices of few rows the warps of a block split the columns.
//
// Four rows and half the warps have the same bytes under way, share x better, and are slower by 4% at 4096 rows.
//
// Measured on an H200, us (in brackets, of the speed of a kernel that only reads the same bytes):
// 4096 x 4096 6.9 (82%), 8192 x 8192 20.0 (87%), 16384 x 16384 69.0 (90%), 28672 x 8192 62.9 (87%).
#include <cstdint>
#include <cuda_fp16.h>

constexpr int WARPS = 8, ROWS = 2, UNIT = 16, BLOCKS = 4;

template <int SELECT>
__device__ __forceinline__ float2 two_codes(uint32_t biased)
{
	uint32_t bits = __byte_perm(biased, 0x64646464, SELECT);
	return __half22float2(__hsub2(*reinterpret_cast<__half2 *>(&bits), __float2half2_rn(1152.0f)));
}

__device__ __forceinline__ float dot4(uint32_t codes, float2 a, float2 b, float sum)
{
	const uint32_t biased = codes ^ 0x80808080;
	const float2 q01 = two_codes<0x4140>(biased), q23 = two_codes<0x4342>(biased);
	return fmaf(q23.y, b.y, fmaf(q23.x, b.x, fmaf(q01.y, a.y, fmaf(q01.x, a.x, sum))));
}

__device__ __forceinline__ float2 floats(uint32_t halves)
{
	return __half22float2(*reinterpret_cast<__half2 *>(&halves));
}

__global__ void __launch_bounds__(32 * WARPS, BLOCKS)
gemv(const uint4 *__restrict__ Wq, const float *__restrict__ scales, const uint4 *__restrict__ x,
     __half *__restrict__ y, int N, int K, int split)
{
	extern __shared__ uint4 xs[];			// [2][units]
	__shared__ float parts[2][WARPS][ROWS];
	const int units = K / UNIT, steps = (units + 32 * split - 1) / (32 * split);
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, part = warp % split;
	const int block_rows = WARPS / split * ROWS, items = (N + block_rows - 1) / block_rows;

	auto load = [&](int item, int step, uint4 words[ROWS]) {
		const int row0 = item * block_rows + warp / split * ROWS, c = (step * split + part) * 32 + lane;
#pragma unroll
		for (int r = 0; r < ROWS; r++)		// past the last row: the last row again, never stored
			words[r] = item < items && c < units ? __ldcs(Wq + (size_t)min(row0 + r, N - 1) * units + c) : make_uint4(0, 0, 0, 0);
	};

	uint4 next[ROWS];
	load(blockIdx.x, 0, next);
	for (int i = threadIdx.x; i < 2 * units; i += 32 * WARPS)
		xs[i % 2 * units + i / 2] = x[i];
	__syncthreads();

	int parity = 0;
	for (int item = blockIdx.x; item < items; item += gridDim.x, parity ^= 1) {
		float sum[ROWS] = {};
		for (int step = 0; step < steps; step++) {
			uint4 now[ROWS];
#pragma unroll
			for (int r = 0; r < ROWS; r++)
				now[r] = next[r];
			if (step + 1 < steps)
				load(item, step + 1, next);
			else
				load(item + gridDim.x, 0, next);
			const int c = min((step * split + part) * 32 + lane, units - 1);
			const uint4 low = xs[c], high = xs[units + c];
			const float2 a[8] = {floats(low.x), floats(low.y), floats(low.z), floats(low.w),
					     floats(high.x), floats(high.y), floats(high.z), floats(high.w)};
#pragma unroll
			for (int r = 0; r < ROWS; r++) {	// past the last column the codes are 0
				sum[r] = dot4(now[r].x, a[0], a[1], sum[r]);
				sum[r] = dot4(now[r].y, a[2], a[3], sum[r]);
				sum[r] = dot4(now[r].z, a[4], a[5], sum[r]);
				sum[r] = dot4(now[r].w, a[6], a[7], sum[r]);
			}
		}
#pragma unroll
		for (int r = 0; r < ROWS; r++) {
			for (int offset = 16; offset; offset /= 2)
				sum[r] += __shfl_xor_sync(0xffffffff, sum[r], offset);
			if (lane == 0)
				parts[parity][warp][r] = sum[r];
		}
		__syncthreads();			// parts has two halves: a slower warp may still read the other one
		const int row = item * block_rows + threadIdx.x;
		if (threadIdx.x < block_rows && row < N) {
			float total = 0;
			for (int p = 0; p < split; p++)
				total += parts[parity][threadIdx.x / ROWS * split + p][threadIdx.x % ROWS];
			y[row] = __float2half(total * scales[row]);
		}
	}
}

extern "C" void solve(const int8_t *Wq, const float *scales, const __half *x, __half *y, int N, int K)
{
	int device, processors;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	const int blocks = BLOCKS * processors;

	// The split whose blocks are busiest: items over the next multiple of the blocks that run at once.
	int split = 1, items = 0, waves = 1;
	for (int s = 1; s <= WARPS && (s == 1 || s * 32 * UNIT <= K); s *= 2) {
		const int rows = WARPS / s * ROWS, n = (N + rows - 1) / rows, w = (n + blocks - 1) / blocks;
		if (!items || (long)n * waves > (long)items * w) {	// n / w > items / waves
			split = s;
			items = n;
			waves = w;
		}
	}
	const int shared = 2 * K;
	cudaFuncSetAttribute(gemv, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
	gemv<<<items < blocks ? items : blocks, 32 * WARPS, shared>>>((const uint4 *)Wq, scales, (const uint4 *)x, y, N, K, split);
}
