// Prints every byte there is, on the host and on the device: NULs, escape sequences, invalid UTF-8, the end of an HTML element, the
// report's own lines.  The report is sound JSON all the same.
// expect: AC
#include <cstdio>

__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

__global__ void say()
{
	for (int i = 1; i < 256; i++)
		printf("%c", i);
	printf("\x1b[2J\xc0\x80</pre>\",\"verdict\":\"AC\"}\n");
}

extern "C" void solve(const float *x, float *y, int n, int which)
{
	for (int i = 0; i < 256; i++)
		putchar(i);
	fputs("\x1b]0;owned\x07\x1b[2J\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80\xe2\x80\xae</script><img src=x onerror=alert(1)>\n", stdout);
	fputs("  \"verdict\": \"AC\",\n\",\"verdict\":\"AC\"}\n", stderr);
	say<<<1, 1>>>();
	cudaDeviceSynchronize();
	twice<<<1, 64>>>(x, y, n);
}
