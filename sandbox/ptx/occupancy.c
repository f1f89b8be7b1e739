/* How many blocks of a kernel are resident on an SM, and what is left of its cache: the rules of the CUDA occupancy
 * calculator.
 */
#include "model.h"

#include <string.h>

static const char REGISTERS[] = "registers", SHARED[] = "shared memory", THREADS[] = "threads", BLOCKS[] = "blocks",
		  PER_THREAD[] = "registers per thread";

static uint32_t up(uint32_t n, uint32_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* Registers are given to warps in units, from the file of the scheduler that the warp belongs to. */
static uint32_t warps_by_registers(const struct profile *p, uint32_t registers)
{
	uint32_t warp = up((registers ? registers : 1) * p->warp_size, p->register_unit);
	return p->registers_per_sm / p->schedulers_per_sm / warp * p->schedulers_per_sm;
}

/* The part of the unified memory that is configured as shared: the smallest of the sizes the hardware offers (CUDA C++
 * Programming Guide, compute capabilities) that fits. */
static uint32_t carve_out(const struct profile *p, uint32_t bytes)
{
	static const uint16_t sizes[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};
	uint32_t least = strcmp(p->arch, "75") ? 0 : 32;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint32_t size = sizes[i] * 1024u;
		if (sizes[i] >= least && size >= bytes && size <= p->shared_per_sm)
			return size;
	}
	return p->shared_per_sm;
}

static uint64_t product(const uint32_t n[3])
{
	return (uint64_t)n[0] * n[1] * n[2];
}

/* What makes even one block impossible, or NULL. */
static const char *impossible(const struct profile *p, const struct launch_shape *s, uint64_t threads, uint64_t shared)
{
	if (!threads || threads > p->max_threads_per_block)
		return THREADS;
	if (s->registers > p->max_registers_per_thread)
		return PER_THREAD;
	if (shared > p->shared_per_block)
		return SHARED;
	if ((threads + p->warp_size - 1) / p->warp_size > warps_by_registers(p, s->registers))
		return REGISTERS;
	return NULL;
}

static void at_most(struct occupancy *o, uint32_t blocks, const char *limit)
{
	if (blocks >= o->blocks_per_sm)
		return;
	o->blocks_per_sm = blocks;
	o->limit = limit;
}

void occupancy_of(const struct profile *p, const struct launch_shape *s, struct occupancy *out)
{
	uint64_t threads = product(s->block), blocks = product(s->grid);
	uint64_t shared = (uint64_t)s->shared_static + s->shared_dynamic;
	uint32_t unit = strcmp(p->arch, "75") ? 128 : 256;

	*out = (struct occupancy){.limit = impossible(p, s, threads, shared)};
	if (out->limit)
		return;
	uint32_t warps = (uint32_t)(threads + p->warp_size - 1) / p->warp_size;
	out->shared_per_block = up((uint32_t)shared + p->shared_reserved, unit);
	out->blocks_per_sm = p->max_blocks_per_sm;
	out->limit = BLOCKS;
	at_most(out, p->max_threads_per_sm / (warps * p->warp_size), THREADS);
	at_most(out, warps_by_registers(p, s->registers) / warps, REGISTERS);
	if (out->shared_per_block)
		at_most(out, p->shared_per_sm / out->shared_per_block, SHARED);
	out->warps_per_sm = out->blocks_per_sm * warps;

	uint64_t resident = (blocks + p->sms - 1) / p->sms;
	if (!resident)
		resident = 1;
	if (resident > out->blocks_per_sm)
		resident = out->blocks_per_sm;
	uint32_t cache = p->l1_bytes - carve_out(p, out->blocks_per_sm * out->shared_per_block);
	out->l1_bytes_per_sm = cache;
	out->l1_bytes_per_block = cache / (uint32_t)resident / 128 * 128;
}
