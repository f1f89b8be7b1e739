// Reads from devices and descriptors, which would never end, or hold what is not the source's.
// expect: CE
// says: there is no device
#define HAS(f) __has_include(f)
#if HAS("/dev/zero") || HAS("/dev/urandom") || HAS("/dev/stdin") || HAS("/dev/fd/3") || HAS("/dev/tty") || HAS("/dev/kmsg") || \
	HAS("/proc/self/fd/3") || HAS("/proc/self/environ") || HAS("/proc/1/root/etc/passwd") || HAS("/proc/self/root/etc/passwd") || \
	HAS("/sys/kernel/notes") || HAS("/dev/shm") || HAS("/dev/nvidia0")
int found;
#else
#error there is no device
#endif
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
