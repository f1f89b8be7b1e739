// Step 9: whole lines.
//
// Against step 8, two changes, neither to an instruction of the inner loop:
// - Scales and zero points are a ninth of all bytes, and a warp reads them in runs of 16 bytes a row: four groups. A sector of L2
//   has 32 bytes, a burst of the memory 64. But those of 16 rows lie side by side: so the producer asks, one tile ahead, for
//   all of them at once (cp.async.bulk.prefetch.L2, 16 K / 32 bytes each), and the warps find them in L2.
// - Pieces of a row lie 2048 + 128 bytes apart in shared memory, so every line of 128 bytes arrives as one, where with 64
//   bytes between them half of the lines were cut in two. That costs a two-way bank conflict when the weights are read, which
//   shared memory can bear: W8A16 gained 13% by the same change. (Step 8 with this change alone gained nothing: 47.5 us
//   at 16384 x 16384, as every other variant of it. The prediction for both is 40.)
//
// Not measured on a GPU yet.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int GROUP = 128, ROWS = 16, GROUPS = 4;		// rows of an mma; groups side by side in B
constexpr int TEAMS = 2, TEAM = 8, CONSUMERS = TEAMS * TEAM * 32, THREADS = CONSUMERS + TEAMS * 32;
constexpr int PIECE = 2048, PITCH = PIECE + 128, STAGE = ROWS * PITCH;	// bytes; 8 warps x 4 groups x 64
constexpr int MAX_STAGES = 3;					// a team

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

__device__ __forceinline__ void wait(uint64_t *barrier, uint32_t parity)
{
	asm volatile("{\n"
		     ".reg .pred done;\n"
		     "again:\n"
		     "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
		     "@done bra ready;\n"
		     "bra again;\n"
		     "ready:\n"
		     "}" ::"r"(shared_address(barrier)), "r"(parity) : "memory");
}

// Brings the scales or zero points of a tile to L2. The last tile's may end within 16 bytes: the rest comes when it is read.
__device__ __forceinline__ void prefetch(const float *of, int item, int N, int groups)
{
	const int rows = min(ROWS, N - item * ROWS), bytes = rows * groups * 4 & ~15;
	if (bytes > 0)
		asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(of + (size_t)item * ROWS * groups), "r"(bytes) : "memory");
}

// One warp orders all copies of a team: lane r those of row r.
__device__ void produce(const uint8_t *Wq, const float *scales, const float *zeros, int team, uint8_t *ring, uint64_t *full, uint64_t *empty, int stages, int N, int K)
{
	const int lane = threadIdx.x % 32, items = (N + ROWS - 1) / ROWS, bytes = K / 2;
	int stage = 0, round = 0;
	for (int item = blockIdx.x + team * gridDim.x; item < items; item += TEAMS * gridDim.x) {
		if (lane < 2)
			prefetch(lane ? zeros : scales, item + TEAMS * gridDim.x, N, K / GROUP);
		for (int at = 0; at < bytes; at += PIECE) {
			const int size = min(PIECE, bytes - at);
			wait(&empty[stage], round % 2 ^ 1);	// passes at once in the first round
			if (lane == 0)
				asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
					     ::"r"(shared_address(&full[stage])), "r"(ROWS * size) : "memory");
			__syncwarp();
			if (lane < ROWS) {
				const size_t row = min(item * ROWS + lane, N - 1);	// past the last row: the last row again
				asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
					     ::"r"(shared_address(ring + stage * STAGE + lane * PITCH)), "l"(Wq + row * bytes + at),
					     "r"(size), "r"(shared_address(&full[stage])) : "memory");
			}
			if (++stage == stages) {
				stage = 0;
				round++;
			}
		}
	}
}

__global__ void __launch_bounds__(THREADS, 1)
gemv(const uint8_t *__restrict__ Wq, const float *__restrict__ scales, const float *__restrict__ zeros,
     const float4 *__restrict__ x, float *__restrict__ y, int N, int K, int stages)
{
	extern __shared__ __align__(128) uint8_t shared[];	// a ring a team; fragments[groups][4][4][2]; factors[groups]
	__shared__ float parts[TEAMS][2][TEAM][ROWS];
	__shared__ uint64_t full[TEAMS][MAX_STAGES], empty[TEAMS][MAX_STAGES];
	uint4 *fragments = reinterpret_cast<uint4 *>(shared + TEAMS * stages * STAGE);
	const int groups = K / GROUP, chunks = (groups + TEAM * GROUPS - 1) / (TEAM * GROUPS), items = (N + ROWS - 1) / ROWS;
	float2 *factors = reinterpret_cast<float2 *>(fragments + groups * 32);

	if (threadIdx.x == 0) {
		for (int i = 0; i < TEAMS * stages; i++) {
			const uint32_t filled = shared_address(&full[i / stages][i % stages]), emptied = shared_address(&empty[i / stages][i % stages]);
			asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(filled), "r"(1) : "memory");
			asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(emptied), "r"(TEAM) : "memory");
		}
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
	}
	__syncthreads();
	if (threadIdx.x >= CONSUMERS) {
		const int team = (threadIdx.x - CONSUMERS) / 32;
		produce(Wq, scales, zeros, team, shared + team * stages * STAGE, full[team], empty[team], stages, N, K);
		return;
	}

	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % TEAM, team = threadIdx.x / 32 / TEAM, g = lane / 4, t = lane % 4;
	float scale[2], zero[2];
	auto load = [&](int item, int chunk) {		// scale and zero point of rows g, g + 8 and the lane's group
		const int group = (chunk * TEAM + warp) * GROUPS + t;
#pragma unroll
		for (int r = 0; r < 2; r++) {
			const size_t row = min(item * ROWS + g + 8 * r, N - 1);
			const bool valid = item < items && group < groups;
			scale[r] = valid ? __ldg(scales + row * groups + group) : 0.0f;
			zero[r] = valid ? __ldg(zeros + row * groups + group) : 0.0f;
		}
	};
	load(blockIdx.x + team * gridDim.x, 0);
	stage(x, groups, fragments, factors);
	asm volatile("barrier.sync 1, %0;" ::"n"(CONSUMERS) : "memory");

	const uint8_t *mine = shared + team * stages * STAGE + g * PITCH + warp * (GROUPS * 64) + t * 16;
	uint4 f[GROUPS] = {};
	int parity = 0, s = 0, round = 0;
	for (int item = blockIdx.x + team * gridDim.x; item < items; item += TEAMS * gridDim.x, parity ^= 1) {
		float sum[2] = {};
		for (int chunk = 0; chunk < chunks; chunk++) {
			const int first = (chunk * TEAM + warp) * GROUPS;
			const float now_scale[2] = {scale[0], scale[1]}, now_zero[2] = {zero[0], zero[1]};
			load(chunk + 1 < chunks ? item : item + TEAMS * gridDim.x, chunk + 1 < chunks ? chunk + 1 : 0);
			wait(&full[team][s], round % 2);
			uint4 words[2][GROUPS];
#pragma unroll
			for (int j = 0; j < GROUPS; j++)
				if (first + j < groups) {
					words[0][j] = *reinterpret_cast<const uint4 *>(mine + s * STAGE + j * 64);
					words[1][j] = *reinterpret_cast<const uint4 *>(mine + s * STAGE + j * 64 + 8 * PITCH);
				}
			float c[2][4] = {}, c16[2][4] = {};
			if (first < groups)
				dot(words, f, shared_address(fragments + (first + g / 2) * 32 + t * 2 + g % 2), g / 2, groups - first, c, c16);
			__syncwarp();			// all lanes have read
			if (lane == 0)
				asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&empty[team][s])) : "memory");
			if (++s == stages) {
				s = 0;
				round++;
			}
			if (first < groups)
				finish(c, c16, factors[min(first + t, groups - 1)], now_scale, now_zero, sum);
		}
#pragma unroll
		for (int r = 0; r < 2; r++) {
			sum[r] += __shfl_xor_sync(0xffffffff, sum[r], 1);
			sum[r] += __shfl_xor_sync(0xffffffff, sum[r], 2);
			if (t == 0)			// parts has two halves: a slower warp may still read the other one
				parts[team][parity][warp][g + 8 * r] = sum[r];
		}
		asm volatile("barrier.sync %0, %1;" ::"r"(2 + team), "n"(TEAM * 32) : "memory");
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
	int device, processors, most;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
	const int items = (N + ROWS - 1) / ROWS, rest = K / GROUP * (512 + 8), fixed = 4096;	// static: parts, barriers
	const int fit = (most - fixed - rest) / (TEAMS * STAGE), stages = fit < MAX_STAGES ? fit : MAX_STAGES;
	const int shared = TEAMS * stages * STAGE + rest;
	cudaFuncSetAttribute(gemv, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
	gemv<<<items < processors ? items : processors, THREADS, shared>>>((const uint8_t *)Wq, scales, zeros, (const float4 *)x, y,
									   N, K, stages);
}
