// x is padded with zeros, so that a row may be read in whole float4; the last one runs past the end of W.
// expect: IMA
__global__ void gemv(const float *W, const float *x, float *y, int N, int K)
{
	__shared__ float xs[16384 / 2];
	if (K > 16384 / 2 - 8)
		return;
	for (int k = threadIdx.x; k < K + 8; k += blockDim.x)
		xs[k] = k >= 4 && k < K + 4 ? x[k - 4] : 0;
	__syncthreads();
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const float *w = W + (size_t)row * K;

	const float4 *from = reinterpret_cast<const float4 *>(W) + (size_t)row * K / 4;
	int before = (int)((size_t)row * K % 4), whole = (before + K + 3) / 4;
	float sum = 0;
	for (int c = lane; c < whole; c += 32) {
		const float4 a = from[c];
		const float *b = xs + 4 + 4 * c - before;
		sum += a.x * b[0] + a.y * b[1] + a.z * b[2] + a.w * b[3];
	}
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128>>>(W, x, y, N, K);
}
