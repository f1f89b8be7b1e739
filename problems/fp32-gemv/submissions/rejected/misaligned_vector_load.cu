// float4 loads whatever K is: where K is no multiple of four, most rows begin between two multiples of 16 bytes.
// expect: UB
__global__ void gemv(const float *W, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const float *w = W + (size_t)row * K;

	float sum = 0;
	for (int c = lane; c < K / 4; c += 32) {
		const float4 a = reinterpret_cast<const float4 *>(w)[c], b = reinterpret_cast<const float4 *>(x)[c];
		sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
	}
	for (int k = K / 4 * 4 + lane; k < K; k += 32)
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
