/* Modelled time of a launch, from counters, occupancy and the figures of the device.
 *
 * Theory of operation.  Blocks are taken to be alike, and to run in waves of as many as are resident at once.  A wave
 * takes the longest of
 *	- its bytes over the bandwidth of DRAM, and of L2 (as a whole, and through the port of the busiest SM);
 *	- what one warp waits for memory, plus the work: on the busiest SM wavefronts through L1 and shared memory (which
 *	  share one path), instruction slots and each pipe; or the chain of dependent instructions of a warp alone, if longer.
 *	  Waiting and work add up because the warps of a wave run in step, from the same start through the same code: on an
 *	  H200 the sum is nearer to the truth than the maximum.  With few loads in flight the waits dominate: that is Little's
 *	  law, bytes in flight over latency below bandwidth;
 *	- handing its blocks out to the SMs.
 * The time is launch + the first access to DRAM, if bandwidth is the limit + the waves.  The tail is what unequal waves
 * and SMs add.
 *
 * Constants are facts of the hardware, from data sheets and microbenchmarks (the profile's "sources").
 */
#include "model.h"

#include "../base/err.h"

#include <math.h>
#include <string.h>

enum {
	SECTOR = 32,
	L2_PORT_BYTES = 64,		/* from L2 into an SM, per cycle */
	/* Of loads from constant memory at different addresses, on an H200 (all in the constant cache): each address takes an SM
	 * two cycles, and the warp that waits eleven. */
	CONSTANT_CYCLES = 2, CONSTANT_WAIT_CYCLES = 11,
};

/* Blocks started per cycle, all SMs together: 4096 empty blocks add 2.4 us to an empty kernel on an H200. */
static const double BLOCKS_PER_CYCLE = 0.84;
/* How much longer a load takes with each doubling of its sectors: a chase by 32 lanes at random takes 1.57 times as long
 * as one by a single lane. */
static const double SPREAD = 0.115;
/* Where nothing tells how loads depend on each other: loads in flight by unrolling, cycles between instructions. */
static const double LOADS_PER_ROUND = 4, WARP_ALONE_CYCLES = 3;
/* mma.sync on compute capability 9.0, of what wgmma reaches: 2673 of 4096 flop a cycle measured. */
static const double MMA_SYNC_SHARE = 0.65;

struct bounds {				/* microseconds, for the whole launch on evenly loaded SMs */
	double dram, l2, port, l1, shared, constant, issue, pipe, start;
	double wait, chain;		/* of one warp */
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
	double shared = (double)(c->shared_load_wavefronts + c->shared_store_wavefronts + c->shared_copy_wavefronts +
				 c->shared_atomic_requests);

	b->dram = (double)(c->dram_read_bytes + c->dram_write_bytes) / (p->dram_read_gbs * 1e3);
	b->l2 = l2_bytes / (p->l2_gbs * 1e3);
	b->port = sm_us(p, l2_bytes, L2_PORT_BYTES);
	b->l1 = sm_us(p, (double)c->l1_wavefronts, p->l1_wavefronts);
	b->shared = sm_us(p, shared, p->shared_wavefronts);
	b->constant = sm_us(p, (double)c->constant_load_passes, 1.0 / CONSTANT_CYCLES);
}

static void pipe_bounds(const struct profile *p, const struct counters *c, struct bounds *b)
{
	double mma = strcmp(p->arch, "90") ? 1 : MMA_SYNC_SHARE;
	const struct { double work, rate; enum limiter limit; } pipes[] = {
		{(double)c->issue_fp32, p->fp32_rate, LIMIT_FP32},
		{(double)c->issue_fp16, p->fp16_rate, LIMIT_FP16},
		{(double)c->issue_fp64, p->fp64_rate, LIMIT_FP64},
		{(double)c->issue_int, p->int_rate, LIMIT_INT},
		{(double)(c->issue_convert - c->issue_convert_slow), p->convert_rate, LIMIT_CONVERT},
		{(double)(c->issue_sfu + c->issue_convert_slow), p->sfu_rate, c->issue_sfu < c->issue_convert_slow ? LIMIT_CONVERT : LIMIT_SFU},
		{(double)c->tensor_flops, p->tensor_f16_flops * mma, LIMIT_TENSOR},
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

/* A round of n loads waits for its slowest: the chance that at least one of them goes past L1, and past L2; and a load of
 * many sectors waits for the slowest of these. */
static double round_us(const struct profile *p, const struct counters *c, double n)
{
	double loads = (double)c->global_load_requests;
	double l2 = fmin(1, ratio((double)c->l2_load_requests, loads));
	double dram = fmin(1, ratio((double)c->dram_load_requests, loads));
	double any_l2 = 1 - pow(1 - l2, n), any_dram = 1 - pow(1 - dram, n);
	double l1_us = p->l1_latency_cycles / (p->clock_ghz * 1e3);
	double slowest = 1 + SPREAD * log2(larger(1, ratio((double)c->global_load_sectors, loads)));

	return (1 - any_l2) * l1_us + (any_l2 - any_dram) * p->l2_latency_ns * 1e-3 * slowest +
	       any_dram * p->dram_latency_ns * 1e-3 * slowest;
}

static void warp_bounds(const struct profile *p, const struct counters *c, double warps, struct bounds *b)
{
	double loads = (double)(c->global_load_requests + c->global_atomic_requests) / warps;
	double rounds = (double)c->load_rounds / warps, cycles = (double)c->chain_cycles / warps;

	if (!c->chain_cycles) {
		rounds = loads / LOADS_PER_ROUND;
		cycles = (double)c->instructions / warps * WARP_ALONE_CYCLES;
	}
	cycles += CONSTANT_WAIT_CYCLES * ((double)c->constant_load_passes - (double)c->constant_load_requests) / warps;
	b->wait = rounds * round_us(p, c, larger(1, ratio(loads, rounds)));
	b->chain = cycles / (p->clock_ghz * 1e3);
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

/* The work of the launch on evenly loaded SMs. */
static struct wave work_of(const struct bounds *b)
{
	struct wave w = {0, LIMIT_LAUNCH};

	at_least(&w, b->l1 + b->shared, b->l1 > b->shared ? LIMIT_L1 : LIMIT_SHARED);
	at_least(&w, b->constant, LIMIT_CONSTANT);
	at_least(&w, b->issue, LIMIT_ISSUE);
	at_least(&w, b->pipe, b->pipe_limit);
	return w;
}

/* A wave of n of the launch's blocks. */
static struct wave wave_of(const struct profile *p, const struct bounds *b, double n, double blocks)
{
	struct wave w = {0, LIMIT_LAUNCH}, work = work_of(b);
	double share = n / blocks;
	double busiest = ceil(n / p->sms) * p->sms / blocks;	/* as if all SMs had as much as the busiest */

	work.us *= busiest;
	at_least(&work, b->chain, LIMIT_LATENCY);
	at_least(&w, b->dram * share, LIMIT_DRAM);
	at_least(&w, larger(b->l2 * share, b->port * busiest), LIMIT_L2);
	at_least(&w, b->wait + work.us, b->wait > work.us ? LIMIT_LATENCY : work.limit);
	at_least(&w, b->start * share, LIMIT_LAUNCH);
	return w;
}

/* The same, as if the waves and SMs were evenly filled. */
static double even_us(const struct bounds *b, double waves)
{
	double work = larger(work_of(b).us, b->chain * waves) + b->wait * waves;
	return larger(larger(larger(b->dram, b->l2), larger(b->port, b->start)), work);
}

static bool is_memory(enum limiter l)
{
	return l == LIMIT_DRAM || l == LIMIT_L2;
}

static void find_bounds(const struct profile *p, const struct counters *c, double blocks, double warps, struct bounds *b)
{
	memory_bounds(p, c, b);
	pipe_bounds(p, c, b);
	warp_bounds(p, c, blocks * warps, b);
	b->start = blocks / (BLOCKS_PER_CYCLE * p->clock_ghz * 1e3);
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
	find_bounds(p, c, blocks, warps, &b);

	double full = floor(blocks / resident), rest = blocks - full * resident;
	struct wave first = wave_of(p, &b, full ? resident : rest, blocks);
	struct wave last = rest ? wave_of(p, &b, rest, blocks) : (struct wave){0, LIMIT_NONE};
	double us = full ? full * first.us + last.us : first.us;
	double even = even_us(&b, larger(1, blocks / resident));
	double fill = is_memory(first.limit) ? (c->dram_read_bytes ? p->dram_latency_ns : p->l2_latency_ns) * 1e-3 : 0;

	out->dram_us = b.dram;
	out->l2_us = larger(b.l2, b.port);
	out->l1_us = b.l1;
	out->shared_us = b.shared;
	out->issue_us = b.issue;
	out->pipe_us = b.pipe;
	out->latency_us = b.wait * ceil(blocks / resident);
	out->tail = even > 0 ? larger(1, us / even) : 1;
	out->time_us = p->launch_us + fill + us;
	out->limiter = us > p->launch_us ? first.limit : LIMIT_LAUNCH;
	double busy = full ? full * first.us * resident + last.us * rest : first.us * rest;	/* blocks times us */
	out->occupancy = ratio(busy * warps, us * p->sms * (p->max_threads_per_sm / p->warp_size));
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
		[LIMIT_CONSTANT] = "constant-memory passes",
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
