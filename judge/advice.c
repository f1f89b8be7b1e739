/* Advice: see advice.h.
 *
 * Rules about speed stand in one table.  Each says how much of the time it could be worth, as a share between 0 (it does
 * not apply) and 1; the best two speak.  A program that is wrong gets a hint on its verdict instead.
 */
#include "advice.h"

#include "diagnosis.h"
#include "figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct facts {
	const struct grading *g;
	const struct case_report *r;
	const struct book *b;
	const struct kernel_book *k;	/* the longest kernel of solve() */
	const struct counters *c;	/* of solve() */
	double time_us, efficiency;
};

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static bool issue_bound(const struct facts *f)
{
	enum limiter l = f->b->limiter;
	return l == LIMIT_ISSUE || l == LIMIT_INT || l == LIMIT_CONVERT || l == LIMIT_FP32 || l == LIMIT_FP16;
}

static bool memory_bound(const struct facts *f)
{
	enum limiter l = f->b->limiter;
	return l == LIMIT_DRAM || l == LIMIT_L2 || l == LIMIT_L1 || l == LIMIT_LATENCY;
}

/* ---- launches and passes ---- */

static double worth_intermediates(const struct facts *f)
{
	if (f->b->launches < 2)
		return 0;
	return fmin(1, 0.3 + share((double)f->b->intermediate_bytes, (double)f->b->weight_bytes)) *
	       (f->b->intermediate_bytes > f->b->weight_bytes / 16);
}

static void say_intermediates(const struct facts *f, char *out, size_t size)
{
	struct figure a;
	snprintf(out, size, "%u launches hand %s to each other through memory. Fuse them: dequantize in registers, on the way into "
		 "the sum, and write nothing but the output.", f->b->launches, figure_bytes(&a, (double)f->b->intermediate_bytes));
}

static double worth_launches(const struct facts *f)
{
	double launch = 0;
	for (unsigned i = 0; i < f->b->n_kernels; i++)
		if (!f->b->kernels[i].prepare)
			launch += f->b->kernels[i].modelled.launch_us * f->b->kernels[i].launches;
	return f->b->launches > 1 ? share(launch, f->time_us) * (1 - 1.0 / f->b->launches) : 0;
}

static void say_launches(const struct facts *f, char *out, size_t size)
{
	struct figure a;
	snprintf(out, size, "%u launches: their overhead alone takes %s of the time. Do the work in one.", f->b->launches,
		 figure_percent(&a, worth_launches(f)));
}

/* Sectors of which lanes use a part are loaded several times over, though each word is once: that is coalescing's. */
static double worth_passes(const struct facts *f)
{
	double passes = f->b->weight_passes * fmin(1, f->b->load_efficiency);
	return passes > 1.2 ? 1 - 1 / passes : 0;
}

static void say_passes(const struct facts *f, char *out, size_t size)
{
	snprintf(out, size, "%s is loaded %.2f times over. Load each word once and use it for every row that needs it before the next "
		 "(tile the output, keep sums in registers).", f->b->weights, f->b->weight_passes);
}

/* ---- how memory is asked ---- */

static double worth_coalescing(const struct facts *f)
{
	double used = f->b->load_efficiency;
	if (!(used < 0.7))
		return 0;
	return (1 - used) * (memory_bound(f) ? 0.9 : 0.5);
}

static void say_coalescing(const struct facts *f, char *out, size_t size)
{
	struct figure a;
	snprintf(out, size, "Only %s of the bytes that global loads fetch are used (%.1f sectors a request). Let neighbouring lanes read "
		 "neighbouring addresses.", figure_percent(&a, f->b->load_efficiency), f->b->sectors_per_request);
}

static double bytes_per_lane(const struct facts *f)
{
	return share((double)f->c->global_load_bytes, 32.0 * (double)f->c->global_load_requests);
}

static double worth_width(const struct facts *f)
{
	double width = bytes_per_lane(f);
	if (!(width > 0) || width > 8.1 || f->b->load_efficiency < 0.5)
		return 0;
	double issue = share((double)f->c->global_load_requests, (double)f->c->instructions);
	return (width <= 4.1 ? 0.45 : 0.25) * (f->b->limiter == LIMIT_LATENCY || f->b->limiter == LIMIT_L1 ? 1 : issue > 0.03 ? 0.8 : 0.2);
}

static void say_width(const struct facts *f, char *out, size_t size)
{
	snprintf(out, size, "A lane loads %.1f bytes at a time. Load 16 (uint4, float4): fewer load instructions, and more "
		 "bytes in flight to cover the latency of memory.", bytes_per_lane(f));
}

static double worth_in_flight(const struct facts *f)
{
	return f->b->limiter == LIMIT_LATENCY && worth_width(f) < 0.3 ? 0.4 : 0;
}

static void say_in_flight(const struct facts *f, char *out, size_t size)
{
	struct figure a;
	snprintf(out, size, "Memory latency shows: too few bytes are in flight. Start the loads of the next step before using those of "
		 "this one (unroll by 2 to 4), or have more warps resident (occupancy is %s).", figure_percent(&a, f->b->occupancy));
}

static double worth_conflicts(const struct facts *f)
{
	double part = share((double)f->b->shared_conflicts, (double)f->b->shared_wavefronts);
	double weight = share(f->k->modelled.shared_us, f->k->modelled.time_us);
	return part > 0.15 ? part * fmax(weight, 0.1) : 0;
}

static void say_conflicts(const struct facts *f, char *out, size_t size)
{
	struct figure a, b;
	snprintf(out, size, "Bank conflicts: %s of %s shared-memory wavefronts. Lanes of a warp should hit 32 different banks: pad the row, "
		 "or change which lane reads what.", figure_count(&a, f->b->shared_conflicts), figure_count(&b, f->b->shared_wavefronts));
}

static double constant_passes(const struct facts *f)
{
	return share((double)f->c->constant_load_passes, (double)f->c->constant_load_requests);
}

static double worth_constants(const struct facts *f)
{
	double each = constant_passes(f);
	return each < 2 ? 0 : f->b->limiter == LIMIT_CONSTANT ? 0.8 : each > 4 && issue_bound(f) ? 0.2 : 0;
}

static void say_constants(const struct facts *f, char *out, size_t size)
{
	snprintf(out, size, "Constant memory serves one address at a time: its loads take %.1f passes each, since the lanes of a warp look up different "
		 "entries. Hold a small table in registers (a shuffle, a byte permutation) or in shared memory.", constant_passes(f));
}

static double worth_spills(const struct facts *f)
{
	return share((double)(f->c->local_load_sectors + f->c->local_store_sectors),
		     (double)(f->c->global_load_sectors + 1)) > 0.05 ? 0.35 : 0;
}

static void say_spills(const struct facts *f, char *out, size_t size)
{
	snprintf(out, size, "Local memory is in use (%u bytes a thread): registers spill, or an array is indexed by a variable. Unroll its "
		 "loops fully, or keep less alive.", f->k->local_bytes);
}

/* ---- how the chip is filled ---- */

static double blocks(const struct facts *f)
{
	return (double)f->k->grid[0] * f->k->grid[1] * f->k->grid[2];
}

static double worth_grid(const struct facts *f)
{
	double sms = f->g->device.sms;
	return blocks(f) < sms ? 0.9 * (1 - blocks(f) / sms) : 0;
}

static void say_grid(const struct facts *f, char *out, size_t size)
{
	snprintf(out, size, "%.0f blocks for %u multiprocessors: some have nothing to do. Give each block less (fewer rows), or split K.",
		 blocks(f), f->g->device.sms);
}

static double worth_occupancy(const struct facts *f)
{
	return f->b->occupancy < 0.4 && f->b->limiter == LIMIT_LATENCY && blocks(f) >= f->g->device.sms ? 0.6 * (1 - f->b->occupancy) : 0;
}

static void say_occupancy(const struct facts *f, char *out, size_t size)
{
	struct figure a;
	const char *limit = f->k->occupancy_limit;
	snprintf(out, size, "Occupancy is %s%s%s (%u registers a thread, %u bytes of shared memory a block). More resident warps would hide "
		 "more of the memory's latency.", figure_percent(&a, f->b->occupancy), *limit ? ", limited by " : "", limit,
		 f->k->registers, f->k->shared_static + f->k->shared_dynamic);
}

static double worth_tail(const struct facts *f)
{
	return f->k->modelled.tail > 1.15 && blocks(f) >= f->g->device.sms ? 1 - 1 / f->k->modelled.tail : 0;
}

static void say_tail(const struct facts *f, char *out, size_t size)
{
	struct figure a;
	snprintf(out, size, "The last wave of blocks is nearly empty and costs %s. Choose a grid that is a multiple of what is resident, or "
		 "smaller blocks.", figure_percent(&a, worth_tail(f)));
}

/* ---- instructions ---- */

static double worth_dequantization(const struct facts *f)
{
	double converts = share((double)f->c->issue_convert, (double)f->c->instructions);
	if (converts < 0.05)
		return 0;
	return issue_bound(f) ? 0.25 + converts : f->efficiency < 0.5 ? 0.1 + converts : 0;
}

static void say_dequantization(const struct facts *f, char *out, size_t size)
{
	struct figure a;
	const char *percent = figure_percent(&a, share((double)f->c->issue_convert, (double)f->c->instructions));
	if (f->c->issue_convert_slow > f->c->issue_convert / 3)
		snprintf(out, size, "%s of the instructions are conversions, many of them at an eighth of the rate of a multiply-add: of 8- or 16-bit "
			 "integers, or to integers. 32-bit integers become floats four times as fast; and codes need none: put their bits into the "
			 "mantissa of a float (INT8: a byte permutation with 0x4b makes FP32 8388608+q), and take the offset out once a group.", percent);
	else
		snprintf(out, size, "%s of the instructions are conversions. Convert each x once for several rows. Integer codes need none: put their "
			 "bits into the mantissa of a float (INT4: lop3 with 0x6400 makes FP16 1024+q), and take offset and zero point out once a "
			 "group.", percent);
}

static double worth_instructions(const struct facts *f)
{
	return issue_bound(f) ? 0.3 : 0;
}

static void say_instructions(const struct facts *f, char *out, size_t size)
{
	double bytes = (double)f->b->weight_bytes;
	snprintf(out, size, "Instructions set the pace (%s), not memory: %.1f thread-instructions a byte of %s. Factor the group: "
		 "s*(sum q*x - z*sum x), share each x between rows, convert several values at once.", limiter_name(f->b->limiter),
		 share((double)f->c->lanes, bytes), f->b->weights);
}

static double worth_tensor(const struct facts *f)
{
	return !strncmp(f->g->problem->unit, "tensor", 6) && f->c->issue_tensor == 0 && issue_bound(f) ? 0.8 : 0;
}

static void say_tensor(const struct facts *f, char *out, size_t size)
{
	(void)f;
	snprintf(out, size, "No tensor-core instruction was executed. Several rows of x share each weight here: wmma, or mma.sync with "
		 "weights dequantized to FP16 in registers, does 16 times the work an instruction.");
}

static double worth_divergence(const struct facts *f)
{
	double part = share((double)f->c->divergent_branches, (double)f->c->branches);
	double lanes = share((double)f->c->lanes, 32.0 * (double)f->c->instructions);
	return part > 0.1 && lanes < 0.8 ? 1 - lanes : 0;
}

static void say_divergence(const struct facts *f, char *out, size_t size)
{
	struct figure a, b;
	snprintf(out, size, "%s of the branches split a warp, and %s of the lanes idle. Make the condition the same for the whole warp.",
		 figure_percent(&a, share((double)f->c->divergent_branches, (double)f->c->branches)),
		 figure_percent(&b, 1 - share((double)f->c->lanes, 32.0 * (double)f->c->instructions)));
}

static double worth_idle_lanes(const struct facts *f)
{
	double lanes = share((double)f->c->lanes, 32.0 * (double)f->c->instructions);
	return f->c->instructions && lanes < 0.5 && worth_divergence(f) == 0 ? 0.8 * (1 - lanes) : 0;
}

static void say_idle_lanes(const struct facts *f, char *out, size_t size)
{
	struct figure a;
	snprintf(out, size, "On average %s of a warp's lanes are idle. Spread a row's work over all 32 and reduce with shuffles.",
		 figure_percent(&a, 1 - share((double)f->c->lanes, 32.0 * (double)f->c->instructions)));
}

static double worth_fp64(const struct facts *f)
{
	return share((double)f->c->issue_fp64, (double)f->c->instructions) > 0.02 ? 0.5 : 0;
}

static void say_fp64(const struct facts *f, char *out, size_t size)
{
	struct figure a;
	snprintf(out, size, "%s warp-instructions are FP64: look for literals without an f (1.0 instead of 1.0f). FP32 sums are exact enough here.",
		 figure_count(&a, f->c->issue_fp64));
}

static double worth_copies(const struct facts *f)
{
	return f->b->host_copy_bytes > f->b->weight_bytes / 64 ? 0.9 : 0;
}

static void say_copies(const struct facts *f, char *out, size_t size)
{
	struct figure a;
	snprintf(out, size, "solve() copies %s between host and device. All tensors are on the device: work there.",
		 figure_bytes(&a, (double)f->b->host_copy_bytes));
}

static double worth_nothing(const struct facts *f)
{
	return f->efficiency >= 0.85 ? 0.1 : 0;
}

static void say_nothing(const struct facts *f, char *out, size_t size)
{
	struct figure a;
	snprintf(out, size, "The floor is %s of the time: memory is kept busy, little is left to gain.", figure_percent(&a, f->efficiency));
}

static const struct rule {
	const char *name;
	double (*worth)(const struct facts *f);
	void (*say)(const struct facts *f, char *out, size_t size);
} rules[] = {
	{"intermediates", worth_intermediates, say_intermediates},
	{"launches", worth_launches, say_launches},
	{"passes", worth_passes, say_passes},
	{"coalescing", worth_coalescing, say_coalescing},
	{"width", worth_width, say_width},
	{"in flight", worth_in_flight, say_in_flight},
	{"conflicts", worth_conflicts, say_conflicts},
	{"constants", worth_constants, say_constants},
	{"spills", worth_spills, say_spills},
	{"grid", worth_grid, say_grid},
	{"occupancy", worth_occupancy, say_occupancy},
	{"tail", worth_tail, say_tail},
	{"dequantization", worth_dequantization, say_dequantization},
	{"instructions", worth_instructions, say_instructions},
	{"tensor", worth_tensor, say_tensor},
	{"divergence", worth_divergence, say_divergence},
	{"idle lanes", worth_idle_lanes, say_idle_lanes},
	{"fp64", worth_fp64, say_fp64},
	{"copies", worth_copies, say_copies},
	{"nothing", worth_nothing, say_nothing},
};
enum { N_RULES = sizeof rules / sizeof *rules };

/* The timing case that is furthest from its floor, of those that were right and have counters: the emulated device's. */
static const struct case_report *slowest(const struct grading *g)
{
	const struct case_report *worst = NULL;
	for (unsigned i = g->n_cases - g->n_timing; i < g->n_cases; i++)
		if (!g->cases[i].gpu && g->cases[i].floor_us > 0 && (!worst || g->cases[i].efficiency < worst->efficiency))
			worst = &g->cases[i];
	return worst;
}

static void on_speed(const struct grading *g, struct advice *out)
{
	const struct case_report *r = slowest(g);
	if (!r || !r->book.n_kernels || r->book.kernels[0].prepare)
		return;
	struct facts f = {g, r, &r->book, &r->book.kernels[0], &r->book.counters, r->book.time_us, r->efficiency};
	bool used[N_RULES] = {false};
	while (out->n < ADVICE_LINES) {
		int best = -1;
		double most = 0.05;
		for (int i = 0; i < N_RULES; i++) {
			double w = used[i] ? 0 : rules[i].worth(&f);
			if (w > most) {
				most = w;
				best = i;
			}
		}
		if (best < 0)
			return;
		used[best] = true;
		rules[best].say(&f, out->lines[out->n++], ADVICE_LENGTH);
	}
}

/* ---- hints on verdicts ---- */

static const char *const fault_hints[FAULT_KINDS] = {
	[FAULT_OUT_OF_BOUNDS] = "Hold the index against the tensor's size: does the last block cover more than there is (compare before the access), or are a stride, an offset or the element's type not those of this tensor?",
	[FAULT_WRONG_SPACE] = "This address belongs to nothing: a pointer of the host, an index that overflowed 32 bits, or one never set.",
	[FAULT_USE_AFTER_FREE] = "Free memory only after the last kernel that uses it.",
	[FAULT_READ_ONLY] = "Inputs stay as they are: write to the output, to a workspace, or to memory of your own.",
	[FAULT_MISALIGNED] = "A vector load wants an address that is a multiple of its size: check that the offset is, or load in smaller pieces.",
	[FAULT_UNINITIALISED_GLOBAL] = "cudaMalloc'ed memory and outputs hold no zeros: write before you read or add.",
	[FAULT_UNINITIALISED_SHARED] = "Fill shared memory first, and put __syncthreads() between the writes and the reads.",
	[FAULT_ASYNC_NOT_WAITED] = "Wait for the copy (cp.async.wait_group, pipeline.consumer_wait, the right phase of its mbarrier), then __syncthreads(), then read.",
	[FAULT_RACE_SHARED] = "Put __syncthreads() between one warp's write and another's read or write of the same bytes.",
	[FAULT_RACE_GLOBAL] = "Nothing orders blocks of a launch: use atomicAdd, give each element to one thread, or launch twice.",
	[FAULT_DIVERGENT_BARRIER] = "All threads of the block must reach the same __syncthreads(): no return or branch around it.",
	[FAULT_BAD_MASK] = "The mask of a warp function names the lanes that take part: all of them must reach it, and be in it.",
	[FAULT_DEADLOCK] = "Some threads wait for others that will never come: look at barriers in branches and at spin loops.",
	[FAULT_BUDGET] = "This loop does not end: check how its condition changes (a stride of 0, an unsigned counter that runs below 0).",
	[FAULT_ENDLESS] = "Look at what the loop's condition is made of: a step that is 0, an index that wraps around, a variable that the loop never changes.",
	[FAULT_BAD_INSTRUCTION] = "A GPU meets what is no instruction where a write through a wild pointer has hit the kernel's code, or a call went through one.",
	[FAULT_BAD_LAUNCH] = "Check the launch: 1 to 1024 threads a block, a grid above 0, and the shared memory it asks for.",
};

/* Faults of one kind that want another mend, by what the device says of them. */
static const struct { uint32_t kind; const char *words, *text; } finer_hints[] = {
	{FAULT_RACE_GLOBAL, "lanes ", "Let one lane write (if (threadIdx.x % 32 == 0)), or give each lane an element of its own."},
	{FAULT_RACE_SHARED, "lanes ", "Let one lane write (if (threadIdx.x % 32 == 0)), or give each lane an element of its own."},
	{FAULT_RACE_GLOBAL, "of the same block", "Put __syncthreads() between one warp's write and another's read or write, or use atomicAdd."},
	{FAULT_ENDLESS, "it waits for", "Who should write what this loop waits for, and can that thread get there? Blocks begin in no order, and not all at once: a "
					"grid-wide barrier wants cooperative groups and a grid that fits, or a second launch."},
	{FAULT_OUT_OF_BOUNDS, "shared memory (0 bytes", "Give the size of extern __shared__ memory in bytes: it is the third argument of <<<...>>>."},
	{FAULT_OUT_OF_BOUNDS, "shared memory", "The array in shared memory is smaller than the index: for extern __shared__, the third argument of <<<...>>> is its "
					       "size in bytes."},
};

static const char *fault_hint(const struct fault *f)
{
	for (size_t i = 0; i < sizeof finer_hints / sizeof *finer_hints; i++)
		if (finer_hints[i].kind == f->kind && strstr(f->detail, finer_hints[i].words))
			return finer_hints[i].text;
	return fault_hints[f->kind];
}

static const char *const verdict_hints[VERDICT_COUNT] = {
	[VERDICT_NW] = "Every element of the output must be written, also where its sum is 0 and where N is no multiple of the rows of a block.",
	[VERDICT_MLE] = "Dequantize in registers: a full matrix of floats is not needed.",
};

static void hint(struct advice *out, const char *text)
{
	if (text && out->n < ADVICE_LINES)
		snprintf(out->lines[out->n++], ADVICE_LENGTH, "%s", text);
}

void advice_of(const struct grading *g, struct advice *out)
{
	memset(out, 0, sizeof *out);
	if (g->verdict == VERDICT_AC || g->verdict == VERDICT_RV)	/* what breaks a rule is right, and slower for it */
		on_speed(g, out);
	else if (g->decisive && g->decisive->fault.kind != FAULT_NONE)
		hint(out, fault_hint(&g->decisive->fault));
	else if (g->decisive && g->verdict == VERDICT_WA)
		out->n = diagnose(g, out->lines[0], ADVICE_LENGTH);
	else
		hint(out, verdict_hints[g->verdict]);
}
