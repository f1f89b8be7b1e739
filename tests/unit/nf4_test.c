/* NF4: the table, the dynamic map, codes, double quantization, blocks that straddle. */
#include "test.h"

#include "reference/format_nf4.h"
#include "reference/random.h"

#include <math.h>
#include <string.h>

TEST(table_is_f32_ascending_and_holds_zero_and_both_ends)
{
	for (int i = 0; i < 16; i++) {
		CHECK((double)(float)nf4_table[i] == nf4_table[i]);
		CHECK(i == 0 || nf4_table[i] > nf4_table[i - 1]);
	}
	CHECK(nf4_table[0] == -1 && nf4_table[7] == 0 && nf4_table[15] == 1);
	CHECK((float)nf4_table[1] == -0x1.647362p-1f);		/* as bitsandbytes has them */
	CHECK((float)nf4_table[8] == 0x1.45f5fep-4f);
	CHECK((float)nf4_table[14] == 0x1.722766p-1f);
}

TEST(dynamic_map_ascends_and_mirrors)
{
	double map[NF4_MAP];
	nf4_dynamic_map(map);
	for (int i = 1; i < NF4_MAP; i++)
		CHECK_MSG(map[i] > map[i - 1], "map[%d]", i);
	CHECK(map[127] == 0 && map[255] == 1);
	for (int i = 1; i <= 127; i++)
		CHECK(map[127 + i] == -map[127 - i]);
	CHECK((float)map[128] == 5.5e-7f);			/* one value in 1e-7..1e-6: the middle */
	CHECK((float)map[129] == 3.25e-6f && (float)map[130] == 7.75e-6f);
	CHECK((float)map[254] == 0.99296875f);			/* the last of 64 in 0.1..1 */
}

TEST(first_weight_is_in_the_high_nibble)
{
	double w[NF4_BLOCK] = {1, -1, 0, 0.5}, absmax;
	uint8_t codes[NF4_BLOCK / 2];
	nf4_quantize(w, NF4_BLOCK, codes, &absmax);
	CHECK(absmax == 1);
	CHECK_EQ(codes[0], 0xf0);
	CHECK_EQ(codes[1], 0x7c);				/* 0.5: nearer to 0.4407 than to 0.5626 */
	CHECK_EQ(codes[2], 0x77);
}

TEST(codes_are_the_nearest)
{
	double w[NF4_BLOCK], absmax;
	uint8_t codes[NF4_BLOCK / 2];
	for (int q = 0; q < 15; q++) {
		const double middle = (nf4_table[q] + nf4_table[q + 1]) / 2;
		memset(w, 0, sizeof w);
		w[0] = middle - 1e-6;
		w[1] = middle + 1e-6;
		w[2] = 1;
		nf4_quantize(w, NF4_BLOCK, codes, &absmax);
		CHECK_EQ(codes[0], q << 4 | (q + 1));
	}
}

TEST(every_table_value_survives)
{
	double w[16], absmax, back[16], c[16], map[NF4_MAP], scale, offset;
	uint8_t codes[8], index;
	for (int q = 0; q < 16; q++)
		w[q] = 3 * nf4_table[q];
	nf4_quantize(w, 16, codes, &absmax);
	nf4_dynamic_map(map);
	nf4_quantize_absmax(&absmax, 1, map, &index, &scale, &offset);
	CHECK(offset == 3 && scale == 0);			/* one block is its own mean */
	CHECK_EQ(index, 127);
	const struct nf4 f = {.codes = codes, .index = &index, .map = map, .scale = &scale, .offset = offset};
	nf4_expand(&f, 0, 16, back, c);
	for (int q = 0; q < 16; q++)
		CHECK(back[q] == w[q] && c[q] == fabs(w[q]));
}

TEST(blocks_of_zeros)
{
	double w[2 * NF4_BLOCK] = {0}, absmax[2], scale, offset, map[NF4_MAP];
	uint8_t codes[NF4_BLOCK], index[2];
	nf4_quantize(w, 2 * NF4_BLOCK, codes, absmax);
	nf4_dynamic_map(map);
	nf4_quantize_absmax(absmax, 2, map, index, &scale, &offset);
	CHECK(absmax[0] == 0 && offset == 0 && scale == 0);
	CHECK_EQ(codes[0], 0x77);
	CHECK_EQ(index[1], 127);
}

TEST(double_quantization_comes_back_within_half_a_step)
{
	enum { BLOCKS = 700 };					/* three groups, the last one short */
	double absmax[BLOCKS], map[NF4_MAP], scale[3], offset, mean = 0;
	uint8_t index[BLOCKS];
	struct random r;
	random_seed(&r, (const unsigned char[32]){7});
	for (int b = 0; b < BLOCKS; b++) {
		absmax[b] = (double)(float)(2 + random_uniform(&r));
		mean += absmax[b] / BLOCKS;
	}
	nf4_dynamic_map(map);
	nf4_quantize_absmax(absmax, BLOCKS, map, index, scale, &offset);
	CHECK(fabs(offset - mean) < 1e-6);
	const struct nf4 f = {.index = index, .map = map, .scale = scale, .offset = offset};
	for (int g = 0; g < 3; g++) {
		double top = 0;
		for (int b = 256 * g; b < BLOCKS && b < 256 * (g + 1); b++) {
			top = fmax(top, fabs(absmax[b] - offset));
			CHECK(fabs(nf4_absmax(&f, (size_t)b) - absmax[b]) <= scale[g] * (0.9 / 64 / 2 + 1e-6));
		}
		CHECK(scale[g] == (double)(float)top);
	}
}

TEST(expand_takes_any_even_part_of_the_run)
{
	enum { COUNT = 5 * NF4_BLOCK + 24, BLOCKS = 6 };
	double w[COUNT], absmax[BLOCKS], all[COUNT], c[COUNT], part[100], parts[100], map[NF4_MAP], scale, offset, x[100];
	uint8_t codes[COUNT / 2], index[BLOCKS];
	struct random r;
	random_seed(&r, (const unsigned char[32]){8});
	for (int i = 0; i < COUNT; i++)
		w[i] = random_normal(&r) * (1 + i / NF4_BLOCK);
	nf4_quantize(w, COUNT, codes, absmax);
	nf4_dynamic_map(map);
	nf4_quantize_absmax(absmax, BLOCKS, map, index, &scale, &offset);
	const struct nf4 f = {.codes = codes, .index = index, .map = map, .scale = &scale, .offset = offset};
	nf4_expand(&f, 0, COUNT, all, c);
	for (int i = 0; i < COUNT; i++) {
		CHECK(fabs(all[i] - w[i]) < 0.16 * absmax[i / NF4_BLOCK] + 0.05);	/* the widest gap is 0.304 */
		CHECK(c[i] >= fabs(all[i]) * (1 - 1e-15));
	}
	nf4_expand(&f, 30, 100, part, parts);
	CHECK(!memcmp(part, all + 30, sizeof part) && !memcmp(parts, c + 30, sizeof parts));

	double sums[16] = {0}, want = 0;
	for (int i = 0; i < 100; i++) {
		const uint8_t byte = codes[(30 + i) / 2];
		x[i] = random_normal(&r);
		sums[i % 2 ? byte & 15 : byte >> 4] += part[i] * x[i];
	}
	for (int q = 0; q < 16; q++)
		want += sums[q] * sums[q];
	CHECK(fabs(nf4_table_term(&f, 30, 100, part, x) - want) <= 1e-12 * want);
}
