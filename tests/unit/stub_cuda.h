/* A CUDA driver for tests: memory is the host's, streams run at once (or into a graph, while they are captured), and the
 * kernels are the C functions of stub_kernels.  Unmapped pages are really so: an access to them is CUDA_ERROR_ILLEGAL_ADDRESS,
 * which stays, as with the real one. */
#ifndef TESTS_STUB_CUDA_H
#define TESTS_STUB_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stub_kernel {
	const char *name;
	void (*run)(void **params);
	unsigned n_params;
	size_t size[8];
};
extern const struct stub_kernel stub_kernels[];	/* ends with a NULL name; the test's */

struct stub_state {
	unsigned graphs, graph_launches, modules, resets;	/* calls so far */
	int refuse_image;		/* the next module does not load */
	int launch_error;		/* what the next launch comes to, unless 0 */
};
extern struct stub_state stub;
/* Is the address translated, as far as the judge's own kernel has looked it up since an access was changed last? */
bool stub_translates(uint64_t addr);

#endif
