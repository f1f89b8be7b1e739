/* Counting: sectors and lines of global accesses, wavefronts and conflicts of shared and global ones.
 *
 * Shared memory and L1 have 32 banks of 4 bytes.  Lanes of up to 4 bytes go together, of 8 bytes by half warps, of 16 by
 * quarters; each such pass takes as many wavefronts as its busiest bank has different words.  A pass's wavefronts but the
 * first are conflicts.  A load from shared memory does two passes as one if every lane has the address of its neighbour
 * lane ^ 1, or every lane that of lane ^ 2 (lanes that are not active don't matter).  A load from global memory can't do
 * better than four lines a wavefront.  All this is what an H200 counts; tests/unit/mem_test.c has the figures.
 *
 * Moving all addresses by whole words turns the banks but changes no count, and moving them by whole lines changes no
 * sectors, so what was found for a pattern of lanes holds for the next access of its kind: an instruction mostly repeats
 * its pattern, and the block keeps the last one of each.  Where its place in the lines changes, lines and sectors are
 * found anew from the distinct addresses, which are often few.
 */
#include "mem_state.h"

enum { BANKS = 32, HASH = 64, LINES_AT_ONCE = 4 };

/* Lanes that go through the banks together. */
MEM_INLINE unsigned pass_lanes(unsigned size)
{
	return size <= 4 ? LANES : LANES * 4u / size;
}

MEM_INLINE uint32_t pass_mask(unsigned first, unsigned lanes)
{
	return lanes >= LANES ? ALL_LANES : ((1u << lanes) - 1) << first;
}

/* ---- wavefronts ---- */

/* Wavefronts of the lanes of one pass.  Each turn serves one word of every bank. */
static unsigned pass_wavefronts(const struct pattern *p, uint32_t mask)
{
	uint32_t left[2 * LANES], word[BANKS];
	unsigned words = p->size < 4 ? 1 : p->size / 4u, n = 0, turns = 0;
	for (; mask; mask &= mask - 1)
		for (unsigned k = 0; k < words; k++)
			left[n++] = (p->delta[first_lane(mask)] + p->word_phase) / 4 + k;
	for (; n; turns++) {
		uint32_t busy = 0;
		unsigned kept = 0;
		for (unsigned i = 0; i < n; i++) {
			unsigned bank = left[i] % BANKS;
			if (!(busy >> bank & 1)) {
				busy |= 1u << bank;
				word[bank] = left[i];
			} else if (word[bank] != left[i]) {
				left[kept++] = left[i];
			}
		}
		n = kept;
	}
	return turns;
}

/* Do all lanes that have their partner lane ^ by active share its address? */
static bool partners_agree(const struct pattern *p, unsigned by)
{
	for (unsigned i = 0; i < LANES; i++)
		if (p->mask >> i & p->mask >> (i ^ by) & 1 && p->delta[i] != p->delta[i ^ by])
			return false;
	return true;
}

static void find_wavefronts(struct pattern *p)
{
	unsigned lanes = pass_lanes(p->size), total = 0, passes = 0;
	if (p->kind == SHARED_LOAD && lanes < LANES && (partners_agree(p, 1) || partners_agree(p, 2)))
		lanes *= 2;
	for (unsigned first = 0; first < LANES; first += lanes) {
		uint32_t pass = p->mask & pass_mask(first, lanes);
		if (!pass)
			continue;
		total += pass_wavefronts(p, pass);
		passes++;
	}
	p->wavefronts = (uint8_t)total;
	p->conflicts = (uint8_t)(total - passes);
}

/* With lines counted in: a load's pass takes a wavefront for every four lines at least. */
static unsigned wavefronts_with_lines(const struct pattern *p)
{
	unsigned lanes = pass_lanes(p->size), total = 0;
	for (unsigned first = 0; first < LANES; first += lanes) {
		uint32_t pass = p->mask & pass_mask(first, lanes), seen[LANES];
		unsigned n = 0;
		for (uint32_t rest = pass; rest; rest &= rest - 1) {
			uint32_t line = (p->delta[first_lane(rest)] + p->phase) / LINE;
			unsigned k = n;
			while (k && seen[k - 1] != line)
				k--;
			if (!k)
				seen[n++] = line;
		}
		unsigned waves = pass ? pass_wavefronts(p, pass) : 0, least = (n + LINES_AT_ONCE - 1) / LINES_AT_ONCE;
		total += waves > least ? waves : least;
	}
	return total;
}

/* The same for all lanes, evenly spaced by a multiple of 4 bytes that is not 0: the lanes of a pass are as many as there
 * are banks of a lane's size, so the largest power of two that divides the stride tells how often a bank is hit. */
MEM_INLINE unsigned strided_wavefronts(uint64_t base, uint64_t stride, unsigned size, bool global_load, unsigned *passes)
{
	unsigned lanes = pass_lanes(size), unit = size < 4 ? 4 : size;
	unsigned step = (unsigned)(stride / unit) % lanes, waves = step ? step & -step : lanes, total = 0;
	*passes = LANES / lanes;
	if (!global_load)
		return waves * *passes;
	for (unsigned i = 0; i < *passes; i++) {
		uint64_t first = base + i * lanes * stride, last = first + (lanes - 1) * stride;
		uint64_t span = last > first ? last / LINE - first / LINE : first / LINE - last / LINE;
		unsigned lines = span + 1 < lanes ? (unsigned)span + 1 : lanes;
		unsigned least = (lines + LINES_AT_ONCE - 1) / LINES_AT_ONCE;
		total += waves > least ? waves : least;
	}
	return total;
}

/* ---- global: lines and sectors ---- */

/* A set of 32-bit numbers that remembers their order. */
struct distinct {
	uint8_t slots[HASH];		/* index + 1 */
	uint32_t *values;
	unsigned n;
};

/* Index of a value, new or not. */
MEM_INLINE unsigned distinct_add(struct distinct *d, uint32_t value)
{
	unsigned slot = value % HASH;
	while (d->slots[slot]) {
		if (d->values[d->slots[slot] - 1] == value)
			return d->slots[slot] - 1u;
		slot = (slot + 1) % HASH;
	}
	d->values[d->n] = value;
	d->slots[slot] = (uint8_t)++d->n;
	return d->n - 1;
}

static void find_distinct(struct pattern *p)
{
	struct distinct d = {.values = p->distinct};
	for (uint32_t rest = p->mask; rest; rest &= rest - 1) {
		uint32_t delta = p->delta[first_lane(rest)];
		if (!d.n || delta != p->distinct[d.n - 1])
			distinct_add(&d, delta);
	}
	p->n_distinct = (uint8_t)d.n;
}

/* A lane, aligned to its size of at most 32 bytes, lies in one sector. */
static void find_lines(struct pattern *p)
{
	unsigned sectors = 0;
	struct distinct d = {.values = (uint32_t *)p->line};
	for (unsigned i = 0; i < p->n_distinct; i++) {
		int32_t at = (int32_t)p->distinct[i] + p->phase, line = at >> 7;
		unsigned before = d.n, k = distinct_add(&d, (uint32_t)line), sector = 1u << (at & (LINE - 1)) / SECTOR;
		uint8_t *set = &p->line_sectors[k];
		if (d.n > before)
			*set = 0;
		sectors += !(*set & sector);
		*set |= (uint8_t)sector;
	}
	p->n_lines = (uint8_t)d.n;
	p->sectors = (uint8_t)sectors;
	/* A pass has no more lines than all of them together: mostly there is nothing to gain from looking closer. */
	p->all_wavefronts = p->kind == GLOBAL_LOAD && d.n > LINES_AT_ONCE ? (uint8_t)wavefronts_with_lines(p) : p->wavefronts;
}

/* ---- overlap ---- */

/* Is every lane beyond the one before? */
MEM_INLINE bool ascending(const struct lanes *l)
{
	bool up = true;
	for (unsigned i = 1; i < LANES; i++)
		up &= l->addr[i] > l->addr[i - 1];
	return up;
}

/* Lanes are aligned to their common size, so they share bytes only if they are equal. */
static bool find_equal(const struct lanes *l)
{
	uint8_t slots[HASH] = {0};
	for (uint32_t rest = l->mask; rest; rest &= rest - 1) {
		unsigned lane = first_lane(rest), slot = (unsigned)(l->addr[lane] / l->size) % HASH;
		for (; slots[slot]; slot = (slot + 1) % HASH)
			if (l->addr[slots[slot] - 1] == l->addr[lane])
				return true;
		slots[slot] = (uint8_t)(lane + 1);
	}
	return false;
}

MEM_FAST bool mem_overlap(const struct lanes *l)
{
	if (l->strided)
		return l->mask & (l->mask - 1) && l->stride + l->size - 1 < 2 * (uint64_t)l->size - 1;
	return !(l->mask == ALL_LANES && ascending(l)) && find_equal(l);
}

/* ---- the patterns of a block ---- */

/* Lanes further apart than this have no 32-bit deltas. */
static const uint64_t FAR = 1ull << 30;

MEM_INLINE bool same_deltas(const uint32_t *a, const uint32_t *b)
{
	uint32_t differs = 0;
	for (unsigned i = 0; i < LANES; i++)
		differs |= a[i] ^ b[i];
	return !differs;
}

MEM_INLINE void find_deltas(const struct lanes *l, uint32_t *delta)
{
	uint32_t first = (uint32_t)lane_address(l, first_lane(l->mask));
	if (l->strided)
		for (unsigned i = 0; i < LANES; i++)
			delta[i] = i * (uint32_t)l->stride;
	else
		for (unsigned i = 0; i < LANES; i++)
			delta[i] = (uint32_t)l->addr[i] - first;
}

MEM_INLINE struct pattern *pattern(struct mem_block *b, const struct lanes *l, uint32_t site, enum pattern_kind kind)
{
	struct pattern *p = &b->patterns[site % PATTERNS];
	uint32_t delta[LANES];
	uint8_t phase = (uint8_t)(lane_address(l, first_lane(l->mask)) % LINE);
	bool global = kind == GLOBAL_LOAD || kind == GLOBAL_STORE, alike = l->shape && p->serial == l->shape;
	if (!alike)
		find_deltas(l, delta);
	if (p->mask != l->mask || p->size != l->size || p->word_phase != phase % 4 || p->kind != kind ||
	    (!alike && !same_deltas(p->delta, delta))) {
		if (alike)
			find_deltas(l, delta);
		memcpy(p->delta, delta, sizeof delta);
		p->mask = l->mask;
		p->size = (uint8_t)l->size;
		p->word_phase = phase % 4;
		p->kind = (uint8_t)kind;
		p->placed = false;
		find_wavefronts(p);
		if (global)
			find_distinct(p);
	}
	p->serial = l->shape;
	if (global && (!p->placed || p->phase != phase)) {
		p->phase = phase;
		p->placed = true;
		find_lines(p);
	}
	return p;
}

/* ---- counting ---- */

MEM_INLINE unsigned lanes_of(const struct lanes *l)
{
	return (unsigned)__builtin_popcount(l->mask);
}

/* One line: tell the caches. */
MEM_INLINE void touch(struct mem_ctx *c, uint64_t line, unsigned sectors, enum access_kind k, unsigned flags)
{
	if (!c->l1)
		return;
	if (k == ACCESS_READ)
		c->counters->l1_hit_sectors +=
			(unsigned)__builtin_popcount(l1_load(c->l1, line, sectors, !(flags & MEM_NO_L1)));
	else if (k == ACCESS_WRITE)
		l1_store(c->l1, line, sectors);
	else
		l1_atomic(c->l1, line, sectors);
}

/* Bytes from .. end-1, all of them: the sectors. */
MEM_INLINE unsigned touch_range(struct mem_ctx *c, uint64_t from, uint64_t end, enum access_kind k, unsigned flags)
{
	uint64_t first = from / LINE, last = (end - 1) / LINE;
	for (uint64_t line = first; line <= last; line++) {
		unsigned sectors = 15;
		if (line == first)
			sectors &= 15u << from % LINE / SECTOR;
		if (line == last)
			sectors &= 15u >> (3 - (end - 1) % LINE / SECTOR);
		touch(c, line, sectors, k, flags);
	}
	return (unsigned)((end - 1) / SECTOR - from / SECTOR) + 1;
}

MEM_INLINE void touch_pattern(struct mem_ctx *c, const struct lanes *l, const struct pattern *p, enum access_kind k,
			      unsigned flags)
{
	uint64_t origin = lane_address(l, first_lane(l->mask)) / LINE;
	for (unsigned i = 0; i < p->n_lines; i++)
		touch(c, origin + (uint64_t)p->line[i], p->line_sectors[i], k, flags);
}

/* Lines of evenly spaced lanes come in order. */
MEM_INLINE unsigned touch_strided(struct mem_ctx *c, const struct lanes *l, enum access_kind k, unsigned flags)
{
	uint64_t addr = l->base, line = addr / LINE;
	unsigned sectors = 0, all = 0;
	if (l->stride >= LINE && l->stride <= FAR) {		/* each lane has a line of its own */
		for (unsigned i = 0; i < LANES; i++, addr += l->stride)
			touch(c, addr / LINE, 1u << addr % LINE / SECTOR, k, flags);
		return LANES;
	}
	for (unsigned i = 0; i < LANES; i++, addr += l->stride) {
		if (addr / LINE != line) {
			touch(c, line, sectors, k, flags);
			all += (unsigned)__builtin_popcount(sectors);
			line = addr / LINE;
			sectors = 0;
		}
		sectors |= 1u << addr % LINE / SECTOR;
	}
	touch(c, line, sectors, k, flags);
	return all + (unsigned)__builtin_popcount(sectors);
}

static void add_traffic(struct mem_ctx *c, uint64_t addr, uint64_t sectors, bool load)
{
	pthread_rwlock_rdlock(&c->mem->lock);
	struct mem_alloc *a = mem_find(c->mem, addr);
	if (a && load)
		a->load_bytes += sectors * SECTOR;
	else if (a)
		a->store_bytes += sectors * SECTOR;
	pthread_rwlock_unlock(&c->mem->lock);
}

/* Lines of lanes anywhere, and their sectors. */
static unsigned collect_lines(const struct lanes *l, uint64_t *lines, uint8_t *sectors)
{
	unsigned n = 0;
	for (uint32_t rest = l->mask; rest; rest &= rest - 1) {
		uint64_t addr = lane_address(l, first_lane(rest));
		unsigned k = n;
		while (k && lines[k - 1] != addr / LINE)
			k--;
		if (!k) {
			lines[n] = addr / LINE;
			sectors[n] = 0;
			k = ++n;
		}
		sectors[k - 1] |= (uint8_t)(1u << addr % LINE / SECTOR);
	}
	return n;
}

/* An access to several allocations, each line to its own. */
static void add_traffic_by_line(struct mem_ctx *c, const struct lanes *l, bool load)
{
	uint64_t lines[LANES];
	uint8_t sectors[LANES];
	unsigned n = collect_lines(l, lines, sectors);
	for (unsigned i = 0; i < n; i++) {
		uint64_t addr = lines[i] * LINE + (unsigned)__builtin_ctz(sectors[i]) * SECTOR;
		add_traffic(c, addr, (unsigned)__builtin_popcount(sectors[i]), load);
	}
}

/* Lanes too far apart for a pattern: each line takes a wavefront. */
static unsigned touch_far(struct mem_ctx *c, const struct lanes *l, enum access_kind k, unsigned flags, unsigned *waves)
{
	uint64_t lines[LANES];
	uint8_t sectors[LANES];
	unsigned n = collect_lines(l, lines, sectors), all = 0;
	for (unsigned i = 0; i < n; i++) {
		touch(c, lines[i], sectors[i], k, flags);
		all += (unsigned)__builtin_popcount(sectors[i]);
	}
	*waves = n;
	return all;
}

MEM_INLINE void count_traffic(struct mem_ctx *c, const struct lanes *l, uint32_t site, unsigned sectors, bool load)
{
	struct way *w = &c->block->ways[site % WAYS];
	if (l->lo < w->lo || l->hi >= w->hi)
		add_traffic_by_line(c, l, load);
	else if (load)
		w->load_sectors += sectors;
	else
		w->store_sectors += sectors;
}

/* Side by side or at one address: a wavefront for each pass that has a lane. */
MEM_INLINE unsigned run_wavefronts(uint32_t mask, unsigned size)
{
	unsigned lanes = pass_lanes(size), passes = 0;
	for (unsigned first = 0; first < LANES; first += lanes)
		passes += (mask & pass_mask(first, lanes)) != 0;
	return passes;
}

/* k is a constant where this is expanded. */
MEM_INLINE void count_global(struct mem_ctx *c, struct mem_site *s, const struct lanes *l, uint32_t site,
			     enum access_kind k, unsigned flags)
{
	struct counters *n = c->counters;
	unsigned lanes = lanes_of(l), bytes = lanes * l->size, waves, sectors, passes;
	if (k == ACCESS_READ && c->l1)
		l1_request(c->l1);
	if (l->strided && (l->stride == l->size || !l->stride)) {
		sectors = touch_range(c, l->lo, l->hi + l->size, k, flags);
		waves = run_wavefronts(l->mask, l->size);
	} else if (l->strided && l->stride % 4 == 0) {
		sectors = touch_strided(c, l, k, flags);
		waves = strided_wavefronts(l->base, l->stride, l->size, k == ACCESS_READ, &passes);
	} else if (l->hi - l->lo >= FAR) {
		sectors = touch_far(c, l, k, flags, &waves);
	} else {
		const struct pattern *p = pattern(c->block, l, site, k == ACCESS_READ ? GLOBAL_LOAD : GLOBAL_STORE);
		touch_pattern(c, l, p, k, flags);
		sectors = p->sectors;
		waves = p->all_wavefronts;
	}
	s->requests++;
	s->lanes += lanes;
	s->sectors += sectors;
	s->wavefronts += waves;
	s->bytes += bytes;
	n->l1_wavefronts += waves;
	if (k == ACCESS_READ) {
		n->global_load_requests++;
		n->global_load_sectors += sectors;
		n->global_load_bytes += bytes;
	} else if (k == ACCESS_WRITE) {
		n->global_store_requests++;
		n->global_store_sectors += sectors;
		n->global_store_bytes += bytes;
	} else {
		n->global_atomic_requests++;
		n->global_atomic_lanes += lanes;
		count_traffic(c, l, site, sectors, true);
	}
	count_traffic(c, l, site, sectors, k == ACCESS_READ);
}

MEM_FAST void mem_count_run(struct mem_ctx *c, struct mem_site *s, const struct lanes *l, const struct mem_op *op)
{
	struct counters *n = c->counters;
	unsigned size = l->size, bytes = LANES * size, waves = size <= 4 ? 1 : size / 4;
	if (c->l1)
		l1_request(c->l1);
	unsigned sectors = touch_range(c, l->lo, l->hi + size, ACCESS_READ, op->flags);
	s->requests++;
	s->lanes += LANES;
	s->sectors += sectors;
	s->wavefronts += waves;
	s->bytes += bytes;
	n->l1_wavefronts += waves;
	n->global_load_requests++;
	n->global_load_sectors += sectors;
	n->global_load_bytes += bytes;
	c->block->ways[op->site % WAYS].load_sectors += sectors;
}

MEM_FAST void mem_count_global(struct mem_ctx *c, struct mem_site *s, const struct lanes *l, uint32_t site,
			       enum access_kind k, unsigned flags)
{
	if (k == ACCESS_READ)
		count_global(c, s, l, site, ACCESS_READ, flags);
	else if (k == ACCESS_WRITE)
		count_global(c, s, l, site, ACCESS_WRITE, flags);
	else
		count_global(c, s, l, site, ACCESS_ATOMIC, flags);
}

MEM_FAST void mem_count_shared(struct mem_ctx *c, struct mem_site *s, const struct lanes *l, uint32_t site,
			       enum access_kind k)
{
	struct counters *n = c->counters;
	unsigned lanes = lanes_of(l), wavefronts, conflicts = 0, passes;
	if (l->strided && l->stride == l->size) {
		wavefronts = l->size <= 4 ? 1 : l->size / 4;
	} else if (l->strided && !l->stride && l->size <= 4) {
		wavefronts = 1;
	} else if (l->strided && l->stride && l->stride % 4 == 0) {
		wavefronts = strided_wavefronts(l->base, l->stride, l->size, false, &passes);
		conflicts = wavefronts - passes;
	} else {
		const struct pattern *p = pattern(c->block, l, site, k == ACCESS_READ ? SHARED_LOAD : SHARED_STORE);
		wavefronts = p->wavefronts;
		conflicts = p->conflicts;
	}
	s->requests++;
	s->lanes += lanes;
	s->wavefronts += wavefronts;
	s->conflicts += conflicts;
	s->bytes += lanes * l->size;
	if (k == ACCESS_READ || k == ACCESS_MATRIX) {
		n->shared_load_requests++;
		n->shared_load_wavefronts += wavefronts;
		n->shared_load_conflicts += conflicts;
	} else if (k == ACCESS_WRITE) {
		n->shared_store_requests++;
		n->shared_store_wavefronts += wavefronts;
		n->shared_store_conflicts += conflicts;
	} else if (k == ACCESS_COPY) {
		n->shared_copy_wavefronts += wavefronts;
	} else {
		n->shared_atomic_requests++;
	}
}

static void touch_local(struct mem_ctx *c, uint64_t line, unsigned sectors, bool write)
{
	if (c->l1 && write)
		l1_store(c->l1, line, sectors);
	else if (c->l1)
		l1_load(c->l1, line, sectors, true);
}

/* Local memory is laid out by word, then lane, so that a warp that agrees on an offset uses whole lines.  Where a block's
 * part lies does not matter but for the caches: blocks that can't be resident at once share places. */
void mem_count_local(struct mem_ctx *c, struct mem_site *s, const struct lanes *l, bool write)
{
	struct mem_block *b = c->block;
	uint64_t words = (b->local_bytes + 3) / 4;
	uint64_t origin = MEM_LOCAL_BASE + ((uint64_t)(c->block_linear % 2048) * b->warps + c->warp) * words * LINE;
	unsigned size = l->size < 4 ? 4 : l->size, total = 0, lines = 0;
	if (l->strided && !l->stride) {		/* mostly: each lane the same variable of its own */
		uint8_t sectors = 0;
		for (unsigned i = 0; i < 4; i++)
			sectors |= (uint8_t)((l->mask >> 8 * i & 0xff ? 1 : 0) << i);
		for (; lines < size / 4; lines++)
			touch_local(c, origin / LINE + (l->base + 4 * lines) / 4, sectors, write);
		total = lines * (unsigned)__builtin_popcount(sectors);
	}
	for (unsigned k = 4 * lines; k < size; k += 4) {
		uint64_t seen[LANES];
		uint8_t sectors[LANES];
		unsigned n = 0;
		for (uint32_t rest = l->mask; rest; rest &= rest - 1) {
			unsigned lane = first_lane(rest);
			uint64_t line = origin / LINE + (lane_address(l, lane) + k) / 4;
			unsigned i = n;
			while (i && seen[i - 1] != line)
				i--;
			if (!i) {
				seen[n] = line;
				sectors[n] = 0;
				i = ++n;
			}
			sectors[i - 1] |= (uint8_t)(1u << lane / 8);
		}
		for (unsigned i = 0; i < n; i++) {
			touch_local(c, seen[i], sectors[i], write);
			total += (unsigned)__builtin_popcount(sectors[i]);
		}
		lines += n;
	}
	s->requests++;
	s->lanes += lanes_of(l);
	s->sectors += total;
	s->wavefronts += lines;
	s->bytes += (uint64_t)lanes_of(l) * l->size;
	c->counters->l1_wavefronts += lines;
	*(write ? &c->counters->local_store_sectors : &c->counters->local_load_sectors) += total;
}
