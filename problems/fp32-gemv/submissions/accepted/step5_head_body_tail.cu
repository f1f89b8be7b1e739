// Step 5: head, body, tail: float4 for every row.
//
// Against step 4: up to three elements are done apart until the address is a multiple of 16 (head), then whole float4 (body), then the up
// to three that are left (tail). Each row has a head of its own: row n begins at element n K, which is n K mod 4 elements above
// such a multiple.
//
// The trouble is x. A float4 of weights begins at k = head + 4 j, and x there is aligned only if head is 0. Four loads of 4
// bytes each would do, at a stride of 16 bytes between lanes: four wavefronts each where one is enough. So the block lays x out in
// shared memory in four planes by k mod 4. The four numbers that a lane needs lie in four planes, and neighbouring
// lanes find theirs side by side in each: no bank conflict, whatever the head.
//
// Four float4 are under way for each lane, 2 KB a warp.
constexpr int WARPS = 8, AHEAD = 4;

__device__ __forceinline__ float dot4(float4 w, const float *const plane[4], int j, float sum)
{
	sum = fmaf(w.x, plane[0][j], sum);
	sum = fmaf(w.y, plane[1][j], sum);
	sum = fmaf(w.z, plane[2][j], sum);
	return fmaf(w.w, plane[3][j], sum);
}

__global__ void __launch_bounds__(32 * WARPS)
gemv(const float *__restrict__ W, const float *__restrict__ x, float *__restrict__ y, int N, int K)
{
	extern __shared__ float xs[];			// four planes: x[k] is xs[k % 4 * pitch + k / 4]
	const int pitch = (K + 3) / 4;
	for (int k = threadIdx.x; k < K; k += 32 * WARPS)
		xs[k % 4 * pitch + k / 4] = x[k];
	__syncthreads();

	const int lane = threadIdx.x % 32, row = blockIdx.x * WARPS + threadIdx.x / 32;
	if (row >= N)
		return;
	const size_t start = (size_t)row * K;
	const int head = min((int)(-start % 4), K), body = (K - head) / 4, tail = head + 4 * body;
	const float4 *w = reinterpret_cast<const float4 *>(W + start + head);
	const float *plane[4];				// of elements head, head + 1, head + 2, head + 3
	for (int i = 0; i < 4; i++)
		plane[i] = xs + (head + i) % 4 * pitch + (head + i) / 4;

	float sum = 0;
	if (lane < head)
		sum = W[start + lane] * x[lane];
	if (lane < K - tail)
		sum = fmaf(W[start + tail + lane], x[tail + lane], sum);
	int j = lane;
	for (; j + 32 * (AHEAD - 1) < body; j += 32 * AHEAD) {
		float4 a[AHEAD];
#pragma unroll
		for (int i = 0; i < AHEAD; i++)
			a[i] = __ldcs(w + j + 32 * i);
#pragma unroll
		for (int i = 0; i < AHEAD; i++)
			sum = dot4(a[i], plane, j + 32 * i, sum);
	}
	for (; j < body; j += 32)
		sum = dot4(w[j], plane, j, sum);
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	const int shared = (K + 3) / 4 * 4 * (int)sizeof(float);
	cudaFuncSetAttribute(gemv, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
	gemv<<<(N + WARPS - 1) / WARPS, 32 * WARPS, shared>>>(W, x, y, N, K);
}
