// Kernels that crash, exhaust something, or are too many.
// try 2: RE
// try 3: RE
// try 4: IMA
// try 5: IMA
// try 6: IMA
// try 7: AC
// try 8: AC
// try 9: RE
// try 10: AC
// try 11: AC
// try 12: AC
// try 13: AC
// try 14: AC
// try 15: AC
// try 16: AC
// try 17: AC
// try 18: AC
// try 19: IMA
// try 20: IMA
// try 21: IMA
// try 22: AC
// try 23: IMA
// try 24: AC
// try 25: RE
// try 26: RE
// try 27: IMA
// try 28: IMA
// try 29: UB
// try 30: IM
// try 31: UB
#include <cstdio>

__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

extern "C" void **__cudaRegisterFatBinary(void *);
extern "C" void __cudaRegisterFatBinaryEnd(void **);
extern "C" __device__ void __assertfail(const char *, const char *, unsigned, const char *, size_t);

__global__ void nothing() { }
__global__ void trap() { asm volatile("trap;"); }
__global__ void asserts() { __assertfail("\x1b[2J%s%n", "/etc/passwd", 1, "f", 1); }
__global__ void wild(float *p) { p[threadIdx.x] = 1; }
__global__ void heap(float *y)
{
	for (int i = 0; i < 2000; i++)
		if (!malloc(1 << 20))
			return;
}
__global__ void many_mallocs()
{
	for (int i = 0; i < 4; i++)
		malloc(1);
}
__device__ __noinline__ float recurse(float *y, int n)
{
	volatile float room[64];
	room[n & 63] = n;
	return n ? recurse(y, n - 1) + room[n & 31] : 0;
}
__global__ void deep(float *y, int n) { y[0] = recurse(y, n); }
__device__ void raw(const char *format, void *args)
{
	asm volatile("{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %0; st.param.b64 [a], %1; "
		     "call.uni (r), vprintf, (f, a); }" :: "l"(format), "l"(args));
}
/* Formats that a C library would obey, pointers that it would follow. */
__global__ void prints(int which)
{
	unsigned long args[4] = {0x1234567812345678, 8, 0, 0};
	switch (which) {
	case 1: printf("%n %999999999d %.999999999f %*d", args, 1, 1.0, 2000000000, 1); break;
	case 2: printf("%hhn%ln%lln%s%", args, args, args, "x"); break;
	case 3: printf("%s", (const char *)0x1234567812345678); break;
	case 4: raw("%s %d %f", (void *)8); break;
	case 5: raw((const char *)0x1234567812345678, args); break;
	case 6: printf("%s %s %s\n", "flood", "flood", "flood"); break;
	}
}
__global__ void says() { __assertfail((const char *)8, (const char *)0x1234567812345678, 1, (const char *)-1, 1); }
__global__ void call_through(void (*f)()) { f(); }
__global__ void shared_wild(int at)
{
	__shared__ int room[32];
	((volatile int *)room)[at] = 1;
}
__global__ void local_wild(int at, float *y)
{
	volatile float room[32];
	room[at] = 1;
	y[0] = room[at - 1];
}
__global__ void atomics(int *p) { atomicAdd(p, 1); }

extern "C" void solve(const float *x, float *y, int n, int which)
{
	switch (which) {
	case 2:
		trap<<<1, 32>>>();
		break;
	case 3:
		asserts<<<1, 32>>>();
		break;
	case 4:
		wild<<<1, 32>>>((float *)8);
		break;
	case 5:
		wild<<<1, 32>>>((float *)-256);
		break;
	case 6:
		wild<<<1, 32>>>(y + (1l << 40));
		break;
	case 7:
		heap<<<1, 32>>>(y);		/* malloc() on the device until it gives none */
		break;
	case 8:
		many_mallocs<<<4, 128>>>();
		break;
	case 9:
		deep<<<1, 32>>>(y, 1 << 30);		/* recursion */
		break;
	case 10:
		twice<<<0, 64>>>(x, y, n);
		break;
	case 11:
		twice<<<1, 0>>>(x, y, n);
		break;
	case 12:
		twice<<<1, 1025>>>(x, y, n);
		break;
	case 13:
		twice<<<dim3(1, 65536), 64>>>(x, y, n);
		break;
	case 14:
		twice<<<1, 64, 1 << 30>>>(x, y, n);
		break;
	case 15:
		twice<<<1, 64, (size_t)-1>>>(x, y, n);
		break;
	case 16: {
		cudaDeviceSetLimit(cudaLimitMallocHeapSize, (size_t)1 << 62);
		cudaDeviceSetLimit(cudaLimitStackSize, (size_t)1 << 40);
		cudaDeviceSetLimit(cudaLimitPrintfFifoSize, (size_t)1 << 62);
		prints<<<1, 32>>>(0);
		break;
	}
	case 17:
		prints<<<1, 1>>>(1);
		break;
	case 18:
		prints<<<1, 1>>>(2);
		break;
	case 19:
		prints<<<1, 1>>>(3);
		break;
	case 20:
		prints<<<1, 1>>>(4);
		break;
	case 21:
		prints<<<1, 1>>>(5);
		break;
	case 22:
		prints<<<64, 1024>>>(6);
		break;
	case 23:
		says<<<1, 1>>>();
		break;
	case 24: {
		static unsigned junk[1024] = {0xba55ed50, 0x100001, 0xffffffff, 0xffffffff};	/* images of no kind */
		void *data[] = {(void *)0x466243b1, junk, NULL};
		void **handle = __cudaRegisterFatBinary(data);
		__cudaRegisterFatBinary(NULL);
		__cudaRegisterFatBinary((void *)8);
		__cudaRegisterFatBinaryEnd(handle);
		break;
	}
	case 25:
		call_through<<<1, 1>>>((void (*)())y);
		break;
	case 26:
		call_through<<<1, 1>>>((void (*)())0x1234567812345678);
		break;
	case 27:
		shared_wild<<<1, 1>>>(1 << 20);
		break;
	case 28:
		local_wild<<<1, 1>>>(1 << 30, y);
		break;
	case 29:
		twice<<<1, 64>>>((const float *)1, (float *)3, n);
		break;
	case 30:
		atomics<<<1, 32>>>((int *)x);
		break;
	case 31:
		atomics<<<1, 32>>>((int *)((char *)y + 2));
		break;
	}
	twice<<<1, 64>>>(x, y, n);
}
