/* AWQ's packing: the word of eight known columns, strides, round trips. */
#include "test.h"

#include "reference/format_awq.h"
#include "reference/random.h"

#include <string.h>

TEST(awq_order_of_columns)
{
	static const uint8_t order[8] = {0, 2, 4, 6, 1, 3, 5, 7};
	for (size_t i = 0; i < 8; i++)
		CHECK_EQ(awq_column(i), order[i]);
}

TEST(awq_known_word)		/* column n has code n: the nibbles, from the lowest, are 0 2 4 6 1 3 5 7 */
{
	uint8_t q[8], back[8];
	uint32_t word;
	for (size_t i = 0; i < 8; i++)
		q[i] = (uint8_t)i;
	awq_pack(q, 8, 1, &word);
	CHECK_EQ(word, 0x75316420);
	awq_unpack(&word, 8, 1, back);
	CHECK(!memcmp(q, back, sizeof q));
}

TEST(awq_pairs_are_neighbours)	/* what one mask takes out of a word: two columns side by side, in order */
{
	uint8_t q[8];
	uint32_t word;
	for (size_t i = 0; i < 8; i++)
		q[i] = (uint8_t)(15 - i);
	awq_pack(q, 8, 1, &word);
	for (uint32_t pair = 0; pair < 4; pair++) {
		uint32_t bits = word >> 4 * pair & 0x000f000f;
		CHECK_EQ(bits & 15, q[2 * pair]);
		CHECK_EQ(bits >> 16, q[2 * pair + 1]);
	}
}

TEST(awq_k_goes_down_the_rows)
{
	uint8_t q[16 * 3] = {0};
	uint32_t words[3 * 2];
	q[9 * 3 + 2] = 13;	/* column 9, k = 2: row 2, word 1, nibble 4 */
	awq_pack(q, 16, 3, words);
	for (size_t i = 0; i < 6; i++)
		CHECK_EQ(words[i], i == 5 ? 13u << 16 : 0u);
}

TEST(awq_round_trip)		/* more words than a block of them, and not a multiple; k odd */
{
	enum { N = 8 * 37, K = 13 };
	static uint8_t q[N * K], back[N * K];
	static uint32_t words[N / 8 * K];
	static const unsigned char seed[32] = {1};
	struct random r;
	random_seed(&r, seed);
	for (size_t i = 0; i < sizeof q; i++)
		q[i] = (uint8_t)random_below(&r, 16);
	awq_pack(q, N, K, words);
	for (size_t n = 0; n < N; n++)
		for (size_t k = 0; k < K; k++) {
			size_t nibble = n % 2 ? 4 + n % 8 / 2 : n % 8 / 2;
			CHECK_EQ(words[k * (N / 8) + n / 8] >> 4 * nibble & 15, q[n * K + k]);
		}
	awq_unpack(words, N, K, back);
	CHECK(!memcmp(q, back, sizeof q));
}
