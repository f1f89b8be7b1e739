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
// zero points of four groups are applied by four lanes at once instead of four times by all. And of each fragment
// only a quarter of the warp reads, the others hold zeros for good: one wavefront instead of four.
//
// A lane's A fragment of a row: any columns k will do if B has the same ones. Lane t of a quad takes 16 bytes
// (k = 32t ... 32t + 31) of a group's 64: one 128-bit load, all its nibbles used, no shuffle.
//
// A block is one for each SM, two teams of eight warps, so that x is staged once an SM. A team does 16 rows; its warps take
// turns at the columns, 512 at a time: eight loads of 16 bytes a lane are always under way, 64 KB an SM.
//
// Measured on an H200, us (in brackets, of the speed of a kernel that only reads the same bytes):
// 4096 x 4096 6.9 (56%), 8192 x 8192 16.2 (64%), 16384 x 16384 47.9 (75%), 28672 x 8192 42.4 (76%).
#include <cstdint>
#include <cuda_fp16.h>

constexpr int GROUP = 128, ROWS = 16, GROUPS = 4;		// rows of an mma; groups side by side in B
constexpr int TEAMS = 2, TEAM = 8, CONSUMERS = TEAMS * TEAM * 32;

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

// The fragments of a lane whose columns they are; others keep what they have, zeros.
__device__ __forceinline__ void load_if(bool mine, uint4 &f, uint32_t address)
{
	asm volatile("{\n"
		     ".reg .pred mine;\n"
		     "setp.ne.s32 mine, %5, 0;\n"
		     "@mine ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];\n"
		     "}" : "+r"(f.x), "+r"(f.y), "+r"(f.z), "+r"(f.w) : "r"(address), "r"((int)mine));
}

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
// of the subnormals, and has the sum of the group's x. Half a warp does a group, a thread an octet; all loads go first.
__device__ __forceinline__ void stage(const float4 *x, int groups, uint4 *fragments, float2 *factors)
{
	constexpr int AT_ONCE = CONSUMERS / 16, ROUNDS = 2;
	const int j = threadIdx.x / 4 % 4, t = threadIdx.x % 4;
	for (int first = threadIdx.x / 16; first - (int)threadIdx.x / 16 < groups; first += ROUNDS * AT_ONCE) {
		float4 x4[ROUNDS][2];
#pragma unroll
		for (int round = 0; round < ROUNDS; round++) {
			const int group = min(first + round * AT_ONCE, groups - 1);
			x4[round][0] = x[group * 32 + 8 * t + 2 * j];
			x4[round][1] = x[group * 32 + 8 * t + 2 * j + 1];
		}
#pragma unroll
		for (int round = 0; round < ROUNDS; round++) {
			const int group = first + round * AT_ONCE;
			if (group - (int)threadIdx.x / 16 % 2 >= groups)	// the same for the whole warp
				break;
			const float4 a = x4[round][0], b = x4[round][1];
			float v[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}, lo[8];
			float sum = ((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w));
			float most = fmaxf(fmaxf(fmaxf(fabsf(a.x), fabsf(a.y)), fmaxf(fabsf(a.z), fabsf(a.w))),
					   fmaxf(fmaxf(fabsf(b.x), fabsf(b.y)), fmaxf(fabsf(b.z), fabsf(b.w))));
#pragma unroll
			for (int offset = 8; offset; offset /= 2) {
				most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, offset));
				sum += __shfl_xor_sync(0xffffffff, sum, offset);
			}
			const int exponent = min(max((int)(__float_as_uint(most) >> 23), 15), 240);
			const float up = __uint_as_float((uint32_t)(268 - exponent) << 23);
#pragma unroll
			for (int i = 0; i < 8; i++) {
				v[i] *= up;
				lo[i] = v[i] - __half2float(__float2half_rn(v[i]));
			}
			if (group < groups) {
				uint4 *to = fragments + ((group * 4 + j) * 4 + t) * 2;
				to[0] = make_uint4(pair(v[0], v[4]), pair(v[2], v[6]), pair(v[1], v[5]), pair(v[3], v[7]));
				to[1] = make_uint4(pair(lo[0], lo[4]), pair(lo[2], lo[6]), pair(lo[1], lo[5]), pair(lo[3], lo[7]));
				if (threadIdx.x % 16 == 0)
					factors[group] = make_float2(__uint_as_float((uint32_t)(exponent + 10) << 23), sum);
			}
		}
	}
}

// Adds the products of rows g and g + 8 (words[0], words[1]) of four groups to c (from nibbles 0 4 2 6) and c16 (from nibbles 1 5
// 3 7, sixteen times as large), of which there are two each, so that an mma need not wait for the one before. f is zero but in
// the columns of its group; address is that of the lane's own group.
__device__ __forceinline__ void dot(const uint4 words[2][GROUPS], uint4 f[GROUPS], uint32_t address, int own, int count,
				    float c[2][4], float c16[2][4])
{
#pragma unroll
	for (int i = 0; i < 4; i++) {
#pragma unroll
		for (int j = 0; j < GROUPS; j++)
			load_if(own == j && j < count, f[j], address + i * 128);
#pragma unroll
		for (int j = 0; j < GROUPS; j++) {
			if (j >= count)
				break;
			const uint32_t top[4] = {words[0][j].x, words[0][j].y, words[0][j].z, words[0][j].w};
			const uint32_t bottom[4] = {words[1][j].x, words[1][j].y, words[1][j].z, words[1][j].w};
			const uint32_t u = top[i], v = bottom[i];
			const uint4 b = f[j];
			multiply(c[j % 2], u & 0x000f000f, v & 0x000f000f, u >> 8 & 0x000f000f, v >> 8 & 0x000f000f, b.x, b.y);
			multiply(c16[j % 2], u & 0x00f000f0, v & 0x00f000f0, u >> 8 & 0x00f000f0, v >> 8 & 0x00f000f0, b.z, b.w);
		}
	}
}

// Of the lane's group: s (sum(q x) - z sum(x)) for rows g and g + 8.
__device__ __forceinline__ void finish(const float c[2][4], const float c16[2][4], float2 factor, const float scale[2],
				       const float zero[2], float sum[2])
{
#pragma unroll
	for (int r = 0; r < 2; r++) {
		const float hi = fmaf(c16[0][2 * r] + c16[1][2 * r], 0.0625f, c[0][2 * r] + c[1][2 * r]);
		const float lo = fmaf(c16[0][2 * r + 1] + c16[1][2 * r + 1], 0.0625f, c[0][2 * r + 1] + c[1][2 * r + 1]);
		sum[r] = fmaf(scale[r], fmaf(-zero[r], factor.y, (hi + lo) * factor.x), sum[r]);
	}
}

struct piece {			// of rows g and g + 8: 32 codes of each of four groups; scale and zero point of the lane's group
	uint4 words[2][GROUPS];
	float scale[2], zero[2];
};

__global__ void __launch_bounds__(CONSUMERS, 1)
gemv(const uint4 *__restrict__ Wq, const float *__restrict__ scales, const float *__restrict__ zeros,
     const float4 *__restrict__ x, float *__restrict__ y, int N, int K)
{
	extern __shared__ uint4 fragments[];		// [groups][4][4][2]; then float2 factors[groups]
	__shared__ float parts[TEAMS][2][TEAM][ROWS];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % TEAM, team = threadIdx.x / 32 / TEAM, g = lane / 4, t = lane % 4;
	const int groups = K / GROUP, chunks = (groups + TEAM * GROUPS - 1) / (TEAM * GROUPS), items = (N + ROWS - 1) / ROWS;
	float2 *factors = reinterpret_cast<float2 *>(fragments + groups * 32);

	auto load = [&](int item, int chunk, piece &p) {
		const int first = (chunk * TEAM + warp) * GROUPS;
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
	load(blockIdx.x + team * gridDim.x, 0, next);
	stage(x, groups, fragments, factors);
	__syncthreads();

	uint4 f[GROUPS] = {};
	int parity = 0;
	for (int item = blockIdx.x + team * gridDim.x; item < items; item += TEAMS * gridDim.x, parity ^= 1) {
		float sum[2] = {};
		for (int chunk = 0; chunk < chunks; chunk++) {
			const piece now = next;
			if (chunk + 1 < chunks)
				load(item, chunk + 1, next);
			else
				load(item + TEAMS * gridDim.x, 0, next);
			const int first = (chunk * TEAM + warp) * GROUPS;
			if (first >= groups)
				continue;
			float c[2][4] = {}, c16[2][4] = {};
			dot(now.words, f, shared_address(fragments + (first + g / 2) * 32 + t * 2 + g % 2), g / 2, groups - first, c, c16);
			finish(c, c16, factors[min(first + t, groups - 1)], now.scale, now.zero, sum);
		}
#pragma unroll
		for (int r = 0; r < 2; r++) {
			sum[r] += __shfl_xor_sync(0xffffffff, sum[r], 1);
			sum[r] += __shfl_xor_sync(0xffffffff, sum[r], 2);
			if (t == 0)			// parts has two halves: a slower warp may still read the other one
				parts[team][parity][warp][g + 8 * r] = sum[r];
		}
		asm volatile("barrier.sync %0, %1;" ::"r"(1 + team), "n"(TEAM * 32) : "memory");
		const int row = item * ROWS + lane;
		if (warp == 0 && lane < ROWS && row < N) {
			float total = 0;
			for (int w = 0; w < TEAM; w++)
				total += parts[team][parity][w][lane];
			y[row] = total;
		}
	}
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int device, processors;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	const int items = (N + ROWS - 1) / ROWS, shared = K / GROUP * (512 + 8);
	cudaFuncSetAttribute(gemv, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
	gemv<<<items < processors ? items : processors, CONSUMERS, shared>>>((const uint4 *)Wq, scales, zeros, (const float4 *)x, y, N, K);
}
