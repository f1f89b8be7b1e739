// Step 5: blocks share K as well, loads run ahead, and a mask makes a float.
//
// Against step 4:
// - As many blocks as run at once, two a multiprocessor, whatever N is: blocks with the same columns share K. Their sums meet in the workspace, and
//   the block that comes last (a counter says which) adds them up, in a fixed order: one launch, the same bits each time.
// - A lane loads two words at a time, and the next 32 rows are on their way while these are computed.
// - (word & 0xf0), read as a float, is subnormal: 16 q 2^-149, exactly, and FFMA takes it at full speed. Each nibble has a
//   column and a sum of its own, so its power of two waits until the end of the group; x carries 2^100, so that products are normal.
// - Scale and zero point leave the sum: s (sum(q x) - z sum(x)), once a group.
// - 32 lanes fetch x for 32 rows in one load, and hand it round by shuffles: no shared memory, no barrier before the loop.
//
// Two words at a time want a row of an even number of words: where it is odd, the same kernel takes them one by one.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int WARPS = 8, LANES = 8, ROWS = 32 / LANES, UNROLL = 8, CHUNK = ROWS * UNROLL;	// lanes along N, rows a load
constexpr int MAX_PARTS = 16, MAX_N = 65536;

__device__ unsigned arrivals[MAX_N / (8 * LANES)];	// of each strip of columns; back at 0 after each launch

template <int V> struct words { uint32_t at[V]; };

template <int V> __device__ __forceinline__ words<V> load(const int32_t *from)
{
	words<V> w;
	if constexpr (V == 2) {
		const int2 both = __ldcs(reinterpret_cast<const int2 *>(from));
		w.at[0] = both.x;
		w.at[1] = both.y;
	} else {
		w.at[0] = __ldcs(from);
	}
	return w;
}

__device__ __forceinline__ float2 halves(uint32_t bits)
{
	return __half22float2(*reinterpret_cast<const __half2 *>(&bits));
}

// Of one word's columns, once a group: part[i] has sum(q x) 2^(100 - 149 + 4 (i % 4)) for nibble i, sx is sum(x).
__device__ __forceinline__ void finish(float part[8], float sx, uint32_t zeros, const __half *scales, float sum[8])
{
	const uint4 four = *reinterpret_cast<const uint4 *>(scales);
	const uint32_t bits[4] = {four.x, four.y, four.z, four.w};
	constexpr float unit[4] = {0x1p49f, 0x1p45f, 0x1p41f, 0x1p37f};
#pragma unroll
	for (int i = 0; i < 4; i++) {
		const float2 s = halves(bits[i]), z = halves((zeros >> 4 * i & 0x000f000f) | 0x64006400);
		sum[2 * i] = fmaf(s.x, fmaf(part[i], unit[i], (1024.0f - z.x) * sx), sum[2 * i]);
		sum[2 * i + 1] = fmaf(s.y, fmaf(part[i + 4], unit[i], (1024.0f - z.y) * sx), sum[2 * i + 1]);
		part[i] = part[i + 4] = 0;
	}
}

template <int V>
__global__ void __launch_bounds__(32 * WARPS, 2)
gemv(const int32_t *__restrict__ qweight, const int32_t *__restrict__ qzeros, const __half *__restrict__ scales,
     const __half *__restrict__ x, __half *__restrict__ y, float *__restrict__ workspace, int N, int K, int G)
{
	constexpr int COLUMNS = 8 * LANES * V;
	__shared__ float meet[WARPS][COLUMNS];
	__shared__ bool last;
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane / LANES, pitch = N / 8;
	const int c = min((blockIdx.x * LANES + lane % LANES) * V, pitch - V);	// past the end: the last words again, never stored
	const int chunks = K / CHUNK, workers = gridDim.y * WARPS, each = (chunks + workers - 1) / workers;
	const int first = (blockIdx.y * WARPS + warp) * each, end = min(first + each, chunks);

	words<V> next[UNROLL] = {};
	float next_x = 0;
	auto fetch = [&](int chunk) {
		next_x = __half2float(x[chunk * CHUNK + lane]) * 0x1p100f;
#pragma unroll
		for (int u = 0; u < UNROLL; u++)
			next[u] = load<V>(qweight + (size_t)(chunk * CHUNK + u * ROWS + row) * pitch + c);
	};

	float sum[V][8] = {}, part[V][8] = {}, sx = 0;
	if (first < end)
		fetch(first);
	for (int chunk = first; chunk < end; chunk++) {
		words<V> now[UNROLL];
#pragma unroll
		for (int u = 0; u < UNROLL; u++)
			now[u] = next[u];
		const float mine = next_x;
		if (chunk + 1 < end)
			fetch(chunk + 1);
#pragma unroll
		for (int u = 0; u < UNROLL; u++) {
			const float a = __shfl_sync(0xffffffff, mine, u * ROWS + row);
			sx += a;
#pragma unroll
			for (int v = 0; v < V; v++) {
				const uint32_t low = now[u].at[v], high = low >> 16;
#pragma unroll
				for (int i = 0; i < 4; i++) {
					part[v][i] = fmaf(__uint_as_float(low & 15 << 4 * i), a, part[v][i]);
					part[v][i + 4] = fmaf(__uint_as_float(high & 15 << 4 * i), a, part[v][i + 4]);
				}
			}
		}
		const int g = chunk * CHUNK / G;
		if (chunk + 1 == end || (chunk + 1) * CHUNK % G == 0) {		// the group ends, or our part of it
#pragma unroll
			for (int v = 0; v < V; v++)
				finish(part[v], sx * 0x1p-100f, qzeros[(size_t)g * pitch + c + v], scales + (size_t)g * N + 8 * (c + v), sum[v]);
			sx = 0;
		}
	}

#pragma unroll
	for (int v = 0; v < V; v++)
#pragma unroll
		for (int i = 0; i < 8; i++) {
			for (int offset = LANES; offset < 32; offset *= 2)
				sum[v][i] += __shfl_xor_sync(0xffffffff, sum[v][i], offset);
			if (row == 0)
				meet[warp][(lane * V + v) * 8 + i] = sum[v][i];
		}
	__syncthreads();
	const int n = blockIdx.x * COLUMNS + threadIdx.x;
	const bool mine = threadIdx.x < COLUMNS && n < N;
	float total = 0;
	if (mine)
		for (int w = 0; w < WARPS; w++)
			total += meet[w][threadIdx.x];
	if (gridDim.y == 1) {
		if (mine)
			y[n] = __float2half(total);
		return;
	}
	if (mine)
		workspace[(size_t)blockIdx.y * N + n] = total;
	__threadfence();				// what we stored is seen by whoever sees us counted
	__syncthreads();
	if (threadIdx.x == 0)
		last = atomicInc(&arrivals[blockIdx.x], gridDim.y - 1) == gridDim.y - 1;
	__syncthreads();
	if (!last)
		return;
	__threadfence();
	if (mine) {
		total = 0;
		for (int p = 0; p < gridDim.y; p++)
			total += __ldcg(workspace + (size_t)p * N + n);
		y[n] = __float2half(total);
	}
}

template <int V>
void launch(const int32_t *qweight, const int32_t *qzeros, const __half *scales, const __half *x, __half *y, void *workspace,
	    int N, int K, int G)
{
	int device, processors;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	const int strips = (N + 8 * LANES * V - 1) / (8 * LANES * V), most = (K / CHUNK + WARPS - 1) / WARPS;
	int parts = 2 * processors / strips;		// all at once: one block too many would be a second wave
	parts = parts < most ? parts : most;
	parts = parts < MAX_PARTS ? parts : MAX_PARTS;
	parts = parts > 1 ? parts : 1;
	gemv<V><<<dim3(strips, parts), 32 * WARPS>>>(qweight, qzeros, scales, x, y, static_cast<float *>(workspace), N, K, G);
}

extern "C" void solve(const int32_t *qweight, const int32_t *qzeros, const __half *scales, const __half *x, __half *y,
		      void *workspace, int N, int K, int G)
{
	if (N % 16 == 0)
		launch<2>(qweight, qzeros, scales, x, y, workspace, N, K, G);
	else
		launch<1>(qweight, qzeros, scales, x, y, workspace, N, K, G);
}
