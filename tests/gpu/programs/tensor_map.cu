// A tile fetched by TMA through a tensor map, made without linking libcuda; rows and columns past the edge come as zeros.
// stdout: PASS
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>

#define CHECK(call) do { cudaError_t e_ = (call); if (e_) { printf("%s: %s\n", #call, cudaGetErrorString(e_)); exit(1); } } while (0)

enum { ROWS = 100, COLUMNS = 200, BOX = 64 };

__global__ void fetch(const __grid_constant__ CUtensorMap map, int x, int y, float *out)
{
	__shared__ alignas(128) float tile[BOX * BOX];
	__shared__ alignas(8) unsigned long long barrier;
	unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier), dst = (unsigned)__cvta_generic_to_shared(tile);
	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar));
		asm volatile("fence.proxy.async.shared::cta;");
		asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"((int)sizeof tile));
		asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
			     :: "r"(dst), "l"(&map), "r"(x), "r"(y), "r"(bar) : "memory");
	}
	__syncthreads();
	unsigned done = 0;
	while (!done)
		asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}"
			     : "=r"(done) : "r"(bar) : "memory");
	for (int i = threadIdx.x; i < BOX * BOX; i += blockDim.x)
		out[i] = tile[i];
}

int main()
{
	float *in, *out, host[ROWS * COLUMNS], got[BOX * BOX];
	CUtensorMap map;
	decltype(&cuTensorMapEncodeTiled) encode;
	cudaDriverEntryPointQueryResult found;
	for (int i = 0; i < ROWS * COLUMNS; i++)
		host[i] = (float)i;
	CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000, cudaEnableDefault, &found));
	CHECK(cudaMalloc(&in, sizeof host));
	CHECK(cudaMalloc(&out, sizeof got));
	CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
	cuuint64_t dim[2] = {COLUMNS, ROWS}, stride[1] = {COLUMNS * sizeof(float)};
	cuuint32_t box[2] = {BOX, BOX}, element[2] = {1, 1};
	CUresult r = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, in, dim, stride, box, element, CU_TENSOR_MAP_INTERLEAVE_NONE,
			    CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
	if (r) {
		printf("no tensor map: %d\n", (int)r);
		return 1;
	}
	const int x = 160, y = 70;
	fetch<<<1, 128>>>(map, x, y, out);
	CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
	for (int i = 0; i < BOX * BOX; i++) {
		int column = x + i % BOX, row = y + i / BOX;
		float want = row < ROWS && column < COLUMNS ? (float)(row * COLUMNS + column) : 0;
		if (got[i] != want) {
			printf("element %d is %g, not %g\n", i, got[i], want);
			return 1;
		}
	}
	puts("PASS");
}
