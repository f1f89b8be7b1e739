// The head up to a multiple of 16 bytes is done apart, but then x is read from its start.
// expect: WA
__global__ void gemv(const float *W, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const float *w = W + (size_t)row * K;

	int head = min((int)(-((size_t)row * K) % 4), K), body = (K - head) / 4;
	float sum = lane < head ? w[lane] * x[lane] : 0;
	for (int c = lane; c < body; c += 32) {
		const float4 a = reinterpret_cast<const float4 *>(w + head)[c];
		sum += a.x * x[4 * c] + a.y * x[4 * c + 1] + a.z * x[4 * c + 2] + a.w * x[4 * c + 3];
	}
	int k = head + 4 * body + lane;
	if (k < K)
		sum += w[k] * x[k];
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128>>>(W, x, y, N, K);
}
