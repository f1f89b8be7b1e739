/* What nvcc makes of kernels, by hand: lets a C program launch the kernels of tests/null_device.h through the guest
 * runtime.  Each .c file here is a guest of session_test.c; what goes wrong is printed, so a good one prints nothing. */
#include "sandbox/wire.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void __cudaRegisterFunction(void **, const char *, char *, const char *, int, uint3 *, uint3 *, dim3 *, dim3 *, int *);
extern void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);

static char add, wild, hang, crash, hello, increment, variable[64];

__attribute__((constructor)) static void register_all(void)
{
	__cudaRegisterFunction(0, &add, 0, "add", -1, 0, 0, 0, 0, 0);
	__cudaRegisterFunction(0, &wild, 0, "wild", -1, 0, 0, 0, 0, 0);
	__cudaRegisterFunction(0, &hang, 0, "hang", -1, 0, 0, 0, 0, 0);
	__cudaRegisterFunction(0, &crash, 0, "crash", -1, 0, 0, 0, 0, 0);
	__cudaRegisterFunction(0, &hello, 0, "hello", -1, 0, 0, 0, 0, 0);
	__cudaRegisterFunction(0, &increment, 0, "increment", -1, 0, 0, 0, 0, 0);
	__cudaRegisterVar(0, variable, 0, "variable", 0, 64, 0, 0);
}

static inline cudaError_t launch(const void *kernel, void **args)
{
	return cudaLaunchKernel(kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, args, 0, 0);
}

static inline void expect(int line, long long got, long long want)
{
	if (got != want) {
		printf("line %d: %lld, expected %lld\n", line, got, want);
		exit(1);
	}
}
#define EXPECT(got, want) expect(__LINE__, (long long)(got), (long long)(want))
