/* Numbers that nobody can guess, of the kernel's generator. */
#ifndef BASE_DRAW_H
#define BASE_DRAW_H

#include <stdint.h>

uint64_t draw_below(uint64_t n);	/* 0 .. n-1; 0 if n is 0 */

#endif
