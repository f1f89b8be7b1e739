/* Where a report goes: colours only on a terminal, its width, whether it shows more than ASCII. */
#ifndef JUDGE_TERM_H
#define JUDGE_TERM_H

#include <stdbool.h>
#include <stdio.h>

struct arena;

enum style { STYLE_BOLD, STYLE_DIM, STYLE_GOOD, STYLE_BAD, STYLE_WARN, STYLE_NOTE, STYLE_CODE };

struct term {
	FILE *file;
	bool is_terminal, colour, utf8;
	int width;			/* columns; 100 where it is no terminal */
	const char *lang;		/* of who reads (lang.h); NULL: "en" */
	struct arena *arena;		/* of what is said in it, while a page is made */
};

void term_of(struct term *t, FILE *f);
/* Escape that begins a style, and the one that ends it; "" without colour. */
const char *term_on(const struct term *t, enum style s);
const char *term_off(const struct term *t);
/* Print in a style. */
void term_put(const struct term *t, enum style s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* A bar of `width` columns filled to share (0..1). */
void term_bar(const struct term *t, double share, int width);
/* Columns that a UTF-8 text takes: wide East Asian characters take two. */
int term_columns(const char *text);
/* Print text wrapped to the terminal's width; lines after the first begin with `indent` blanks, the first at column
 * `at`. */
void term_wrap(const struct term *t, const char *text, int at, int indent);
/* Text of another's making (device printf, compiler output): control characters shown, not obeyed. */
void term_untrusted(const struct term *t, const char *text, size_t size);

#endif
