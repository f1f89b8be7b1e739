// Step 9: all that a stage needs comes through one ring.
//
// Step 8 waits for its scales: this kernel takes 33 us at 16384 x 16384 without any, and 44 when it loads them one stage ahead
// as step 8 does. More than 130 KB are under way to every SM, 4 us of what memory gives it, and a load seems to pass the same
// queues. (Prefetching to L2 a whole tile ahead helps nothing: 45 us.) So here scales and zero points are part of the stage:
// - A warp of its own brings them with cp.async, 16 bytes a lane, whole lines of each row, and
//   cp.async.mbarrier.arrive makes "full" wait for them too. Consumers find them in shared memory.
//   (cp.async.bulk needs fewer instructions, but one costs some 50 cycles, however small: with 32 more of 128 bytes a stage,
//   69 us. And two large ones a tile leave the scales of 16 rows in the same banks: 41.)
// - One team of sixteen warps, one ring: no team waits while the other's stages are under way.
// - Rows lie 2048 bytes apart in shared memory, without a gap. Rows of odd number take groups in the order 1 0: so eight
//   lanes that read 128 bits touch all banks. In an mma, rows of even number then hold group j and odd ones j ^ 1; B
//   has the x of both, and of the sums a lane takes those where row and column belong to the same group.
// - Nibbles under 0x00f000f0 are sixteen times as large: their x is a sixteenth when it is staged.
// - All blocks read the same x at the same time, so each begins at another group: 38.6 became 38.1 us at 16384 x 16384.
//
// Measured on an H200, us (in brackets, of the speed of a kernel that only reads the same bytes), before the second way of
// fetch_scales, for shapes that are no multiples, and the last point were there:
// 4096 x 4096 5.7 (64%), 8192 x 8192 12.8 (77%), 16384 x 16384 38.3 (88%), 28672 x 8192 34.3 (87%).
#include <cstdint>
#include <cuda_fp16.h>

constexpr int GROUP = 128, ROWS = 16, WARPS = 16, CONSUMERS = WARPS * 32, THREADS = CONSUMERS + 64;
constexpr int PIECE = 2048, GROUPS = PIECE / 64 / WARPS;	// bytes of a row in a stage; groups of a warp in it
constexpr int WEIGHTS = ROWS * PIECE, PITCH = PIECE / 16 + 16;	// bytes from row to row of scales: no bank conflicts
constexpr int STAGE = WEIGHTS + 2 * ROWS * PITCH;		// codes, scales, zero points
constexpr int MAX_STAGES = 5;

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
// pairs (0,4) (2,6) for the nibbles under 0x000f000f and (1,5) (3,7), a sixteenth of them, for those under 0x00f000f0.
// fragments[group][j][t][2] has hi, then lo. A group is scaled so that its largest |x| is in [2^14, 2^15): factors[group] undoes
// this, and the 2^-24 of the subnormals, and has the sum of the group's x. Half a warp does a group, a thread an octet. All loads
// go first: K is at most 16384, so four rounds are all.
__device__ __forceinline__ void stage_x(const float4 *x, int groups, uint4 *fragments, float2 *factors)
{
	constexpr int AT_ONCE = CONSUMERS / 16, ROUNDS = 4;
	const int first = threadIdx.x / 16, j = threadIdx.x / 4 % 4, t = threadIdx.x % 4, shift = 4 * (blockIdx.x % 32) % groups;
	float4 x4[ROUNDS][2];
#pragma unroll
	for (int round = 0; round < ROUNDS; round++) {
		const int at = first + round * AT_ONCE, group = at + shift - (at + shift < groups ? 0 : groups);
		x4[round][0] = x4[round][1] = make_float4(0, 0, 0, 0);
		if (at < groups) {
			x4[round][0] = x[group * 32 + 8 * t + 2 * j];
			x4[round][1] = x[group * 32 + 8 * t + 2 * j + 1];
		}
	}
#pragma unroll
	for (int round = 0; round < ROUNDS; round++) {
		const int at = first + round * AT_ONCE, group = at + shift - (at + shift < groups ? 0 : groups);
		if (at - first % 2 >= groups)	// the same for the whole warp
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
			v[i] *= i % 2 ? up * 0.0625f : up;
			lo[i] = v[i] - __half2float(__float2half_rn(v[i]));
		}
		if (at < groups) {
			uint4 *to = fragments + ((group * 4 + j) * 4 + t) * 2;
			to[0] = make_uint4(pair(v[0], v[4]), pair(v[2], v[6]), pair(v[1], v[5]), pair(v[3], v[7]));
			to[1] = make_uint4(pair(lo[0], lo[4]), pair(lo[2], lo[6]), pair(lo[1], lo[5]), pair(lo[3], lo[7]));
			if (threadIdx.x % 16 == 0)
				factors[group] = make_float2(__uint_as_float((uint32_t)(exponent + 10) << 23), sum);
		}
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

struct ring {			// of stages: 16 x PIECE bytes of codes, then 16 rows of scales and 16 of zero points
	uint8_t *data;
	uint64_t *full, *empty;
	int stages, stage, round;

	__device__ void next()
	{
		if (++stage == stages) {
			stage = 0;
			round++;
		}
	}
};

// One warp orders the copies of the codes: lane r those of row r. Past the last row: the last row again, never stored.
__device__ __forceinline__ void fetch_codes(const uint8_t *Wq, ring r, int N, int K)
{
	const int lane = threadIdx.x % 32, items = (N + ROWS - 1) / ROWS, bytes = K / 2;
	for (int item = blockIdx.x; item < items; item += gridDim.x)
		for (int at = 0; at < bytes; at += PIECE, r.next()) {
			const int size = min(PIECE, bytes - at);
			const uint32_t full = shared_address(&r.full[r.stage]);
			wait(&r.empty[r.stage], r.round % 2 ^ 1);	// passes at once in the first round
			if (lane == 0)
				asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(ROWS * size) : "memory");
			__syncwarp();
			if (lane < ROWS) {
				const size_t row = min(item * ROWS + lane, N - 1);
				asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
					     ::"r"(shared_address(r.data + r.stage * STAGE + lane * PIECE)), "l"(Wq + row * bytes + at),
					     "r"(size), "r"(full) : "memory");
			}
		}
}

// Another one brings scales and zero points: 16 bytes a lane where all rows are there and begin at such a multiple, else 4.
__device__ __forceinline__ void fetch_scales(const float *scales, const float *zeros, ring r, int N, int K)
{
	constexpr int QUADS = PIECE / 64 / 4;		// of a row
	const int lane = threadIdx.x % 32, items = (N + ROWS - 1) / ROWS, groups = K / GROUP;
	for (int item = blockIdx.x; item < items; item += gridDim.x)
		for (int first = 0; first < groups; first += PIECE / 64, r.next()) {
			const uint32_t to = shared_address(r.data + r.stage * STAGE + WEIGHTS);
			wait(&r.empty[r.stage], r.round % 2 ^ 1);
			if (groups % 4 == 0 && first + PIECE / 64 <= groups && item * ROWS + ROWS <= N) {
#pragma unroll
				for (int i = lane; i < 2 * ROWS * QUADS; i += 32) {
					const int row = i / QUADS, quad = i % QUADS;
					const float *from = (row / ROWS ? zeros : scales) + (size_t)(item * ROWS + row % ROWS) * groups + first + quad * 4;
					asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + row * PITCH + quad * 16), "l"(from) : "memory");
				}
			} else if (first + lane < groups) {
				for (int row = 0; row < 2 * ROWS; row++) {
					const float *from = (row / ROWS ? zeros : scales) + (size_t)min(item * ROWS + row % ROWS, N - 1) * groups + first + lane;
					asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to + row * PITCH + lane * 4), "l"(from) : "memory");
				}
			}
			asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(&r.full[r.stage])) : "memory");
		}
}

// Adds the products of rows g and g + 8 (words[0], words[1]) to c (from nibbles 0 4 2 6) and d (from nibbles 1 5 3 7). Of words[.][j],
// rows of even number have group j, odd ones j ^ 1; c[j % 2], d[j % 2] are their sums, with the x of both groups.
__device__ __forceinline__ void dot(const uint4 words[2][GROUPS], uint4 &f, uint32_t address, bool mine, float c[2][4], float d[2][4])
{
#pragma unroll
	for (int i = 0; i < 4; i++) {
		load_if(mine, f, address + i * 128);
#pragma unroll
		for (int j = 0; j < GROUPS; j++) {
			const uint32_t top[4] = {words[0][j].x, words[0][j].y, words[0][j].z, words[0][j].w};
			const uint32_t bottom[4] = {words[1][j].x, words[1][j].y, words[1][j].z, words[1][j].w};
			const uint32_t u = top[i], v = bottom[i];
			multiply(c[j], u & 0x000f000f, v & 0x000f000f, u >> 8 & 0x000f000f, v >> 8 & 0x000f000f, f.x, f.y);
			multiply(d[j], u & 0x00f000f0, v & 0x00f000f0, u >> 8 & 0x00f000f0, v >> 8 & 0x00f000f0, f.z, f.w);
		}
	}
}

__global__ void __launch_bounds__(THREADS, 1)
gemv(const uint8_t *__restrict__ Wq, const float *__restrict__ scales, const float *__restrict__ zeros,
     const float4 *__restrict__ x, float *__restrict__ y, int N, int K, int stages)
{
	extern __shared__ __align__(128) uint8_t shared[];	// the ring; fragments[groups][4][4][2]; factors[groups]
	__shared__ float parts[2][WARPS][ROWS];
	__shared__ uint64_t full[MAX_STAGES], empty[MAX_STAGES];
	const int groups = K / GROUP, chunks = (K / 2 + PIECE - 1) / PIECE, items = (N + ROWS - 1) / ROWS;
	uint4 *fragments = reinterpret_cast<uint4 *>(shared + stages * STAGE);
	float2 *factors = reinterpret_cast<float2 *>(fragments + groups * 32);
	ring r = {shared, full, empty, stages, 0, 0};

	if (threadIdx.x >= CONSUMERS) {
		if (threadIdx.x == CONSUMERS) {
			for (int i = 0; i < stages; i++) {	// full: one arrival for the codes, 32 for scales and zero points
				asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&full[i])), "r"(1 + 32) : "memory");
				asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&empty[i])), "r"(WARPS) : "memory");
			}
			asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		}
		__syncwarp();
		asm volatile("barrier.sync 3, 64;" ::: "memory");
		asm volatile("barrier.arrive 1, %0;" ::"n"(THREADS) : "memory");
		if (threadIdx.x >= CONSUMERS + 32)
			fetch_scales(scales, zeros, r, N, K);
		else
			fetch_codes(Wq, r, N, K);
		return;
	}

	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4, odd = g % 2;
	stage_x(x, groups, fragments, factors);
	asm volatile("barrier.sync 1, %0;" ::"n"(THREADS) : "memory");	// x is staged, the barriers are there

	const uint8_t *codes = shared + g * PIECE + warp * (GROUPS * 64) + t * 16;
	const uint8_t *of_groups = shared + WEIGHTS + g * PITCH + (warp * GROUPS + t) * 4;
	uint4 f = make_uint4(0, 0, 0, 0);
	int parity = 0;
	for (int item = blockIdx.x; item < items; item += gridDim.x, parity ^= 1) {
		float sum[2] = {};
		for (int chunk = 0; chunk < chunks; chunk++, r.next()) {
			const int first = (chunk * WARPS + warp) * GROUPS;
			const bool valid = t < GROUPS && first + t < groups;
			wait(&full[r.stage], r.round % 2);
			float scale[2], zero[2];
#pragma unroll
			for (int i = 0; i < 2; i++) {
				const float *at = reinterpret_cast<const float *>(of_groups + r.stage * STAGE + i * 8 * PITCH);
				scale[i] = valid ? at[0] : 0.0f;
				zero[i] = valid ? at[ROWS * PITCH / 4] : 0.0f;
			}
			uint4 words[2][GROUPS];
#pragma unroll
			for (int j = 0; j < GROUPS; j++) {
				const uint8_t *at = codes + r.stage * STAGE + (j ^ odd) * 64;
				words[0][j] = words[1][j] = make_uint4(0, 0, 0, 0);
				if (first + (j ^ odd) < groups) {
					words[0][j] = *reinterpret_cast<const uint4 *>(at);
					words[1][j] = *reinterpret_cast<const uint4 *>(at + 8 * PIECE);
				}
			}
			float c[2][4] = {}, d[2][4] = {};
			dot(words, f, shared_address(fragments + (first + g / 2) * 32 + t * 2 + g % 2), g < 2 * GROUPS && first + g / 2 < groups, c, d);
			__syncwarp();			// all lanes have read
			if (lane == 0)
				asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&empty[r.stage])) : "memory");
			const float2 factor = factors[min(first + t, groups - 1)];
			const bool other = (g ^ t) & 1;
#pragma unroll
			for (int i = 0; i < 2; i++) {	// s (sum(q x) - z sum(x)) for rows g and g + 8
				const float hi = other ? c[1][2 * i] + d[1][2 * i] : c[0][2 * i] + d[0][2 * i];
				const float lo = other ? c[1][2 * i + 1] + d[1][2 * i + 1] : c[0][2 * i + 1] + d[0][2 * i + 1];
				sum[i] = fmaf(scale[i], fmaf(-zero[i], factor.y, (hi + lo) * factor.x), sum[i]);
			}
		}
#pragma unroll
		for (int i = 0; i < 2; i++) {
			sum[i] += __shfl_xor_sync(0xffffffff, sum[i], 1);
			if (t == 0)			// parts has two halves: a slower warp may still read the other one
				parts[parity][warp][g + 8 * i] = sum[i];
		}
		asm volatile("barrier.sync 2, %0;" ::"n"(CONSUMERS) : "memory");
		if (warp == 0) {
			float total = 0;
#pragma unroll
			for (int w = 0; w < WARPS / 2; w++)
				total += parts[parity][w * 2 + lane / 16][lane % 16];
			total += __shfl_xor_sync(0xffffffff, total, 16);
			const int row = item * ROWS + lane;
			if (lane < ROWS && row < N)
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
	const int groups = K / GROUP, items = (N + ROWS - 1) / ROWS, rest = groups * (512 + 8), fixed = 4096;	// static: parts, barriers
	const int useful = (items + processors - 1) / processors * ((K / 2 + PIECE - 1) / PIECE);
	const int fit = min(MAX_STAGES, (most - fixed - rest) / STAGE), stages = min(fit, useful);
	const int shared = stages * STAGE + rest;
	cudaFuncSetAttribute(gemv, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
	gemv<<<items < processors ? items : processors, THREADS, shared>>>((const uint8_t *)Wq, scales, zeros, (const float4 *)x, y,
									   N, K, stages);
}
