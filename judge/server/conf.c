/* judge.conf: see conf.h. */
#include "conf.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/nearest.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { KIND_TEXT, KIND_NUMBER, KIND_CHOICE, KIND_FLAG };

static const struct key {
	const char *name;
	enum kind kind;
	size_t at;
	const char *text;		/* standard value of a text or choice */
	unsigned number, least, most;	/* number: the standard value, of a flag too */
	const char *words, *what;
} keys[] = {
#define TEXT(field, standard, what) {#field, KIND_TEXT, offsetof(struct conf, field), standard, 0, 0, 0, NULL, what},
#define NUMBER(field, standard, least, most, what) {#field, KIND_NUMBER, offsetof(struct conf, field), NULL, standard, least, most, NULL, what},
#define CHOICE(field, standard, words, what) {#field, KIND_CHOICE, offsetof(struct conf, field), standard, 0, 0, 0, words, what},
#define FLAG(field, standard, what) {#field, KIND_FLAG, offsetof(struct conf, field), NULL, standard, 0, 1, NULL, what},
#include "conf.def"
#undef TEXT
#undef NUMBER
#undef CHOICE
#undef FLAG
};
enum { N_KEYS = sizeof keys / sizeof *keys };

static void *place(struct conf *c, const struct key *k)
{
	return (char *)c + k->at;
}

void conf_standard(struct conf *c)
{
	memset(c, 0, sizeof *c);
	for (int i = 0; i < N_KEYS; i++) {
		const struct key *k = &keys[i];
		switch (k->kind) {
		case KIND_TEXT: snprintf(place(c, k), CONF_TEXT, "%s", k->text); break;
		case KIND_CHOICE: snprintf(place(c, k), 16, "%s", k->text); break;
		case KIND_NUMBER: *(unsigned *)place(c, k) = k->number; break;
		case KIND_FLAG: *(bool *)place(c, k) = k->number; break;
		}
	}
}

static const struct key *find(const char *name)
{
	for (int i = 0; i < N_KEYS; i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

static int unknown(const char *name, struct err *e)
{
	const char *names[N_KEYS];
	for (int i = 0; i < N_KEYS; i++)
		names[i] = keys[i].name;
	const char *near = nearest_name(name, names, N_KEYS);
	return near ? err_input(e, "no key \"%.60s\": did you mean %s?", name, near)
		    : err_input(e, "no key \"%.60s\": judge serve --print-config lists them", name);
}

static bool among(const char *words, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = words; n && !strchr(word, ' ') && (at = strstr(at, word)); at += n)
		if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return true;
	return false;
}

static int take_number(void *out, const struct key *k, const char *value, struct err *e)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);
	if (*end || !isdigit((unsigned char)*value) || n < k->least || n > k->most)
		return err_input(e, "%s = %.60s: write a whole number from %u to %u", k->name, value, k->least, k->most);
	*(unsigned *)out = (unsigned)n;
	return 0;
}

static int take(struct conf *c, const struct key *k, const char *value, struct err *e)
{
	void *out = place(c, k);
	switch (k->kind) {
	case KIND_TEXT:
		if (strlen(value) >= CONF_TEXT)
			return err_input(e, "%s: has %zu bytes, at most %d are allowed", k->name, strlen(value), CONF_TEXT - 1);
		snprintf(out, CONF_TEXT, "%s", value);
		return 0;
	case KIND_NUMBER:
		return take_number(out, k, value, e);
	case KIND_CHOICE:
		if (!among(k->words, value))
			return err_input(e, "%s = %.60s: write one of: %s", k->name, value, k->words);
		snprintf(out, 16, "%s", value);
		return 0;
	case KIND_FLAG:
		if (strcmp(value, "yes") && strcmp(value, "no"))
			return err_input(e, "%s = %.60s: write yes or no", k->name, value);
		*(bool *)out = !strcmp(value, "yes");
		return 0;
	}
	BUG("key of no kind");
}

static char *trim(char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	size_t n = strlen(s);
	while (n && isspace((unsigned char)s[n - 1]))
		s[--n] = 0;
	return s;
}

static int take_line(struct conf *c, char *line, bool *seen, struct err *e)
{
	line = trim(line);
	if (!*line || *line == '#')
		return 0;
	char *equals = strchr(line, '=');
	if (!equals)
		return err_input(e, "\"%.60s\" is not `key = value`", line);
	*equals = 0;
	const char *name = trim(line);
	char *value = trim(equals + 1);
	char *comment = strstr(value, " #");
	if (comment) {
		*comment = 0;
		value = trim(value);
	}
	const struct key *k = find(name);
	if (!k)
		return unknown(name, e);
	if (seen[k - keys])
		return err_input(e, "%s is given twice", name);
	seen[k - keys] = true;
	return take(c, k, value, e);
}

int conf_parse(struct conf *c, const char *text, const char *what, struct err *e)
{
	CLEANUP_FREE char *copy = strdup(text);
	bool seen[N_KEYS] = {0};
	int line = 0;
	for (char *at = copy, *next; at; at = next) {
		next = strchr(at, '\n');
		if (next)
			*next++ = 0;
		line++;
		if (take_line(c, at, seen, e) < 0)
			return err_wrap(e, "%s: line %d", what, line);
	}
	if (!*c->tls_certificate != !*c->tls_key)
		return err_input(e, "%s: tls_certificate and tls_key belong together: give both or neither", what);
	if (*c->sign_in_header && !*c->proxies)
		return err_input(e, "%s: sign_in_header wants proxies: anybody else could send that header", what);
	return 0;
}

int conf_read(struct conf *c, const char *path, struct err *e)
{
	CLEANUP_BUF struct buf text = {0};
	if (buf_read_file(&text, path, 1 << 16, e) < 0)
		return -1;
	if (strlen(buf_str(&text)) != text.size)
		return err_input(e, "%s: has a NUL byte: write plain text", path);
	return conf_parse(c, buf_str(&text), path, e);
}

void conf_print(struct buf *out)
{
	buf_adds(out, "# judge.conf: what judge serve does otherwise than by itself.  `key = value` a line; these are the standard values.\n");
	for (int i = 0; i < N_KEYS; i++) {
		const struct key *k = &keys[i];
		buf_printf(out, "\n# %s\n", k->what);
		switch (k->kind) {
		case KIND_TEXT: buf_printf(out, "#%s = %s\n", k->name, k->text); break;
		case KIND_CHOICE: buf_printf(out, "#%s = %s\n", k->name, k->text); break;
		case KIND_NUMBER: buf_printf(out, "#%s = %u\n", k->name, k->number); break;
		case KIND_FLAG: buf_printf(out, "#%s = %s\n", k->name, k->number ? "yes" : "no"); break;
		}
	}
}
