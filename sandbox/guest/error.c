/* cudaGetErrorName and its kind. */
#include "guest.h"

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
#define CUDA_ERROR(code, name, text) {code, #name, text},
#include "../cuda_errors.def"
#undef CUDA_ERROR
};

static int find(cudaError_t e)
{
	for (int i = 0; i < (int)(sizeof errors / sizeof *errors); i++)
		if (errors[i].code == (int)e)
			return i;
	return -1;
}

const char *cudaGetErrorName(cudaError_t e)
{
	int i = find(e);
	return i < 0 ? "unrecognized error code" : errors[i].name;
}

const char *cudaGetErrorString(cudaError_t e)
{
	int i = find(e);
	return i < 0 ? "unrecognized error code" : errors[i].text;
}

cudaError_t cudaPeekAtLastError(void)
{
	return guest.last;
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t e = guest.last;
	guest.last = cudaSuccess;
	return e;
}
