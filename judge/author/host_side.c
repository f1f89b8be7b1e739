/* Guests shared by programs of one host side: see host_side.h. */
#include "host_side.h"

#include "../../sandbox/base/buf.h"
#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/err.h"
#include "mutant_source.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct host_side {
	struct host_side *next;
	char *text;
	int guest;
};

/* ---- the text ---- */

/* Is token i in a body that the host compiler does not see? */
static bool unseen(const struct source *s, unsigned i)
{
	for (unsigned k = 0; k < s->n_functions; k++) {
		const struct function *f = &s->functions[k];
		if (f->device && !f->host && i > f->open && i < f->close)
			return true;
	}
	return false;
}

/* Does what the host compiler makes of this token hang on what stands elsewhere? */
static bool tells_of_place(const struct tokens *t, unsigned i)
{
	static const char *const words[] = {"__LINE__", "__COUNTER__", "assert", "source_location", "__builtin_LINE"};
	for (size_t k = 0; k < sizeof words / sizeof *words; k++)
		if (memmem(t->text + t->list[i].at, t->list[i].size, words[k], strlen(words[k])))
			return true;
	return false;
}

/* Of the directives in a body, does this one end with the statement that it stands before?  Others hold for what comes after, too. */
static bool is_local(const struct tokens *t, unsigned i)
{
	const char *at = t->text + t->list[i].at;
	char word[2][8] = {"", ""};
	CLEANUP_FREE char *line = strndup(at, t->list[i].size);
	return line && sscanf(line, " # %7[a-z] %7[a-z_]", word[0], word[1]) == 2 && !strcmp(word[0], "pragma") && !strcmp(word[1], "unroll");
}

const char *host_side_text(const char *source, size_t size, struct arena *a)
{
	CLEANUP_BUF struct buf b = {0};
	struct source s;
	source_read(source, size, a, &s);
	for (unsigned i = 0; i < s.t.n; i++) {
		const struct token *k = &s.t.list[i];
		if (unseen(&s, i)) {
			if (k->kind == TOKEN_DIRECTIVE && !is_local(&s.t, i))
				return NULL;
			continue;
		}
		if (tells_of_place(&s.t, i))
			return NULL;
		buf_add(&b, source + k->at, k->size);
		buf_addc(&b, '\n');
	}
	return arena_strdup(a, buf_str(&b));
}

/* ---- guests ---- */

int host_sides_find(struct host_sides *s, const char *text)
{
	int guest = -1;
	pthread_mutex_lock(&s->lock);
	for (const struct host_side *h = s->list; h && guest < 0; h = h->next)
		if (!strcmp(h->text, text))
			guest = fcntl(h->guest, F_DUPFD_CLOEXEC, 3);
	pthread_mutex_unlock(&s->lock);
	return guest;
}

void host_sides_keep(struct host_sides *s, const char *text, int guest)
{
	struct host_side *h = malloc(sizeof *h);
	char *copy = strdup(text);
	if (!h || !copy)
		BUG("out of memory");
	*h = (struct host_side){.text = copy, .guest = fcntl(guest, F_DUPFD_CLOEXEC, 3)};
	if (h->guest < 0) {			/* too many open files: done without */
		free(copy);
		free(h);
		return;
	}
	pthread_mutex_lock(&s->lock);
	h->next = s->list;
	s->list = h;
	pthread_mutex_unlock(&s->lock);
}

void host_sides_free(struct host_sides *s)
{
	while (s->list) {
		struct host_side *h = s->list;
		s->list = h->next;
		close(h->guest);
		free(h->text);
		free(h);
	}
}
