/* Make golden data: run every form of forms.txt on a real GPU through the driver API and write what it gave.
 *
 * usage: golden_gpu FORMS OUT      (build with `make build/golden_gpu`; libcuda.so.1 is opened at run time)
 *
 * OUT: "JGOLD 1 DEVICE driver VERSION\n", then for each form its hash (u64), a status byte (0: ran), the number of
 * destinations (u8), the kind letter of each, and for each FORM_THREADS values at their own width (p 1, h 2, r 4, l 8).
 */
#include "forms.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
static CUresult (*cuInit)(unsigned), (*cuDeviceGet)(int *, int), (*cuDeviceGetName)(char *, int, int), (*cuDriverGetVersion)(int *),
	(*cuDevicePrimaryCtxRetain)(void **, int), (*cuCtxSetCurrent)(void *), (*cuModuleLoadData)(void **, const void *),
	(*cuModuleGetFunction)(void **, void *, const char *), (*cuModuleUnload)(void *), (*cuMemAlloc_v2)(uint64_t *, size_t),
	(*cuMemcpyHtoD_v2)(uint64_t, const void *, size_t), (*cuMemcpyDtoH_v2)(void *, uint64_t, size_t), (*cuCtxSynchronize)(void),
	(*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

static void load_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib) {
		fprintf(stderr, "golden_gpu: %s\n", dlerror());
		exit(1);
	}
#define LOAD(f) if (!(*(void **)&f = dlsym(lib, #f))) { fprintf(stderr, "golden_gpu: no %s in libcuda\n", #f); exit(1); }
	LOAD(cuInit) LOAD(cuDeviceGet) LOAD(cuDeviceGetName) LOAD(cuDriverGetVersion) LOAD(cuDevicePrimaryCtxRetain)
	LOAD(cuCtxSetCurrent) LOAD(cuModuleLoadData) LOAD(cuModuleGetFunction) LOAD(cuModuleUnload) LOAD(cuMemAlloc_v2)
	LOAD(cuMemcpyHtoD_v2) LOAD(cuMemcpyDtoH_v2) LOAD(cuCtxSynchronize) LOAD(cuLaunchKernel)
}

static void must(CUresult r, const char *what)
{
	if (r) {
		fprintf(stderr, "golden_gpu: %s: error %d\n", what, r);
		exit(1);
	}
}

static int width(char kind)
{
	return kind == 'p' ? 1 : kind == 'h' ? 2 : kind == 'r' ? 4 : 8;
}

static int run_form(const struct form *f, uint64_t in, uint64_t out, uint64_t *result, struct arena *a)
{
	void *module, *kernel, *args[] = {&in, &out};
	if (cuModuleLoadData(&module, form_ptx(f, a)))
		return 1;
	must(cuModuleGetFunction(&kernel, module, "form"), "cuModuleGetFunction");
	must(cuMemcpyHtoD_v2(in, form_inputs(f, a), (size_t)f->n_in * FORM_THREADS * 8 + 8), "copy in");
	must(cuLaunchKernel(kernel, 1, 1, 1, FORM_THREADS, 1, 1, 0, NULL, args, NULL), f->line);
	must(cuCtxSynchronize(), f->line);
	must(cuMemcpyDtoH_v2(result, out, (size_t)f->n_out * FORM_THREADS * 8), "copy out");
	must(cuModuleUnload(module), "unload");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: golden_gpu FORMS OUT\n");
		return 2;
	}
	struct arena *a = arena_new();
	struct form *forms;
	size_t n;
	struct err e;
	if (forms_read(argv[1], a, &forms, &n, &e) < 0) {
		fprintf(stderr, "golden_gpu: %s\n", e.text);
		return 1;
	}
	FILE *o = fopen(argv[2], "wb");
	if (!o) {
		perror(argv[2]);
		return 1;
	}
	load_driver();
	int device, driver;
	void *context;
	char name[100];
	must(cuInit(0), "cuInit");
	must(cuDeviceGet(&device, 0), "cuDeviceGet");
	must(cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName");
	must(cuDriverGetVersion(&driver), "cuDriverGetVersion");
	must(cuDevicePrimaryCtxRetain(&context, device), "context");
	must(cuCtxSetCurrent(context), "context");
	fprintf(o, "JGOLD 1 %s driver %d\n", name, driver);
	uint64_t in, out, *result = malloc(8 * FORM_THREADS * 8);
	must(cuMemAlloc_v2(&in, (FORM_MAX_OPERANDS * FORM_THREADS + 1) * 8), "allocate");
	must(cuMemAlloc_v2(&out, 8 * FORM_THREADS * 8), "allocate");
	size_t refused = 0;
	for (size_t i = 0; i < n; i++) {
		struct arena *t = arena_new();
		int status = run_form(&forms[i], in, out, result, t);
		refused += status != 0;
		if (status)
			fprintf(stderr, "refused: %s\n", forms[i].line);
		fwrite(&forms[i].hash, 8, 1, o);
		fputc(status, o);
		fputc((int)forms[i].n_out, o);
		for (unsigned d = 0; d < forms[i].n_out; d++)
			fputc(forms[i].out[d].kind, o);
		for (unsigned d = 0; d < forms[i].n_out; d++)
			for (unsigned k = 0; k < FORM_THREADS; k++)
				fwrite(&result[d * FORM_THREADS + k], (size_t)width(forms[i].out[d].kind), 1, o);
		arena_free(t);
	}
	free(result);
	arena_free(a);
	printf("%zu forms, %zu refused, on %s, driver %d\n", n, refused, name, driver);
	return fclose(o) != 0;
}
