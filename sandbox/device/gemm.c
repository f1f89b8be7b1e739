/* A GEMM in FP16 by cuBLAS: see gemm.h.
 *
 * Theory of operation.  SETS triples of A, W and C lie in device memory, together larger than L2.  One product of each, in turn,
 * is captured into a graph, with a workspace of ours, since nothing can be allocated while a stream is captured.  A pass is that
 * graph with cold caches (cold.h), as for the tapes of a submission; its time over the number of sets is one measurement.
 * The operands are random: zeros would take less power, and so run at higher clocks.  In the end elements of C are compared
 * with products made here, so that what was timed is the right GEMM.
 */
#include "gemm.h"

#include "../base/cleanup.h"
#include "../base/clock.h"
#include "../base/json_write.h"
#include "cold.h"

#include <dlfcn.h>
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 3, CHECKS = 32, BLOCK = 16 << 20, HALVES = BLOCK / 2, WORKSPACE = 64 << 20 };
static const double SECONDS = 2.5, TOLERANCE = 1.0 / 128;

/* Of library_types.h and cublas_api.h, which a machine with nvcc alone lacks. */
enum { OP_N = 0, OP_T = 1, R_16F = 2, COMPUTE_32F = 68, DEFAULT_ALGORITHM = -1 };

struct cublas {
	void *library;
	int (*cublasCreate_v2)(void **handle);
	int (*cublasSetStream_v2)(void *handle, CUstream stream);
	int (*cublasSetWorkspace_v2)(void *handle, CUdeviceptr memory, size_t size);
	int (*cublasGetProperty)(int which, int *value);
	int (*cublasGemmEx)(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, CUdeviceptr a, int type_a, int lda,
			    CUdeviceptr b, int type_b, int ldb, const float *beta, CUdeviceptr c, int type_c, int ldc, int compute, int algorithm);
};

struct gemm {
	const char *toolkit, *uuid;
	int m, n, k;
	unsigned sets;
	struct driver cu;
	CUdevice id;
	CUcontext context;
	CUstream stream;
	CUevent begin, end;
	CUgraphExec graph;
	CUdeviceptr a[GEMM_SETS_MAX], w[GEMM_SETS_MAX], c[GEMM_SETS_MAX], workspace;
	struct cold cold;
	struct cublas blas;
	void *handle;
	struct nvml *nvml;
	uint16_t *random;		/* HALVES numbers, which all operands are made of */
	/* what comes out */
	double us[GEMM_PASSES];
	unsigned passes;
	uint32_t mhz_least, mhz_most;
	uint64_t throttle;
};

static int cannot(const struct gemm *g, CUresult r, const char *what, struct err *e)
{
	return err_system(e, "%s: %s", what, driver_error(&g->cu, r));
}

/* ---- the library ---- */

static int open_library(const char *path, struct cublas *b, struct err *e)
{
	b->library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!b->library)
		return err_system(e, "%s", dlerror());
#define FIND(name)                                                                       \
	if (!(b->name = (__typeof__(b->name))dlsym(b->library, #name)))                  \
		return err_system(e, "%s has no " #name, path);
	FIND(cublasCreate_v2) FIND(cublasSetStream_v2) FIND(cublasSetWorkspace_v2) FIND(cublasGetProperty) FIND(cublasGemmEx)
#undef FIND
	return 0;
}

/* The first that opens and, with a GPU, also starts: a newer one may want a newer driver. */
static int try_library(struct gemm *g, const char *path, struct err *e)
{
	int status;
	if (open_library(path, &g->blas, e) < 0)
		return -1;
	if (!g->uuid || (status = g->blas.cublasCreate_v2(&g->handle)) == 0)
		return 0;
	return err_system(e, "%s does not start: status %d", path, status);
}

static int find_library(struct gemm *g, struct err *e)
{
	static const char *const versions[] = {"13", "12"}, *const folders[] = {"", "/lib64/", "/lib/"};
	struct err why = {0};
	for (unsigned v = 0; v < sizeof versions / sizeof *versions; v++)
		for (unsigned i = 0; i < (*g->toolkit ? sizeof folders / sizeof *folders : 1); i++) {
			char path[400];
			struct err one = {0};
			snprintf(path, sizeof path, "%.350s%slibcublas.so.%s", i ? g->toolkit : "", folders[i], versions[v]);
			if (try_library(g, path, &one) == 0)
				return 0;
			if (!*why.text || g->blas.library)	/* that one does not start says more than that one is not there */
				why = one;
		}
	return err_system(e, "no cuBLAS that works: %s", why.text);
}

static void version(const struct cublas *b, char *out, size_t size)
{
	int v[3] = {0};
	for (int i = 0; i < 3; i++)
		b->cublasGetProperty(i, &v[i]);
	snprintf(out, size, "%d.%d.%d", v[0], v[1], v[2]);
}

/* ---- the GPU ---- */

static int find_gpu(struct gemm *g, struct err *e)
{
	char uuid[48];
	for (int i = 0; g->cu.cuDeviceGet(&g->id, i) == CUDA_SUCCESS; i++) {
		driver_uuid(&g->cu, g->id, uuid, sizeof uuid);
		if (!strcmp(uuid, g->uuid))
			return 0;
	}
	return err_system(e, "there is no GPU %s", g->uuid);
}

static int open_gpu(struct gemm *g, struct err *e)
{
	char path[256];
	CUresult r;
	if (!device_gpu_find(path, sizeof path))
		return err_system(e, "there is no CUDA driver on this machine (libcuda.so.1)");
	if (driver_open(&g->cu, path, e) < 0)
		return -1;
	if ((r = g->cu.cuInit(0)) != CUDA_SUCCESS)
		return cannot(g, r, "the CUDA driver does not start", e);
	if (find_gpu(g, e) < 0)
		return -1;
	if ((r = g->cu.cuDevicePrimaryCtxRetain(&g->context, g->id)) != CUDA_SUCCESS || (r = g->cu.cuCtxSetCurrent(g->context)) != CUDA_SUCCESS ||
	    (r = g->cu.cuStreamCreate(&g->stream, CU_STREAM_NON_BLOCKING)) != CUDA_SUCCESS ||
	    (r = g->cu.cuEventCreate(&g->begin, CU_EVENT_DEFAULT)) != CUDA_SUCCESS ||
	    (r = g->cu.cuEventCreate(&g->end, CU_EVENT_DEFAULT)) != CUDA_SUCCESS ||
	    (r = cold_make(&g->cold, &g->cu, g->id, g->stream)) != CUDA_SUCCESS)
		return cannot(g, r, "the GPU cannot be opened", e);
	g->nvml = nvml_open(g->uuid);
	return 0;
}

/* ---- operands ---- */

/* Numbers of both signs, 1/16 to 1 in size. */
static void draw(uint16_t *out)
{
	uint64_t x = 0x9e3779b97f4a7c15;
	for (size_t i = 0; i < HALVES; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		unsigned bits = (unsigned)(x >> 40);
		out[i] = (uint16_t)((bits & 0x83ff) | (11 + (bits >> 16 & 3)) << 10);
	}
}

static double half_value(uint16_t h)
{
	int exponent = h >> 10 & 31, mantissa = h & 0x3ff;
	double v = exponent == 31 ? (mantissa ? NAN : INFINITY) : exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
	return h & 0x8000 ? -v : v;
}

/* Where in the random numbers an operand begins. */
static uint64_t phase(unsigned set, bool weights)
{
	return (2 * set + weights) * 77777ull % HALVES;
}

static double operand(const struct gemm *g, unsigned set, bool weights, uint64_t i)
{
	return half_value(g->random[(phase(set, weights) + i) % HALVES]);
}

static CUresult make_operand(struct gemm *g, CUdeviceptr *out, unsigned set, bool weights, uint64_t count)
{
	uint64_t at = phase(set, weights), done = 0;
	CUresult r = g->cu.cuMemAlloc(out, 2 * count);
	while (r == CUDA_SUCCESS && done < count) {
		uint64_t n = HALVES - at < count - done ? HALVES - at : count - done;
		r = g->cu.cuMemcpyHtoDAsync(*out + 2 * done, g->random + at, 2 * n, g->stream);
		done += n;
		at = 0;
	}
	return r;
}

static int make_operands(struct gemm *g, struct err *e)
{
	uint64_t m = (uint64_t)g->m, n = (uint64_t)g->n, k = (uint64_t)g->k;
	CUresult r = g->cu.cuMemAlloc(&g->workspace, WORKSPACE);
	g->random = malloc(BLOCK);
	if (!g->random)
		BUG("out of memory");
	draw(g->random);
	for (unsigned i = 0; i < g->sets && r == CUDA_SUCCESS; i++) {
		r = make_operand(g, &g->a[i], i, false, m * k);
		if (r == CUDA_SUCCESS)
			r = make_operand(g, &g->w[i], i, true, n * k);
		if (r == CUDA_SUCCESS)
			r = g->cu.cuMemAlloc(&g->c[i], 2 * m * n);
		if (r == CUDA_SUCCESS)
			r = g->cu.cuMemsetD16Async(g->c[i], 0x7e00, m * n, g->stream);	/* NaN: never written */
	}
	if (r == CUDA_SUCCESS)
		r = g->cu.cuStreamSynchronize(g->stream);
	return r == CUDA_SUCCESS ? 0 : cannot(g, r, "no memory for the operands", e);
}

/* ---- the product ---- */

/* cuBLAS is column-major: to it W[N, K] is K by N, A[M, K] is K by M, and C[M, N] is N by M. */
static int multiply(struct gemm *g, unsigned set)
{
	const float one = 1, zero = 0;
	return g->blas.cublasGemmEx(g->handle, OP_T, OP_N, g->n, g->m, g->k, &one, g->w[set], R_16F, g->k, g->a[set], R_16F, g->k, &zero,
				    g->c[set], R_16F, g->n, COMPUTE_32F, DEFAULT_ALGORITHM);
}

static int multiply_all(struct gemm *g, struct err *e)
{
	for (unsigned i = 0; i < g->sets; i++) {
		int status = multiply(g, i);
		if (status)
			return err_system(e, "cublasGemmEx: status %d", status);
	}
	return 0;
}

static int capture(struct gemm *g, struct err *e)
{
	CUresult r = g->cu.cuStreamBeginCapture(g->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	if (r != CUDA_SUCCESS)
		return cannot(g, r, "the stream cannot be captured", e);
	int rc = multiply_all(g, e);
	r = cold_graph(&g->cu, g->stream, rc == 0, &g->graph);
	if (rc < 0)
		return -1;
	return r == CUDA_SUCCESS ? 0 : cannot(g, r, "cuBLAS's kernels cannot be made a graph", e);
}

/* The first products load cuBLAS's kernels, which a captured stream would not allow. */
static int make_graph(struct gemm *g, struct err *e)
{
	int status = g->blas.cublasSetStream_v2(g->handle, g->stream);
	if (status == 0)
		status = g->blas.cublasSetWorkspace_v2(g->handle, g->workspace, WORKSPACE);
	if (status)
		return err_system(e, "cuBLAS takes no stream or workspace: status %d", status);
	if (multiply_all(g, e) < 0)
		return -1;
	CUresult r = g->cu.cuStreamSynchronize(g->stream);
	return r == CUDA_SUCCESS ? capture(g, e) : cannot(g, r, "cuBLAS's kernels", e);
}

static int pass(struct gemm *g, double *us, struct err *e)
{
	struct device_clocks clocks;
	float ms = 0;
	CUresult r = cold_time(&g->cold, &g->cu, g->stream, g->begin, g->end, g->graph, &ms);
	if (r != CUDA_SUCCESS)
		return cannot(g, r, "cuBLAS's kernels", e);
	nvml_clocks(g->nvml, &clocks);
	g->throttle |= clocks.throttle;
	if (!g->mhz_least || clocks.sm_mhz < g->mhz_least)
		g->mhz_least = clocks.sm_mhz;
	if (clocks.sm_mhz > g->mhz_most)
		g->mhz_most = clocks.sm_mhz;
	*us = (double)ms * 1e3 / g->sets;
	return 0;
}

static int measure(struct gemm *g, struct err *e)
{
	double one;
	for (unsigned i = 0; i < WARM_UP; i++)
		if (pass(g, &one, e) < 0)
			return -1;
	g->throttle = g->mhz_least = g->mhz_most = 0;
	for (double end = clock_seconds() + SECONDS; g->passes < GEMM_PASSES && (g->passes < GEMM_PASSES_MIN || clock_seconds() < end); g->passes++)
		if (pass(g, &g->us[g->passes], e) < 0)
			return -1;
	return 0;
}

/* ---- the result ---- */

static int check_element(const struct gemm *g, unsigned set, uint64_t m, uint64_t n, double got, struct err *e)
{
	double sum = 0, size = 0;
	for (uint64_t k = 0; k < (uint64_t)g->k; k++) {
		double term = operand(g, set, false, m * (uint64_t)g->k + k) * operand(g, set, true, n * (uint64_t)g->k + k);
		sum += term;
		size += fabs(term);
	}
	if (fabs(got - sum) <= TOLERANCE * (fabs(sum) + size / sqrt(g->k)))
		return 0;
	return err_system(e, "cuBLAS's product is wrong: C[%llu, %llu] is %g and should be %g", (unsigned long long)m, (unsigned long long)n,
			  got, sum);
}

static int check(struct gemm *g, struct err *e)
{
	uint64_t count = (uint64_t)g->m * (uint64_t)g->n, random = 1;
	for (unsigned i = 0; i < CHECKS; i++) {
		uint16_t got = 0;
		random = random * 6364136223846793005u + 1442695040888963407u;
		uint64_t at = i == 0 ? 0 : i == 1 ? count - 1 : (random >> 20) % count;
		unsigned set = i % g->sets;
		CUresult r = g->cu.cuMemcpyDtoHAsync(&got, g->c[set] + 2 * at, sizeof got, g->stream);
		if (r == CUDA_SUCCESS)
			r = g->cu.cuStreamSynchronize(g->stream);
		if (r != CUDA_SUCCESS)
			return cannot(g, r, "cuBLAS's product", e);
		if (check_element(g, set, at / (uint64_t)g->n, at % (uint64_t)g->n, half_value(got), e) < 0)
			return -1;
	}
	return 0;
}

static void print(const struct gemm *g)
{
	CLEANUP_BUF struct buf text = {0};
	struct json_writer w = {.out = &text};
	struct link_map *map = NULL;
	char words[24];
	json_open(&w, NULL, '{');
	version(&g->blas, words, sizeof words);
	json_write_string(&w, "cublas", words);
	json_write_string(&w, "library", dlinfo(g->blas.library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "");
	if (g->uuid) {
		driver_version(&g->cu, g->nvml, words, sizeof words);
		json_write_string(&w, "uuid", g->uuid);
		json_write_string(&w, "driver", words);
		json_open(&w, "sm_mhz", '[');
		json_write_unsigned(&w, NULL, g->mhz_least);
		json_write_unsigned(&w, NULL, g->mhz_most);
		json_close(&w, ']');
		json_write_unsigned(&w, "throttle", g->throttle);
		json_open(&w, "us", '[');
		for (unsigned i = 0; i < g->passes; i++)
			json_write_number(&w, NULL, g->us[i]);
		json_close(&w, ']');
	}
	json_close(&w, '}');
	printf("%s\n", buf_str(&text));
}

/* ---- gemm.h ---- */

static int number(const char *text, long most, int *out)
{
	char *end;
	long v = strtol(text, &end, 10);
	*out = (int)v;
	return *text >= '0' && *text <= '9' && !*end && v >= 1 && v <= most ? 0 : -1;
}

static int read_arguments(struct gemm *g, int argc, char **argv, struct err *e)
{
	int sets = 0;
	if (argc != 3 && argc != 8)
		return err_input(e, "usage: judge __cublas TOOLKIT [GPU M N K SETS]");
	g->toolkit = argv[2];
	if (argc == 3)
		return 0;
	g->uuid = argv[3];
	if (number(argv[4], INT32_MAX, &g->m) < 0 || number(argv[5], INT32_MAX, &g->n) < 0 || number(argv[6], INT32_MAX, &g->k) < 0 ||
	    number(argv[7], GEMM_SETS_MAX, &sets) < 0)
		return err_input(e, "M, N and K are whole numbers from 1 on, SETS is one from 1 to %d", GEMM_SETS_MAX);
	g->sets = (unsigned)sets;
	return 0;
}

int gemm_main(int argc, char **argv)
{
	static struct gemm g;
	struct err e = {0};
	if (read_arguments(&g, argc, argv, &e) < 0 || (g.uuid && open_gpu(&g, &e) < 0) || find_library(&g, &e) < 0 ||
	    (g.uuid && (make_operands(&g, &e) < 0 || make_graph(&g, &e) < 0 || measure(&g, &e) < 0 || check(&g, &e) < 0))) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	print(&g);
	return 0;
}
