// Step 8: the copy engine fetches the weights.
//
// Against step 7: one thread block a multiprocessor, whose last warp does nothing but order copies: cp.async.bulk brings a
// piece of 2 KB (4096 codes of a row) to shared memory, without registers and without an instruction for each 16 bytes,
// and reports its bytes to an mbarrier. A stage is 16 such pieces, 32 KB; four to six stages are a ring, so 130 to 200 KB are
// under way on every multiprocessor, where registers held 64, and the ring refills while the consumers compute,
// reduce, or wait for each other. The first stages are ordered before x is staged, and x is staged once where two
// blocks a multiprocessor staged it twice.
//
// "full" of a stage completes when the producer has arrived and all the bytes have come; "empty" when the eight warps that
// consume it have. Two teams of eight warps take tiles of 16 rows by turns: while one reduces and writes, the other has
// its stages under way.
//
// Pieces of a row lie 2048 + 64 bytes apart: eight lanes that read 128 bits (rows g and g + 1, four lanes each) touch 64
// bytes of either row, and these 64 shift one row to the other half of the banks.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int GROUP = 128, ROWS = 16, GROUPS = 4;		// rows of an mma; groups side by side in B
constexpr int TEAMS = 2, TEAM = 8, CONSUMERS = TEAMS * TEAM * 32, THREADS = CONSUMERS + 32;
constexpr int PIECE = 2048, PITCH = PIECE + 64, STAGE = ROWS * PITCH;	// bytes; 8 warps x 4 groups x 64
constexpr int MAX_STAGES = 6;

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

// Stages x as B fragments, as in step 7. Octet 4t + j of a group, k = 32t + 8j ... + 7, meets word j of lane t: its fragments are the
// pairs (0,4) (2,6) for the nibbles under 0x000f000f and (1,5) (3,7) for those under 0x00f000f0. fragments[group][j][t][2]
// has hi, then lo. A group is scaled so that its largest |x| is in [2^14, 2^15): factors[group] undoes this, and the 2^-24
// of the subnormals; sums[group] is the sum of its x.
__device__ __forceinline__ void stage(const float4 *x, int groups, uint4 *fragments, float2 *factors)
{
	const int j = threadIdx.x / 4 % 4, t = threadIdx.x % 4;
	for (int first = 0; first < groups; first += CONSUMERS / 16) {
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

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
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

// One warp orders all copies: lane r those of row r.
__device__ void produce(const uint8_t *Wq, uint8_t *ring, uint64_t *full, uint64_t *empty, int stages, int N, int K)
{
	const int lane = threadIdx.x % 32, items = (N + ROWS - 1) / ROWS, bytes = K / 2;
	int stage = 0, round = 0;
	for (int item = blockIdx.x; item < items; item += gridDim.x)
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

__global__ void __launch_bounds__(THREADS, 1)
gemv(const uint8_t *__restrict__ Wq, const float *__restrict__ scales, const float *__restrict__ zeros,
     const float4 *__restrict__ x, float *__restrict__ y, int N, int K, int stages)
{
	extern __shared__ __align__(128) uint8_t shared[];	// the ring; fragments[groups][4][4][2]; 1 of zeros; factors[groups]
	__shared__ float parts[TEAMS][2][TEAM][ROWS];
	__shared__ uint64_t full[MAX_STAGES], empty[MAX_STAGES];
	uint4 *fragments = reinterpret_cast<uint4 *>(shared + stages * STAGE);
	const int groups = K / GROUP, chunks = (K / 2 + PIECE - 1) / PIECE, items = (N + ROWS - 1) / ROWS;
	uint4 *none = fragments + groups * 32;
	float2 *factors = reinterpret_cast<float2 *>(none + 1);

	if (threadIdx.x == 0) {
		for (int s = 0; s < stages; s++) {
			asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&full[s])), "r"(1) : "memory");
			asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&empty[s])), "r"(TEAM) : "memory");
		}
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		*none = make_uint4(0, 0, 0, 0);
	}
	__syncthreads();
	if (threadIdx.x >= CONSUMERS) {
		produce(Wq, shared, full, empty, stages, N, K);
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

	int parity = 0;
	for (int item = blockIdx.x + team * gridDim.x, turn = team; item < items; item += TEAMS * gridDim.x, turn += TEAMS, parity ^= 1) {
		float sum[2] = {};
		for (int chunk = 0; chunk < chunks; chunk++) {
			const int count = turn * chunks + chunk, s = count % stages, first = (chunk * TEAM + warp) * GROUPS;
			const float now_scale[2] = {scale[0], scale[1]}, now_zero[2] = {zero[0], zero[1]};
			load(chunk + 1 < chunks ? item : item + TEAMS * gridDim.x, chunk + 1 < chunks ? chunk + 1 : 0);
			wait(&full[s], count / stages % 2);
			const uint8_t *from = shared + s * STAGE + g * PITCH + warp * (GROUPS * 64) + t * 16;
			float c[4] = {}, c16[4] = {};	// from nibbles 0 4 2 6; from nibbles 1 5 3 7, sixteen times as large
#pragma unroll
			for (int j = 0; j < GROUPS; j++) {
				if (first + j >= groups)
					break;
				const uint4 a = *reinterpret_cast<const uint4 *>(from + j * 64);
				const uint4 d = *reinterpret_cast<const uint4 *>(from + j * 64 + 8 * PITCH);
				const bool mine = g / 2 == j;
				const uint4 *b = mine ? fragments + (first + j) * 32 + t * 2 + g % 2 : none;
				const int stride = mine ? 8 : 0;
				const uint32_t top[4] = {a.x, a.y, a.z, a.w}, bottom[4] = {d.x, d.y, d.z, d.w};
#pragma unroll
				for (int i = 0; i < 4; i++) {
					const uint4 f = b[i * stride];
					const uint32_t u = top[i], v = bottom[i];
					multiply(c, u & 0x000f000f, v & 0x000f000f, u >> 8 & 0x000f000f, v >> 8 & 0x000f000f, f.x, f.y);
					multiply(c16, u & 0x00f000f0, v & 0x00f000f0, u >> 8 & 0x00f000f0, v >> 8 & 0x00f000f0, f.z, f.w);
				}
			}
			__syncwarp();			// all lanes have read
			if (lane == 0)
				asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&empty[s])) : "memory");
			if (first >= groups)
				continue;
			const float2 factor = factors[min(first + t, groups - 1)];
			const float dot[2] = {fmaf(c16[0] + c16[1], 0.0625f, c[0] + c[1]), fmaf(c16[2] + c16[3], 0.0625f, c[2] + c[3])};
#pragma unroll
			for (int r = 0; r < 2; r++)
				sum[r] = fmaf(now_scale[r], fmaf(-now_zero[r], factor.y, dot[r] * factor.x), sum[r]);
		}
#pragma unroll
		for (int r = 0; r < 2; r++) {
			sum[r] += __shfl_xor_sync(0xffffffff, sum[r], 1);
			sum[r] += __shfl_xor_sync(0xffffffff, sum[r], 2);
			if (t == 0)
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
	const int items = (N + ROWS - 1) / ROWS, rest = K / GROUP * (512 + 8) + 16, fixed = 4096;	// static: parts, barriers
	const int fit = (most - fixed - rest) / STAGE, stages = fit < MAX_STAGES ? fit : MAX_STAGES, shared = stages * STAGE + rest;
	cudaFuncSetAttribute(gemv, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
	gemv<<<items < processors ? items : processors, THREADS, shared>>>((const uint8_t *)Wq, scales, zeros, (const float4 *)x, y,
									   N, K, stages);
}
