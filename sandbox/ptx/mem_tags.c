/* Shadow of shared memory: a tag for who wrote a word, a tag for who read it.
 *
 *	write tag	interval:11  warp:5  -:4  bytes:4  many:1  atomic:1  complex:1  poison:1  -:4  init:4
 *	read tag	interval:11  site:11  warp:5  many:1  bytes:4
 *
 * init (bytes ever written) and poison (a cp.async is on its way here) hold always; all else holds in the interval of the
 * tag only, so that a barrier of the whole block forgets it by counting on.  `many` means: more than one warp, all of them
 * the same bytes; the tag names the first.  When a tag cannot say what happened (warps at different bytes of a word, equal
 * values written by several warps) or order is not plain (mem_block.c), the word turns complex: its state is a cell, or
 * one for each byte, with every warp's last time of reading, writing and atomics.
 */
#include "mem_state.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	INIT = TAG_INIT,
	POISON = TAG_POISON,
	COMPLEX = TAG_COMPLEX,
	ATOMIC = 1 << 10,
	MANY = 1 << 11,
	BYTES_AT = 12,
	BYTES = 0xf << BYTES_AT,
	WARP_AT = 16,
	WARP = 0x1f << WARP_AT,
	GEN_AT = 21,

	R_BYTES = 0xf,
	R_MANY = 1 << 4,
	R_WARP_AT = 5,
	R_WARP = 0x1f << R_WARP_AT,
	R_SITE_AT = 10,
	R_SITE_NONE = 0x7ff,

	MAX_GEN = 0x7ff
};
#define GEN (~0u << GEN_AT)

struct cell {
	uint32_t writers, atomics, readers;		/* warps; their times below, of others there is none */
	uint16_t wsite;
	uint16_t rsite;
	bool many_atomics, many_readers;		/* others too, unknown which: counts while order is plain */
	uint32_t write[MAX_WARPS], read[MAX_WARPS], atomic[MAX_WARPS];
};

enum { SPLIT = 1u << 31, NO_SITE16 = 0xffff };

bool mem_tags_new(struct mem_block *b)
{
	b->granules = (b->shared_bytes + LINE - 1) / LINE * (LINE / GRANULE) + 8;
	b->wtag = calloc(b->granules, sizeof *b->wtag);
	b->rtag = calloc(b->granules, sizeof *b->rtag);
	b->wsite = calloc(b->granules, sizeof *b->wsite);
	b->gen = 1;
	return b->wtag && b->rtag && b->wsite && mem_reads_new(b);
}

void mem_tags_free(struct mem_block *b)
{
	free(b->wtag);
	free(b->rtag);
	free(b->wsite);
	free(b->cells);
	free(b->cell_of);
	mem_reads_free(b);
}

void mem_tags_new_interval(struct mem_block *b)
{
	b->n_cells = 0;
	mem_reads_new_interval(b);
	if (b->gen++ < MAX_GEN)
		return;
	b->gen = 1;
	for (uint32_t g = 0; g < b->granules; g++)
		b->wtag[g] &= INIT | POISON;
	memset(b->rtag, 0, b->granules * sizeof *b->rtag);
}

void mem_tags_reset(struct mem_block *b)
{
	mem_tags_new_interval(b);
	mem_reads_reset(b);
	memset(b->wtag, 0, b->granules * sizeof *b->wtag);
}

/* ---- one access ---- */

struct note {			/* what an access is, for tags */
	struct mem_ctx *c;
	struct mem_block *b;
	const struct lanes *l;
	const struct stored *stored;
	enum access_kind kind;
	uint32_t site;
	uint32_t w, r;		/* tags of a full-word access */
};

static uint32_t r_site(uint32_t site)
{
	return site < R_SITE_NONE ? site : R_SITE_NONE;
}

static struct note note_of(struct mem_ctx *c, const struct lanes *l, uint32_t site, enum access_kind k,
			   const struct stored *s)
{
	struct mem_block *b = c->block;
	struct note n = {c, b, l, s, k, site, 0, 0};
	n.w = b->gen << GEN_AT | c->warp << WARP_AT | BYTES | INIT;
	n.r = b->gen << GEN_AT | r_site(site) << R_SITE_AT | c->warp << R_WARP_AT | R_BYTES;
	return n;
}

static bool reads(enum access_kind k)
{
	return k == ACCESS_READ || k == ACCESS_ATOMIC || k == ACCESS_VOLATILE_READ;
}

/* ---- faults ---- */

static uint32_t wide_site(uint32_t site, uint32_t none)
{
	return site == none ? MEM_NO_SITE : site;
}

static int race(const struct note *n, unsigned lane, uint32_t byte, int other, enum access_kind other_kind, uint32_t site)
{
	struct mem_ctx *c = n->c;
	uint64_t address = lane_address(n->l, lane);
	c->other_site = site;
	if (other < 0)
		return mem_fault(c, FAULT_RACE_SHARED, lane, address, n->l->size,
				 "another warp %s byte 0x%x, warp %u %s it with no barrier between", mem_deed(other_kind), byte,
				 c->warp, mem_deed(n->kind));
	return mem_fault(c, FAULT_RACE_SHARED, lane, address, n->l->size, "warp %d %s byte 0x%x, warp %u %s it with no barrier between",
			 other, mem_deed(other_kind), byte, c->warp, mem_deed(n->kind));
}

static int not_waited(const struct note *n, unsigned lane, uint32_t g)
{
	struct mem_ctx *c = n->c;
	uint32_t t = n->b->wtag[g];
	bool bulk = mem_bulk_covers(n->b, (uint64_t)g * GRANULE);
	c->other_site = wide_site(n->b->wsite[g], NO_SITE16);
	if (!reads(n->kind))
		return mem_fault(c, FAULT_RACE_SHARED, lane, lane_address(n->l, lane), n->l->size,
				 "warp %u %s byte 0x%x while a cp.async%s of warp %u is on its way to it, with no wait between",
				 c->warp, mem_deed(n->kind), g * GRANULE, bulk ? ".bulk" : "", t >> WARP_AT & 31);
	return mem_fault(c, FAULT_ASYNC_NOT_WAITED, lane, lane_address(n->l, lane), n->l->size,
			 "%u-byte read of shared memory at offset %llu, where a cp.async%s of warp %u may not have arrived: %s",
			 n->l->size, (unsigned long long)lane_address(n->l, lane), bulk ? ".bulk" : "", t >> WARP_AT & 31,
			 bulk ? "no wait for this phase of its mbarrier before it" : "no cp.async.wait before it");
}

static int never_written(const struct note *n, unsigned lane, uint32_t byte)
{
	uint64_t at = lane_address(n->l, lane);
	uint32_t missing = 0;
	for (uint64_t i = at; i < at + n->l->size; i++)
		missing += !(n->b->wtag[i / GRANULE] >> i % GRANULE & 1);
	char part[40] = "which";
	if (missing < n->l->size)
		snprintf(part, sizeof part, "of which byte %u", byte);
	return mem_fault(n->c, FAULT_UNINITIALISED_SHARED, lane, at, n->l->size,
			 "%u-byte %s at offset %llu of shared memory, %s was never written; if another thread stores it, a barrier is missing in between", n->l->size,
			 n->kind == ACCESS_ATOMIC ? "atomic" : "read", (unsigned long long)at, part);
}

/* ---- cells ---- */

static uint32_t new_cells(struct mem_block *b, uint32_t n)
{
	if (b->n_cells + n > b->room_cells) {
		b->room_cells = b->room_cells ? 2 * b->room_cells : 256;
		b->cells = realloc(b->cells, b->room_cells * sizeof *b->cells);
		if (!b->cells)
			BUG("out of memory");
	}
	if (!b->cell_of) {
		b->cell_of = calloc(b->granules, sizeof *b->cell_of);
		if (!b->cell_of)
			BUG("out of memory");
	}
	b->n_cells += n;
	return b->n_cells - n;
}

/* What the tags say of byte i of the word, as a cell. */
static void cell_from_tags(struct cell *c, const struct mem_block *b, uint32_t t, uint32_t r, uint32_t wsite, unsigned i)
{
	c->writers = c->atomics = c->readers = 0;
	c->many_atomics = c->many_readers = false;
	c->wsite = (uint16_t)wsite;
	c->rsite = NO_SITE16;
	if (t >> GEN_AT == b->gen && t >> BYTES_AT >> i & 1) {
		uint32_t warp = t >> WARP_AT & 31;
		if (t & ATOMIC) {
			c->atomics = 1u << warp;
			c->atomic[warp] = b->epoch;
			c->many_atomics = t & MANY;
		} else {
			c->writers = 1u << warp;
			c->write[warp] = b->epoch;
		}
	}
	if (r >> GEN_AT == b->gen && r >> i & 1) {
		uint32_t warp = r >> R_WARP_AT & 31, site = r >> R_SITE_AT & R_SITE_NONE;
		c->readers = 1u << warp;
		c->read[warp] = b->epoch;
		c->many_readers = r & R_MANY;
		c->rsite = site == R_SITE_NONE ? NO_SITE16 : (uint16_t)site;
	}
}

static bool partial(uint32_t bytes)
{
	return bytes && bytes != 0xf;
}

static void turn_complex(struct mem_block *b, uint32_t g)
{
	uint32_t t = b->wtag[g], r = b->rtag[g];
	if (t >> GEN_AT != b->gen)
		t &= INIT | POISON;
	if (r >> GEN_AT != b->gen)
		r = 0;
	unsigned n = partial(t >> BYTES_AT & 0xf) || partial(r & R_BYTES) ? 4 : 1;
	uint32_t first = new_cells(b, n);
	for (unsigned i = 0; i < n; i++)
		cell_from_tags(&b->cells[first + i], b, t, r, b->wsite[g], i);
	b->cell_of[g] = first | (n == 4 ? SPLIT : 0);
	b->wtag[g] = b->gen << GEN_AT | COMPLEX | (t & (INIT | POISON));
	mem_reads_unsound(b, g);
}

static void split(struct mem_block *b, uint32_t g)
{
	if (b->cell_of[g] & SPLIT)
		return;
	struct cell whole = b->cells[b->cell_of[g]];
	uint32_t first = new_cells(b, 4);
	for (unsigned i = 0; i < 4; i++)
		b->cells[first + i] = whole;
	b->cell_of[g] = first | SPLIT;
}

/* A warp of the set whose deed is not ordered before what warp me does now, or -1. */
static int unordered(const struct mem_block *b, uint32_t me, uint32_t warps, const uint32_t *times)
{
	for (uint32_t rest = warps & ~(1u << me); rest; rest &= rest - 1) {
		uint32_t u = first_lane(rest);
		if (!mem_ordered(b, me, u, times[u]))
			return (int)u;
	}
	return -1;
}

/* Does the store of this lane leave `count` bytes from `byte` on as they are? */
static bool same_value(const struct note *n, unsigned lane, uint32_t byte, unsigned count)
{
	unsigned char data[LANES * 32];
	if (!n->stored)
		return false;
	mem_gather(n->stored->op, n->l->mask, n->stored->rows, data);
	return !memcmp(data + lane * n->l->size + (byte - lane_address(n->l, lane)), n->b->shared + byte, count);
}

static int cell_race(const struct note *n, unsigned lane, uint32_t byte, const struct cell *c, int other, enum access_kind k)
{
	return race(n, lane, byte, other, k, wide_site(k == ACCESS_READ ? c->rsite : c->wsite, NO_SITE16));
}

/* c: the state of `count` bytes. */
static int cell_access(const struct note *n, unsigned lane, uint32_t byte, unsigned count, struct cell *c)
{
	const struct mem_block *b = n->b;
	uint32_t me = n->c->warp, bit = 1u << me, now = mem_epoch(b, me);
	enum access_kind k = n->kind;
	bool plain = k == ACCESS_READ || k == ACCESS_WRITE, writes = k != ACCESS_READ && k != ACCESS_VOLATILE_READ;
	int u = unordered(b, me, c->writers, c->write);
	if (u >= 0 && !(k == ACCESS_WRITE && same_value(n, lane, byte, count)))
		return cell_race(n, lane, byte, c, u, ACCESS_WRITE);
	u = plain ? unordered(b, me, c->atomics, c->atomic) : -1;
	if (u >= 0 || (plain && c->many_atomics && !b->precise))
		return cell_race(n, lane, byte, c, u, ACCESS_ATOMIC);
	u = writes ? unordered(b, me, c->readers, c->read) : -1;
	if (u >= 0 || (writes && c->many_readers && !b->precise))
		return cell_race(n, lane, byte, c, u, ACCESS_READ);
	if (k == ACCESS_READ) {
		c->readers |= bit;
		c->read[me] = now;
		c->rsite = n->site < NO_SITE16 ? (uint16_t)n->site : NO_SITE16;
	} else if (k == ACCESS_WRITE) {
		c->writers |= bit;
		c->write[me] = now;
	} else if (k != ACCESS_VOLATILE_READ) {
		c->atomics |= bit;
		c->atomic[me] = now;
	}
	if (writes)
		c->wsite = n->site < NO_SITE16 ? (uint16_t)n->site : NO_SITE16;
	return 0;
}

static int complex_access(const struct note *n, unsigned lane, uint32_t g, uint32_t bytes)
{
	struct mem_block *b = n->b;
	if (bytes != 0xf)
		split(b, g);
	if (!(b->cell_of[g] & SPLIT)) {
		if (cell_access(n, lane, g * GRANULE, GRANULE, &b->cells[b->cell_of[g]]) < 0)
			return -1;
	} else {
		uint32_t first = b->cell_of[g] & ~SPLIT;
		for (unsigned i = 0; i < 4; i++)
			if (bytes >> i & 1 && cell_access(n, lane, g * GRANULE + i, 1, &b->cells[first + i]) < 0)
				return -1;
	}
	if (n->kind == ACCESS_WRITE || n->kind == ACCESS_VOLATILE_WRITE)
		b->wtag[g] |= bytes;
	return 0;
}

/* ---- words, exactly ---- */

enum outcome { FINE, CONFLICT, TOO_MUCH };	/* TOO_MUCH: tags can't say it */

/* Against the write tag. */
static enum outcome against_write(const struct note *n, uint32_t t, uint32_t bytes)
{
	uint32_t done = t >> BYTES_AT & 0xf;
	bool mine = (t >> WARP_AT & 31) == n->c->warp && !(t & MANY);
	bool atomic = n->kind == ACCESS_ATOMIC || n->kind == ACCESS_VOLATILE_WRITE;
	if (t >> GEN_AT != n->b->gen || !done)
		return FINE;
	if (n->kind == ACCESS_VOLATILE_READ)
		return mine || t & ATOMIC || !(done & bytes) ? FINE : CONFLICT;
	if (n->kind == ACCESS_READ)
		return mine || !(done & bytes) ? FINE : CONFLICT;
	if (atomic && t & ATOMIC)
		return done == bytes ? FINE : TOO_MUCH;
	if (mine)
		return !(t & ATOMIC) == !atomic ? FINE : TOO_MUCH;
	return done & bytes && (n->kind != ACCESS_WRITE || t & ATOMIC) ? CONFLICT : TOO_MUCH;
}

static enum outcome against_read(const struct note *n, uint32_t r, uint32_t bytes)
{
	bool mine = (r >> R_WARP_AT & 31) == n->c->warp && !(r & R_MANY);
	if (r >> GEN_AT != n->b->gen || n->kind == ACCESS_VOLATILE_READ)
		return FINE;
	if (n->kind == ACCESS_READ)
		return mine || (r & R_BYTES) == bytes ? FINE : TOO_MUCH;
	return mine || !(r & bytes) ? FINE : CONFLICT;
}

static void note_read(const struct note *n, uint32_t g, uint32_t bytes)
{
	uint32_t *r = &n->b->rtag[g];
	if (*r >> GEN_AT != n->b->gen)
		*r = (n->r & ~R_BYTES) | bytes;
	else if ((*r >> R_WARP_AT & 31) != n->c->warp)
		*r |= R_MANY;
	else
		*r |= bytes;
}

static void note_write(const struct note *n, uint32_t g, uint32_t bytes)
{
	uint32_t *t = &n->b->wtag[g], old = *t, atomic = n->kind == ACCESS_WRITE ? 0 : ATOMIC;
	bool same = old >> GEN_AT == n->b->gen && old & BYTES;
	uint32_t init = old & INIT;
	if (!same) {
		*t = (n->w & (GEN | WARP)) | bytes << BYTES_AT | atomic | init | bytes;
	} else if ((old >> WARP_AT & 31) != n->c->warp) {
		*t |= MANY;		/* atomics of several warps */
	} else {
		*t |= bytes << BYTES_AT | bytes;
	}
	n->b->wsite[g] = n->site < NO_SITE16 ? (uint16_t)n->site : NO_SITE16;
}

/* Bytes (a set of 4) of word g. */
static int word_access(const struct note *n, unsigned lane, uint32_t g, uint32_t bytes)
{
	struct mem_block *b = n->b;
	uint32_t t = b->wtag[g], r = b->rtag[g];
	if (t & POISON)
		return not_waited(n, lane, g);
	if (reads(n->kind) && bytes & ~t)
		return never_written(n, lane, g * GRANULE + (unsigned)__builtin_ctz(bytes & ~t));
	if (t & COMPLEX && t >> GEN_AT != b->gen)
		t = b->wtag[g] &= INIT | POISON;
	bool is_complex = t & COMPLEX;
	if (!is_complex && !b->precise) {
		enum outcome w = against_write(n, t, bytes), rd = against_read(n, r, bytes);
		uint32_t byte = g * GRANULE;
		if (w == CONFLICT) {
			int other = (int)(t >> WARP_AT & 31);
			byte += (unsigned)__builtin_ctz(bytes & (t >> BYTES_AT));
			return race(n, lane, byte, other == (int)n->c->warp ? -1 : other, t & ATOMIC ? ACCESS_ATOMIC : ACCESS_WRITE,
				    wide_site(b->wsite[g], NO_SITE16));
		}
		if (rd == CONFLICT) {
			int other = (int)(r >> R_WARP_AT & 31);
			byte += (unsigned)__builtin_ctz(bytes & r);
			return race(n, lane, byte, other == (int)n->c->warp ? -1 : other, ACCESS_READ,
				    wide_site(r >> R_SITE_AT & R_SITE_NONE, R_SITE_NONE));
		}
		if (w == FINE && rd == FINE) {
			if (n->kind == ACCESS_READ)
				note_read(n, g, bytes);
			else if (n->kind != ACCESS_VOLATILE_READ)
				note_write(n, g, bytes);
			return 0;
		}
	}
	if (!is_complex)
		turn_complex(b, g);
	return complex_access(n, lane, g, bytes);
}

static int lane_access(const struct note *n, unsigned lane)
{
	uint64_t at = lane_address(n->l, lane);
	uint32_t g = (uint32_t)(at / GRANULE);
	if (n->l->size < GRANULE)
		return word_access(n, lane, g, ((1u << n->l->size) - 1) << at % GRANULE);
	for (uint32_t k = 0; k < n->l->size / GRANULE; k++)
		if (word_access(n, lane, g + k, 0xf) < 0)
			return -1;
	return 0;
}

static int every_lane(const struct note *n)
{
	for (uint32_t rest = n->l->mask; rest; rest &= rest - 1)
		if (lane_access(n, first_lane(rest)) < 0)
			return -1;
	return 0;
}

/* ---- whole words, fast ---- */

typedef uint32_t eight __attribute__((vector_size(32), aligned(4)));
typedef uint32_t quad __attribute__((vector_size(16), aligned(4)));

/* Non-zero: this word needs a closer look. */
#define READ_DOUBT(V, wtag, rtag, note)                                                                \
	({                                                                                             \
		V x_ = (wtag) ^ (note)->w, y_ = (rtag) ^ (note)->r;                                    \
		V in_ = (V)((x_ & GEN) == 0), rin_ = (V)((y_ & GEN) == 0);                             \
		(x_ & (INIT | POISON | COMPLEX)) | (in_ & x_ & (WARP | MANY)) | (rin_ & y_ & R_BYTES); \
	})
#define READ_TAG(V, rtag, note)                                                                        \
	({                                                                                             \
		V y_ = (rtag) ^ (note)->r, in_ = (V)((y_ & GEN) == 0), other_ = (V)((y_ & R_WARP) != 0); \
		(in_ & ((rtag) | (other_ & R_MANY))) | (~in_ & (note)->r);                             \
	})
#define WRITE_DOUBT(V, wtag, rtag, note)                                                               \
	({                                                                                             \
		V x_ = (wtag) ^ (note)->w, y_ = (rtag) ^ (note)->r;                                    \
		V in_ = (V)((x_ & GEN) == 0), rin_ = (V)((y_ & GEN) == 0);                             \
		(x_ & (POISON | COMPLEX)) | (in_ & x_ & (WARP | MANY | ATOMIC)) | (rin_ & y_ & (R_WARP | R_MANY)); \
	})

/* n words from t and r on, 4 or a multiple of 8: false: some need a closer look, nothing is noted. */
MEM_INLINE bool read_words(uint32_t *t, uint32_t *r, unsigned count, const struct note *n)
{
	if (count == 4) {
		quad *w = (quad *)t, *s = (quad *)r, q = READ_DOUBT(quad, *w, *s, n);
		if (q[0] | q[1] | q[2] | q[3])
			return false;
		*s = READ_TAG(quad, *s, n);
		return true;
	}
	eight doubt = {0};
	for (unsigned i = 0; i < count; i += 8)
		doubt |= READ_DOUBT(eight, *(eight *)(t + i), *(eight *)(r + i), n);
	if (doubt[0] | doubt[1] | doubt[2] | doubt[3] | doubt[4] | doubt[5] | doubt[6] | doubt[7])
		return false;
	for (unsigned i = 0; i < count; i += 8)
		*(eight *)(r + i) = READ_TAG(eight, *(eight *)(r + i), n);
	return true;
}

MEM_INLINE bool write_words(uint32_t *t, uint32_t *r, uint16_t *sites, unsigned count, const struct note *n)
{
	uint16_t site = n->site < NO_SITE16 ? (uint16_t)n->site : NO_SITE16;
	if (count == 4) {
		quad *w = (quad *)t, *s = (quad *)r, q = WRITE_DOUBT(quad, *w, *s, n);
		if (q[0] | q[1] | q[2] | q[3])
			return false;
		*w = (quad){n->w, n->w, n->w, n->w};
		for (unsigned i = 0; i < 4; i++)
			sites[i] = site;
		return true;
	}
	eight doubt = {0}, tag = {n->w, n->w, n->w, n->w, n->w, n->w, n->w, n->w};
	for (unsigned i = 0; i < count; i += 8)
		doubt |= WRITE_DOUBT(eight, *(eight *)(t + i), *(eight *)(r + i), n);
	if (doubt[0] | doubt[1] | doubt[2] | doubt[3] | doubt[4] | doubt[5] | doubt[6] | doubt[7])
		return false;
	for (unsigned i = 0; i < count; i += 8)
		*(eight *)(t + i) = tag;
	for (unsigned i = 0; i < count; i++)
		sites[i] = site;
	return true;
}

/* The same for one word. */
MEM_INLINE bool read_word(uint32_t *t, uint32_t *r, const struct note *n)
{
	uint32_t x = *t ^ n->w, y = *r ^ n->r;
	if (x & (INIT | POISON | COMPLEX) || (!(x & GEN) && x & (WARP | MANY)))
		return false;
	if (y & GEN)
		*r = n->r;
	else if (y & R_BYTES)
		return false;
	else if (y & R_WARP)
		*r |= R_MANY;
	return true;
}

MEM_INLINE bool write_word(uint32_t *t, uint32_t *r, uint16_t *site, const struct note *n)
{
	uint32_t x = *t ^ n->w, y = *r ^ n->r;
	if (x & (POISON | COMPLEX) || (!(x & GEN) && x & (WARP | MANY | ATOMIC)) || (!(y & GEN) && y & (R_WARP | R_MANY)))
		return false;
	*t = n->w;
	*site = n->site < NO_SITE16 ? (uint16_t)n->site : NO_SITE16;
	return true;
}

MEM_INLINE bool atomic_word(uint32_t *t, uint32_t *r, uint16_t *site, const struct note *n)
{
	uint32_t x = *t ^ n->w, y = *r ^ n->r;
	if (x & (INIT | POISON | COMPLEX) || (!(y & GEN) && y & (R_WARP | R_MANY)))
		return false;
	if (x & GEN)
		*t = n->w | ATOMIC;
	else if (x & BYTES || !(*t & ATOMIC))
		return false;
	else if (x & WARP)
		*t |= MANY;
	*site = n->site < NO_SITE16 ? (uint16_t)n->site : NO_SITE16;
	return true;
}

/* Some bytes of a word. */
MEM_INLINE bool read_part(uint32_t *t, uint32_t *r, uint32_t bytes, const struct note *n)
{
	uint32_t x = *t ^ n->w, y = *r ^ n->r;
	if (x & (bytes | POISON | COMPLEX) || (!(x & GEN) && x & (WARP | MANY)))
		return false;
	if (y & GEN)
		*r = (n->r & ~R_BYTES) | bytes;
	else if (y & (R_WARP | R_MANY))
		return false;
	else
		*r |= bytes;
	return true;
}

MEM_INLINE bool write_part(uint32_t *t, uint32_t *r, uint16_t *site, uint32_t bytes, const struct note *n)
{
	uint32_t x = *t ^ n->w, y = *r ^ n->r;
	if (x & (POISON | COMPLEX) || (!(x & GEN) && (x & (WARP | MANY) || *t & ATOMIC)) ||
	    (!(y & GEN) && y & (R_WARP | R_MANY)))
		return false;
	uint32_t done = x & GEN ? 0 : *t & BYTES;
	*t = (n->w & (GEN | WARP)) | done | bytes << BYTES_AT | (*t & INIT) | bytes;
	*site = n->site < NO_SITE16 ? (uint16_t)n->site : NO_SITE16;
	return true;
}

/* A run of whole words. */
MEM_INLINE bool run(const struct note *n, uint64_t at, unsigned count)
{
	uint32_t *t = n->b->wtag + at / GRANULE, *r = n->b->rtag + at / GRANULE;
	uint16_t *site = n->b->wsite + at / GRANULE;
	bool read = n->kind == ACCESS_READ;
	if (count >= 4)
		return read ? read_words(t, r, count, n) : write_words(t, r, site, count, n);
	for (unsigned i = 0; i < count; i++)
		if (read ? !read_word(t + i, r + i, n) : !write_word(t + i, r + i, site + i, n))
			return false;
	return true;
}

/* All lanes at once, four words each.  False: some word needs a closer look; nothing is noted. */
MEM_INLINE bool scattered_quads(const struct note *n)
{
	uint32_t *t = n->b->wtag, *r = n->b->rtag;
	bool read = n->kind == ACCESS_READ;
	quad doubt = {0}, tag = {n->w, n->w, n->w, n->w};
	for (uint32_t rest = n->l->mask; rest; rest &= rest - 1) {
		uint64_t g = lane_address(n->l, first_lane(rest)) / GRANULE;
		quad w = *(quad *)(t + g), s = *(quad *)(r + g);
		doubt |= read ? READ_DOUBT(quad, w, s, n) : WRITE_DOUBT(quad, w, s, n);
	}
	if (doubt[0] | doubt[1] | doubt[2] | doubt[3])
		return false;
	for (uint32_t rest = n->l->mask; rest; rest &= rest - 1) {
		uint64_t g = lane_address(n->l, first_lane(rest)) / GRANULE;
		if (read) {
			*(quad *)(r + g) = READ_TAG(quad, *(quad *)(r + g), n);
		} else {
			*(quad *)(t + g) = tag;
			for (unsigned i = 0; i < 4; i++)
				n->b->wsite[g + i] = n->site < NO_SITE16 ? (uint16_t)n->site : NO_SITE16;
		}
	}
	return true;
}

MEM_INLINE int scattered(const struct note *n)
{
	const struct lanes *l = n->l;
	unsigned count = l->size / GRANULE;
	if (count == 4 && scattered_quads(n))
		return 0;
	for (uint32_t rest = l->mask; rest; rest &= rest - 1) {
		unsigned lane = first_lane(rest);
		bool fine = count == 1 ? run(n, lane_address(l, lane), 1) : run(n, lane_address(l, lane), count);
		if (!fine && lane_access(n, lane) < 0)
			return -1;
	}
	return 0;
}

MEM_INLINE int atomics(const struct note *n)
{
	for (uint32_t rest = n->l->mask; rest; rest &= rest - 1) {
		unsigned lane = first_lane(rest);
		uint64_t g = lane_address(n->l, lane) / GRANULE;
		if (!atomic_word(n->b->wtag + g, n->b->rtag + g, n->b->wsite + g, n) && lane_access(n, lane) < 0)
			return -1;
	}
	return 0;
}

MEM_INLINE int parts(const struct note *n)
{
	const struct lanes *l = n->l;
	uint32_t first = (1u << l->size) - 1;
	for (uint32_t rest = l->mask; rest; rest &= rest - 1) {
		unsigned lane = first_lane(rest);
		uint64_t at = lane_address(l, lane), g = at / GRANULE;
		uint32_t bytes = first << at % GRANULE, *t = n->b->wtag + g, *r = n->b->rtag + g;
		bool fine = n->kind == ACCESS_READ ? read_part(t, r, bytes, n) : write_part(t, r, n->b->wsite + g, bytes, n);
		if (!fine && lane_access(n, lane) < 0)
			return -1;
	}
	return 0;
}

MEM_FAST int mem_tags_note(struct mem_ctx *c, const struct lanes *l, uint32_t site, enum access_kind k,
			   const struct stored *s)
{
	struct note n = note_of(c, l, site, k, s);
	if (s && mem_overlap(l) && mem_check_agree(c, l, FAULT_RACE_SHARED, site, s) < 0)
		return -1;
	if (!c->block->precise && k == ACCESS_ATOMIC && l->size == GRANULE)
		return atomics(&n);
	if (c->block->precise || (k != ACCESS_READ && k != ACCESS_WRITE))
		return every_lane(&n);
	if (l->strided && l->stride == l->size && !(l->base % GRANULE))
		return run(&n, l->base, LANES * l->size / GRANULE) ? 0 : every_lane(&n);
	if (l->size < GRANULE)
		return parts(&n);
	if (l->strided && !l->stride)
		return run(&n, l->base, l->size / GRANULE) ? 0 : lane_access(&n, first_lane(l->mask));
	return scattered(&n);
}

int mem_tags_access(struct mem_ctx *c, const struct lanes *l, uint32_t site, enum access_kind k, const struct stored *s)
{
	if (c->block->puts_off) {
		if (k == ACCESS_READ)
			return mem_reads_access(c, l, site);
		mem_reads_settle(c->block);
	}
	return mem_tags_note(c, l, site, k, s);
}

/* ---- cp.async ---- */

int mem_tags_async_begin(struct mem_ctx *c, const struct lanes *l, uint32_t site)
{
	struct note n = note_of(c, l, site, ACCESS_WRITE, NULL);
	mem_reads_settle(c->block);
	for (uint32_t rest = l->mask; rest; rest &= rest - 1) {
		unsigned lane = first_lane(rest);
		uint32_t g = (uint32_t)(lane_address(l, lane) / GRANULE);
		for (uint32_t k = g; k < g + l->size / GRANULE; k++) {
			uint32_t init = c->block->wtag[k] & INIT;
			if (word_access(&n, lane, k, 0xf) < 0)
				return -1;
			c->block->wtag[k] = (n.w & (GEN | WARP)) | POISON | init;
			mem_reads_unsound(c->block, k);
			c->block->wsite[k] = site < NO_SITE16 ? (uint16_t)site : NO_SITE16;
		}
	}
	return 0;
}

/* The bytes are there: a write of the warp at this time. */
void mem_tags_async_end(struct mem_block *b, uint32_t warp, uint64_t at, uint32_t bytes, uint32_t site)
{
	mem_reads_settle(b);
	for (uint32_t g = (uint32_t)(at / GRANULE); g < (at + bytes) / GRANULE; g++) {
		b->wtag[g] = b->gen << GEN_AT | warp << WARP_AT | BYTES | INIT;
		b->wsite[g] = site < NO_SITE16 ? (uint16_t)site : NO_SITE16;
		if (!b->precise)
			continue;
		turn_complex(b, g);
		struct cell *c = &b->cells[b->cell_of[g] & ~SPLIT];
		unsigned n = b->cell_of[g] & SPLIT ? 4 : 1;
		for (unsigned i = 0; i < n; i++)
			c[i].write[warp] = mem_epoch(b, warp);
	}
}
