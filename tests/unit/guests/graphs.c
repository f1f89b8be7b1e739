/* Streams, events, and a graph by capture. */
#include "guest.h"

void solve(float *a, float *b, float *c, int n, float scale)
{
	int *d, one = 1, got;
	void *args[] = {&d, &one};
	dim3 unit = {1, 1, 1};
	cudaStream_t s;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaEvent_t e;
	float ms;
	EXPECT(cudaMalloc((void **)&d, 4), cudaSuccess);
	EXPECT(cudaMemset(d, 0, 4), cudaSuccess);
	EXPECT(cudaStreamCreate(&s), cudaSuccess);
	EXPECT(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
	EXPECT(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
	EXPECT(cudaLaunchKernel(&increment, unit, unit, args, 0, s), cudaSuccess);
	EXPECT(cudaStreamEndCapture(s, &graph), cudaSuccess);
	EXPECT(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
	for (int i = 0; i < 3; i++)
		EXPECT(cudaGraphLaunch(exec, s), cudaSuccess);
	EXPECT(cudaStreamSynchronize(s), cudaSuccess);
	EXPECT(cudaMemcpy(&got, d, 4, cudaMemcpyDeviceToHost), cudaSuccess);
	EXPECT(got, 3);
	EXPECT(cudaGraphExecDestroy(exec), cudaSuccess);
	EXPECT(cudaGraphLaunch(0, s), cudaErrorInvalidValue);

	EXPECT(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
	EXPECT(cudaStreamSynchronize(s), cudaErrorStreamCaptureUnsupported);	/* and the capture is lost */
	EXPECT(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
	EXPECT(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
	EXPECT(cudaMalloc((void **)&d, 4), cudaErrorStreamCaptureUnsupported);
	EXPECT(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
	EXPECT(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed), cudaSuccess);
	EXPECT(cudaMalloc((void **)&d, 4), cudaSuccess);
	EXPECT(cudaStreamEndCapture(s, &graph), cudaSuccess);

	EXPECT(cudaEventCreate(&e), cudaSuccess);
	EXPECT(cudaEventElapsedTime(&ms, e, e), cudaErrorInvalidResourceHandle);
	EXPECT(cudaEventRecord(e, s), cudaSuccess);
	EXPECT(cudaEventElapsedTime(&ms, e, e), cudaSuccess);
	EXPECT(cudaStreamDestroy(s), cudaSuccess);
	EXPECT(cudaStreamDestroy(s), cudaErrorInvalidResourceHandle);
	EXPECT(cudaEventRecord(e, s), cudaErrorInvalidResourceHandle);
}
