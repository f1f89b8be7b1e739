// Step 6: the copy engine fetches the weights.
//
// Against step 5: one thread block an SM, two teams of eight warps, and each team has a ninth, which does nothing but order
// copies. cp.async.bulk brings 2 KB of a row to shared memory, without registers and without an instruction for each 16 bytes,
// and reports its bytes to an mbarrier. A stage is 16 such pieces, 32 KB; two or three stages a team are a ring, so 130 to
// 200 KB are under way on every SM, where registers held 64, and the ring refills while consumers compute, reduce, or wait
// for each other. The first stages are ordered before x is staged.
//
// "full" of a stage completes when the producer has arrived and all the bytes have come; "empty" when the eight consumers
// have read it. Each team has a ring of its own: with one ring for both, a team that is early would wait for a phase two
// ahead, and the parity of a phase can't tell that from the phase before.
//
// Pieces of a row lie 2048 + 128 bytes apart, so every line of 128 bytes arrives as one. With 64 bytes between them, half of
// the lines would be cut in two; eight lanes that read 128 bits (rows g and g + 1) would have no bank conflict, where now
// they have a two-way one. The copies matter more: 66 us against 76 at 16384 x 16384.
//
// Measured on an H200, us (in brackets, of the speed of a kernel that only reads the same bytes):
// 4096 x 4096 8.0 (71%), 8192 x 8192 20.8 (83%), 16384 x 16384 65.6 (95%), 28672 x 8192 58.7 (93%).
#include <cstdint>
#include <cuda_fp16.h>

constexpr int ROWS = 16, LOADS = 4, UNIT = 64 * LOADS;	// codes of a row that a warp takes at a time
constexpr int TEAMS = 2, TEAM = 8, CONSUMERS = TEAMS * TEAM * 32, THREADS = CONSUMERS + TEAMS * 32;
constexpr int PIECE = TEAM * UNIT, PITCH = PIECE + 128, STAGE = ROWS * PITCH;
constexpr int MAX_STAGES = 3;				// a team

__device__ __forceinline__ void multiply(float c[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Two fragments of x for the lanes of column 0; the others keep what they have, zeros.
__device__ __forceinline__ void load_if(bool mine, uint4 &f, const uint4 *from)
{
	asm volatile("{\n"
		     ".reg .pred mine;\n"
		     "setp.ne.s32 mine, %5, 0;\n"
		     "@mine ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];\n"
		     "}" : "+r"(f.x), "+r"(f.y), "+r"(f.z), "+r"(f.w) : "r"((uint32_t)__cvta_generic_to_shared(from)), "r"((int)mine));
}

// Two of the four codes of a word as halves: code + 128 under the exponent byte 0x64, minus 1152.
template <int SELECT>
__device__ __forceinline__ uint32_t two_codes(uint32_t biased)
{
	uint32_t bits = __byte_perm(biased, 0x64646464, SELECT);
	const __half2 h = __hsub2(*reinterpret_cast<__half2 *>(&bits), __float2half2_rn(1152.0f));
	return *reinterpret_cast<const uint32_t *>(&h);
}

__device__ __forceinline__ void dot4(float c[4], uint32_t top, uint32_t bottom, uint32_t b0, uint32_t b1)
{
	top ^= 0x80808080;
	bottom ^= 0x80808080;
	multiply(c, two_codes<0x4140>(top), two_codes<0x4140>(bottom), two_codes<0x4342>(top), two_codes<0x4342>(bottom), b0, b1);
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

// One warp orders all copies of a team: lane r those of row r.
__device__ void produce(const uint8_t *Wq, int team, uint8_t *ring, uint64_t *full, uint64_t *empty, int stages, int N, int K)
{
	const int lane = threadIdx.x % 32, items = (N + ROWS - 1) / ROWS, bytes = K;
	int stage = 0, round = 0;
	for (int item = blockIdx.x + team * gridDim.x; item < items; item += TEAMS * gridDim.x)
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
gemv(const uint8_t *__restrict__ Wq, const float *__restrict__ scales, const uint4 *__restrict__ x, __half *__restrict__ y,
     int N, int K, int stages)
{
	extern __shared__ __align__(128) uint8_t shared[];	// a ring a team; x, zeros past the end
	__shared__ float parts[TEAMS][2][TEAM][ROWS];
	__shared__ uint64_t full[TEAMS][MAX_STAGES], empty[TEAMS][MAX_STAGES];
	uint4 *xs = reinterpret_cast<uint4 *>(shared + TEAMS * stages * STAGE);
	const int chunks = (K + PIECE - 1) / PIECE, items = (N + ROWS - 1) / ROWS;

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
		produce(Wq, team, shared + team * stages * STAGE, full[team], empty[team], stages, N, K);
		return;
	}

	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % TEAM, team = threadIdx.x / 32 / TEAM, g = lane / 4, t = lane % 4;
#pragma unroll 4
	for (int i = threadIdx.x; i < (K + UNIT - 1) / UNIT * (UNIT / 8); i += CONSUMERS)
		xs[i] = i < K / 8 ? x[i] : make_uint4(0, 0, 0, 0);
	asm volatile("barrier.sync 1, %0;" ::"n"(CONSUMERS) : "memory");

	const uint8_t *mine = shared + team * stages * STAGE + g * PITCH + warp * UNIT + 16 * t;
	uint4 low = make_uint4(0, 0, 0, 0), high = low;
	int parity = 0, s = 0, round = 0;
	for (int item = blockIdx.x + team * gridDim.x; item < items; item += TEAMS * gridDim.x, parity ^= 1) {
		const int row = item * ROWS + lane;
		const bool writer = warp == 0 && lane < ROWS && row < N;
		const float scale = writer ? __ldg(scales + row) : 0.0f;
		float c[2][4] = {};			// two chains of mma's, which don't wait for each other
		for (int chunk = 0; chunk < chunks; chunk++) {
			const int first = (chunk * TEAM + warp) * UNIT;		// the warp's first code
			wait(&full[team][s], round % 2);
			uint4 top[LOADS], bottom[LOADS];
#pragma unroll
			for (int j = 0; j < LOADS; j++) {
				top[j] = bottom[j] = make_uint4(0, 0, 0, 0);
				if (first + 64 * j + 16 * t < K) {	// K is a multiple of 16: a quad's 64 codes may end early
					top[j] = *reinterpret_cast<const uint4 *>(mine + s * STAGE + 64 * j);
					bottom[j] = *reinterpret_cast<const uint4 *>(mine + s * STAGE + 64 * j + 8 * PITCH);
				}
			}
#pragma unroll
			for (int j = 0; j < LOADS; j++) {
				if (first + 64 * j >= K)
					break;
				load_if(g == 0, low, xs + (first + 16 * t) / 8 + 8 * j);
				load_if(g == 0, high, xs + (first + 16 * t) / 8 + 8 * j + 1);
				dot4(c[0], top[j].x, bottom[j].x, low.x, low.y);
				dot4(c[1], top[j].y, bottom[j].y, low.z, low.w);
				dot4(c[0], top[j].z, bottom[j].z, high.x, high.y);
				dot4(c[1], top[j].w, bottom[j].w, high.z, high.w);
			}
			__syncwarp();			// all lanes have read
			if (lane == 0)
				asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&empty[team][s])) : "memory");
			if (++s == stages) {
				s = 0;
				round++;
			}
		}
		if (t == 0) {				// parts has two halves: a slower warp may still read the other one
			parts[team][parity][warp][g] = c[0][0] + c[1][0];
			parts[team][parity][warp][g + 8] = c[0][2] + c[1][2];
		}
		asm volatile("barrier.sync %0, %1;" ::"r"(2 + team), "n"(TEAM * 32) : "memory");
		if (writer) {
			float total = 0;
			for (int w = 0; w < TEAM; w++)
				total += parts[team][parity][w][lane];
			y[row] = __float2half(total * scale);
		}
	}
}

extern "C" void solve(const int8_t *Wq, const float *scales, const __half *x, __half *y, int N, int K)
{
	int device, processors, most;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
	const int items = (N + ROWS - 1) / ROWS, rest = (K + UNIT - 1) / UNIT * UNIT * 2, fixed = 4096;	// static: parts, barriers
	const int fit = (most - fixed - rest) / (TEAMS * STAGE), stages = fit < MAX_STAGES ? fit : MAX_STAGES;
	const int shared = TEAMS * stages * STAGE + rest;
	cudaFuncSetAttribute(gemv, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
	gemv<<<items < processors ? items : processors, THREADS, shared>>>((const uint8_t *)Wq, scales, (const uint4 *)x, y, N, K, stages);
}
