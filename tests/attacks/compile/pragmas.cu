// Options for the compilers, by pragmas, attributes and sections: a plugin, a program to run, a linker's script.
// None is heard.
// expect: AC
#pragma GCC optimize ("-fplugin=/tmp/evil.so")
#pragma comment(linker, "-T /tmp/evil.ld")
#pragma comment(lib, "/tmp/evil.a")
__attribute__((optimize("-fplugin=/tmp/evil.so", "-wrapper", "/bin/sh"))) int with_plugin() { return 0; }
asm(".section .drectve\n.ascii \"-T /tmp/evil.ld\"\n.section .deplibs,\"MS\",@0x6fff4c04,1\n.asciz \"evil\"\n.text");
__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}
extern "C" void solve(const float *x, float *y, int n, int which)
{
	twice<<<1, 64>>>(x, y, n);
}
