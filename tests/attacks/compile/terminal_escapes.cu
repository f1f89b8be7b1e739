// Escape sequences in what the compiler says: a report shows none (the title of the terminal, its colours, its answer-back).
// expect: CE
#error ]0;owned [2J [31m 31m Â31m â®
int [5n;
__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}
extern "C" void solve(const float *x, float *y, int n, int which)
{
	twice<<<1, 64>>>(x, y, n);
}
