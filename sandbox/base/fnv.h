/* FNV-1a, 64 bits: tells things apart that nobody made to collide.  Names for files and programs, never secrets. */
#ifndef BASE_FNV_H
#define BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

static const uint64_t fnv_basis = 0xcbf29ce484222325;

static inline uint64_t fnv(uint64_t h, const void *data, size_t size)
{
	for (const unsigned char *p = data, *end = p + size; p < end; p++)
		h = (h ^ *p) * 0x100000001b3;
	return h;
}

#endif
