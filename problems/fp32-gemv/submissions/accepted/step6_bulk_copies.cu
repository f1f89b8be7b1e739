// Step 6: the copy engine doesn't care where rows begin.
//
// Against step 5: in memory, W is one long run of numbers; rows are what we see in it. Each warp has a ring of four stages of 2 KB
// in shared memory, and lane 0 orders the pieces of its rows by cp.async.bulk, which wants addresses and sizes in whole 16
// bytes. A row is ordered from the multiple of 16 at or below its start to the one at or above its end, so up to three
// floats at each end are a neighbour's. x has zeros before and after it in shared memory: what is a neighbour's is
// multiplied by 0. No head, no tail, no unaligned address: once the weights are in shared memory, lanes read them as floats
// side by side, at full speed wherever the row began. Only the last floats of all of W, where no whole 16 bytes are left, are
// loaded by hand: a copy past the end of W would read what isn't ours.
//
// (0 times a neighbour is 0 because weights are finite. With infinities or NaN among them it would not be.)
//
// 16 warps x 8 KB = 128 KB are under way on a multiprocessor, without a register for them. The first copies are ordered before x
// is staged, and the next row's while this one is added up: a warp's pieces know no rows.
#include <cstdint>

constexpr int WARPS = 8, BLOCKS = 2, STAGES = 4, PIECE = 512;	// floats of a copy
constexpr int PAD = 4;					// zeros before and after x, for the neighbours' floats

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

// The pieces of a warp's rows, one after the other. Positions count floats from the start of W.
struct walk {
	int row, step, N, K;
	size_t at, end;				// what is left of the row, in whole 16 bytes

	__device__ walk(int row, int step, int N, int K) : row(row), step(step), N(N), K(K) { enter(); }
	__device__ void enter()
	{
		const size_t start = (size_t)row * K, all = (size_t)N * K;
		at = start / 4 * 4;
		end = min((start + K + 3) / 4, all / 4) * 4;	// never past the end of W
	}
	__device__ bool more() const { return row < N; }
	__device__ int size() const { return at < end ? (int)min(end - at, (size_t)PIECE) : 0; }
	__device__ bool last() const { return at + PIECE >= end; }	// of its row
	__device__ void next()
	{
		if (!last()) {
			at += PIECE;
			return;
		}
		row += step;
		enter();
	}
};

__device__ void order(const float *W, float *to, uint64_t *full, const walk &piece)
{
	const uint32_t bytes = piece.size() * sizeof(float);
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(full)), "r"(bytes) : "memory");
	if (bytes)
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
			     ::"r"(shared_address(to)), "l"(W + piece.at), "r"(bytes), "r"(shared_address(full)) : "memory");
}

__global__ void __launch_bounds__(32 * WARPS, BLOCKS)
gemv(const float *__restrict__ W, const float *__restrict__ x, float *__restrict__ y, int N, int K)
{
	extern __shared__ __align__(128) float rings[];		// [WARPS][STAGES][PIECE], then x
	__shared__ uint64_t barriers[WARPS][STAGES];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, step = gridDim.x * WARPS;
	float *ring = rings + warp * STAGES * PIECE, *xs = rings + WARPS * STAGES * PIECE;
	uint64_t *full = barriers[warp];

	if (lane == 0) {
		for (int s = 0; s < STAGES; s++)
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(full + s)) : "memory");
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
	}
	__syncwarp();
	walk piece(blockIdx.x * WARPS + warp, step, N, K), ahead = piece;
	for (int s = 0; s < STAGES && ahead.more(); s++, ahead.next())
		if (lane == 0)
			order(W, ring + s * PIECE, full + s, ahead);
	for (int k = (int)threadIdx.x - PAD; k < K + PAD; k += 32 * WARPS)
		xs[PAD + k] = (unsigned)k < (unsigned)K ? x[k] : 0.0f;
	__syncthreads();

	float sum = 0;
	for (int s = 0, round = 0; piece.more(); piece.next()) {
		const int offset = (int)((long long)piece.at - (long long)piece.row * K), size = piece.size();
		float *from = ring + s * PIECE;
		const float *with = xs + PAD + offset;
		wait(full + s, round % 2);
		if (size == PIECE) {
#pragma unroll
			for (int i = 0; i < PIECE; i += 32)
				sum = fmaf(from[lane + i], with[lane + i], sum);
		} else {
#pragma unroll 4
			for (int i = lane; i < size; i += 32)
				sum = fmaf(from[i], with[i], sum);
		}
		__syncwarp();				// all lanes have read
		if (ahead.more()) {
			if (lane == 0)
				order(W, from, full + s, ahead);
			ahead.next();
		}
		if (++s == STAGES) {
			s = 0;
			round++;
		}
		if (!piece.last())
			continue;
		const size_t start = (size_t)piece.row * K, rest = max(piece.end, start) + lane;
		if (rest < start + K)			// at the end of W: what no whole 16 bytes hold
			sum = fmaf(W[rest], x[rest - start], sum);
		for (int half = 16; half; half /= 2)
			sum += __shfl_down_sync(0xffffffff, sum, half);
		if (lane == 0)
			y[piece.row] = sum;
		sum = 0;
	}
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	int device, processors;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	const int shared = (WARPS * STAGES * PIECE + PAD + K + PAD) * (int)sizeof(float);
	const int blocks = (N + WARPS - 1) / WARPS, most = (shared < 112 << 10 ? BLOCKS : 1) * processors;
	cudaFuncSetAttribute(gemv, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
	gemv<<<blocks < most ? blocks : most, 32 * WARPS, shared>>>(W, x, y, N, K);
}
