/* AWQ's packing for its GEMM: eight 4-bit codes of neighbouring columns in a 32-bit word, one row of words for each k.
 *
 * Nibble i (bits 4i..4i+3) of word c of a row is column 8c + awq_column(i), with columns in the order 0 2 4 6 1 3 5 7:
 * nibbles i and i + 4, which one mask takes out of a word as the halves of a register, are neighbouring columns.  Zero
 * points, one row a group, are packed alike and stored as they are (no z - 1, as GPTQ has it).  w = (q - z) s.
 */
#ifndef REFERENCE_FORMAT_AWQ_H
#define REFERENCE_FORMAT_AWQ_H

#include <stddef.h>
#include <stdint.h>

static inline size_t awq_column(size_t nibble)
{
	return nibble < 4 ? 2 * nibble : 2 * nibble - 7;
}

/* q is [n, k], a row for each column n of the words; words are [k, n/8].  n must be a multiple of 8; codes are 0..15. */
void awq_pack(const uint8_t *q, size_t n, size_t k, uint32_t *words);
void awq_unpack(const uint32_t *words, size_t n, size_t k, uint8_t *q);

#endif
