/* Numbers that nobody can guess: see draw.h. */
#include "draw.h"

#include "err.h"

#include <sys/random.h>

uint64_t draw_below(uint64_t n)
{
	uint64_t x;
	if (getrandom(&x, sizeof x, 0) != sizeof x)
		BUG("no random numbers");
	return n ? x % n : 0;
}
