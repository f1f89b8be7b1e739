/* The peaks of the GPU it runs on, one line a figure: what `judge calibrate` measures and keeps.
 *
 *	peaks [MEGABYTES [MILLISECONDS]] [shapes]
 *
 * MEGABYTES: the buffer that is read, a power of two (4096).  MILLISECONDS: how long a timed launch takes (8); 0: each
 * kernel runs once, which tries the program where time means nothing.  shapes: every shape's figure too, on stderr.
 *
 * Theory of operation.  Every figure is the best of several shapes of a kernel, each timed several times; what disturbs a
 * run only slows it down.  A kernel does its work `rounds` times in one launch, so that one launch is long against what
 * events and launches cost.  It says itself, in round_work, how much one round of the whole grid is, because only the
 * device code knows what it was compiled for: 0 means that this hardware lacks the unit.  Data are random: zeros draw
 * less power and flatter.  Every result goes into the sink.
 *
 * Tensor figures are dense products with 32-bit sums, operands in shared memory for wgmma (compute capability 9.0,
 * compiled for 90a) and in registers for mma.sync (others).  Compute capability 10 reaches its peak by neither; its
 * tensor figures are 0.
 */
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CUDA(call)                                                                                    \
	do {                                                                                          \
		cudaError_t error_ = (call);                                                          \
		if (error_ != cudaSuccess) {                                                          \
			fprintf(stderr, "peaks: %s: %s\n", #call, cudaGetErrorString(error_));        \
			exit(1);                                                                      \
		}                                                                                     \
	} while (0)

__device__ double round_work;		/* bytes or operations of one round of the grid */

static __device__ void tell_work(double of_block)
{
	if (blockIdx.x == 0 && threadIdx.x == 0)
		round_work = of_block * gridDim.x;
}

static __host__ __device__ unsigned scramble(unsigned x)
{
	x = (x ^ x >> 16) * 0x7feb352du;
	x = (x ^ x >> 15) * 0x846ca68bu;
	return x ^ x >> 16;
}

__global__ void fill(unsigned *p, size_t words)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words; i += (size_t)gridDim.x * blockDim.x)
		p[i] = scramble((unsigned)i ^ 0x9e3779b9u * (unsigned)(i >> 32));
}

/* ---- memory: sizes and pieces are powers of two ---- */

static __device__ unsigned sum(uint4 v)
{
	return v.x + v.y + v.z + v.w;
}

/* UNROLL 128-bit loads of each thread in flight. */
template <int UNROLL> __global__ void read_plain(const uint4 *p, size_t n, unsigned rounds, unsigned *sink)
{
	unsigned s = 0;
	tell_work((double)n * sizeof *p / gridDim.x);
#pragma unroll 1
	for (unsigned r = 0; r < rounds; r++)
		for (size_t at = blockIdx.x * (size_t)(UNROLL * blockDim.x); at < n; at += (size_t)gridDim.x * UNROLL * blockDim.x) {
			uint4 v[UNROLL];
#pragma unroll
			for (int u = 0; u < UNROLL; u++)
				v[u] = __ldcs(p + at + u * blockDim.x + threadIdx.x);
#pragma unroll
			for (int u = 0; u < UNROLL; u++)
				s += sum(v[u]);
		}
	sink[blockIdx.x * blockDim.x + threadIdx.x] = s;
}

template <int UNROLL> __global__ void copy_plain(uint4 *to, const uint4 *from, size_t n, unsigned rounds)
{
	tell_work(2.0 * n * sizeof *from / gridDim.x);
#pragma unroll 1
	for (unsigned r = 0; r < rounds; r++)
		for (size_t at = blockIdx.x * (size_t)(UNROLL * blockDim.x); at < n; at += (size_t)gridDim.x * UNROLL * blockDim.x) {
			uint4 v[UNROLL];
#pragma unroll
			for (int u = 0; u < UNROLL; u++)
				v[u] = __ldcs(from + at + u * blockDim.x + threadIdx.x);
#pragma unroll
			for (int u = 0; u < UNROLL; u++)
				__stcs(to + at + u * blockDim.x + threadIdx.x, v[u]);
		}
}

#if __CUDA_ARCH__ >= 900
static __device__ unsigned shared_address(const void *p)
{
	return (unsigned)__cvta_generic_to_shared(p);
}

static __device__ void barriers_begin(uint64_t *full, int n)
{
	if (threadIdx.x == 0) {
		for (int i = 0; i < n; i++)
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(full + i)) : "memory");
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
	}
	__syncthreads();
}

static __device__ void bulk_load(void *to, const char *from, int bytes, uint64_t *full)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(full)), "r"(bytes) : "memory");
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
			     shared_address(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(full)) : "memory");
}

static __device__ void bulk_store(char *to, const void *from, int bytes)
{
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\tcp.async.bulk.commit_group;" ::"l"(
			     __cvta_generic_to_global(to)), "r"(shared_address(from)), "r"(bytes) : "memory");
}

static __device__ void await(uint64_t *full, unsigned parity)
{
	unsigned done;
	do
		asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
			     : "=r"(done) : "r"(shared_address(full)), "r"(parity) : "memory");
	while (!done);
}
#endif

/* A ring of STAGES pieces, filled by bulk copies, read by all threads. */
template <int PIECE, int STAGES>
__global__ void __launch_bounds__(256) read_bulk(const char *p, size_t size, unsigned rounds, unsigned *sink)
{
#if __CUDA_ARCH__ >= 900
	extern __shared__ __align__(128) char ring[];
	__shared__ uint64_t full[STAGES];
	size_t pieces = size / PIECE * rounds, mine = blockIdx.x < pieces ? (pieces - blockIdx.x - 1) / gridDim.x + 1 : 0;
	unsigned s = 0;
	tell_work((double)size / gridDim.x);
	barriers_begin(full, STAGES);
	for (size_t k = 0; threadIdx.x == 0 && k < STAGES && k < mine; k++)
		bulk_load(ring + k * PIECE, p + ((blockIdx.x + k * gridDim.x) * PIECE & (size - 1)), PIECE, &full[k]);
	unsigned stage = 0, parity = 0;
	for (size_t k = 0; k < mine; k++) {
		await(&full[stage], parity);
		for (int i = threadIdx.x; i < PIECE / 16; i += blockDim.x)
			s += sum(((const uint4 *)(ring + stage * PIECE))[i]);
		__syncthreads();
		if (threadIdx.x == 0 && k + STAGES < mine)
			bulk_load(ring + stage * PIECE, p + ((blockIdx.x + (k + STAGES) * gridDim.x) * PIECE & (size - 1)), PIECE,
				  &full[stage]);
		if (++stage == STAGES)
			stage = 0, parity ^= 1;
	}
	sink[blockIdx.x * blockDim.x + threadIdx.x] = s;
#else
	tell_work(0);
#endif
}

/* The same ring, emptied by bulk copies; half of the stages wait for data, half are on their way out. */
template <int PIECE, int STAGES>
__global__ void __launch_bounds__(32) copy_bulk(char *to, const char *from, size_t size, unsigned rounds)
{
#if __CUDA_ARCH__ >= 900
	extern __shared__ __align__(128) char ring[];
	__shared__ uint64_t full[STAGES];
	constexpr int LEAVING = STAGES / 2;
	size_t pieces = size / PIECE * rounds, mine = blockIdx.x < pieces ? (pieces - blockIdx.x - 1) / gridDim.x + 1 : 0;
	tell_work(2.0 * size / gridDim.x);
	barriers_begin(full, STAGES);
	if (threadIdx.x)
		return;
	for (size_t k = 0; k < STAGES && k < mine; k++)
		bulk_load(ring + k * PIECE, from + ((blockIdx.x + k * gridDim.x) * PIECE & (size - 1)), PIECE, &full[k]);
	unsigned stage = 0, parity = 0, refill = 0;
	for (size_t k = 0; k < mine; k++) {
		await(&full[stage], parity);
		bulk_store(to + ((blockIdx.x + k * gridDim.x) * PIECE & (size - 1)), ring + stage * PIECE, PIECE);
		if (k >= LEAVING) {
			size_t ahead = k - LEAVING + STAGES;
			asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEAVING) : "memory");
			if (ahead < mine)
				bulk_load(ring + refill * PIECE, from + ((blockIdx.x + ahead * gridDim.x) * PIECE & (size - 1)), PIECE,
					  &full[refill]);
			refill = refill + 1 == STAGES ? 0 : refill + 1;
		}
		if (++stage == STAGES)
			stage = 0, parity ^= 1;
	}
	asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#else
	tell_work(0);
#endif
}

/* ---- plain arithmetic: chains of multiply-adds that depend on nothing but themselves ---- */

enum { STEPS = 64 };

template <int CHAINS> __global__ void __launch_bounds__(256) fma_fp32(float a, float b, unsigned rounds, unsigned *sink)
{
	float x[CHAINS], s = 0;
	tell_work(2.0 * CHAINS * STEPS * blockDim.x);
#pragma unroll
	for (int c = 0; c < CHAINS; c++)
		x[c] = (scramble(threadIdx.x * CHAINS + c) >> 8) * 0x1p-24f;
#pragma unroll 1
	for (unsigned r = 0; r < rounds; r++)
#pragma unroll
		for (int i = 0; i < STEPS; i++)
#pragma unroll
			for (int c = 0; c < CHAINS; c++)
				x[c] = fmaf(x[c], a, b);
#pragma unroll
	for (int c = 0; c < CHAINS; c++)
		s += x[c];
	sink[blockIdx.x * blockDim.x + threadIdx.x] = __float_as_uint(s);
}

template <int CHAINS> __global__ void __launch_bounds__(256) fma_fp16(float a, float b, unsigned rounds, unsigned *sink)
{
	__half2 x[CHAINS], m = __floats2half2_rn(a, b), d = __floats2half2_rn(b, a), s = m;
	tell_work(4.0 * CHAINS * STEPS * blockDim.x);
#pragma unroll
	for (int c = 0; c < CHAINS; c++)
		x[c] = __float2half2_rn((scramble(threadIdx.x * CHAINS + c) >> 8) * 0x1p-24f);
#pragma unroll 1
	for (unsigned r = 0; r < rounds; r++)
#pragma unroll
		for (int i = 0; i < STEPS; i++)
#pragma unroll
			for (int c = 0; c < CHAINS; c++)
				x[c] = __hfma2(x[c], m, d);
#pragma unroll
	for (int c = 0; c < CHAINS; c++)
		s = __hadd2(s, x[c]);
	sink[blockIdx.x * blockDim.x + threadIdx.x] = __half_as_ushort(__low2half(s)) | __half_as_ushort(__high2half(s)) << 16;
}

/* ---- tensor products ---- */

enum form { F16, BF16, I8, E4M3 };

/* A word of random operands: any integers; floats of magnitude 0.5 to 2, so that no sum overflows. */
template <int FORM> static __device__ unsigned operand(unsigned seed)
{
	unsigned x = scramble(seed);
	switch (FORM) {
	case F16: return (x & 0x87ff87ff) | 0x38003800;
	case BF16: return (x & 0x80ff80ff) | 0x3f003f00;
	case E4M3: return (x & 0x8f8f8f8f) | 0x30303030;
	}
	return x;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define TEN(t) "%" #t "0,%" #t "1,%" #t "2,%" #t "3,%" #t "4,%" #t "5,%" #t "6,%" #t "7,%" #t "8,%" #t "9,"
#define SUMS "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9," TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11) \
	"%120,%121,%122,%123,%124,%125,%126,%127}"
#define EIGHT(i) "+r"(c[i]), "+r"(c[i + 1]), "+r"(c[i + 2]), "+r"(c[i + 3]), "+r"(c[i + 4]), "+r"(c[i + 5]), "+r"(c[i + 6]), "+r"(c[i + 7])
#define WGMMA(what, rest)                                                                                           \
	asm volatile("{\n\t.reg .pred p;\n\tsetp.eq.u32 p, 0, 0;\n\t"                                                \
		     "wgmma.mma_async.sync.aligned.m64n256" what " " SUMS ", %128, %129, p" rest ";\n\t}"           \
		     : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56), EIGHT(64), EIGHT(72), \
		       EIGHT(80), EIGHT(88), EIGHT(96), EIGHT(104), EIGHT(112), EIGHT(120)                           \
		     : "l"(a), "l"(b))

/* 64 x 256 sums of a warpgroup += 32 bytes of each row of A and B, K-major. */
template <int FORM> static __device__ void wgmma(unsigned (&c)[128], uint64_t a, uint64_t b)
{
	if constexpr (FORM == F16)
		WGMMA("k16.f32.f16.f16", ", 1, 1, 0, 0");
	else if constexpr (FORM == BF16)
		WGMMA("k16.f32.bf16.bf16", ", 1, 1, 0, 0");
	else if constexpr (FORM == E4M3)
		WGMMA("k32.f32.e4m3.e4m3", ", 1, 1");
	else
		WGMMA("k32.s32.s8.s8", "");
}

/* Matrix descriptor: rows of 128 bytes, swizzled by 128 bytes, groups of 8 rows 1024 bytes apart. */
static __device__ uint64_t descriptor(const void *p)
{
	return (shared_address(p) & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
#endif

#if __CUDA_ARCH__ >= 750 && __CUDA_ARCH__ / 100 != 10 && !defined __CUDA_ARCH_FEAT_SM90_ALL
#define HAS_MMA(form) (__CUDA_ARCH__ >= 890 || (__CUDA_ARCH__ >= 800 && (form) != E4M3) || (form) == F16 || (form) == I8)
#if __CUDA_ARCH__ >= 800
#define MMA(what)                                                                                              \
	asm volatile("mma.sync.aligned.m16n8" what " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"     \
		     : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                                           \
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
template <int FORM> constexpr double MMA_WORK = FORM == F16 || FORM == BF16 ? 2.0 * 16 * 8 * 16 : 2.0 * 16 * 8 * 32;

template <int FORM> static __device__ void mma(unsigned (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
	if constexpr (FORM == F16)
		MMA("k16.row.col.f32.f16.f16.f32");
	else if constexpr (FORM == BF16)
		MMA("k16.row.col.f32.bf16.bf16.f32");
	else if constexpr (FORM == I8)
		MMA("k32.row.col.s32.s8.s8.s32");
#if __CUDA_ARCH__ >= 890
	else
		MMA("k32.row.col.f32.e4m3.e4m3.f32");
#endif
}
#else
template <int FORM> constexpr double MMA_WORK = FORM == F16 ? 2.0 * 16 * 8 * 8 : 2.0 * 8 * 8 * 16;

template <int FORM> static __device__ void mma(unsigned (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
	if constexpr (FORM == F16)
		asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
			     : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
	else
		asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
			     : "+r"(c[0]), "+r"(c[1]) : "r"(a[0]), "r"(b[0]));
}
#endif
#endif

enum { TENSOR_THREADS = 256, TILE = 48 << 10, SLICES = 4 };

template <int FORM> __global__ void __launch_bounds__(TENSOR_THREADS, 1) tensor(unsigned rounds, unsigned *sink)
{
	unsigned s = 0;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
	/* 64 rows of A for each warpgroup, 256 of B for both; a slice is 32 bytes of each row. */
	__shared__ __align__(1024) unsigned tile[TILE / 4];
	enum { A_BYTES = 64 * 128, B_AT = 2 * A_BYTES };
	unsigned c[128] = {0};
	for (int i = threadIdx.x; i < TILE / 4; i += TENSOR_THREADS)
		tile[i] = operand<FORM>(i);
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	uint64_t a = descriptor((char *)tile + threadIdx.x / 128 * A_BYTES), b = descriptor((char *)tile + B_AT);
	tell_work(2.0 * 64 * 256 * (FORM == F16 || FORM == BF16 ? 16 : 32) * SLICES * (TENSOR_THREADS / 128));
#pragma unroll 1
	for (unsigned r = 0; r < rounds; r++) {
		asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
		for (int k = 0; k < SLICES; k++)
			wgmma<FORM>(c, a + k * 2, b + k * 2);
		asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
	}
#pragma unroll
	for (int i = 0; i < 128; i++)
		s += c[i];
#elif defined HAS_MMA
	if constexpr (HAS_MMA(FORM)) {
		enum { ROWS = 2, COLUMNS = 4 };
		unsigned c[ROWS * COLUMNS][4] = {0}, a[ROWS][4], b[COLUMNS][2];
#pragma unroll
		for (int i = 0; i < ROWS * 4; i++)
			a[i / 4][i % 4] = operand<FORM>(threadIdx.x * 16 + i);
#pragma unroll
		for (int i = 0; i < COLUMNS * 2; i++)
			b[i / 2][i % 2] = operand<FORM>(threadIdx.x * 16 + 8 + i);
		tell_work(MMA_WORK<FORM> * ROWS * COLUMNS * SLICES * (TENSOR_THREADS / 32));
#pragma unroll 1
		for (unsigned r = 0; r < rounds; r++)
#pragma unroll
			for (int k = 0; k < SLICES; k++)
#pragma unroll
				for (int i = 0; i < ROWS * COLUMNS; i++)
					mma<FORM>(c[i], a[i % ROWS], b[i / ROWS]);
#pragma unroll
		for (int i = 0; i < ROWS * COLUMNS * 4; i++)
			s += c[i / 4][i % 4];
	} else {
		tell_work(0);
	}
#else
	tell_work(0);
#endif
	sink[blockIdx.x * TENSOR_THREADS + threadIdx.x] = s;
}

/* ---- measuring ---- */

enum { REPETITIONS = 5, MOST_ROUNDS = 1 << 24, SINK_WORDS = 1 << 23, STATIC_SHARED = 1 << 10 };

struct bench {
	cudaEvent_t from, to;
	double target;			/* ms of a timed launch */
	bool tell;
	int sms;
	size_t most_shared;
	char *memory;
	size_t size;			/* a power of two */
	unsigned *sink;
};

struct figures {
	double read, copy;		/* GB/s */
	double fp32, fp16, tensor_f16, tensor_bf16, tensor_i8, tensor_fp8;	/* 10^12 operations a second */
};

template <class LAUNCH> static double time_ms(struct bench *m, unsigned rounds, LAUNCH launch)
{
	float ms;
	CUDA(cudaEventRecord(m->from));
	launch(rounds);
	CUDA(cudaGetLastError());
	CUDA(cudaEventRecord(m->to));
	CUDA(cudaEventSynchronize(m->to));
	CUDA(cudaEventElapsedTime(&ms, m->from, m->to));
	return ms;
}

/* As many rounds as make the launch long enough. */
template <class LAUNCH> static unsigned find_rounds(struct bench *m, LAUNCH launch)
{
	double rounds = 1, ms = time_ms(m, 1, launch);
	while (ms < 0.8 * m->target && rounds < MOST_ROUNDS) {
		double more = ms > 0 ? m->target / ms : 16;
		rounds *= more > 16 ? 16 : more < 1.2 ? 1.2 : more;
		ms = time_ms(m, (unsigned)(rounds + 0.5), launch);
	}
	return (unsigned)(rounds + 0.5);
}

/* *best, in units of `unit` a second, becomes this shape's figure if that is higher. */
template <class LAUNCH> static void better(struct bench *m, double *best, double unit, const char *shape, LAUNCH launch)
{
	double work, least = 0;
	launch(1);
	CUDA(cudaGetLastError());
	CUDA(cudaMemcpyFromSymbol(&work, round_work, sizeof work));
	if (!(work > 0))
		return;
	unsigned rounds = m->target > 0 ? find_rounds(m, launch) : 1;
	for (int i = 0; i < (m->target > 0 ? REPETITIONS : 1); i++) {
		double ms = time_ms(m, rounds, launch);
		if (ms > 0 && (!least || ms < least))
			least = ms;
	}
	double figure = least > 0 ? work * rounds / (least * 1e-3) / unit : 0;
	if (m->tell)
		fprintf(stderr, "%-24s %10.1f  (%u rounds, %.3f ms)\n", shape, figure, rounds, least);
	if (figure > *best)
		*best = figure;
}

static const double GIGA = 1e9, TERA = 1e12;

template <int UNROLL> static void try_read(struct bench *m, double *best, int blocks_per_sm, int threads)
{
	char shape[64];
	snprintf(shape, sizeof shape, "read %d loads, %d x %d", UNROLL, blocks_per_sm, threads);
	better(m, best, GIGA, shape, [=](unsigned rounds) {
		read_plain<UNROLL><<<m->sms * blocks_per_sm, threads>>>((const uint4 *)m->memory, m->size / 16, rounds, m->sink);
	});
}

template <int PIECE, int STAGES> static void try_read_bulk(struct bench *m, double *best, int blocks_per_sm)
{
	char shape[64];
	if ((size_t)PIECE * STAGES + STATIC_SHARED > m->most_shared)
		return;
	CUDA(cudaFuncSetAttribute(read_bulk<PIECE, STAGES>, cudaFuncAttributeMaxDynamicSharedMemorySize, PIECE * STAGES));
	snprintf(shape, sizeof shape, "read bulk %d x %d, x %d", PIECE, STAGES, blocks_per_sm);
	better(m, best, GIGA, shape, [=](unsigned rounds) {
		read_bulk<PIECE, STAGES><<<m->sms * blocks_per_sm, 256, PIECE * STAGES>>>(m->memory, m->size, rounds, m->sink);
	});
}

template <int UNROLL> static void try_copy(struct bench *m, double *best, int blocks_per_sm, int threads)
{
	char shape[64];
	snprintf(shape, sizeof shape, "copy %d loads, %d x %d", UNROLL, blocks_per_sm, threads);
	better(m, best, GIGA, shape, [=](unsigned rounds) {
		copy_plain<UNROLL><<<m->sms * blocks_per_sm, threads>>>((uint4 *)(m->memory + m->size / 2), (const uint4 *)m->memory,
									m->size / 32, rounds);
	});
}

template <int PIECE, int STAGES> static void try_copy_bulk(struct bench *m, double *best, int blocks_per_sm)
{
	char shape[64];
	if ((size_t)PIECE * STAGES + STATIC_SHARED > m->most_shared)
		return;
	CUDA(cudaFuncSetAttribute(copy_bulk<PIECE, STAGES>, cudaFuncAttributeMaxDynamicSharedMemorySize, PIECE * STAGES));
	snprintf(shape, sizeof shape, "copy bulk %d x %d, x %d", PIECE, STAGES, blocks_per_sm);
	better(m, best, GIGA, shape, [=](unsigned rounds) {
		copy_bulk<PIECE, STAGES><<<m->sms * blocks_per_sm, 32, PIECE * STAGES>>>(m->memory + m->size / 2, m->memory, m->size / 2,
										       rounds);
	});
}

template <int CHAINS> static void try_fma(struct bench *m, double *fp32, double *fp16, int blocks_per_sm)
{
	better(m, fp32, TERA, "fp32", [=](unsigned rounds) {
		fma_fp32<CHAINS><<<m->sms * blocks_per_sm, 256>>>(0.99f, 0.01f, rounds, m->sink);
	});
	better(m, fp16, TERA, "fp16", [=](unsigned rounds) {
		fma_fp16<CHAINS><<<m->sms * blocks_per_sm, 256>>>(0.99f, 0.01f, rounds, m->sink);
	});
}

/* Power that was drawn just before lowers the clocks of what comes now: rest first. */
template <int FORM> static void try_tensor(struct bench *m, double *best, const char *shape)
{
	if (m->target > 0)
		usleep(50000);
	better(m, best, TERA, shape, [=](unsigned rounds) { tensor<FORM><<<m->sms, TENSOR_THREADS>>>(rounds, m->sink); });
}

static void try_tensors(struct bench *m, struct figures *f)
{
	try_tensor<F16>(m, &f->tensor_f16, "tensor f16");
	try_tensor<BF16>(m, &f->tensor_bf16, "tensor bf16");
	try_tensor<I8>(m, &f->tensor_i8, "tensor i8");
	try_tensor<E4M3>(m, &f->tensor_fp8, "tensor fp8");
}

/* An idle GPU takes a while to reach its clocks. */
static void warm_up(struct bench *m)
{
	auto launch = [=](unsigned rounds) { fma_fp32<8><<<m->sms * 8, 256>>>(0.99f, 0.01f, rounds, m->sink); };
	unsigned rounds = m->target > 0 ? find_rounds(m, launch) : 0;
	for (double spent = 0; spent < 25 * m->target;)
		spent += time_ms(m, rounds, launch);
}

static void measure(struct bench *m, struct figures *f)
{
	warm_up(m);
	try_fma<8>(m, &f->fp32, &f->fp16, 8);
	try_tensors(m, f);
	try_read<8>(m, &f->read, 2, 512);
	try_read<4>(m, &f->read, 32, 512);
	try_read_bulk<16 << 10, 6>(m, &f->read, 2);
	try_read_bulk<32 << 10, 3>(m, &f->read, 2);
	try_copy<8>(m, &f->copy, 2, 512);
	try_copy<4>(m, &f->copy, 1, 512);
	try_copy_bulk<4 << 10, 12>(m, &f->copy, 4);
	try_tensors(m, f);
}

static void print(const struct figures *f)
{
	printf("read_gbs %.1f\ncopy_gbs %.1f\nfp32_tflops %.2f\nfp16_tflops %.2f\n", f->read, f->copy, f->fp32, f->fp16);
	printf("tensor_f16_tflops %.2f\ntensor_bf16_tflops %.2f\ntensor_i8_tops %.2f\ntensor_fp8_tflops %.2f\n", f->tensor_f16,
	       f->tensor_bf16, f->tensor_i8, f->tensor_fp8);
}

static void get_memory(struct bench *m, size_t wanted)
{
	size_t available, total;
	CUDA(cudaMemGetInfo(&available, &total));
	for (m->size = wanted; m->size > available / 10 * 9 && m->size > 1 << 20;)
		m->size /= 2;
	CUDA(cudaMalloc(&m->memory, m->size));
	CUDA(cudaMalloc(&m->sink, SINK_WORDS * sizeof *m->sink));
	fill<<<m->sms * 8, 256>>>((unsigned *)m->memory, m->size / 4);
	CUDA(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	struct bench m = {};
	struct figures f = {};
	cudaDeviceProp p;
	if (argc > 1 && !strcmp(argv[argc - 1], "shapes")) {
		m.tell = true;
		argc--;
	}
	unsigned long megabytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 4096;
	m.target = argc > 2 ? strtod(argv[2], NULL) : 8;
	if (argc > 3 || megabytes < 1 || megabytes > 65536 || (megabytes & (megabytes - 1)) || !(m.target >= 0 && m.target <= 1000)) {
		fprintf(stderr, "usage: peaks [MEGABYTES, a power of two [MILLISECONDS]] [shapes]\n");
		return 2;
	}
	CUDA(cudaGetDeviceProperties(&p, 0));
	m.sms = p.multiProcessorCount;
	m.most_shared = p.sharedMemPerBlockOptin;
	CUDA(cudaEventCreate(&m.from));
	CUDA(cudaEventCreate(&m.to));
	get_memory(&m, (size_t)megabytes << 20);
	measure(&m, &f);
	print(&f);
	return 0;
}
