/* .file and .loc: the places in the source that instructions come from.
 *
 * Code that was inlined names the place in the function that was inlined and, after inlined_at, the place of the call,
 * which is that of an earlier .loc and may itself have been inlined.  What a user wants to read is a line of the kernel's
 * own file: so the place kept is the innermost one in the file of the outermost call.  File numbers stand for names
 * until the end, where nvcc puts the .file directives.
 */
#include "parse.h"

#include <stdlib.h>
#include <string.h>

struct place {
	uint32_t file, line, column;
};

struct entry {				/* a .loc as written, and what is kept for it */
	struct place written, kept;
	uint32_t outer_file;
	bool used;
};

struct file {
	uint32_t number;
	const char *name;
};

struct places {
	struct entry *entries;		/* hash table of the latest .loc at each place */
	struct { struct place at; uint32_t index; } *kept;	/* hash table: kept places to indices into locs */
	size_t n_entries, entry_room, n_kept, kept_room;
	struct buf files;
};

static size_t hash_of(const struct place *a)
{
	uint64_t h = a->file * 0x9e3779b97f4a7c15u;
	h = (h ^ a->line) * 0xa0761d6478bd642fu;
	h = (h ^ h >> 32 ^ a->column) * 0xe7037ed1a0b428dbu;
	return (size_t)(h ^ h >> 29);
}

static bool same(const struct place *a, const struct place *b)
{
	return a->file == b->file && a->line == b->line && a->column == b->column;
}

static void *zeroed(size_t n, size_t size)
{
	void *m = calloc(n, size);
	if (!m)
		BUG("out of memory");
	return m;
}

struct places *places_new(struct arena *scratch)
{
	struct places *l = arena_alloc(scratch, sizeof *l);

	l->entry_room = l->kept_room = 64;
	l->entries = zeroed(l->entry_room, sizeof *l->entries);
	l->kept = zeroed(l->kept_room, sizeof *l->kept);
	return l;
}

void places_free(struct places *l)
{
	free(l->entries);
	free(l->kept);
	buf_free(&l->files);
}

static struct entry *entry_of(struct places *l, const struct place *at)
{
	size_t i = hash_of(at);

	while (l->entries[i & (l->entry_room - 1)].used && !same(&l->entries[i & (l->entry_room - 1)].written, at))
		i++;
	return &l->entries[i & (l->entry_room - 1)];
}

static void remember(struct places *l, const struct entry *new)
{
	struct entry *e = entry_of(l, &new->written);

	l->n_entries += !e->used;
	*e = *new;
	if (l->n_entries * 2 <= l->entry_room)
		return;
	struct entry *old = l->entries;
	size_t room = l->entry_room;
	l->entry_room *= 2;
	l->entries = zeroed(l->entry_room, sizeof *l->entries);
	for (size_t i = 0; i < room; i++)
		if (old[i].used)
			*entry_of(l, &old[i].written) = old[i];
	free(old);
}

static size_t kept_slot(const struct places *l, const struct place *at)
{
	size_t i = hash_of(at);

	while (l->kept[i & (l->kept_room - 1)].index && !same(&l->kept[i & (l->kept_room - 1)].at, at))
		i++;
	return i & (l->kept_room - 1);
}

/* The index of a kept place in p->locs, which holds numbers of files until the end. */
static uint32_t index_of(struct parser *p, const struct place *at)
{
	struct places *l = p->places;
	size_t slot = kept_slot(l, at), old_room = l->kept_room;
	const struct place none = {0};

	if (l->kept[slot].index)
		return l->kept[slot].index;
	if (!p->locs.size)
		buf_add(&p->locs, &none, sizeof none);
	l->kept[slot].index = (uint32_t)(p->locs.size / sizeof none);
	l->kept[slot].at = *at;
	buf_add(&p->locs, at, sizeof *at);
	uint32_t index = l->kept[slot].index;
	if (++l->n_kept * 2 > old_room) {
		__typeof__(l->kept) old = l->kept;
		l->kept_room *= 2;
		l->kept = zeroed(l->kept_room, sizeof *l->kept);
		for (size_t i = 0; i < old_room; i++)
			if (old[i].index)
				l->kept[kept_slot(l, &old[i].at)] = old[i];
		free(old);
	}
	return index;
}

static int place(struct parser *p, struct place *at)
{
	uint32_t *const parts[] = {&at->file, &at->line, &at->column};

	for (int i = 0; i < 3; i++) {
		if (p->t.kind != T_INT || p->t.value > UINT32_MAX)
			return parser_unexpected(p, "file, line and column as numbers");
		*parts[i] = (uint32_t)p->t.value;
		parser_advance(p);
	}
	return 0;
}

static bool accept_name(struct parser *p, const char *name)
{
	if (p->t.kind != T_IDENT || p->t.n != strlen(name) || memcmp(p->t.s, name, p->t.n))
		return false;
	parser_advance(p);
	return true;
}

/* label or label + offset into a string section */
static int function_name(struct parser *p)
{
	if (p->t.kind != T_IDENT)
		return parser_unexpected(p, "a label");
	parser_advance(p);
	if (parser_accept(p, '+')) {
		if (p->t.kind != T_INT)
			return parser_unexpected(p, "a number");
		parser_advance(p);
	}
	return 0;
}

int parser_loc(struct parser *p)
{
	struct entry e = {.used = true};
	struct place caller;
	bool inlined = false;

	if (place(p, &e.written) < 0)
		return -1;
	while (parser_accept(p, ',')) {
		if (accept_name(p, "function_name") ? function_name(p) < 0 : false)
			return -1;
		if (accept_name(p, "inlined_at")) {
			if (place(p, &caller) < 0)
				return -1;
			inlined = true;
		}
	}
	e.kept = e.written;
	e.outer_file = e.written.file;
	if (inlined) {
		const struct entry *outer = entry_of(p->places, &caller);
		e.outer_file = outer->used ? outer->outer_file : caller.file;
		if (e.written.file != e.outer_file)
			e.kept = outer->used ? outer->kept : caller;
	}
	remember(p->places, &e);
	p->loc = index_of(p, &e.kept);
	return parser_memory(p, p->places->entry_room * sizeof e);
}

int parser_file(struct parser *p)
{
	struct file f;

	if (p->t.kind != T_INT || p->t.value > UINT32_MAX)
		return parser_unexpected(p, "a file's number");
	f.number = (uint32_t)p->t.value;
	parser_advance(p);
	if (p->t.kind != T_STRING)
		return parser_unexpected(p, "a file's name");
	f.name = arena_strndup(p->arena, p->t.s, p->t.n);
	parser_advance(p);
	while (parser_accept(p, ',')) {			/* time stamp, size */
		if (p->t.kind != T_INT)
			return parser_unexpected(p, "a number");
		parser_advance(p);
	}
	buf_add(&p->places->files, &f, sizeof f);
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = ((const struct file *)a)->number, y = ((const struct file *)b)->number;
	return (x > y) - (x < y);
}

int places_finish(struct parser *p)
{
	struct ptx_module *m = p->module;
	struct buf *files = &p->places->files;
	const struct place *locs = (const struct place *)(void *)p->locs.data;

	m->n_locs = (uint32_t)(p->locs.size / sizeof *locs);
	if (!m->n_locs)
		m->n_locs = 1;
	if (parser_memory(p, m->n_locs * sizeof *m->locs) < 0)
		return -1;
	m->locs = arena_new_array(p->arena, struct ptx_loc, m->n_locs);
	if (files->size)
		qsort(files->data, files->size / sizeof(struct file), sizeof(struct file), by_number);
	m->locs[0].file = "";
	for (uint32_t i = 1; i < m->n_locs; i++) {
		struct file key = {.number = locs[i].file}, *f = NULL;
		if (files->size)
			f = bsearch(&key, files->data, files->size / sizeof key, sizeof key, by_number);
		m->locs[i] = (struct ptx_loc){f ? f->name : "", locs[i].line, locs[i].column};
	}
	return 0;
}
