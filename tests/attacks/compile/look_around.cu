// Looks for the files of the problem, of the judge and of other submissions, where they are or might be: /usr holds the system's
// headers and libraries alone.
// expect: CE
// says: there is nothing
#define HAS(f) __has_include(f)
#if HAS("oracle.c") || HAS("../oracle.c") || HAS("problem.json") || HAS("/usr/lib/judge/libguest.a") || \
	HAS("/usr/local/share/judge/problems/int4-gemv/oracle.c") || HAS("/usr/share/judge/problems/int4-gemv/oracle.c") || \
	HAS("/root/.cache/judge") || HAS("/var/lib/judge/times") || HAS("/etc/shadow") || HAS("/home") || HAS("/root") || HAS("/sys") || \
	HAS("/etc/hostname") || HAS("/var/log/syslog") || HAS("/boot/grub/grub.cfg")
int found;
#else
#error there is nothing
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
