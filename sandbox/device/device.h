/* One interface, two devices: what a device process needs of the thing that runs kernels.
 *
 * Implemented by emulated.c (over ptx/emu.h) and, with a real GPU, over the CUDA driver API.  Used only inside the
 * device process (serve.c); the judge talks to that process through session.h.  Device addresses are opaque to the
 * caller.  CUDA errors are sticky as in the real runtime: after a fault each call returns the same error until reset.
 */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include "../base/err.h"
#include "../counters.h"
#include "../fault.h"
#include "../ptx/mem.h"
#include "../ptx/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device;

struct device_options {
	const struct profile *profile;	/* of the emulated GPU; unused by others */
	unsigned threads;
	uint64_t memory;
	uint64_t budget;
	bool checks;
	void (*print)(void *user, const char *text, size_t size);	/* device printf */
	void *user;
};

enum { DEVICE_NAME = 1024 };		/* room for a mangled name: those of templates are long */

struct device_resources {		/* of a kernel, from ptxas; see compile.h */
	char name[DEVICE_NAME];
	int32_t registers, shared, stack, spill_store, spill_load;
};

struct device_properties {		/* what cudaDeviceProp and cudaDeviceGetAttribute are made of */
	char name[64];
	uint32_t major, minor, sms, clock_khz, memory_clock_khz, bus_bits, l2_bytes;
	uint32_t shared_per_block, shared_per_block_optin, shared_per_sm, shared_reserved;
	uint32_t registers_per_block, registers_per_sm, threads_per_block, threads_per_sm, blocks_per_sm;
	uint64_t memory;
	bool emulated;
};

enum { DEVICE_READ_ONLY = 1, DEVICE_ZERO = 2, DEVICE_POISON = 4, DEVICE_DIRTY = 8 /* counts as written */ };

struct device_kernel {			/* by index: 0 .. kernel_count-1 of the loaded module */
	char name[DEVICE_NAME], pretty[128];
	uint32_t n_params, param_bytes;
	struct { uint32_t offset, size; } params[64];
	uint32_t registers, shared_static, local_bytes, max_threads;
};

struct device_launch {
	uint32_t kernel, grid[3], block[3], shared_dynamic;
	const void *params;
	bool cooperative;
};

struct device_line {
	char file[64];
	uint32_t line;
	struct counters counters;
};

struct device_report {			/* of one launch */
	struct fault fault;
	struct counters counters;
	struct modelled modelled;
	struct occupancy occupancy;
	struct device_line *lines;	/* malloc'd; device_report_free */
	uint32_t n_lines;
};
void device_report_free(struct device_report *r);

struct device_ops {
	const char *name;		/* "emulated" */
	int (*open)(const struct device_options *o, struct device **out, struct err *e);
	void (*close)(struct device *d);
	void (*properties)(struct device *d, struct device_properties *out);
	int (*load)(struct device *d, const void *image, size_t size, const struct device_resources *r, uint32_t n, struct err *e);
	uint32_t (*kernel_count)(struct device *d);
	int (*kernel)(struct device *d, uint32_t index, struct device_kernel *out);
	int (*symbol)(struct device *d, const char *name, uint64_t *addr, uint64_t *size);
	/* memory: 0, or -1 with *f (OUT_OF_MEMORY, OUT_OF_BOUNDS, BAD_ARGUMENT) */
	int (*alloc)(struct device *d, uint64_t size, unsigned flags, const char *name, uint64_t *addr, struct fault *f);
	int (*release)(struct device *d, uint64_t addr, struct fault *f);
	int (*upload)(struct device *d, uint64_t addr, const void *data, uint64_t size, struct fault *f);
	int (*download)(struct device *d, uint64_t addr, void *data, uint64_t size, struct fault *f);
	int (*copy)(struct device *d, uint64_t dst, uint64_t src, uint64_t size, struct fault *f);
	int (*fill)(struct device *d, uint64_t addr, uint64_t pattern, unsigned pattern_bytes /* 1, 2, 4 */, uint64_t count, struct fault *f);
	int (*protect)(struct device *d, uint64_t addr, unsigned flags, struct fault *f);
	/* every byte written by a kernel or copy since alloc or poison? *first: offset of the first that was not */
	bool (*written)(struct device *d, uint64_t addr, uint64_t size, uint64_t *first);
	int (*launch)(struct device *d, const struct device_launch *l, struct device_report *out, struct err *e);
	uint32_t (*occupancy)(struct device *d, uint32_t kernel, uint32_t threads, uint32_t shared_dynamic);
	/* traffic of named allocations since reset: see mem.h */
	uint32_t (*traffic)(struct device *d, struct mem_traffic *out, uint32_t max);
	void (*flush)(struct device *d);		/* cold caches */
	double (*time_us)(struct device *d);		/* device time spent since open: what events measure */
	/* range of addresses that allocations lie in; size 0: not known beforehand */
	void (*range)(struct device *d, uint64_t *base, uint64_t *size);
	void (*reset)(struct device *d);		/* free all allocations, initial module variables, clear errors */
};

extern const struct device_ops device_emulated;

#endif
