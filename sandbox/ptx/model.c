/* Modelled time of a launch, from counters, occupancy and the figures of the device.
 *
 * Theory of operation.  Blocks are taken to be alike, and to run in waves of as many as are resident at once.  A wave
 * takes the longest of
 *	- its bytes over the bandwidth of DRAM, and of L2 (as a whole, and through the port of the busiest SM);
 *	- its work on the busiest SM: wavefronts through L1 and shared memory, which share one path; instruction slots;
 *	  each pipe;
 *	- the life of one warp: dependent rounds of loads, each a latency, and instructions at the pace of a warp alone.
 *	  That is Little's law: with few warps, or few loads in flight, bytes in flight over latency is less than bandwidth.
 * The time is launch + the first access to DRAM, if memory is the limit + the waves.  The tail is what unequal waves and SMs add.
 *
 * Constants are facts of the hardware, from data sheets and microbenchmarks (the profile's "sources"), not fitted to kernels.
 */
#include "model.h"

#include "../base/err.h"

#include <math.h>
#include <string.h>

enum {
	SECTOR = 32,
	L2_PORT_BYTES = 64,		/* from L2 into an SM, per cycle */
};

/* Cycles between the instructions of a warp alone: a dependent one waits 4, an independent one 1 or 2; half of each. */
static const double WARP_ALONE_CYCLES = 3;
/* Loads of a round, where the counters don't tell: what compilers keep in flight by unrolling. */
static const double LOADS_PER_ROUND = 4;

struct bounds {				/* microseconds, for the whole launch on evenly loaded SMs */
	double dram, l2, l1, shared, issue, pipe, port, life;
	enum limiter pipe_limit;
};

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static uint64_t product(const uint32_t n[3])
{
	return (uint64_t)n[0] * n[1] * n[2];
}

/* ---- throughput ---- */

static double sm_us(const struct profile *p, double work, double per_cycle)
{
	return work / per_cycle / p->sms / (p->clock_ghz * 1e3);
}

static void memory_bounds(const struct profile *p, const struct counters *c, struct bounds *b)
{
	double l2_bytes = (double)(c->l2_read_sectors + c->l2_write_sectors) * SECTOR;
	double shared = (double)(c->shared_load_wavefronts + c->shared_store_wavefronts + c->shared_atomic_requests);

	b->dram = (double)(c->dram_read_bytes + c->dram_write_bytes) / (p->dram_read_gbs * 1e3);
	b->l2 = l2_bytes / (p->l2_gbs * 1e3);
	b->port = sm_us(p, l2_bytes, L2_PORT_BYTES);
	b->l1 = sm_us(p, (double)c->l1_wavefronts, p->l1_wavefronts);
	b->shared = sm_us(p, shared, p->shared_wavefronts);
}

static void pipe_bounds(const struct profile *p, const struct counters *c, struct bounds *b)
{
	const struct { double work, rate; enum limiter limit; } pipes[] = {
		{(double)c->issue_fp32, p->fp32_rate, LIMIT_FP32},
		{(double)c->issue_fp16, p->fp16_rate, LIMIT_FP16},
		{(double)c->issue_fp64, p->fp64_rate, LIMIT_FP64},
		{(double)c->issue_int, p->int_rate, LIMIT_INT},
		{(double)c->issue_convert, p->convert_rate, LIMIT_CONVERT},
		{(double)c->issue_sfu, p->sfu_rate, LIMIT_SFU},
		{(double)c->tensor_flops, p->tensor_f16_flops, LIMIT_TENSOR},
	};

	b->issue = sm_us(p, (double)c->instructions, p->issue_rate);
	for (size_t i = 0; i < sizeof pipes / sizeof *pipes; i++) {
		double us = sm_us(p, pipes[i].work, pipes[i].rate);
		if (us > b->pipe) {
			b->pipe = us;
			b->pipe_limit = pipes[i].limit;
		}
	}
}

/* ---- latency ---- */

/* A round of n loads waits for its slowest: the chance that at least one of them misses L1, and L2. */
static double round_us(const struct profile *p, const struct counters *c, double n)
{
	double asked = (double)(c->global_load_sectors + c->local_load_sectors);
	double l2 = fmin(1, ratio((double)c->l2_read_sectors, asked));
	double dram = fmin(1, ratio((double)c->dram_read_bytes / SECTOR, asked));
	double any_l2 = 1 - pow(1 - l2, n), any_dram = 1 - pow(1 - dram, n);
	double l1_us = p->l1_latency_cycles / (p->clock_ghz * 1e3);

	if (any_l2 < any_dram)
		any_l2 = any_dram;
	return (1 - any_l2) * l1_us + (any_l2 - any_dram) * p->l2_latency_ns * 1e-3 +
	       any_dram * p->dram_latency_ns * 1e-3;
}

static double warp_life_us(const struct profile *p, const struct counters *c, double warps)
{
	double cycle_us = 1 / (p->clock_ghz * 1e3);
	double loads = (double)c->global_load_requests / warps;
	double rounds = loads / LOADS_PER_ROUND;
	double shared_rounds = (double)c->shared_load_requests / warps / LOADS_PER_ROUND;

	if (loads > 0 && rounds < 1)
		rounds = 1;
	return rounds * round_us(p, c, ratio(loads, rounds)) + shared_rounds * p->shared_latency_cycles * cycle_us +
	       (double)c->instructions / warps * WARP_ALONE_CYCLES * cycle_us;
}

/* ---- waves ---- */

struct wave {
	double us;
	enum limiter limit;
};

static void at_least(struct wave *w, double us, enum limiter limit)
{
	if (us <= w->us)
		return;
	w->us = us;
	w->limit = limit;
}

/* A wave of n of the launch's blocks. */
static struct wave wave_of(const struct profile *p, const struct bounds *b, double n, double blocks)
{
	struct wave w = {0, LIMIT_LAUNCH};
	double share = n / blocks;
	double busiest = ceil(n / p->sms) * p->sms / blocks;	/* as if all SMs had as much as the busiest */

	at_least(&w, b->dram * share, LIMIT_DRAM);
	at_least(&w, larger(b->l2 * share, b->port * busiest), LIMIT_L2);
	at_least(&w, (b->l1 + b->shared) * busiest, b->l1 > b->shared ? LIMIT_L1 : LIMIT_SHARED);
	at_least(&w, b->issue * busiest, LIMIT_ISSUE);
	at_least(&w, b->pipe * busiest, b->pipe_limit);
	at_least(&w, b->life, LIMIT_LATENCY);
	return w;
}

static bool is_memory(enum limiter l)
{
	return l == LIMIT_DRAM || l == LIMIT_L2;
}

void model_time(const struct profile *p, const struct launch_shape *s, const struct occupancy *o,
		const struct counters *c, struct modelled *out)
{
	struct bounds b = {.pipe_limit = LIMIT_NONE};
	double blocks = (double)product(s->grid), resident = (double)o->blocks_per_sm * p->sms;
	double threads = (double)product(s->block), warps = ceil(threads / p->warp_size);

	*out = (struct modelled){.launch_us = p->launch_us, .time_us = p->launch_us, .tail = 1, .limiter = LIMIT_LAUNCH};
	if (!o->blocks_per_sm || blocks < 1)
		return;
	memory_bounds(p, c, &b);
	pipe_bounds(p, c, &b);
	b.life = warp_life_us(p, c, blocks * warps);

	double full = floor(blocks / resident), rest = blocks - full * resident;
	struct wave first = wave_of(p, &b, full ? resident : rest, blocks);
	struct wave last = rest ? wave_of(p, &b, rest, blocks) : (struct wave){0};
	double us = full ? full * first.us + last.us : first.us;
	double fill = is_memory(first.limit) ? (c->dram_read_bytes ? p->dram_latency_ns : p->l2_latency_ns) * 1e-3 : 0;
	struct wave even = {0};				/* no waves, SMs evenly loaded */
	at_least(&even, larger(larger(b.dram, b.l2), larger(b.l1 + b.shared, b.port)), LIMIT_DRAM);
	at_least(&even, larger(b.issue, b.pipe), LIMIT_ISSUE);
	at_least(&even, b.life * larger(1, blocks / resident), LIMIT_LATENCY);

	out->dram_us = b.dram;
	out->l2_us = larger(b.l2, b.port);
	out->l1_us = b.l1;
	out->shared_us = b.shared;
	out->issue_us = b.issue;
	out->pipe_us = b.pipe;
	out->latency_us = b.life * ceil(blocks / resident);
	out->tail = even.us > 0 ? larger(1, us / even.us) : 1;
	out->time_us = p->launch_us + fill + us;
	out->limiter = us > p->launch_us ? first.limit : LIMIT_LAUNCH;
	double full_warps = resident * warps, rest_warps = rest * warps;
	double busy = full ? full * first.us * full_warps + last.us * rest_warps : first.us * rest_warps;
	out->occupancy = ratio(busy, us * p->sms * p->max_threads_per_sm / p->warp_size);
}

double model_floor_us(const struct profile *p, double bytes, double flops, const char *unit)
{
	const struct { const char *unit; double per_cycle; } rates[] = {
		{"fp32", p->fp32_rate * p->warp_size * 2},
		{"fp16", p->fp16_rate * p->warp_size * 4},	/* pairs */
		{"tensor_f16", p->tensor_f16_flops},
		{"tensor_i8", p->tensor_i8_flops},
	};

	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
		if (!strcmp(rates[i].unit, unit))
			return larger(bytes / (p->dram_read_gbs * 1e3), sm_us(p, flops, rates[i].per_cycle));
	BUG("unit of work '%s'", unit);
}

const char *limiter_name(enum limiter l)
{
	static const char *const names[] = {
		[LIMIT_NONE] = "nothing",
		[LIMIT_LAUNCH] = "launch overhead",
		[LIMIT_DRAM] = "DRAM bandwidth",
		[LIMIT_L2] = "L2 bandwidth",
		[LIMIT_L1] = "L1 wavefronts",
		[LIMIT_SHARED] = "shared-memory wavefronts",
		[LIMIT_ISSUE] = "instruction issue",
		[LIMIT_FP32] = "FP32 pipe",
		[LIMIT_FP16] = "FP16 pipe",
		[LIMIT_FP64] = "FP64 pipe",
		[LIMIT_INT] = "integer pipe",
		[LIMIT_CONVERT] = "conversion pipe",
		[LIMIT_SFU] = "special-function pipe",
		[LIMIT_TENSOR] = "tensor pipe",
		[LIMIT_LATENCY] = "memory latency (too few bytes in flight)",
	};

	return l < sizeof names / sizeof *names ? names[l] : "?";
}
