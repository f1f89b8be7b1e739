// Step 7: a stage is one stretch of memory, and x is in registers before the weights are.
//
// Step 6 brings 2 KB a row and piece, by 16 copies a stage, and keeps up to 200 KB under way. 4.6 TB/s times 0.8 us are 28 KB for
// each SM; what is more is a queue, and x waits in it. Here
// - a row of K codes is read as Q virtual rows of 2048, next to one another in memory. 16 virtual rows are 32 KB in one piece, and
//   the scales of their rows are another copy, so a stage is two bulk copies, and one thread orders them;
// - a warp has the same 128 columns of every virtual row, and so always the same x. It loads that once, from global memory to
//   where tensor cores want it: row m of A is chunk m % Q of its row, and column n of B has the x of chunk n % Q. No product of
//   row m counts but that with column m % 8. Seven of eight columns are for nothing, and cost nothing: a stage takes memory
//   1900 cycles, and its 128 instructions a fifth of that;
// - the rows of a stage lie 2048 bytes apart, all in the same banks. Odd rows take their two stretches of 64 bytes in the other
//   order, and so do the odd columns of x, so that eight lanes which read 128 bits touch all banks;
// - a byte of code + 128 beside a zero byte is a subnormal half, (code + 128) 2^-24, exactly, and tensor cores take it as it is: no
//   subtraction of 1152 as in step 3. Accumulators begin with what is 128 too much, and 2^24 goes to the scale;
// - sums of 128 go to shared memory, and a warp adds those of a row, other warps each time; the rest need not wait for it;
// - the first copies are ordered by the block's first instructions;
// - three quarters of the tiles are dealt out beforehand, every gridDim.x-th one to a block, and for the last quarter blocks draw
//   tickets when they are free, since memory doesn't serve all SMs alike. (16384 x 16384: all dealt out 63.1 us, all drawn 61.9, so 61.3, before subnormals.)
//   Tickets wrap to zero by themselves, since their number is known; so two of these kernels must not run at the same time.
// Shapes that are no multiples go the same way, only that a warp fills the stages, row by row.
//
// Measured on an H200, us: 4096 x 4096 6.4, 8192 x 8192 17.0, 16384 x 16384 59.9, 28672 x 8192 52.8 (step 6 there: 7.9, 19.9, 63.1, 56.9);
// 95% of the peak that a read reaches on that device, 4.7 TB/s. On one with 4.6 TB/s 60.7 at 16384 x 16384.
#include <climits>
#include <cstdint>
#include <cuda_fp16.h>

constexpr int ROWS = 16, WARPS = 16, CONSUMERS = WARPS * 32, THREADS = CONSUMERS + 32;
constexpr int WIDTH = 2048, OF_WARP = WIDTH / WARPS, STRETCH = 64;	// codes of a virtual row; of it, for a warp; for four lanes
constexpr int CODES = ROWS * WIDTH, SCALES = 64, STAGE = CODES + 128;
constexpr int STAGES = 3, PITCH = WARPS + 4;	// of a row of sums, so that rows begin in different banks
constexpr int FIRST = STAGES;	// so many tiles of a block are ordered before anything else

__device__ unsigned ticket;

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void multiply(float c[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// 2^-24, the smallest half there is: an integer below 1024 in a half's sixteen bits is that many of them.
constexpr float UNITS = 16777216.0f;

// Products of codes and x, in units: a byte of code + 128 beside a zero byte is a half already. What 128 is too much, c begins with.
__device__ __forceinline__ void dot4(float c[4], uint32_t top, uint32_t bottom, uint32_t b0, uint32_t b1)
{
	top ^= 0x80808080;
	bottom ^= 0x80808080;
	multiply(c, __byte_perm(top, 0, 0x4140), __byte_perm(bottom, 0, 0x4140), __byte_perm(top, 0, 0x4342), __byte_perm(bottom, 0, 0x4342), b0, b1);
}

// The same as if all codes + 128 were -128.
__device__ __forceinline__ void take_off4(float c[4], uint32_t b0, uint32_t b1)
{
	constexpr uint32_t a = 0x80808080;	// -128 units, twice
	multiply(c, a, a, a, a, b0, b1);
}

__device__ __forceinline__ void init(uint64_t *barrier, int arrivals)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void arrive(uint64_t *barrier)
{
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

__device__ __forceinline__ void arrive_and_expect(uint64_t *barrier, int bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
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

__device__ __forceinline__ void copy(void *to, const void *from, int bytes, uint64_t *full)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
		     ::"r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(full)) : "memory");
}

struct problem {
	const uint8_t *__restrict__ codes;
	const float *__restrict__ scales;
	const __half *__restrict__ x;
	__half *__restrict__ y;
	int N, K, tiles;	/* of 16 virtual rows */
	int fixed;		/* so many tiles of a block are every gridDim.x-th one; for the others it draws tickets */
	unsigned tickets;	/* how many are drawn in all */
};

struct shared_memory {
	uint64_t full[STAGES], empty[STAGES];
	int tile[STAGES];	/* that lies there; past the last one: the end */
	alignas(16) float sums[STAGES][ROWS][PITCH];	/* of q x, of a virtual row's 128 columns for each warp */
};

struct place {			/* in the ring */
	int stage, round;

	__device__ void next()
	{
		if (++stage == STAGES) {
			stage = 0;
			round++;
		}
	}
};

// A tile that is whole: two copies, by one thread. Of eight bytes of scales there is no copy: a tile of two rows takes those of its
// neighbour along.
template <int Q> __device__ __forceinline__ void order(const problem &p, int tile, uint8_t *to, uint64_t *full)
{
	constexpr int bytes = Q == 8 ? 16 : SCALES / Q;
	arrive_and_expect(full, CODES + bytes);
	copy(to + CODES, p.scales + tile * (ROWS / Q) / (bytes / 4) * (bytes / 4), bytes, full);
	copy(to, p.codes + (size_t)tile * CODES, CODES, full);
}

// Any tile, by a warp; lane m orders the codes of virtual row m. What is beyond a row's end keeps what was there before, some numbers,
// and meets zeros of x.
template <int Q> __device__ __forceinline__ void order_rows(const problem &p, int tile, uint8_t *to, uint64_t *full)
{
	const int lane = threadIdx.x % 32;
	if (lane < ROWS) {
		const int v = tile * ROWS + lane, row = v / Q, first = v % Q * WIDTH;
		const int bytes = row < p.N ? max(min(WIDTH, p.K - first), 0) : 0;
		arrive_and_expect(full, bytes);
		if (bytes)
			copy(to + lane * WIDTH, p.codes + (size_t)row * p.K + first, bytes, full);
	}
	if (lane < ROWS / Q && tile * (ROWS / Q) + lane < p.N)
		asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
			     ::"r"(shared_address(to + CODES) + lane * 4), "l"(p.scales + tile * (ROWS / Q) + lane) : "memory");
	asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(full)) : "memory");
}

// The warp that orders what comes after the first tiles.
template <int Q, bool WHOLE> __device__ __forceinline__ void produce(const problem &p, shared_memory &s, uint8_t *ring)
{
	constexpr int first = WHOLE ? FIRST : 0;
	place at = {first % STAGES, first / STAGES};
	if (WHOLE && threadIdx.x % 32)
		return;
	int tile = blockIdx.x + first * gridDim.x;
	for (int next = first + 1;; next++, at.next()) {
		wait(&s.empty[at.stage], (at.round + 1) % 2);	// the first round passes at once
		if (threadIdx.x % 32 == 0)
			s.tile[at.stage] = tile;
		if (tile >= p.tiles)
			break;
		if (WHOLE)
			order<Q>(p, tile, ring + at.stage * STAGE, &s.full[at.stage]);
		else {
			__syncwarp();
			order_rows<Q>(p, tile, ring + at.stage * STAGE, &s.full[at.stage]);
		}
		tile = !WHOLE || next < p.fixed ? tile + gridDim.x : p.fixed * gridDim.x + atomicInc(&ticket, p.tickets - 1);
	}
	if (WHOLE)
		arrive(&s.full[at.stage]);
	else {
		__syncwarp();
		if (threadIdx.x % 32 < ROWS)
			arrive(&s.full[at.stage]);
		arrive(&s.full[at.stage]);
	}
}

// A lane has of each row, g and g + 8, and of column g of B the codes 16t ... 16t + 15 of both stretches, the first one last where g is
// odd: two halves of a register are neighbours in memory.
template <int Q, bool WHOLE> __global__ void __launch_bounds__(THREADS, 1) gemv(const __grid_constant__ problem p)
{
	extern __shared__ __align__(128) uint8_t ring[];
	__shared__ shared_memory s;

	if (threadIdx.x == 0) {
		for (int i = 0; i < STAGES; i++) {
			init(&s.full[i], WHOLE ? 1 : ROWS + 32);
			init(&s.empty[i], WARPS);
		}
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#pragma unroll
		for (int i = 0; i < (WHOLE ? FIRST : 0); i++) {	// so many there are for each block
			s.tile[i] = blockIdx.x + i * gridDim.x;
			order<Q>(p, s.tile[i], ring + i * STAGE, &s.full[i]);
		}
	}
	if (!WHOLE) {
		for (int i = threadIdx.x; i < STAGES * STAGE / 16; i += THREADS)
			reinterpret_cast<uint4 *>(ring)[i] = make_uint4(0, 0, 0, 0);
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");	// before copies to there
	}
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4, odd = g % 2;
	uint4 b[2][2];
	if (warp < WARPS)
#pragma unroll
		for (int j = 0; j < 2; j++) {
			const int k = g % Q * WIDTH + warp * OF_WARP + (j ^ odd) * STRETCH + t * 16;
			b[j][0] = b[j][1] = make_uint4(0, 0, 0, 0);
			if (WHOLE || k < p.K) {		// K is a multiple of 16
				b[j][0] = __ldg(reinterpret_cast<const uint4 *>(p.x + k));
				b[j][1] = __ldg(reinterpret_cast<const uint4 *>(p.x + k) + 1);
			}
		}
	__syncthreads();
	if (warp == WARPS) {
		produce<Q, WHOLE>(p, s, ring);
		return;
	}

	float begin[2][4] = {};		// -128 times the sum of x, of a stretch and chunk
#pragma unroll
	for (int j = 0; j < 2; j++) {
		take_off4(begin[j], b[j][0].x, b[j][0].y);
		take_off4(begin[j], b[j][0].z, b[j][0].w);
		take_off4(begin[j], b[j][1].x, b[j][1].y);
		take_off4(begin[j], b[j][1].z, b[j][1].w);
	}

	const uint8_t *codes = ring + g * WIDTH + warp * OF_WARP + t * 16;
	place at = {0, 0};
	for (int turn = warp;; turn = (turn + ROWS / Q) % WARPS, at.next()) {	// turn: the row that the warp sums up, if there is one
		wait(&s.full[at.stage], at.round % 2);
		const int tile = s.tile[at.stage];
		if (tile >= p.tiles)
			break;
		uint4 words[2][2];
#pragma unroll
		for (int j = 0; j < 2; j++)
#pragma unroll
			for (int i = 0; i < 2; i++)	// rows g and g + 8
				words[i][j] = *reinterpret_cast<const uint4 *>(codes + at.stage * STAGE + (j ^ odd) * STRETCH + i * 8 * WIDTH);
		float c[2][4];			// two chains of mma's, which don't wait for each other
#pragma unroll
		for (int j = 0; j < 2; j++) {
			c[j][0] = c[j][2] = begin[j][0];	// all rows are alike
			c[j][1] = c[j][3] = begin[j][1];
			dot4(c[j], words[0][j].x, words[1][j].x, b[j][0].x, b[j][0].y);
			dot4(c[j], words[0][j].y, words[1][j].y, b[j][0].z, b[j][0].w);
			dot4(c[j], words[0][j].z, words[1][j].z, b[j][1].x, b[j][1].y);
			dot4(c[j], words[0][j].w, words[1][j].w, b[j][1].z, b[j][1].w);
		}
		if (t == g / 2) {			// column g
			s.sums[at.stage][g][warp] = odd ? c[0][1] + c[1][1] : c[0][0] + c[1][0];
			s.sums[at.stage][g + 8][warp] = odd ? c[0][3] + c[1][3] : c[0][2] + c[1][2];
		}

		__syncwarp();
		if (turn >= ROWS / Q)
			asm volatile("barrier.arrive %0, %1;" ::"r"(2 + at.stage), "n"(CONSUMERS) : "memory");
		else {
			const int row = tile * (ROWS / Q) + turn;
			const float *scales = reinterpret_cast<const float *>(ring + at.stage * STAGE + CODES);
			const float scale = UNITS * scales[WHOLE && Q == 8 ? row % 4 : turn];
			asm volatile("barrier.sync %0, %1;" ::"r"(2 + at.stage), "n"(CONSUMERS) : "memory");
			float total = 0;
			if (g < Q) {		// a virtual row's sums by four lanes
				const float4 v = *reinterpret_cast<const float4 *>(&s.sums[at.stage][turn * Q + g][t * 4]);
				total = (v.x + v.y) + (v.z + v.w);
			}
#pragma unroll
			for (int offset = 2 * Q; offset; offset /= 2)
				total += __shfl_xor_sync(0xffffffff, total, offset);
			if (lane == 0 && row < p.N)
				p.y[row] = __float2half(total * scale);
		}
		if (lane == 0)
			arrive(&s.empty[at.stage]);
	}
}

template <int Q> static void launch(problem p)
{
	int device, processors;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	p.tiles = (p.N * Q + ROWS - 1) / ROWS;
	const int blocks = p.tiles < processors ? p.tiles : processors, shared = STAGES * STAGE;
	p.fixed = INT_MAX;
	if (p.K == Q * WIDTH && p.N * Q % ROWS == 0 && p.N % 4 == 0 && p.tiles >= FIRST * blocks) {
		if (p.tiles >= 8 * blocks) {
			p.fixed = p.tiles * 3LL / 4 / blocks;
			p.tickets = p.tiles - p.fixed * blocks + blocks;	// one for each block says that there is no more
		}
		cudaFuncSetAttribute(gemv<Q, true>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
		gemv<Q, true><<<blocks, THREADS, shared>>>(p);
	} else {
		cudaFuncSetAttribute(gemv<Q, false>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
		gemv<Q, false><<<blocks, THREADS, shared>>>(p);
	}
}

extern "C" void solve(const int8_t *Wq, const float *scales, const __half *x, __half *y, int N, int K)
{
	const problem p = {(const uint8_t *)Wq, scales, x, y, N, K, 0, 0, 0};
	if (K <= WIDTH)
		launch<1>(p);
	else if (K <= 2 * WIDTH)
		launch<2>(p);
	else if (K <= 4 * WIDTH)
		launch<4>(p);
	else
		launch<8>(p);		// K is at most 16384
}
