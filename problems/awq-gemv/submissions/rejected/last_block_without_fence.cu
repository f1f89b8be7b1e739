// Blocks are counted, but no fence stands between a block's sums and its being counted: the last one may not see them yet.
// expect: UB
#include <cstdint>
#include <cuda_fp16.h>

constexpr int WARPS = 8, LANES = 8, CHUNK = 32;		// lanes along N; a chunk is two steps of 16 k
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

__device__ __forceinline__ void multiply(float c[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// The eight columns of a word at four k, times x at these (b0, b1 of each of the four instructions).
__device__ __forceinline__ void dot(uint32_t k0, uint32_t k1, uint32_t k2, uint32_t k3, const uint32_t b0[4], const uint32_t b1[4],
				    float c[4])
{
	const uint32_t even01 = __byte_perm(k0, k1, 0x5410), odd01 = __byte_perm(k0, k1, 0x7632);
	const uint32_t even23 = __byte_perm(k2, k3, 0x5410), odd23 = __byte_perm(k2, k3, 0x7632);
#pragma unroll
	for (int p = 0; p < 4; p++) {
		const int shift = p / 2 * 8;
		const uint32_t mask = p % 2 ? 0x00f000f0 : 0x000f000f;
		multiply(c, even01 >> shift & mask, odd01 >> shift & mask, even23 >> shift & mask, odd23 >> shift & mask, b0[p], b1[p]);
	}
}

template <int V>
__global__ void __launch_bounds__(32 * WARPS, 2)
gemv(const int32_t *__restrict__ qweight, const int32_t *__restrict__ qzeros, const __half *__restrict__ scales,
     const __half *__restrict__ x, __half *__restrict__ y, float *__restrict__ workspace, int N, int K, int G)
{
	constexpr int COLUMNS = 8 * LANES * V;
	__shared__ float2 meet[WARPS][V * 32];		// of word g * V + v: columns 2t, 2t + 1
	__shared__ bool last;
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4, pitch = N / 8;
	const int c = min((blockIdx.x * LANES + g) * V, pitch - V);	// past the end: the last words again, never stored
	const int chunks = K / CHUNK, workers = gridDim.y * WARPS, each = (chunks + workers - 1) / workers;
	const int first = (blockIdx.y * WARPS + warp) * each, end = min(first + each, chunks);
	const float unit = t % 2 ? 0x1p20f : 0x1p24f;	// columns of odd p have come as 16 q

	words<V> next[8] = {};
	uint4 next_x = {};
	auto fetch = [&](int chunk) {			// rows 8t ... 8t + 7 of the chunk
		next_x = *reinterpret_cast<const uint4 *>(x + chunk * CHUNK + 8 * t);
#pragma unroll
		for (int i = 0; i < 8; i++)
			next[i] = load<V>(qweight + (size_t)(chunk * CHUNK + 8 * t + i) * pitch + c);
	};

	float2 sum[V] = {};
	float part[V][4] = {}, sx[4] = {};
	if (first < end)
		fetch(first);
	for (int chunk = first; chunk < end; chunk++) {
		words<V> now[8];
#pragma unroll
		for (int i = 0; i < 8; i++)
			now[i] = next[i];
		const uint32_t mine[4] = {next_x.x, next_x.y, next_x.z, next_x.w};
		if (chunk + 1 < end)
			fetch(chunk + 1);
#pragma unroll
		for (int step = 0; step < 2; step++) {
			const uint32_t x01 = mine[2 * step], x23 = mine[2 * step + 1], ones = 0x3c003c00;
			uint32_t b0[4], b1[4];
#pragma unroll
			for (int p = 0; p < 4; p++) {
				b0[p] = g == 2 * p ? x01 : 0;
				b1[p] = g == 2 * p ? x23 : 0;
			}
			multiply(sx, ones, ones, ones, ones, x01, x23);
#pragma unroll
			for (int v = 0; v < V; v++)
				dot(now[4 * step].at[v], now[4 * step + 1].at[v], now[4 * step + 2].at[v], now[4 * step + 3].at[v],
				    b0, b1, part[v]);
		}
		const int group = chunk * CHUNK / G;
		if (chunk + 1 == end || (chunk + 1) * CHUNK % G == 0) {		// the group ends, or our part of it
#pragma unroll
			for (int v = 0; v < V; v++) {
				const uint32_t zeros = qzeros[(size_t)group * pitch + c + v];
				const __half2 pair = *reinterpret_cast<const __half2 *>(scales + (size_t)group * N + 8 * (c + v) + 2 * t);
				const float2 s = __half22float2(pair), z = halves((zeros >> 4 * t & 0x000f000f) | 0x64006400);
				sum[v].x = fmaf(s.x, fmaf(part[v][0], unit, (1024.0f - z.x) * sx[0]), sum[v].x);
				sum[v].y = fmaf(s.y, fmaf(part[v][2], unit, (1024.0f - z.y) * sx[0]), sum[v].y);
				part[v][0] = part[v][1] = part[v][2] = part[v][3] = 0;
			}
			sx[0] = sx[1] = sx[2] = sx[3] = 0;
		}
	}

#pragma unroll
	for (int v = 0; v < V; v++)
		meet[warp][(g * V + v) * 4 + t] = sum[v];
	__syncthreads();
	const int n = blockIdx.x * COLUMNS + 2 * threadIdx.x;
	const bool mine = threadIdx.x < COLUMNS / 2 && n < N;
	float2 total = {};
	if (mine)
		for (int w = 0; w < WARPS; w++) {
			total.x += meet[w][threadIdx.x].x;
			total.y += meet[w][threadIdx.x].y;
		}
	if (gridDim.y > 1) {
		float2 *parts = reinterpret_cast<float2 *>(workspace);
		if (mine)
			parts[((size_t)blockIdx.y * N + n) / 2] = total;
		__syncthreads();
		if (threadIdx.x == 0)
			last = atomicInc(&arrivals[blockIdx.x], gridDim.y - 1) == gridDim.y - 1;
		__syncthreads();
		if (!last)
			return;
		total = make_float2(0, 0);
		for (int p = 0; mine && p < gridDim.y; p++) {
			const float2 other = __ldcg(parts + ((size_t)p * N + n) / 2);
			total.x += other.x;
			total.y += other.y;
		}
	}
	if (mine)
		*reinterpret_cast<__half2 *>(y + n) = __float22half2_rn(total);
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
