// Step 10: a stage is one stretch of memory, x stays in registers, and less is under way.
//
// Three stages of 36 KB are enough: 4.6 TB/s times 0.8 us is 28 KB for each SM. Step 9 keeps up to five under way, and what is under
// way too early is a queue that x and the next scales have to pass. With three nothing is lost, and much becomes simple:
// - A row of K numbers is read as Q virtual rows of 4096, next to one another in memory: 16 virtual rows of codes are 32 KB in one
//   piece, their scales and their zero points 2 KB each, also in one piece. So a stage is three bulk copies, and a thread orders
//   them. (Codes in pieces of 2 KB: 50 us at 16384 x 16384, where this step had 37.)
// - A warp has the same columns in each stage, so it keeps their x in registers: no shared memory is read for x.
// - x is a fixed-point number, four signed bytes, scaled so that the largest |x| of a group fills them: 30 bits, so that the smaller
//   ones keep theirs. (With three, a group whose largest x is a thousand times the others can come out beyond the bound.)
//   Tensor cores multiply bytes by nibbles exactly, 32 of them an instruction where FP16 has 16: up to K = 8192 half as many
//   instructions as in step 9; beyond, two pairs of sets need as many.
// - Rows of a stage lie a multiple of 128 bytes apart. So that the lanes of a warp don't meet in the same banks, row m belongs to set
//   m % SETS, and sets take their groups in different places. The columns of B hold the x of two sets.
// - The products of a group go to shared memory, and scales meet them there, one row a warp, one group a lane. 16 / Q warps do this,
//   other ones each time, and the rest need not wait for them.
// - The first copies are ordered by the block's first instructions, 0.2 us after it begins, and not 1.2.
// - Where K is 4096, the second stage is ordered only when x has come. x is asked for together with the first stage, and waits
//   behind all that is ordered before: 6.8 us when that is two stages, and not 5.1.
// - Memory doesn't serve all SMs alike. So for the last quarter of the tiles a block draws a ticket when it is free: at 16384 x 16384
//   equal shares take 0.5 us longer, and tickets from the start 0.1 to 0.5. Tickets wrap to zero by themselves, since their number
//   is known. (So two of these kernels must not run at the same time.)
// Shapes that are no multiples go the same way, only that a warp fills the stages, row by row, once x has come.
//
// Measured on two H200s, us: 4096 x 4096 5.1, 8192 x 8192 11.2 and 11.4, 16384 x 16384 37.1 and 37.6, 28672 x 8192 31.7 and 32.1.
#include <climits>
#include <cstdint>
#include <cuda_runtime.h>

constexpr int GROUP = 128, ROWS = 16, WARPS = 16, CONSUMERS = WARPS * 32, THREADS = CONSUMERS + 32;
constexpr int WIDTH = 4096, GROUPS = WIDTH / GROUP, OF_WARP = GROUPS / WARPS;	// of a virtual row; groups of a warp in it: 2
constexpr int CODES = ROWS * WIDTH / 2, SCALES = ROWS * GROUPS * 4, STAGE = CODES + 2 * SCALES;
constexpr int STAGES = 3, PITCH = GROUPS + 4;	// of a row of products, so that rows begin in different banks
constexpr int FRAGMENTS = 4 * 4 * 4 * 8;	// bytes for a group's x: digits, lanes t, words i, 8 bytes
// So many tiles of a block are ordered before x has come.
template <int Q, bool WHOLE = true> constexpr int FIRST = !WHOLE ? 0 : Q == 1 ? 1 : 2;

__device__ unsigned ticket;

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void multiply(int c[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint2 b)
{
	asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b.x), "r"(b.y));
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
	const float *__restrict__ scales, *__restrict__ zeros;
	const float4 *__restrict__ x;
	float *__restrict__ y;
	int N, K, tiles;	/* of 16 virtual rows */
	int fixed;		/* so many tiles of a block are every gridDim.x-th one; for the others it draws tickets */
	unsigned tickets;	/* how many are drawn in all */
};

struct shared_memory {
	uint64_t full[STAGES], empty[STAGES];
	int tile[STAGES];	/* that lies there; past the last one: the end */
	alignas(8) float products[STAGES][ROWS][PITCH];	/* sum(q x) of each group, in units of its x */
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

// A tile that is whole: three copies, by one thread.
__device__ __forceinline__ void order(const problem &p, int tile, uint8_t *to, uint64_t *full)
{
	arrive_and_expect(full, STAGE);
	copy(to + CODES, p.scales + (size_t)tile * (SCALES / 4), SCALES, full);
	copy(to + CODES + SCALES, p.zeros + (size_t)tile * (SCALES / 4), SCALES, full);
	copy(to, p.codes + (size_t)tile * CODES, CODES, full);
}

// Any tile, by a warp. Lane m orders the codes of virtual row m; scales and zero points need not lie at multiples of 16 bytes. What is
// beyond a row's end keeps what was there before, some numbers, and meets zeros of x.
template <int Q> __device__ __forceinline__ void order_rows(const problem &p, int tile, uint8_t *to, uint64_t *full)
{
	const int lane = threadIdx.x % 32, groups = p.K / GROUP;
	int bytes = 0;
	if (lane < ROWS) {
		const int v = tile * ROWS + lane, row = v / Q, first = v % Q * GROUPS;
		bytes = row < p.N ? max(min(GROUPS, groups - first), 0) * (GROUP / 2) : 0;
		arrive_and_expect(full, bytes);
		if (bytes)
			copy(to + lane * (WIDTH / 2), p.codes + ((size_t)row * groups + first) * (GROUP / 2), bytes, full);
	}
	for (int m = 0; m < ROWS; m++) {
		const int v = tile * ROWS + m, row = v / Q, group = v % Q * GROUPS + lane;
		const uint32_t at = shared_address(to + CODES) + (m * GROUPS + lane) * 4;
		if (row < p.N && group < groups) {
			asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(p.scales + (size_t)row * groups + group) : "memory");
			asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at + SCALES), "l"(p.zeros + (size_t)row * groups + group) : "memory");
		}
	}
	asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(full)) : "memory");
}

// The warp that orders what comes after the first tiles.
template <int Q, bool WHOLE> __device__ __forceinline__ void produce(const problem &p, shared_memory &s, uint8_t *ring)
{
	constexpr int first = FIRST<Q, WHOLE>;
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
			order(p, tile, ring + at.stage * STAGE, &s.full[at.stage]);
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

// x scaled, |x| < 2^30, as an integer of four digits, signed bytes. 3 * 2^22 + n has the bits 0x4b400000 + n, for |n| < 2^22: so the
// upper three come first, and what they leave is the fourth. (An instruction converts, too, at an eighth of the speed.)
__device__ __forceinline__ uint32_t digits_of(float x)
{
	constexpr float MAGIC = 12582912.0f;
	constexpr uint32_t BITS = 0x4b400000, HALVES = 0x80808080;
	const float upper = fmaf(x, 0x1p-8f, MAGIC), lower = fmaf(upper - MAGIC, -256.0f, x) + MAGIC;
	return (((__float_as_uint(upper) - BITS) << 8) + (__float_as_uint(lower) - BITS) + HALVES) ^ HALVES;
}

// x of a group, scaled by a power of two. Half a warp does a group, a lane an octet, k = 32t + 8i ... + 7, which meets word i of
// lane t; nibbles 0 2 4 6 and 1 3 5 7 are under the two masks.
__device__ __forceinline__ void stage_group(const float4 a, const float4 b, int i, int t, uint2 *fragments, float &factor, float &sum)
{
	const float v[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
	float most = fmaxf(fmaxf(fmaxf(fabsf(a.x), fabsf(a.y)), fmaxf(fabsf(a.z), fabsf(a.w))),
			   fmaxf(fmaxf(fabsf(b.x), fabsf(b.y)), fmaxf(fabsf(b.z), fabsf(b.w))));
	sum = ((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w));
#pragma unroll
	for (int offset = 8; offset; offset /= 2) {
		most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, offset));
		sum += __shfl_xor_sync(0xffffffff, sum, offset);
	}
	const int exponent = max((int)(__float_as_uint(most) >> 23), 30);
	const float up = __uint_as_float((uint32_t)(283 - exponent) << 23);	// 2^(156 - exponent)
	factor = __uint_as_float((uint32_t)(exponent - 29) << 23);
	uint32_t digits[8];
#pragma unroll
	for (int k = 0; k < 8; k++)
		digits[k] = digits_of(v[k] * up);
#pragma unroll
	for (int d = 0; d < 4; d++) {
		const uint32_t low = d | (d + 4) << 4;
		fragments[(d * 4 + t) * 4 + (i ^ d % 2 * 2)] =	// so that eight lanes that read 128 bits touch all banks
			make_uint2(__byte_perm(__byte_perm(digits[0], digits[2], low), __byte_perm(digits[4], digits[6], low), 0x5410),
				   __byte_perm(__byte_perm(digits[1], digits[3], low), __byte_perm(digits[5], digits[7], low), 0x5410));
	}
}

// Rows: m belongs to set m % SETS; set s is chunk s % Q of a row, and a warp's two groups of it are those from (warp + s) % 16 * 2 on,
// in the order 1 0 where s is odd. Columns g of B: set 2 * pair + g / 4, digit g % 4. A lane has columns 2t and 2t + 1.
template <int Q, bool WHOLE> __global__ void __launch_bounds__(THREADS, 1) gemv(const __grid_constant__ problem p)
{
	constexpr int PAIRS = Q == 4 ? 2 : 1, SETS = 2 * PAIRS;
	extern __shared__ __align__(128) uint8_t ring[];	// then fragments, factors and sums of x
	__shared__ shared_memory s;
	uint2 *fragments = reinterpret_cast<uint2 *>(ring + STAGES * STAGE);
	float *factors = reinterpret_cast<float *>(ring + STAGES * STAGE + Q * GROUPS * FRAGMENTS), *sums = factors + Q * GROUPS;

	if (threadIdx.x == 0) {
		for (int i = 0; i < STAGES; i++) {
			init(&s.full[i], WHOLE ? 1 : ROWS + 32);
			init(&s.empty[i], WARPS);
		}
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#pragma unroll
		for (int i = 0; i < FIRST<Q, WHOLE>; i++) {	// so many there are for each block
			s.tile[i] = blockIdx.x + i * gridDim.x;
			order(p, s.tile[i], ring + i * STAGE, &s.full[i]);
		}
	}
	if (threadIdx.x >= CONSUMERS) {
		asm volatile("barrier.sync 1, %0;" ::"n"(THREADS) : "memory");	// x has come
		produce<Q, WHOLE>(p, s, ring);
		return;
	}

	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
	if (!WHOLE) {
		for (int i = threadIdx.x; i < STAGES * STAGE / 16; i += CONSUMERS)
			reinterpret_cast<uint4 *>(ring)[i] = make_uint4(0, 0, 0, 0);
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");	// before copies to there
	}
	{
		const int i = lane / 4 % 4, groups = p.K / GROUP;
		const int first = (warp + blockIdx.x) % WARPS * OF_WARP + lane / 16;	// blocks begin at different parts of x
		float4 x[Q][2];
#pragma unroll
		for (int q = 0; q < Q; q++) {
			const int group = q * GROUPS + first;
			x[q][0] = x[q][1] = make_float4(0, 0, 0, 0);
			if (WHOLE || group < groups) {
				x[q][0] = __ldg(&p.x[group * 32 + 8 * t + 2 * i]);
				x[q][1] = __ldg(&p.x[group * 32 + 8 * t + 2 * i + 1]);
			}
		}
#pragma unroll
		for (int q = 0; q < Q; q++) {
			const int group = q * GROUPS + first;
			float factor, sum;
			stage_group(x[q][0], x[q][1], i, t, fragments + group * (FRAGMENTS / 8), factor, sum);
			if (lane % 16 == 0) {
				factors[group] = factor;
				sums[group] = sum;
			}
		}
	}
	asm volatile("barrier.sync 1, %0;" ::"n"(THREADS) : "memory");

	uint2 b[PAIRS][OF_WARP][4];
#pragma unroll
	for (int pair = 0; pair < PAIRS; pair++) {
		const int set = 2 * pair + g / 4, first = set % Q * GROUPS + (warp + set) % WARPS * OF_WARP;
#pragma unroll
		for (int j = 0; j < OF_WARP; j++) {
			const uint4 *at = reinterpret_cast<const uint4 *>(fragments + (first + (j ^ set % 2)) * (FRAGMENTS / 8) + (g % 4 * 4 + t) * 4);
			const uint4 low = at[g % 2], high = at[1 - g % 2];
			b[pair][j][0] = make_uint2(low.x, low.y);
			b[pair][j][1] = make_uint2(low.z, low.w);
			b[pair][j][2] = make_uint2(high.x, high.y);
			b[pair][j][3] = make_uint2(high.z, high.w);
		}
	}
	float factor[Q], sum_of_x[Q];			// for summing up: lane l has groups l of each chunk
#pragma unroll
	for (int q = 0; q < Q; q++) {
		factor[q] = factors[q * GROUPS + lane];
		sum_of_x[q] = sums[q * GROUPS + lane];
	}

	const int set = g % SETS, first = (warp + set) % WARPS * OF_WARP, odd = g % 2;
	const uint8_t *codes = ring + g * (WIDTH / 2) + first * (GROUP / 2) + t * 16;
	place at = {0, 0};
	for (int turn = warp;; turn = (turn + ROWS / Q) % WARPS, at.next()) {	// turn: the row that the warp sums up, if there is one
		wait(&s.full[at.stage], at.round % 2);
		const int tile = s.tile[at.stage];
		if (tile >= p.tiles)
			break;
		uint4 words[2][OF_WARP];
#pragma unroll
		for (int j = 0; j < OF_WARP; j++)
#pragma unroll
			for (int i = 0; i < 2; i++)	// rows g and g + 8
				words[i][j] = *reinterpret_cast<const uint4 *>(codes + at.stage * STAGE + (j ^ odd) * (GROUP / 2) + i * 8 * (WIDTH / 2));
		int c[PAIRS][OF_WARP][4] = {};
#pragma unroll
		for (int i = 0; i < 4; i++)
#pragma unroll
			for (int j = 0; j < OF_WARP; j++) {
				const uint32_t top[4] = {words[0][j].x, words[0][j].y, words[0][j].z, words[0][j].w};
				const uint32_t bottom[4] = {words[1][j].x, words[1][j].y, words[1][j].z, words[1][j].w};
#pragma unroll
				for (int pair = 0; pair < PAIRS; pair++)
					multiply(c[pair][j], top[i] & 0x0f0f0f0f, bottom[i] & 0x0f0f0f0f, top[i] >> 4 & 0x0f0f0f0f,
						 bottom[i] >> 4 & 0x0f0f0f0f, b[pair][j][i]);
			}
		float product[OF_WARP];
#pragma unroll
		for (int j = 0; j < OF_WARP; j++) {	// a lane with digits 0 and 1 ends row g, its neighbour, with 2 and 3, row g + 8
			float of[2];
#pragma unroll
			for (int i = 0; i < 2; i++) {
				int n = c[0][j][2 * i] + (c[0][j][2 * i + 1] << 8);
				if (PAIRS == 2 && set / 2)
					n = c[PAIRS - 1][j][2 * i] + (c[PAIRS - 1][j][2 * i + 1] << 8);
				of[i] = t % 2 ? n * 65536.0f : n;
			}
			product[j] = (t % 2 ? of[1] : of[0]) + __shfl_xor_sync(0xffffffff, t % 2 ? of[0] : of[1], 1);
		}
		if (t / 2 == odd)			// columns of the set that the row belongs to
			*reinterpret_cast<float2 *>(&s.products[at.stage][g + t % 2 * 8][first]) =
				odd ? make_float2(product[1], product[0]) : make_float2(product[0], product[1]);

		__syncwarp();
		if (turn >= ROWS / Q)
			asm volatile("barrier.arrive %0, %1;" ::"r"(2 + at.stage), "n"(CONSUMERS) : "memory");
		else {
			asm volatile("barrier.sync %0, %1;" ::"r"(2 + at.stage), "n"(CONSUMERS) : "memory");
			const float *scales = reinterpret_cast<const float *>(ring + at.stage * STAGE + CODES) + turn * Q * GROUPS + lane;
			float total = 0;
#pragma unroll
			for (int q = 0; q < Q; q++)	// s (sum(q x) - z sum(x))
				total = fmaf(scales[q * GROUPS], fmaf(-scales[SCALES / 4 + q * GROUPS], sum_of_x[q],
								      s.products[at.stage][turn * Q + q][lane] * factor[q]), total);
#pragma unroll
			for (int offset = 16; offset; offset /= 2)
				total += __shfl_xor_sync(0xffffffff, total, offset);
			const int row = tile * (ROWS / Q) + turn;
			if (lane == 0 && row < p.N)
				p.y[row] = total;
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
	p.fixed = INT_MAX;
	const int blocks = min(p.tiles, processors), shared = STAGES * STAGE + Q * GROUPS * (FRAGMENTS + 8);
	if (p.K == Q * WIDTH && p.N * Q % ROWS == 0 && p.tiles >= FIRST<Q> * blocks) {
		if (p.tiles >= 4 * blocks) {
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

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	const problem p = {(const uint8_t *)Wq, scales, zeros, (const float4 *)x, y, N, K, 0, 0, 0};
	if (K <= WIDTH)
		launch<1>(p);
	else if (K <= 2 * WIDTH)
		launch<2>(p);
	else
		launch<4>(p);		// K is at most 16384
}
