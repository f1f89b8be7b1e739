// Templates that double at each level: more instances than there is time or memory.
// package: bombed
// expect: CE
template <int level, long path> struct bomb {
	static const int size = bomb<level - 1, 2 * path>::size + bomb<level - 1, 2 * path + 1>::size;
};
template <long path> struct bomb<0, path> {
	static const int size = 1;
};
const int size = bomb<30, 0>::size;
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
