// The assembler takes in a file of the machine.
// judge: int4-gemv
// expect: CE
#include <cstdint>

asm(".section .rodata\n.incbin \"/etc/passwd\"\n.text");

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	(void)Wq, (void)scales, (void)zeros, (void)x, (void)y, (void)N, (void)K;
}
