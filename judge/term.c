/* Where a report goes: see term.h. */
#include "term.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char *const escapes[] = {
	[STYLE_BOLD] = "\033[1m", [STYLE_DIM] = "\033[2m", [STYLE_GOOD] = "\033[32m", [STYLE_BAD] = "\033[31m",
	[STYLE_WARN] = "\033[33m", [STYLE_NOTE] = "\033[36m", [STYLE_CODE] = "\033[36m",
};

/* Unset means UTF-8 here: that is what terminals are; a locale that says otherwise is believed. */
static bool wants_utf8(void)
{
	const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	for (int i = 0; i < 3; i++) {
		const char *v = getenv(names[i]);
		if (v && *v)
			return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
	}
	return true;
}

static int columns_of(int fd)
{
	struct winsize w;
	const char *v = getenv("COLUMNS");
	if (ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
		return w.ws_col;
	return v && atoi(v) > 0 ? atoi(v) : 100;
}

void term_of(struct term *t, FILE *f)
{
	const char *no = getenv("NO_COLOR"), *kind = getenv("TERM");
	t->file = f;
	t->lang = "en";
	t->arena = NULL;
	t->is_terminal = isatty(fileno(f)) == 1;
	t->colour = t->is_terminal && !(no && *no) && !(kind && !strcmp(kind, "dumb"));
	t->utf8 = wants_utf8();
	t->width = t->is_terminal ? columns_of(fileno(f)) : 100;
	if (t->width < 40)
		t->width = 40;
	if (t->width > 140)
		t->width = 140;
}

const char *term_on(const struct term *t, enum style s)
{
	return t->colour ? escapes[s] : "";
}

const char *term_off(const struct term *t)
{
	return t->colour ? "\033[0m" : "";
}

void term_put(const struct term *t, enum style s, const char *fmt, ...)
{
	va_list ap;
	fputs(term_on(t, s), t->file);
	va_start(ap, fmt);
	vfprintf(t->file, fmt, ap);
	va_end(ap);
	fputs(term_off(t), t->file);
}

void term_bar(const struct term *t, double share, int width)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	if (!(share > 0))
		share = 0;
	if (share > 1)
		share = 1;
	int steps = (int)(share * width * 8 + 0.5);
	if (share > 0 && steps == 0)
		steps = 1;
	int full = steps / 8, used = full;
	for (int i = 0; i < full; i++)
		fputs(t->utf8 ? "█" : "#", t->file);
	if (steps % 8) {
		fputs(t->utf8 ? eighths[steps % 8] : "-", t->file);
		used++;
	}
	if (used == width)
		return;
	fprintf(t->file, "%s%s", term_off(t), term_on(t, STYLE_DIM));
	for (; used < width; used++)
		fputs(t->utf8 ? "░" : ".", t->file);
	fputs(term_off(t), t->file);
}

/* One character of well-formed UTF-8: its length, and its code point. */
static int next_char(const char *s, uint32_t *code)
{
	unsigned char c = (unsigned char)*s;
	int n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	uint32_t v = n == 1 ? c : c & (0xffu >> (n + 1));
	for (int i = 1; i < n; i++) {
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return *code = c, 1;
		v = v << 6 | ((unsigned char)s[i] & 0x3f);
	}
	*code = v;
	return n;
}

static int wide(uint32_t c)
{
	if (c >= 0x300 && c <= 0x36f)
		return 0;
	return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
	       (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
	       (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd) ? 2 : 1;
}

int term_columns(const char *text)
{
	int n = 0;
	uint32_t c;
	while (*text) {
		if (*text == '\033') {
			text += strcspn(text, "m");
			text += *text != 0;
			continue;
		}
		text += next_char(text, &c);
		n += wide(c);
	}
	return n;
}

/* East Asian text breaks anywhere, but no line begins with what closes, or ends with what opens. */
static const uint32_t opening[] = {0x3008, 0x300a, 0x300c, 0x300e, 0x3010, 0x3014, 0x2018, 0x201c, 0xff08, 0xff3b, 0xff5b, 0};
static const uint32_t closing[] = {0x3001, 0x3002, 0x3009, 0x300b, 0x300d, 0x300f, 0x3011, 0x3015, 0x2019, 0x201d, 0x2026, 0x00b7,
				   0xff01, 0xff05, 0xff09, 0xff0c, 0xff0e, 0xff1a, 0xff1b, 0xff1f, 0xff3d, 0xff5d, 0};

static bool among(const uint32_t *list, uint32_t c)
{
	while (*list && *list != c)
		list++;
	return *list != 0;
}

/* Whether the character at p, behind escapes, must stay with the one before it. */
static bool closes(const char *p)
{
	uint32_t c;
	while (*p == '\033') {
		p += strcspn(p, "m");
		p += *p != 0;
	}
	next_char(p, &c);
	return among(closing, c) || (c < 0x80 && c && strchr(",.;:!?)]}", (int)c));
}

void term_wrap(const struct term *t, const char *text, int at, int indent)
{
	while (*text) {
		const char *end = text, *brk = NULL;
		int column = at;
		uint32_t c;
		while (*end && *end != '\n' && column <= t->width) {
			if (*end == ' ')
				brk = end;
			if (*end == '\033') {
				end += strcspn(end, "m") + 1;
				continue;
			}
			int n = next_char(end, &c);
			if (wide(c) == 2 && column < t->width - 1 && !among(opening, c) && !closes(end + n))
				brk = end + n;
			end += n;
			column += wide(c);
		}
		if (*end && *end != '\n' && brk)
			end = brk;
		const char *shown = end;
		while (shown > text && shown[-1] == ' ')
			shown--;
		fprintf(t->file, "%.*s", (int)(shown - text), text);
		text = end;
		while (*text == ' ')
			text++;
		if (*text == '\n')
			text++;
		if (*text) {
			fprintf(t->file, "\n%*s", indent, "");
			at = indent;
		}
	}
}

void term_untrusted(const struct term *t, const char *text, size_t size)
{
	for (size_t i = 0; i < size;) {
		unsigned char c = (unsigned char)text[i];
		uint32_t code;
		int n = 1;
		if (c >= 0x80 && i + 4 <= size)
			n = next_char(text + i, &code);
		if (c == '\n' || c == '\t' || (c >= 0x20 && c < 0x7f))
			fputc(c, t->file);
		else if (n > 1 && code >= 0xa0)
			fwrite(text + i, 1, (size_t)n, t->file);
		else
			fprintf(t->file, "\\x%02x", c), n = 1;
		i += (size_t)n;
	}
}
