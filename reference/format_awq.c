/* AWQ's packing: see format_awq.h. */
#include "format_awq.h"

/* Words of a cache line: so many columns of words are done together, and each line of `words` is touched once. */
enum { LINE = 16 };

void awq_pack(const uint8_t *q, size_t n, size_t k, uint32_t *words)
{
	const size_t pitch = n / 8;
	for (size_t first = 0; first < pitch; first += LINE)
		for (size_t row = 0; row < k; row++)
			for (size_t c = first; c < first + LINE && c < pitch; c++) {
				uint32_t word = 0;
				for (size_t i = 0; i < 8; i++)
					word |= (uint32_t)q[(8 * c + awq_column(i)) * k + row] << 4 * i;
				words[row * pitch + c] = word;
			}
}

void awq_unpack(const uint32_t *words, size_t n, size_t k, uint8_t *q)
{
	const size_t pitch = n / 8;
	for (size_t first = 0; first < pitch; first += LINE)
		for (size_t row = 0; row < k; row++)
			for (size_t c = first; c < first + LINE && c < pitch; c++)
				for (size_t i = 0; i < 8; i++)
					q[(8 * c + awq_column(i)) * k + row] = words[row * pitch + c] >> 4 * i & 15;
}
