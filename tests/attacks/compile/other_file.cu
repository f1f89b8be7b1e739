// Claims by #line to be a file of the machine, at a line there: no report reads it.
// expect: IMA
__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}
#line 1 "/etc/passwd"
__global__ void wild(float *y) { y[1 << 20] = 1; }
extern "C" void solve(const float *x, float *y, int n, int which)
{
	wild<<<1, 1>>>(y);
	twice<<<1, 64>>>(x, y, n);
}
#line 4294967295 "\x1b[2J"
int last;
