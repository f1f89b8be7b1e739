// Host memory is told from the device's wherever it lies: many large host buffers, mapped high and low, copied both ways.
// stdout: PASS
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) do { cudaError_t e_ = (call); if (e_) { printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)

int main()
{
	enum { BUFFERS = 64, SIZE = 2 << 20 };
	std::vector<std::vector<char>> host(BUFFERS);
	char *device;
	CHECK(cudaMalloc(&device, SIZE));
	for (int i = 0; i < BUFFERS; i++) {
		host[i].assign(SIZE, (char)i);
		// no address of the host may look like one of the device's
		uint64_t low = (uint64_t)host[i].data(), high = low + SIZE;
		cudaPointerAttributes a;
		CHECK(cudaPointerGetAttributes(&a, host[i].data()));
		if (a.type != cudaMemoryTypeUnregistered || ((uint64_t)device < high && (uint64_t)device + SIZE > low)) {
			printf("host memory at %p is taken for the device's\n", (void *)host[i].data());
			return 1;
		}
		CHECK(cudaMemcpy(device, host[i].data(), SIZE, cudaMemcpyHostToDevice));
		std::memset(host[i].data(), -1, SIZE);
		CHECK(cudaMemcpy(host[i].data(), device, SIZE, cudaMemcpyDeviceToHost));
		if (host[i][0] != (char)i || host[i][SIZE - 1] != (char)i)
			return 1;
	}
	puts("PASS");
}
