/* Splits of a warp: lanes that are at the same place.
 *
 * Of the splits that can move the one in the deepest frame runs, then the one at the lowest place in the code, so that
 * the others are met again on the way and merge.  A split that has used up its share while others could move gets a
 * higher turn, and yields to all of a lower one: so lanes that spin on what another lane must do let it do it.
 */
#include "exec.h"

void warp_start(struct warp *w, uint32_t lanes, uint32_t pc)
{
	w->started = w->live = lanes;
	w->n_splits = 1;
	w->effort = SHARE - FIRST_SHARE;
	w->executed = 0;
	w->counted = 0;
	w->splits[0] = (struct split){.mask = lanes, .pc = pc};
	for (unsigned i = 0; i < 32; i++)
		w->local_top[i] = 0;
}

struct split *warp_split(struct warp *w, const struct split *like)
{
	if (w->n_splits == 32)
		BUG("more splits than lanes");
	struct split *s = &w->splits[w->n_splits++];
	*s = *like;
	return s;
}

void warp_drop(struct warp *w, struct split *s)
{
	*s = w->splits[--w->n_splits];
}

static void merge(struct warp *w)
{
	for (uint32_t i = 0; i < w->n_splits; i++)
		for (uint32_t k = i + 1; k < w->n_splits;) {
			struct split *a = &w->splits[i], *b = &w->splits[k];
			if (a->pc != b->pc || a->frame != b->frame || a->state != SPLIT_READY || b->state != SPLIT_READY) {
				k++;
				continue;
			}
			a->mask |= b->mask;
			if (b->turn > a->turn)
				a->turn = b->turn;
			warp_drop(w, b);
		}
}

static bool before(const struct split *a, const struct split *b)
{
	if (a->turn != b->turn)
		return a->turn < b->turn;
	if (a->frame != b->frame)
		return a->frame > b->frame;
	return a->pc < b->pc;
}

struct split *warp_pick(struct warp *w)
{
	struct split *best = NULL;
	if (w->n_splits > 1)
		merge(w);
	for (uint32_t i = 0; i < w->n_splits; i++) {
		struct split *s = &w->splits[i];
		if (s->state == SPLIT_READY && (!best || before(s, best)))
			best = s;
	}
	if (w->n_splits == 1 && best)
		best->turn = 0;
	return best;
}

uint32_t warp_stop(const struct warp *w, const struct split *s)
{
	uint32_t stop = UINT32_MAX;
	for (uint32_t i = 0; i < w->n_splits; i++) {
		const struct split *o = &w->splits[i];
		if (o != s && o->state == SPLIT_READY && o->frame == s->frame && o->pc > s->pc && o->pc < stop)
			stop = o->pc;
	}
	return stop;
}
