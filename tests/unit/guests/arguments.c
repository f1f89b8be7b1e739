/* Eleven arguments of all kinds: registers and stack. */
#include "guest.h"

void solve(int a, double b, float c, long d, float *e, int f, float g, int h, int i, int j, double k)
{
	EXPECT(a, -1);
	EXPECT(b * 4, 10);
	EXPECT(c * 2, 3);
	EXPECT(d, 1L << 40);
	EXPECT(e == NULL, 1);
	EXPECT(f, 6);
	EXPECT(g, 7);
	EXPECT(h, 8);
	EXPECT(i, 9);
	EXPECT(j, -10);
	EXPECT(k, 11);
}
