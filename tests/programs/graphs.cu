// Graphs: by capture over two streams, and node by node; launched many times, updated.
// stdout: PASS
#include <cstdio>
#include <cstdlib>

#define CUDA(call)                                                                      \
	do {                                                                            \
		cudaError_t error_ = (call);                                            \
		if (error_ != cudaSuccess) {                                            \
			printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(error_));\
			exit(1);                                                        \
		}                                                                       \
	} while (0)
#define EXPECT(got, want)                                                               \
	do {                                                                            \
		long long got_ = (long long)(got), want_ = (long long)(want);           \
		if (got_ != want_) {                                                    \
			printf("line %d: %s is %lld, not %lld\n", __LINE__, #got, got_, want_);\
			exit(1);                                                        \
		}                                                                       \
	} while (0)

__global__ void add(int *p, int x)
{
	p[threadIdx.x] += x;
}

__global__ void multiply(int *p, int x)
{
	p[threadIdx.x] *= x;
}

static int calls;
static void CUDART_CB count(void *) { calls++; }

static int first(const int *d)
{
	int h;
	CUDA(cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost));
	return h;
}

static void captured(int *d)
{
	cudaStream_t s, t;
	cudaEvent_t fork, join;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaStreamCaptureStatus status;
	size_t nodes;
	CUDA(cudaStreamCreate(&s));
	CUDA(cudaStreamCreate(&t));
	CUDA(cudaEventCreate(&fork));
	CUDA(cudaEventCreate(&join));
	CUDA(cudaMemset(d, 0, 128));
	CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	add<<<1, 32, 0, s>>>(d, 1);
	CUDA(cudaEventRecord(fork, s));
	CUDA(cudaStreamWaitEvent(t, fork));
	multiply<<<1, 32, 0, t>>>(d, 2);
	CUDA(cudaEventRecord(join, t));
	CUDA(cudaStreamWaitEvent(s, join));
	CUDA(cudaStreamIsCapturing(t, &status));
	EXPECT(status, cudaStreamCaptureStatusActive);
	CUDA(cudaStreamEndCapture(s, &graph));
	CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
	EXPECT(nodes, 2);
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	EXPECT(first(d), 0);
	for (int i = 0; i < 4; i++)
		CUDA(cudaGraphLaunch(exec, s));
	CUDA(cudaStreamSynchronize(s));
	EXPECT(first(d), 30);		/* 2, 6, 14, 30 */
	CUDA(cudaGraphExecDestroy(exec));
	CUDA(cudaGraphDestroy(graph));
}

static void by_node(int *d)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t clear, plus, host;
	int x = 5;
	void *args[] = {&d, &x};
	cudaMemsetParams fill = {};
	cudaKernelNodeParams kernel = {};
	cudaHostNodeParams call = {};
	fill.dst = d;
	fill.elementSize = 4;
	fill.value = 7;
	fill.width = 32;
	fill.height = 1;
	kernel.func = (void *)add;
	kernel.gridDim = dim3(1);
	kernel.blockDim = dim3(32);
	kernel.kernelParams = args;
	call.fn = count;
	CUDA(cudaGraphCreate(&graph, 0));
	CUDA(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &fill));
	CUDA(cudaGraphAddKernelNode(&plus, graph, &clear, 1, &kernel));
	CUDA(cudaGraphAddHostNode(&host, graph, &plus, 1, &call));
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	CUDA(cudaGraphLaunch(exec, 0));
	CUDA(cudaDeviceSynchronize());
	EXPECT(first(d), 12);
	x = 100;
	CUDA(cudaGraphExecKernelNodeSetParams(exec, plus, &kernel));
	CUDA(cudaGraphLaunch(exec, 0));
	CUDA(cudaDeviceSynchronize());
	EXPECT(first(d), 107);
	EXPECT(calls, 2);
}

int main()
{
	int *d;
	CUDA(cudaMalloc(&d, 128));
	captured(d);
	by_node(d);
	puts("PASS");
	return 0;
}
