// Output: what the limit lets through, and a byte more; streams closed, impossible lengths.
// try 2: AC
// try 3: OLE more than 64 KiB
// try 4: AC
// try 5: OLE more than 64 KiB
// try 6: AC
// try 7: OLE
// try 8: OLE
// try 9: OLE
// try 10: AC
// try 11: AC
// try 12: AC
#include <sys/uio.h>
#include <unistd.h>

__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

static char text[1 << 20];
static void print(int fd, size_t n)
{
	for (ssize_t done; n > 0 && (done = write(fd, text, n)) > 0; n -= (size_t)done)
		;
}

extern "C" void solve(const float *x, float *y, int n, int which)
{
	switch (which) {
	case 2:
		print(1, 65536);
		break;
	case 3:
		print(1, 65537);
		break;
	case 4:
		print(2, 65536);
		break;
	case 5:
		print(2, 65537);
		break;
	case 6: {
		print(1, 65536);
		print(2, 65536);
		break;
	}
	case 7: {
		for (;;)
			print(1, 1 << 20);
		break;
	}
	case 8: {
		for (;;)
			print(2, 1 << 20);
		break;
	}
	case 9: {
		for (;;)
			write(1, "", 1);
		break;
	}
	case 10: {
		close(0);
		close(1);
		close(2);
		print(1, 10);
		break;
	}
	case 11: {
		write(1, (void *)8, 1 << 20);
		writev(1, (iovec *)8, 1024);
		break;
	}
	case 12: {
		iovec many[1024];
		for (iovec &v : many)
			v = {(void *)"0123456789abcdef0123456789abcdef", 32};
		writev(1, many, 1024);
		break;
	}
	}
	twice<<<1, 64>>>(x, y, n);
}
