/* What the targets share.  Each NAME_fuzz.c is one libFuzzer target, built in two ways:
 *
 *	make fuzz	by clang with mutate.c, to look for inputs that crash, hang, leak or break a promise
 *	make test	by gcc with replay.c, which feeds it the files of corpus/NAME and found/NAME
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef FUZZING
/* libFuzzer's own change of bytes, and the hook for one that knows the shape of the input. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

/* mutate.c: a drawn number below n; words of text moved about; the words of PTX among them. */
struct draws {
	uint64_t state;
};
uint32_t draw(struct draws *d, uint32_t n);
size_t mutate_words(uint8_t *data, size_t size, size_t max, struct draws *d);
#endif

#endif
