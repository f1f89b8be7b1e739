// Step 7: let the tensor cores multiply and add.
//
// Against step 6: mma.m16n8k16 does 16 rows x 16 columns of weights at once, its sums are in FP32, and its products of two FP16
// numbers are exact. So the inner loop has no fma left, and no conversion to float: masking alone makes FP16 numbers
// (subnormal ones: 0x000f000f gives q 2^-24 twice, 0x00f000f0 gives 16 q 2^-24; tensor cores take subnormals at full
// speed). For eight weights: one shift, four masks, and a 32nd of an mma: 0.7 instructions a weight instead of 2.25.
//
// x is FP32 and must stay so. An FP16 number has 11 bits, two have 22, and the sign of the second is worth one more: x =
// hi + lo, relative to the largest x of the group, is exact to about 2^-24. hi and lo take two of the eight columns of B.
//
// The other six columns: B has columns (hi, lo) of four groups of 128, side by side. The mma's of group j see zeros in the
// columns of the other groups. At the end lane 4g + t holds, for rows g and g + 8, the sum of group t: the scales and
// zero points of four groups are applied by four lanes at once instead of four times by all.
//
// A lane's A fragment of a row: any 4 columns k will do if B has the same ones. Lane t of a quad takes 16 bytes
// (k = 32t ... 32t + 31) of a group's 64: one 128-bit load, all its nibbles used, no shuffle.
//
// A block of 8 warps does 16 rows; its warps take turns at the columns, 512 at a time: 8 loads of 16 bytes a lane under way.
// Instructions are down to a quarter of what an SM could issue; now only memory and the start (staging x) matter.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int GROUP = 128, WARPS = 8, ROWS = 16, GROUPS = 4;	// rows of an mma; groups side by side in B
constexpr int BLOCKS = 2;					// a multiprocessor

struct piece {			// of rows g and g + 8: 32 codes of each of four groups; scale and zero point of the lane's group
	uint4 words[2][GROUPS];
	float scale[2], zero[2];
};

__device__ __forceinline__ void multiply(float c[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ __forceinline__ uint32_t pair(float low, float high)
{
	const __half2 h = __floats2half2_rn(low, high);
	return *reinterpret_cast<const uint32_t *>(&h);
}

// Stages x as B fragments. Octet 4t + j of a group, k = 32t + 8j ... + 7, meets word j of lane t: its fragments are the
// pairs (0,4) (2,6) for the nibbles under 0x000f000f and (1,5) (3,7) for those under 0x00f000f0. fragments[group][j][t][2]
// has hi, then lo. A group is scaled so that its largest |x| is in [2^14, 2^15): factors[group] undoes this, and the 2^-24
// of the subnormals; sums[group] is the sum of its x.
__device__ __forceinline__ void stage(const float4 *x, int groups, uint4 *fragments, float2 *factors)
{
	const int j = threadIdx.x / 4 % 4, t = threadIdx.x % 4;
	for (int first = 0; first < groups; first += blockDim.x / 16) {
		const int group = first + threadIdx.x / 16;	// half a warp a group, an octet a thread
		const bool valid = group < groups;
		const float4 zero = make_float4(0, 0, 0, 0);
		const float4 a = valid ? x[group * 32 + 8 * t + 2 * j] : zero, b = valid ? x[group * 32 + 8 * t + 2 * j + 1] : zero;
		float v[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}, most = 0, sum = 0;
#pragma unroll
		for (int i = 0; i < 8; i++) {
			most = fmaxf(most, fabsf(v[i]));
			sum += v[i];
		}
#pragma unroll
		for (int offset = 8; offset; offset /= 2) {
			most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, offset));
			sum += __shfl_xor_sync(0xffffffff, sum, offset);
		}
		const int exponent = min(max((int)(__float_as_uint(most) >> 23), 15), 240);
		const float up = __uint_as_float((uint32_t)(268 - exponent) << 23), down = __uint_as_float((uint32_t)(exponent + 10) << 23);
		float lo[8];
#pragma unroll
		for (int i = 0; i < 8; i++) {
			v[i] *= up;
			lo[i] = v[i] - __half2float(__float2half_rn(v[i]));
		}
		if (valid) {
			uint4 *to = fragments + ((group * 4 + j) * 4 + t) * 2;
			to[0] = make_uint4(pair(v[0], v[4]), pair(v[2], v[6]), pair(v[1], v[5]), pair(v[3], v[7]));
			to[1] = make_uint4(pair(lo[0], lo[4]), pair(lo[2], lo[6]), pair(lo[1], lo[5]), pair(lo[3], lo[7]));
			if (threadIdx.x % 16 == 0)
				factors[group] = make_float2(down, sum);
		}
	}
}

__global__ void __launch_bounds__(32 * WARPS, BLOCKS)
gemv(const uint4 *__restrict__ Wq, const float *__restrict__ scales, const float *__restrict__ zeros,
     const float4 *__restrict__ x, float *__restrict__ y, int N, int K)
{
	extern __shared__ uint4 fragments[];		// [groups][4][4][2]; then 1 of zeros; then float2 factors[groups]
	__shared__ float parts[2][WARPS][ROWS];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
	const int groups = K / GROUP, units = (groups + GROUPS - 1) / GROUPS, steps = (units + WARPS - 1) / WARPS;
	const int items = (N + ROWS - 1) / ROWS;
	uint4 *none = fragments + groups * 32;
	float2 *factors = reinterpret_cast<float2 *>(none + 1);

	auto load = [&](int item, int step, piece &p) {
		const int first = (step * WARPS + warp) * GROUPS;
#pragma unroll
		for (int r = 0; r < 2; r++) {
			const size_t row = min(item * ROWS + g + 8 * r, N - 1);	// past the last row: the last row again, never stored
#pragma unroll
			for (int j = 0; j < GROUPS; j++)
				p.words[r][j] = item < items && first + j < groups ? __ldcs(Wq + (row * groups + first + j) * 4 + t)
										   : make_uint4(0, 0, 0, 0);
			const bool valid = item < items && first + t < groups;
			p.scale[r] = valid ? __ldg(scales + row * groups + first + t) : 0.0f;
			p.zero[r] = valid ? __ldg(zeros + row * groups + first + t) : 0.0f;
		}
	};

	piece next;
	load(blockIdx.x, 0, next);
	if (threadIdx.x == 0)
		*none = make_uint4(0, 0, 0, 0);
	stage(x, groups, fragments, factors);
	__syncthreads();

	int parity = 0;
	for (int item = blockIdx.x; item < items; item += gridDim.x, parity ^= 1) {
		float sum[2] = {};
		for (int step = 0; step < steps; step++) {
			const piece now = next;
			if (step + 1 < steps)
				load(item, step + 1, next);
			else
				load(item + gridDim.x, 0, next);
			const int first = (step * WARPS + warp) * GROUPS;
			if (first >= groups)
				continue;
			float c[4] = {}, c16[4] = {};	// from nibbles 0 4 2 6; from nibbles 1 5 3 7, sixteen times as large
#pragma unroll
			for (int j = 0; j < GROUPS; j++) {
				if (first + j >= groups)
					break;
				const bool mine = g / 2 == j;
				const uint4 *b = mine ? fragments + (first + j) * 32 + t * 2 + g % 2 : none;
				const int stride = mine ? 8 : 0;
				const uint32_t top[4] = {now.words[0][j].x, now.words[0][j].y, now.words[0][j].z, now.words[0][j].w};
				const uint32_t bottom[4] = {now.words[1][j].x, now.words[1][j].y, now.words[1][j].z, now.words[1][j].w};
#pragma unroll
				for (int i = 0; i < 4; i++) {
					const uint4 f = b[i * stride];
					const uint32_t u = top[i], v = bottom[i];
					multiply(c, u & 0x000f000f, v & 0x000f000f, u >> 8 & 0x000f000f, v >> 8 & 0x000f000f, f.x, f.y);
					multiply(c16, u & 0x00f000f0, v & 0x00f000f0, u >> 8 & 0x00f000f0, v >> 8 & 0x00f000f0, f.z, f.w);
				}
			}
			const float2 factor = factors[min(first + t, groups - 1)];
			const float dot[2] = {fmaf(c16[0] + c16[1], 0.0625f, c[0] + c[1]), fmaf(c16[2] + c16[3], 0.0625f, c[2] + c[3])};
#pragma unroll
			for (int r = 0; r < 2; r++)
				sum[r] = fmaf(now.scale[r], fmaf(-now.zero[r], factor.y, dot[r] * factor.x), sum[r]);
		}
#pragma unroll
		for (int r = 0; r < 2; r++) {
			sum[r] += __shfl_xor_sync(0xffffffff, sum[r], 1);
			sum[r] += __shfl_xor_sync(0xffffffff, sum[r], 2);
			if (t == 0)
				parts[parity][warp][g + 8 * r] = sum[r];
		}
		__syncthreads();			// parts has two halves: a slower warp may still read the other one
		const int row = item * ROWS + threadIdx.x;
		if (threadIdx.x < ROWS && row < N) {
			float total = 0;
			for (int w = 0; w < WARPS; w++)
				total += parts[parity][w][threadIdx.x];
			y[row] = total;
		}
	}
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int device, processors;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	const int items = (N + ROWS - 1) / ROWS, blocks = BLOCKS * processors;
	const int shared = K / GROUP * (512 + 8) + 16;
	cudaFuncSetAttribute(gemv, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
	gemv<<<items < blocks ? items : blocks, 32 * WARPS, shared>>>((const uint4 *)Wq, scales, zeros, (const float4 *)x, y, N, K);
}
