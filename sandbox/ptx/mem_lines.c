/* Shadow of global memory.
 *
 * A block keeps, in a table of its own, an entry for each 128-byte line of read-write memory that it touches: which bytes
 * it read, wrote and touched by atomics, with the values it wrote; and, for the interval since the last barrier, the same
 * for each warp.  Nothing here is seen by another host thread.  A byte counts as written if it was so before the launch or
 * if this block wrote it.
 *
 * When the block has run, its entries are merged into the launch's book: for each 4-byte word (each byte where blocks or
 * accesses share a word) the lowest block that touched it, the owner, and what the owner and what others did.  That
 * is enough: if two blocks conflict, one of them conflicts with the owner too, whatever the third did.  It is a function of
 * the set of accesses, so the order in which blocks run and are merged doesn't matter.  Writers that all leave the same
 * value do not conflict with each other.  At the end of the launch the lowest line with a conflict is reported.
 *
 * In a launch that communicates, blocks run on one host thread and see what others wrote; the book is not kept.
 */
#include "mem_state.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = LINE / GRANULE, MAX_ENTRIES = 8192, SLOTS = 2 * MAX_ENTRIES, MAX_RECORDS = 64 };

/* ---- the launch's book ---- */

/* Packed state of a word or byte: owner << 7 | flags. */
enum { OWN_READ = 1, OWN_WRITE = 2, OWN_ATOMIC = 4, READ = 8, WRITE = 16, ATOMIC = 32, DIFFER = 64, FLAGS = 127, OWN = 7,
       OTHERS_AT = 3, OWNER_AT = 7 };

struct bytes {			/* of a line some of whose words are shared or used in part */
	uint32_t state[LINE];
	uint8_t value[LINE];
};

struct line {
	_Atomic uint32_t lock;
	bool used;			/* touched in this launch */
	uint32_t wsite, rsite;		/* lowest sites that wrote and read here */
	struct bytes *bytes;
	u128 written;
	uint32_t state[WORDS];
	uint32_t value[WORDS];
};

size_t mem_line_bytes(void)
{
	return sizeof(struct line);
}

/* ---- the block's table ---- */

struct record {			/* what one warp did to a line since the last barrier of the block */
	uint32_t epoch;
	uint8_t warp;
	uint32_t next;			/* index + 1; 0: none */
	uint32_t wsite, rsite;
	u128 read, write, atomic;
};

struct entry {
	uint64_t line;
	uint32_t interval;		/* b->epoch at the time */
	uint32_t wsite, rsite;
	uint32_t slot;
	uint32_t n_records;
	u128 written;			/* before the launch, or by this block */
	u128 read, write, atomic;	/* by this block */
	u128 now_read, now_write, now_atomic;	/* the same in this interval */
	struct record first;
	uint8_t value[LINE];		/* of bytes in write */
};

struct lines_table {
	uint32_t launch, block;		/* whose entries these are */
	uint32_t n, n_records, room_records;
	bool merged_early;		/* it was full once: part of what this block did is in the book already */
	struct record *records;		/* those but the first of each entry; [0] is unused */
	uint16_t slots[SLOTS];		/* index + 1 */
	struct entry entries[MAX_ENTRIES];
};

static struct lines_table *table_of(struct mem_ctx *c)
{
	struct mem_block *b = c->block;
	if (!b->table) {
		b->table = calloc(1, sizeof *b->table);
		if (!b->table)
			BUG("out of memory");
		b->table->n_records = 1;
	}
	struct lines_table *t = b->table;
	if (t->launch != c->mem->launch || t->block != c->block_linear) {
		mem_lines_merge(b);
		t->launch = c->mem->launch;
		t->block = c->block_linear;
	}
	return t;
}

void mem_lines_free(struct mem_block *b)
{
	if (b->table)
		free(b->table->records);
	free(b->table);
	b->table = NULL;
}

MEM_INLINE uint32_t hash(uint64_t line)
{
	return (uint32_t)((line * 0x9e3779b97f4a7c15ull) >> 40) % SLOTS;
}

/* Bytes of a line that were written before. */
static u128 written_before(struct mem_ctx *c, uint64_t line, uint32_t site)
{
	struct mem *m = c->mem;
	uint64_t addr = MEM_GLOBAL_BASE + line * LINE;
	const struct way *w = &c->block->ways[site % WAYS];
	const struct mem_alloc *a = w->alloc;
	if (!a || addr < w->lo || addr >= w->hi)
		a = mem_find_running(m, addr);
	uint64_t whole = a && a->addr + a->prefix > addr ? a->addr + a->prefix - addr : 0;
	u128 bits = m->written[line] | line_bits(0, whole < LINE ? whole : LINE);
	return c->block->table->merged_early ? bits | m->lines[line].written : bits;
}

static struct entry *new_entry(struct mem_ctx *c, struct lines_table *t, uint64_t line, uint32_t slot, uint32_t site)
{
	if (t->n == MAX_ENTRIES) {
		mem_lines_merge(c->block);
		t->merged_early = true;
		slot = hash(line);
	}
	struct entry *e = &t->entries[t->n++];
	t->slots[slot] = (uint16_t)t->n;
	memset(e, 0, offsetof(struct entry, first));
	e->line = line;
	e->slot = slot;
	e->wsite = e->rsite = MEM_NO_SITE;
	e->written = written_before(c, line, site);
	return e;
}

MEM_INLINE struct entry *find_entry(struct mem_ctx *c, struct lines_table *t, uint64_t line, uint32_t site)
{
	uint32_t slot = hash(line);
	while (t->slots[slot]) {
		struct entry *e = &t->entries[t->slots[slot] - 1];
		if (e->line == line)
			return e;
		slot = (slot + 1) % SLOTS;
	}
	return new_entry(c, t, line, slot, site);
}

/* ---- an access, as the block sees it ---- */

struct visit {
	struct mem_ctx *c;
	struct lines_table *table;
	const struct lanes *l;
	uint32_t mask;			/* lanes that count */
	uint32_t site;
	enum access_kind kind;
	const unsigned char *data;	/* of stores: l->size bytes a lane */
	uint32_t interval, epoch;	/* of the block; of the warp */
};

/* Bytes of its line that a lane at addr touches; it is aligned to its size. */
MEM_INLINE u128 lane_bits(uint64_t addr, uint32_t size)
{
	uint64_t ones = size == 32 ? 0xffffffff : (1u << size) - 1, at = addr % LINE;
	return at < 64 ? (u128)(ones << at) : (u128)(ones << (at - 64)) << 64;
}

/* The first lane that touches a byte of `bytes` of the line. */
static unsigned lane_at(const struct visit *v, uint64_t line, u128 bytes)
{
	for (uint32_t rest = v->mask; rest; rest &= rest - 1) {
		unsigned lane = first_lane(rest);
		uint64_t addr = lane_address(v->l, lane) - MEM_GLOBAL_BASE;
		if (addr / LINE == line && bytes & lane_bits(addr, v->l->size))
			return lane;
	}
	return first_lane(v->mask);
}

/* "12 of y (1028 bytes)" */
static void byte_text(struct mem *m, uint64_t addr, char *text, size_t size)
{
	char what[80];
	pthread_rwlock_rdlock(&m->lock);
	const struct mem_alloc *a = mem_find(m, addr);
	if (a)
		snprintf(text, size, "byte %llu of %s", (unsigned long long)(addr - a->addr),
			 mem_alloc_text(a, what, sizeof what));
	else
		snprintf(text, size, "0x%llx", (unsigned long long)addr);
	pthread_rwlock_unlock(&m->lock);
}

static int never_written(const struct visit *v, const struct entry *e, u128 missing)
{
	char where[200];
	unsigned lane = lane_at(v, e->line, missing);
	uint64_t addr = lane_address(v->l, lane);
	uint32_t bytes = 0;
	for (uint32_t i = 0; i < v->l->size; i++)
		bytes += (uint32_t)(missing >> ((addr + i - MEM_GLOBAL_BASE) % LINE) & 1);
	mem_describe(v->c->mem, addr, v->l->size, where, sizeof where);
	return mem_fault(v->c, FAULT_UNINITIALISED_GLOBAL, lane, addr, v->l->size, "%u-byte %s %s, %s was never written",
			 v->l->size, v->kind == ACCESS_ATOMIC ? "atomic" : "read", where,
			 bytes < v->l->size ? "part of which" : "which");
}

static int race(const struct visit *v, const struct entry *e, u128 bytes, const struct record *other, enum access_kind deed)
{
	char where[200];
	uint64_t addr = MEM_GLOBAL_BASE + e->line * LINE + first_bit(bytes);
	unsigned lane = lane_at(v, e->line, bytes);
	byte_text(v->c->mem, addr, where, sizeof where);
	v->c->other_site = deed == ACCESS_READ ? other->rsite : other->wsite;
	return mem_fault(v->c, FAULT_RACE_GLOBAL, lane, lane_address(v->l, lane), v->l->size,
			 "warp %u %s %s, warp %u of the same block %s it with no barrier between", other->warp, mem_deed(deed), where,
			 v->c->warp, mem_deed(v->kind));
}

/* Does the store leave these bytes of the line as they are? */
static bool same_values(const struct visit *v, uint64_t line, u128 bytes)
{
	for (uint32_t rest = v->mask; rest; rest &= rest - 1) {
		unsigned lane = first_lane(rest);
		uint64_t addr = lane_address(v->l, lane);
		if ((addr - MEM_GLOBAL_BASE) / LINE != line)
			continue;
		const unsigned char *is = mem_at(v->c->mem, addr), *will = v->data + lane * v->l->size;
		for (uint32_t i = 0; i < v->l->size; i++)
			if (bytes >> ((addr + i - MEM_GLOBAL_BASE) % LINE) & 1 && is[i] != will[i])
				return false;
	}
	return true;
}

static int against_record(const struct visit *v, const struct entry *e, u128 bytes, const struct record *r)
{
	enum access_kind k = v->kind;
	u128 wrote = bytes & r->write, did_atomic = bytes & r->atomic, has_read = bytes & r->read;
	if (wrote && !(k == ACCESS_WRITE && same_values(v, e->line, wrote)))
		return race(v, e, wrote, r, ACCESS_WRITE);
	if (did_atomic && (k == ACCESS_READ || k == ACCESS_WRITE))
		return race(v, e, did_atomic, r, ACCESS_ATOMIC);
	if (has_read && k != ACCESS_READ && k != ACCESS_VOLATILE_READ)
		return race(v, e, has_read, r, ACCESS_READ);
	return 0;
}

static int against_records(const struct visit *v, const struct entry *e, u128 bytes)
{
	const struct mem_block *b = v->c->block;
	const struct record *r = &e->first;
	for (uint32_t i = 0; i < e->n_records; i++) {
		if (i)
			r = &v->table->records[r->next];
		if (r->warp != v->c->warp && !mem_ordered(b, v->c->warp, r->warp, r->epoch) &&
		    against_record(v, e, bytes, r) < 0)
			return -1;
	}
	return 0;
}

/* The record of this warp at this time. */
static struct record *own_record(const struct visit *v, struct entry *e)
{
	struct lines_table *t = v->table;
	uint32_t warp = v->c->warp, epoch = v->epoch;
	struct record *r = &e->first;
	for (uint32_t i = 0; i < e->n_records; i++) {
		if (r->warp == warp && r->epoch == epoch)
			return r;
		if (i + 1 < e->n_records)
			r = &t->records[r->next];
	}
	if (e->n_records == MAX_RECORDS) {		/* forget the oldest */
		r = &e->first;
		uint32_t next = r->next;
		*r = (struct record){.epoch = epoch, .warp = (uint8_t)warp, .next = next};
		return r;
	}
	if (e->n_records++) {
		if (t->n_records == t->room_records || !t->records) {
			t->room_records = t->room_records ? 2 * t->room_records : 1024;
			uint32_t at = r == &e->first ? 0 : (uint32_t)(r - t->records);
			t->records = realloc(t->records, t->room_records * sizeof *t->records);
			if (!t->records)
				BUG("out of memory");
			r = at ? &t->records[at] : &e->first;
		}
		r->next = t->n_records++;
		r = &t->records[r->next];
	}
	*r = (struct record){.epoch = epoch, .warp = (uint8_t)warp};
	return r;
}

MEM_INLINE void note(const struct visit *v, struct entry *e, u128 bytes)
{
	struct record *r = own_record(v, e);
	bool read = v->kind == ACCESS_READ, write = v->kind == ACCESS_WRITE;
	if (read) {
		r->read |= bytes;
		r->rsite = v->site;
		e->read |= bytes;
		e->now_read |= bytes;
		e->rsite = v->site < e->rsite ? v->site : e->rsite;
		return;
	}
	r->wsite = v->site;
	e->wsite = v->site < e->wsite ? v->site : e->wsite;
	e->written |= bytes;
	if (v->c->mem->communicates)
		v->c->mem->written[e->line] |= bytes;
	*(write ? &r->write : &r->atomic) |= bytes;
	*(write ? &e->write : &e->atomic) |= bytes;
	*(write ? &e->now_write : &e->now_atomic) |= bytes;
}

/* Did this warp do the same to these bytes just now?  Then nothing can have come between that is not reported, but for
 * equal values of other warps. */
MEM_INLINE bool again(const struct visit *v, struct entry *e, u128 bytes)
{
	struct record *r = &e->first;
	if (e->interval != v->interval || !e->n_records || r->warp != v->c->warp || r->epoch != v->epoch)
		return false;
	if (v->kind == ACCESS_READ && !(bytes & ~r->read)) {
		r->rsite = v->site;
		e->rsite = v->site < e->rsite ? v->site : e->rsite;
		return true;
	}
	if (v->kind == ACCESS_WRITE && !(bytes & ~r->write) && e->n_records == 1) {
		r->wsite = v->site;
		e->wsite = v->site < e->wsite ? v->site : e->wsite;
		return true;
	}
	return false;
}

MEM_INLINE struct entry *visit(const struct visit *v, uint64_t line, u128 bytes)
{
	struct entry *e = find_entry(v->c, v->table, line, v->site);
	enum access_kind k = v->kind;
	if (again(v, e, bytes))
		return e;
	if (k != ACCESS_WRITE && k != ACCESS_VOLATILE_WRITE && bytes & ~e->written) {
		if (v->c->mem->communicates)
			e->written |= v->c->mem->written[line];
		if (bytes & ~e->written)
			return never_written(v, e, bytes & ~e->written), NULL;
	}
	if (e->interval != v->interval) {
		e->interval = v->interval;
		e->now_read = e->now_write = e->now_atomic = 0;
		e->n_records = 0;
	}
	u128 others = e->now_write | (k == ACCESS_VOLATILE_READ ? 0 : k == ACCESS_READ ? e->now_atomic : e->now_atomic | e->now_read);
	if (bytes & others && against_records(v, e, bytes) < 0)
		return NULL;
	if (k != ACCESS_VOLATILE_READ)
		note(v, e, bytes);
	return e;
}

/* Lanes side by side, or one address. */
MEM_INLINE int visit_range(const struct visit *v, uint64_t from, uint64_t end)
{
	for (uint64_t at = from; at < end;) {
		uint64_t line = at / LINE, stop = (line + 1) * LINE < end ? (line + 1) * LINE : end;
		struct entry *e = visit(v, line, line_bits(at % LINE, stop - line * LINE));
		if (!e)
			return -1;
		if (v->kind == ACCESS_WRITE)
			memcpy(e->value + at % LINE, v->data + (at - from), stop - at);
		at = stop;
	}
	return 0;
}

MEM_INLINE int visit_lanes(const struct visit *v)
{
	const struct lanes *l = v->l;
	for (uint32_t rest = v->mask; rest;) {
		uint64_t line = (lane_address(l, first_lane(rest)) - MEM_GLOBAL_BASE) / LINE;
		uint32_t here = 0;
		u128 bytes = 0;
		for (; rest; rest &= rest - 1) {		/* neighbours on one line together */
			uint64_t addr = lane_address(l, first_lane(rest)) - MEM_GLOBAL_BASE;
			if (addr / LINE != line)
				break;
			here |= rest & -rest;
			bytes |= lane_bits(addr, l->size);
		}
		struct entry *e = visit(v, line, bytes);
		if (!e)
			return -1;
		for (; here && v->kind == ACCESS_WRITE; here &= here - 1) {
			unsigned lane = first_lane(here);
			memcpy(e->value + lane_address(l, lane) % LINE, v->data + lane * l->size, l->size);
		}
	}
	return 0;
}

MEM_FAST int mem_lines_access(struct mem_ctx *c, const struct lanes *l, uint32_t shadow, uint32_t site,
			      enum access_kind k, const struct stored *s)
{
	unsigned char data[LANES * 32];
	struct visit v = {c, table_of(c), l, shadow, site, k, data, c->block->epoch, mem_epoch(c->block, c->warp)};
	if (s) {
		if (mem_overlap(l) && mem_check_agree(c, l, FAULT_RACE_GLOBAL, site, s) < 0)
			return -1;
		mem_gather(s->op, l->mask, s->rows, data);
	}
	if (shadow == l->mask && l->strided && l->stride == l->size)
		return visit_range(&v, l->base - MEM_GLOBAL_BASE, l->hi + l->size - MEM_GLOBAL_BASE);
	return visit_lanes(&v);
}

/* ---- merging ---- */

/* Every fourth bit. */
static uint32_t every_fourth(uint64_t x)
{
	x &= 0x1111111111111111;
	x = (x | x >> 3) & 0x0303030303030303;
	x = (x | x >> 6) & 0x000f000f000f000f;
	x = (x | x >> 12) & 0x000000ff000000ff;
	return (uint32_t)(x | x >> 24) & 0xffff;
}

/* A set of bytes as a set of words: any byte of a word, all bytes of it. */
static uint32_t any_words(u128 bytes)
{
	u128 x = bytes | bytes >> 1;
	x |= x >> 2;
	return every_fourth((uint64_t)x) | every_fourth((uint64_t)(x >> 64)) << 16;
}

static uint32_t all_words(u128 bytes)
{
	u128 x = bytes & bytes >> 1;
	x &= x >> 2;
	return every_fourth((uint64_t)x) | every_fourth((uint64_t)(x >> 64)) << 16;
}

static bool conflict(uint32_t s)
{
	return (s & OWN_WRITE && s & WRITE && s & DIFFER) || (s & OWN_WRITE && s & (READ | ATOMIC)) ||
	       (s & WRITE && s & (OWN_READ | OWN_ATOMIC)) || (s & OWN_ATOMIC && s & READ) || (s & ATOMIC && s & OWN_READ);
}

/* What block `me` did (OWN_* flags) joins a state; differ: it wrote another value than those before. */
static uint32_t join(uint32_t s, uint32_t me, uint32_t did, bool differ)
{
	if (!(s & FLAGS))
		return me << OWNER_AT | did;
	uint32_t owner = s >> OWNER_AT, flags = s & FLAGS;
	if (differ && did & OWN_WRITE && flags & (OWN_WRITE | WRITE))
		flags |= DIFFER;
	if (me < owner)
		return me << OWNER_AT | (flags & DIFFER) | ((flags & OWN) << OTHERS_AT) | (flags & OWN << OTHERS_AT) | did;
	return owner << OWNER_AT | flags | (me == owner ? did : did << OTHERS_AT);
}

static uint32_t deeds(const struct entry *e, unsigned byte)
{
	return (uint32_t)(e->read >> byte & 1) * OWN_READ | (uint32_t)(e->write >> byte & 1) * OWN_WRITE |
	       (uint32_t)(e->atomic >> byte & 1) * OWN_ATOMIC;
}

static void turn_bytes(struct line *p)
{
	p->bytes = calloc(1, sizeof *p->bytes);
	if (!p->bytes)
		BUG("out of memory");
	for (unsigned i = 0; i < LINE; i++) {
		p->bytes->state[i] = p->state[i / GRANULE];
		p->bytes->value[i] = (uint8_t)(p->value[i / GRANULE] >> i % GRANULE * 8);
	}
}

static bool merge_bytes(struct line *p, const struct entry *e, uint32_t me)
{
	bool raced = false;
	for (unsigned i = 0; i < LINE; i++) {
		uint32_t did = deeds(e, i), *s = &p->bytes->state[i];
		if (!did)
			continue;
		*s = join(*s, me, did, p->bytes->value[i] != e->value[i]);
		if (did & OWN_WRITE)
			p->bytes->value[i] = e->value[i];
		raced |= conflict(*s);
	}
	return raced;
}

/* What a block did to the words of a line. */
struct did { uint32_t read, write, atomic; };

MEM_INLINE uint32_t did_to(const struct did *d, unsigned w)
{
	return (d->read >> w & 1) * OWN_READ | (d->write >> w & 1) * OWN_WRITE | (d->atomic >> w & 1) * OWN_ATOMIC;
}

static bool merge_words(struct line *p, const struct entry *e, uint32_t me, const struct did *d)
{
	bool raced = false;
	for (uint32_t rest = d->read | d->write | d->atomic; rest; rest &= rest - 1) {
		unsigned w = first_lane(rest);
		uint32_t did = did_to(d, w), value, *s = &p->state[w];
		memcpy(&value, e->value + w * GRANULE, GRANULE);
		*s = join(*s, me, did, p->value[w] != value);
		if (did & OWN_WRITE)
			p->value[w] = value;
		raced |= conflict(*s);
	}
	return raced;
}

/* The same for a line that nobody touched before. */
MEM_FAST static void begin_words(struct line *p, const struct entry *e, uint32_t me, const struct did *d)
{
	for (unsigned w = 0; w < WORDS; w++) {
		uint32_t did = did_to(d, w);
		p->state[w] = did ? me << OWNER_AT | did : 0;
	}
	if (d->write)
		memcpy(p->value, e->value, sizeof p->value);
}

static void lock(struct line *p)
{
	while (__atomic_exchange_n((uint32_t *)&p->lock, 1, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
}

static void unlock(struct line *p)
{
	__atomic_store_n((uint32_t *)&p->lock, 0, __ATOMIC_RELEASE);
}

/* True: the line was not in the book. */
static bool merge(struct mem *m, const struct entry *e, uint32_t me, bool *raced)
{
	struct line *p = &m->lines[e->line];
	struct did d = {any_words(e->read), any_words(e->write), any_words(e->atomic)};
	bool whole = d.read == all_words(e->read) && d.write == all_words(e->write) && d.atomic == all_words(e->atomic);
	lock(p);
	bool fresh = !p->used;
	if (fresh) {
		p->used = true;
		p->wsite = p->rsite = MEM_NO_SITE;
	}
	p->written |= e->write | e->atomic;
	p->wsite = e->wsite < p->wsite ? e->wsite : p->wsite;
	p->rsite = e->rsite < p->rsite ? e->rsite : p->rsite;
	if (!whole && !p->bytes)
		turn_bytes(p);
	*raced = false;
	if (p->bytes)
		*raced = merge_bytes(p, e, me);
	else if (fresh)
		begin_words(p, e, me, &d);
	else
		*raced = merge_words(p, e, me, &d);
	unlock(p);
	return fresh;
}

static void add_touched(struct mem *m, const uint64_t *lines, size_t n, uint64_t race)
{
	pthread_mutex_lock(&m->launch_lock);
	if (m->n_touched + n > m->room_touched) {
		size_t room = 2 * m->room_touched > m->n_touched + n ? 2 * m->room_touched : m->n_touched + n + 1024;
		m->touched = realloc(m->touched, room * sizeof *m->touched);
		if (!m->touched)
			BUG("out of memory");
		m->room_touched = room;
	}
	memcpy(m->touched + m->n_touched, lines, n * sizeof *lines);
	m->n_touched += n;
	m->race = race < m->race ? race : m->race;
	pthread_mutex_unlock(&m->launch_lock);
}

static void empty(struct lines_table *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		t->slots[t->entries[i].slot] = 0;
	t->n = 0;
	t->n_records = 1;
	t->merged_early = false;
}

void mem_lines_merge(struct mem_block *b)
{
	struct lines_table *t = b->table;
	struct mem *m = b->mem;
	uint64_t fresh[256], race_at = NO_LINE;
	size_t n = 0;
	if (!t || !t->n)
		return;
	/* Owners have 25 bits; in a larger grid some races go unseen. */
	uint32_t me = t->block & ((1u << (32 - OWNER_AT)) - 1);
	for (uint32_t i = 0; i < t->n && t->launch == m->launch && !m->communicates; i++) {
		bool raced;
		if (merge(m, &t->entries[i], me, &raced))
			fresh[n++] = t->entries[i].line;
		if (raced && t->entries[i].line < race_at)
			race_at = t->entries[i].line;
		if (n == 256 || i + 1 == t->n) {
			add_touched(m, fresh, n, race_at);
			n = 0;
		}
	}
	empty(t);
}

/* ---- launches ---- */

void mem_launch_begin(struct mem *m, unsigned flags, const uint32_t grid[3])
{
	m->launch++;
	m->communicates = flags & MEM_COMMUNICATES;
	memcpy(m->grid, grid, sizeof m->grid);
	m->race = NO_LINE;
	m->n_touched = 0;
}

/* The deeds of owner and others that clash, in words. */
struct clash { const char *owner, *others; };

static struct clash clash(uint32_t s)
{
	if (s & OWN_WRITE && s & WRITE && s & DIFFER)
		return (struct clash){"and another block write different values to", ""};
	if (s & OWN_WRITE && s & READ)
		return (struct clash){"writes", " and another block reads it"};
	if (s & OWN_WRITE)
		return (struct clash){"writes", " and another block does an atomic on it"};
	if (s & WRITE && s & OWN_READ)
		return (struct clash){"reads", " and another block writes it"};
	if (s & WRITE)
		return (struct clash){"does an atomic on", " and another block writes it"};
	if (s & OWN_ATOMIC)
		return (struct clash){"does an atomic on", " and another block reads it"};
	return (struct clash){"reads", " and another block does an atomic on it"};
}

static void report(struct mem *m, struct fault *f, uint32_t sites[2])
{
	const struct line *p = &m->lines[m->race];
	char where[200];
	unsigned i = 0;
	while (!conflict(p->bytes ? p->bytes->state[i] : p->state[i / GRANULE]))
		i++;
	uint32_t s = p->bytes ? p->bytes->state[i] : p->state[i / GRANULE], owner = s >> OWNER_AT;
	uint32_t x = m->grid[0] ? m->grid[0] : 1, y = m->grid[1] ? m->grid[1] : 1;
	memset(f, 0, sizeof *f);
	f->kind = FAULT_RACE_GLOBAL;
	f->block[0] = owner % x;
	f->block[1] = owner / x % y;
	f->block[2] = owner / x / y;
	f->has_address = 1;
	f->address = MEM_GLOBAL_BASE + m->race * LINE + i;
	f->bytes = p->bytes ? 1 : GRANULE;
	byte_text(m, f->address, where, sizeof where);
	struct clash words = clash(s);
	snprintf(f->detail, sizeof f->detail, "block (%u, %u, %u) %s %s%s, and nothing orders blocks of one launch", f->block[0],
		 f->block[1], f->block[2], words.owner, where, words.others);
	sites[0] = p->wsite;
	sites[1] = s & (READ | OWN_READ) ? p->rsite : p->wsite;
}

int mem_launch_end(struct mem *m, struct fault *f, uint32_t sites[2])
{
	bool raced = m->race != NO_LINE;
	if (raced && f)
		report(m, f, sites);
	for (size_t i = 0; i < m->n_touched; i++) {
		struct line *p = &m->lines[m->touched[i]];
		m->written[m->touched[i]] |= p->written;
		free(p->bytes);
		memset(p, 0, sizeof *p);
	}
	m->n_touched = 0;
	m->race = NO_LINE;
	m->launch++;
	return raced ? -1 : 0;
}
