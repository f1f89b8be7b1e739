/* Problem packages: find and load them, with a message for every way in which problem.json can be wrong. */
#include "problem.h"

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/json.h"
#include "../sandbox/base/nearest.h"
#include "../sandbox/base/tame.h"
#include "element.h"
#include "lang.h"
#include "paths.h"
#include "rules.h"
#include "testcase.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_CASES = 200, MAX_FILE = 1 << 20, DEFAULT_SECONDS = 30, DEFAULT_MEMORY_MIB = 1024,
       DEFAULT_MILLIONS = 2000, DEFAULT_COMPILE_SECONDS = 60, DEFAULT_COMPILE_MIB = 4096, MAX_NEEDS = 8, MAX_TEACHES = 300 };

struct load {
	struct json *json;
	const struct cJSON *root;
	struct problem *p;
	struct err *e;
};

const char *tier_name(int tier)
{
	static const char *const names[TIERS] = {"", "bronze", "silver", "gold"};
	return names[tier];
}

/* Letters, digits and `more`; first of them a letter. */
static bool word(const char *s, size_t max, const char *more)
{
	size_t n = 0;
	for (; s[n]; n++)
		if (!isalnum((unsigned char)s[n]) && !strchr(more, s[n]))
			return false;
	return n > 0 && n <= max && isalpha((unsigned char)s[0]);
}

bool problem_is_id(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");
	return n > 0 && !s[n] && n < sizeof ((struct problem *)0)->id && *s != '-';
}

static int string_to(struct load *l, const struct cJSON *o, const char *field, const char *right, char *out, size_t size)
{
	const char *s;
	if (json_string(l->json, o, field, right, &s, l->e) < 0)
		return -1;
	if (!*s || strlen(s) >= size)
		return json_fail(l->json, json_get(o, field), l->e, "has %zu bytes: write %s, of 1 to %zu bytes", strlen(s), right,
				 size - 1);
	snprintf(out, size, "%s", s);
	return 0;
}

/* ---- what the problem is called ---- */

/* A title, a sentence or a tag is shown on terminals. */
static int shown(struct load *l, const struct cJSON *v)
{
	char *copy = arena_strdup(l->p->arena, json_text(v));
	tame(copy);
	return strcmp(copy, json_text(v)) ? json_fail(l->json, v, l->e, "holds a control character: remove it") : 0;
}

static int load_title(struct load *l)
{
	const struct cJSON *title;
	const char *en, *zh;
	if (json_object(l->json, l->root, "title", "an object, e.g. {\"en\": \"INT4 GEMV\"}", &title, l->e) < 0 ||
	    json_only(l->json, title, (const char *const[]){"en", "zh", NULL}, l->e) < 0 ||
	    json_string(l->json, title, "en", "the English title", &en, l->e) < 0)
		return -1;
	if (!*en)
		return json_fail(l->json, json_get(title, "en"), l->e, "is empty: write the English title");
	if (shown(l, json_get(title, "en")) < 0)
		return -1;
	l->p->title = arena_strdup(l->p->arena, en);
	if (json_get(title, "zh")) {
		if (json_string(l->json, title, "zh", "the Chinese title", &zh, l->e) < 0 || shown(l, json_get(title, "zh")) < 0)
			return -1;
		l->p->title_zh = arena_strdup(l->p->arena, zh);
	}
	return 0;
}

static int load_tags(struct load *l)
{
	const struct cJSON *tags;
	if (json_array(l->json, l->root, "tags", "a list of words, e.g. [\"int4\", \"gemv\"]", &tags, l->e) < 0)
		return -1;
	l->p->tags = arena_new_array(l->p->arena, const char *, json_count(tags) + 1);
	for (const struct cJSON *v = json_first(tags); v; v = json_next(v)) {
		if (!json_is_string(v) || !*json_text(v) || strlen(json_text(v)) > 30)
			return json_fail(l->json, v, l->e, "is no tag: write a word of at most 30 bytes in quotes");
		if (shown(l, v) < 0)
			return -1;
		l->p->tags[l->p->n_tags++] = arena_strdup(l->p->arena, json_text(v));
	}
	return 0;
}

/* One sentence in a language. */
static int sentence(struct load *l, const struct cJSON *o, const char *lang, const char *right, const char **out)
{
	const char *text;
	if (json_string(l->json, o, lang, right, &text, l->e) < 0)
		return -1;
	if (!*text || strlen(text) > MAX_TEACHES)
		return json_fail(l->json, json_get(o, lang), l->e, "has %zu bytes: write %s, of 1 to %d bytes", strlen(text), right, MAX_TEACHES);
	if (shown(l, json_get(o, lang)) < 0)
		return -1;
	*out = arena_strdup(l->p->arena, text);
	return 0;
}

static int load_teaches(struct load *l)
{
	const struct cJSON *teaches;
	if (!json_get(l->root, "teaches"))
		return 0;
	if (json_object(l->json, l->root, "teaches", "an object, e.g. {\"en\": \"what one can do after it, in a sentence\"}", &teaches, l->e) < 0 ||
	    json_only(l->json, teaches, (const char *const[]){"en", "zh", NULL}, l->e) < 0 ||
	    sentence(l, teaches, "en", "an English sentence", &l->p->teaches) < 0)
		return -1;
	return json_get(teaches, "zh") ? sentence(l, teaches, "zh", "a Chinese sentence", &l->p->teaches_zh) : 0;
}

/* Ids of problems to solve first, which need not be installed here. */
static int load_needs(struct load *l)
{
	const struct cJSON *needs;
	struct problem *p = l->p;
	if (!json_get(l->root, "needs"))
		return 0;
	if (json_array(l->json, l->root, "needs", "a list of ids, e.g. [\"w8a16-gemv\"]", &needs, l->e) < 0)
		return -1;
	if (json_count(needs) > MAX_NEEDS)
		return json_fail(l->json, needs, l->e, "has %zu problems: name at most %d", json_count(needs), MAX_NEEDS);
	p->needs = arena_new_array(p->arena, const char *, MAX_NEEDS);
	for (const struct cJSON *v = json_first(needs); v; v = json_next(v)) {
		if (!json_is_string(v) || !problem_is_id(json_text(v)))
			return json_fail(l->json, v, l->e, "is no problem's id: write one of small letters, digits and \"-\" in quotes");
		if (!strcmp(json_text(v), p->id))
			return json_fail(l->json, v, l->e, "is this problem itself: remove it");
		for (unsigned i = 0; i < p->n_needs; i++)
			if (!strcmp(p->needs[i], json_text(v)))
				return json_fail(l->json, v, l->e, "is \"%s\", which is in the list already: remove it", json_text(v));
		p->needs[p->n_needs++] = arena_strdup(p->arena, json_text(v));
	}
	return 0;
}

static int load_head(struct load *l, const char *folder_name)
{
	int64_t format;
	char entry[16];
	struct problem *p = l->p;
	if (json_integer(l->json, l->root, "format", 1, 1, &format, l->e) < 0 ||
	    string_to(l, l->root, "id", "the name of the folder", p->id, sizeof p->id) < 0)
		return -1;
	if (strcmp(p->id, folder_name))
		return json_fail(l->json, json_get(l->root, "id"), l->e, "is \"%s\", but the folder is \"%s\": write \"%s\" or rename the folder",
				 p->id, folder_name, folder_name);
	if (load_title(l) < 0 ||
	    json_string(l->json, l->root, "difficulty", "\"easy\", \"medium\" or \"hard\"", &p->difficulty, l->e) < 0)
		return -1;
	if (strcmp(p->difficulty, "easy") && strcmp(p->difficulty, "medium") && strcmp(p->difficulty, "hard"))
		return json_fail(l->json, json_get(l->root, "difficulty"), l->e, "is \"%s\": write \"easy\", \"medium\" or \"hard\"", p->difficulty);
	p->difficulty = arena_strdup(p->arena, p->difficulty);
	if (load_tags(l) < 0 || load_teaches(l) < 0 || load_needs(l) < 0 || string_to(l, l->root, "entry", "\"solve\"", entry, sizeof entry) < 0)
		return -1;
	if (strcmp(entry, "solve"))
		return json_fail(l->json, json_get(l->root, "entry"), l->e, "is \"%s\": write \"solve\"", entry);
	return 0;
}

/* ---- arguments ---- */

static int add_name(struct load *l, const char *name, struct err *e)
{
	struct problem *p = l->p;
	for (unsigned i = 0; i < p->n_names; i++)
		if (!strcmp(p->names[i], name))
			return 0;
	if (p->n_names == PROBLEM_MAX_PARAMS)
		return err_input(e, "more than %d sizes", PROBLEM_MAX_PARAMS);
	snprintf(p->names[p->n_names++], PROBLEM_NAME, "%s", name);
	return 0;
}

static int add_name_of_shape(void *user, const char *name, struct err *e)
{
	return add_name(user, name, e);
}

static int load_shape(struct load *l, const struct cJSON *o, struct argument *a)
{
	const struct cJSON *shape;
	if (json_array(l->json, o, "shape", "a list of size expressions, e.g. [\"N\", \"K/8\"]", &shape, l->e) < 0)
		return -1;
	size_t n = json_count(shape);
	if (n < 1 || n > PROBLEM_MAX_DIMS)
		return json_fail(l->json, shape, l->e, "has %zu dimensions: write 1 to %d", n, PROBLEM_MAX_DIMS);
	for (const struct cJSON *v = json_first(shape); v; v = json_next(v)) {
		struct err why = {0};
		if (json_is_string(v))
			a->shape[a->dims++] = arena_strdup(l->p->arena, json_text(v));
		else if (json_is_integer(v) && json_value(v) > 0)
			a->shape[a->dims++] = arena_printf(l->p->arena, "%.0f", json_value(v));
		else
			return json_fail(l->json, v, l->e, "is no size: write an expression in quotes, e.g. \"K/8\", or a whole number");
		if (sizes_names(a->shape[a->dims - 1], add_name_of_shape, l, &why) < 0)
			return json_fail(l->json, v, l->e, "%s", why.text);
	}
	return 0;
}

static int load_role(struct load *l, const struct cJSON *o, struct argument *a)
{
	static const struct { const char *name; enum tensor_role role; } roles[] = {
		{"input", ROLE_INPUT}, {"output", ROLE_OUTPUT}, {"workspace", ROLE_WORKSPACE}, {"scalar", ROLE_SCALAR}};
	static const char right[] = "\"input\", \"output\", \"workspace\" or \"scalar\"";
	const char *role, *type;
	if (json_string(l->json, o, "role", right, &role, l->e) < 0)
		return -1;
	unsigned i = 0;
	while (i < 4 && strcmp(roles[i].name, role))
		i++;
	if (i == 4)
		return json_fail(l->json, json_get(o, "role"), l->e, "is \"%s\": write %s", role, right);
	a->role = roles[i].role;
	if (json_string(l->json, o, "type", "an element type, e.g. \"f16\"", &type, l->e) < 0)
		return -1;
	if (element_find(type, &a->type) < 0)
		return json_fail(l->json, json_get(o, "type"), l->e, "is \"%s\": write one of %s", type, element_names());
	if (a->role == ROLE_SCALAR && a->type != TYPE_I32 && a->type != TYPE_I64)
		return json_fail(l->json, json_get(o, "type"), l->e, "is \"%s\": a scalar is \"i32\" or \"i64\"", type);
	return 0;
}

/* No parameter can have such a name: words of C++20, and macros of its headers. */
static bool reserved(const char *name)
{
	static const char *const words[] = {
		"alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char", "char8_t",
		"char16_t", "char32_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const", "const_cast", "consteval",
		"constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum", "explicit",
		"export", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new",
		"noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register",
		"reinterpret_cast", "requires", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct",
		"switch", "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned",
		"using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq", "NULL", "EOF", "INFINITY", "NAN", "errno",
		"assert", "stdin", "stdout", "stderr", "signbit", "isnan", "isinf", "isfinite"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(words[i], name))
			return true;
	return false;
}

static int load_argument(struct load *l, const struct cJSON *o)
{
	struct problem *p = l->p;
	if (!json_is_object(o))
		return json_fail(l->json, o, l->e, "is no object: write {\"name\": ..., \"role\": ..., \"type\": ..., \"shape\": [...]}");
	if (p->n_arguments == PROBLEM_MAX_TENSORS)
		return json_fail(l->json, o, l->e, "is one too many: solve() has at most %d arguments", PROBLEM_MAX_TENSORS);
	struct argument *a = &p->arguments[p->n_arguments];
	if (json_only(l->json, o, (const char *const[]){"name", "role", "type", "shape", NULL}, l->e) < 0 ||
	    string_to(l, o, "name", "the argument's name", a->name, sizeof a->name) < 0)
		return -1;
	if (!word(a->name, PROBLEM_NAME - 1, "_"))
		return json_fail(l->json, json_get(o, "name"), l->e, "is \"%s\": write a name of letters, digits and _", a->name);
	if (reserved(a->name))
		return json_fail(l->json, json_get(o, "name"), l->e, "is \"%s\", a word of C++: write another name", a->name);
	for (unsigned i = 0; i < p->n_arguments; i++)
		if (!strcmp(p->arguments[i].name, a->name))
			return json_fail(l->json, json_get(o, "name"), l->e, "is \"%s\", which an earlier argument has", a->name);
	if (load_role(l, o, a) < 0)
		return -1;
	p->n_arguments++;
	if (a->role != ROLE_SCALAR)
		return load_shape(l, o, a);
	if (json_get(o, "shape"))
		return json_fail(l->json, json_get(o, "shape"), l->e, "a scalar has no shape: remove it");
	return add_name(l, a->name, l->e);
}

static int load_prepare(struct load *l)
{
	const struct cJSON *list;
	struct problem *p = l->p;
	if (!json_get(l->root, "prepare"))
		return 0;
	if (json_array(l->json, l->root, "prepare", "the names of the arguments of prepare(), in order", &list, l->e) < 0)
		return -1;
	for (const struct cJSON *v = json_first(list); v; v = json_next(v)) {
		unsigned i = 0;
		while (json_is_string(v) && i < p->n_arguments && strcmp(p->arguments[i].name, json_text(v)))
			i++;
		if (!json_is_string(v) || i == p->n_arguments)
			return json_fail(l->json, v, l->e, "names no argument: write the name of one in \"arguments\"");
		if (p->arguments[i].role == ROLE_OUTPUT)
			return json_fail(l->json, v, l->e, "prepare() gets no outputs: remove \"%s\"", p->arguments[i].name);
		if (p->n_prepare == PROBLEM_MAX_TENSORS)
			return json_fail(l->json, v, l->e, "too many arguments");
		p->prepare[p->n_prepare++] = i;
	}
	if (!p->n_prepare)
		return json_fail(l->json, list, l->e, "is empty: name prepare()'s arguments, or remove it");
	return 0;
}

static int load_arguments(struct load *l)
{
	const struct cJSON *list;
	bool output = false, input = false;
	if (json_array(l->json, l->root, "arguments", "the list of solve()'s arguments", &list, l->e) < 0)
		return -1;
	for (const struct cJSON *v = json_first(list); v; v = json_next(v))
		if (load_argument(l, v) < 0)
			return -1;
	for (unsigned i = 0; i < l->p->n_arguments; i++) {
		output |= l->p->arguments[i].role == ROLE_OUTPUT;
		input |= l->p->arguments[i].role == ROLE_INPUT;
	}
	if (!output || !input)
		return json_fail(l->json, list, l->e, "has no %s: a problem needs at least one", output ? "input" : "output");
	return load_prepare(l);
}

static int load_extra_sizes(struct load *l)
{
	const struct cJSON *list;
	if (!json_get(l->root, "sizes"))
		return 0;
	if (json_array(l->json, l->root, "sizes", "a list of names, e.g. [\"G\"]", &list, l->e) < 0)
		return -1;
	for (const struct cJSON *v = json_first(list); v; v = json_next(v)) {
		if (!json_is_string(v) || !word(json_text(v), PROBLEM_NAME - 1, "_"))
			return json_fail(l->json, v, l->e, "is no name of a size: write letters, digits and _ in quotes");
		if (add_name(l, json_text(v), l->e) < 0)
			return err_wrap(l->e, "%s/problem.json: sizes", l->p->id);
	}
	return 0;
}

/* ---- cases ---- */

static int load_range(struct load *l, const struct cJSON *v, struct size_draw *d)
{
	d->kind = DRAW_RANGE;
	d->multiple = 1;
	if (json_only(l->json, v, (const char *const[]){"from", "to", "multiple", NULL}, l->e) < 0 ||
	    json_integer(l->json, v, "from", 0, INT32_MAX, &d->from, l->e) < 0 ||
	    json_integer(l->json, v, "to", 0, INT32_MAX, &d->to, l->e) < 0)
		return -1;
	if (json_get(v, "multiple") && json_integer(l->json, v, "multiple", 1, INT32_MAX, &d->multiple, l->e) < 0)
		return -1;
	if (d->from > d->to)
		return json_fail(l->json, v, l->e, "\"from\" %lld is above \"to\" %lld", (long long)d->from, (long long)d->to);
	if ((d->from + d->multiple - 1) / d->multiple > d->to / d->multiple)
		return json_fail(l->json, v, l->e, "no multiple of %lld lies from %lld to %lld", (long long)d->multiple,
				 (long long)d->from, (long long)d->to);
	return 0;
}

static int load_size(struct load *l, const struct cJSON *v, bool timing, struct size_draw *d)
{
	snprintf(d->name, sizeof d->name, "%s", json_key(v));
	if (json_is_integer(v) && json_value(v) >= 0) {
		d->kind = DRAW_FIXED;
		d->list[0] = (int64_t)json_value(v);
		return 0;
	}
	if (timing)
		return json_fail(l->json, v, l->e, "is no size: a timing case wants a whole number, the same in every run");
	if (json_is_object(v))
		return load_range(l, v, d);
	if (!json_is_array(v))
		return json_fail(l->json, v, l->e, "is no size: write a whole number, a list of them, or {\"from\": 1, \"to\": 64, \"multiple\": 8}");
	d->kind = DRAW_LIST;
	for (const struct cJSON *i = json_first(v); i; i = json_next(i)) {
		if (!json_is_integer(i) || json_value(i) < 0)
			return json_fail(l->json, i, l->e, "is no size: write a whole number");
		if (d->n == SIZES_MAX_CHOICES)
			return json_fail(l->json, i, l->e, "is one too many: at most %d choices", SIZES_MAX_CHOICES);
		d->list[d->n++] = (int64_t)json_value(i);
	}
	return d->n ? 0 : json_fail(l->json, v, l->e, "is an empty list: write at least one size");
}

/* Members of a case that are sizes; the names that the problem has must all be there, and no others. */
static int load_sizes(struct load *l, const struct cJSON *o, struct case_spec *c)
{
	const char *known[PROBLEM_MAX_PARAMS + 4];
	unsigned n = 0;
	for (; n < l->p->n_names; n++)
		known[n] = l->p->names[n];
	known[n++] = "name";
	known[n++] = c->timing ? "device" : "visible";
	known[n++] = "data";
	known[n] = NULL;
	if (json_only(l->json, o, known, l->e) < 0)
		return -1;
	for (unsigned i = 0; i < l->p->n_names; i++) {
		const struct cJSON *v = json_get(o, l->p->names[i]);
		if (!v)
			return json_fail(l->json, o, l->e, "field %s is missing: write the size %s of this case", known[i], known[i]);
		if (load_size(l, v, c->timing, &c->sizes[c->n_sizes++]) < 0)
			return -1;
	}
	return 0;
}

static int load_case(struct load *l, const struct cJSON *o, bool timing, struct case_spec *c)
{
	c->timing = timing;
	if (!json_is_object(o))
		return json_fail(l->json, o, l->e, "is no object: write {\"name\": ..., sizes ...}");
	if (string_to(l, o, "name", "the case's name, e.g. \"odd-rows\"", c->name, sizeof c->name) < 0)
		return -1;
	if (!word(c->name, sizeof c->name - 1, "-_."))
		return json_fail(l->json, json_get(o, "name"), l->e, "is \"%s\": write letters, digits, \"-\", \"_\"", c->name);
	snprintf(c->data, sizeof c->data, "normal");
	if (json_get(o, "data") && string_to(l, o, "data", "a data keyword of the oracle", c->data, sizeof c->data) < 0)
		return -1;
	if (timing) {
		const char *device;
		if (json_string(l->json, o, "device", "\"gpu\" or \"emulated\"", &device, l->e) < 0)
			return -1;
		c->gpu = !strcmp(device, "gpu");
		if (!c->gpu && strcmp(device, "emulated"))
			return json_fail(l->json, json_get(o, "device"), l->e, "is \"%s\": write \"gpu\" or \"emulated\"", device);
	} else if (json_get(o, "visible") && json_bool(l->json, o, "visible", &c->visible, l->e) < 0) {
		return -1;
	}
	for (const struct case_spec *other = l->p->cases; other < c; other++)
		if (!strcmp(other->name, c->name) && other->timing == timing && other->gpu == c->gpu)
			return json_fail(l->json, json_get(o, "name"), l->e, "is \"%s\", which an earlier case has", c->name);
	return load_sizes(l, o, c);
}

/* Draws that are sure to come up are tried now, so that a shape that can't be is the author's to see. */
static int try_case(struct load *l, const struct cJSON *o, const struct case_spec *c)
{
	for (unsigned i = 0; i < 16; i++) {
		struct secret s = {.bytes = {(unsigned char)i, 't', 'r', 'y'}};
		struct testcase t;
		struct err why = {0};
		double bytes, flops;
		int64_t limit;
		if (testcase_make(l->p, c, &s, "try", &t, &why) < 0 || testcase_work(&t, &bytes, &flops, &why) < 0 ||
		    rules_limit("scratch_bytes", l->p->scratch_bytes, &t.sizes, &limit, &why) < 0 ||
		    rules_limit("max_intermediate_bytes", l->p->max_intermediate_bytes, &t.sizes, &limit, &why) < 0) {
			char sizes[200];
			sizes_text(&t.sizes, sizes, sizeof sizes);
			const char *text = strncmp(why.text, "rules.", 6) ? strstr(why.text, c->name) : NULL;
			text = text ? strstr(text, ": ") : NULL;
			return json_fail(l->json, o, l->e, "with %s: %s", sizes, text ? text + 2 : why.text);
		}
		if (c->visible || c->timing)
			break;
	}
	return 0;
}

static int load_cases(struct load *l)
{
	const struct cJSON *cases, *timing, *v;
	struct problem *p = l->p;
	unsigned visible = 0;
	if (json_array(l->json, l->root, "cases", "the list of test cases", &cases, l->e) < 0 ||
	    json_array(l->json, l->root, "timing", "the list of timing cases; [] if there are none", &timing, l->e) < 0)
		return -1;
	if (json_count(cases) + json_count(timing) > MAX_CASES)
		return json_fail(l->json, cases, l->e, "has too many cases: at most %d with the timing cases", MAX_CASES);
	p->cases = arena_new_array(p->arena, struct case_spec, json_count(cases) + json_count(timing) + 1);
	for (v = json_first(cases); v; v = json_next(v)) {
		if (load_case(l, v, false, &p->cases[p->n_cases]) < 0)
			return -1;
		visible += p->cases[p->n_cases++].visible;
	}
	if (!visible || visible == p->n_cases)
		return json_fail(l->json, cases, l->e, "has %u visible and %u hidden cases: a problem needs one of each at least",
				 visible, p->n_cases - visible);
	for (v = json_first(timing); v; v = json_next(v), p->n_cases++)
		if (load_case(l, v, true, &p->cases[p->n_cases]) < 0)
			return -1;
	return 0;
}

/* The product to compare with, of a timing case. */
static int try_gemm(struct load *l, const struct case_spec *c)
{
	struct secret none = {{0}, ""};
	struct testcase t;
	struct gemm_shape shape;
	struct err why = {0};
	char sizes[200];
	if (!l->p->gemm[0] || testcase_make(l->p, c, &none, "try", &t, &why) < 0 || problem_gemm(l->p, &t.sizes, &shape, &why) == 0)
		return 0;
	sizes_text(&t.sizes, sizes, sizeof sizes);
	return json_fail(l->json, json_get(l->root, "baseline"), l->e, "with %s of timing case \"%s\": %s", sizes, c->name, why.text);
}

static int try_cases(struct load *l)
{
	const struct case_spec *c = l->p->cases;
	const struct cJSON *v;
	for (v = json_first(json_get(l->root, "cases")); v; v = json_next(v))
		if (try_case(l, v, c++) < 0)
			return -1;
	for (v = json_first(json_get(l->root, "timing")); v; v = json_next(v), c++)
		if (try_case(l, v, c) < 0 || try_gemm(l, c) < 0)
			return -1;
	return 0;
}

/* ---- baseline, work, rules, score, limits ---- */

static int known_size(void *user, const char *name, struct err *e)
{
	const struct problem *p = user;
	for (unsigned i = 0; i < p->n_names; i++)
		if (!strcmp(p->names[i], name))
			return 0;
	return err_input(e, "%s is no size of this problem", name);
}

static int load_expression(struct load *l, const struct cJSON *o, const char *field, const char *right, const char **out)
{
	const struct cJSON *v = json_get(o, field);
	struct err why = {0};
	if (v && json_is_integer(v) && json_value(v) >= 0) {
		*out = arena_printf(l->p->arena, "%.0f", json_value(v));
		return 0;
	}
	const char *text;
	if (json_string(l->json, o, field, right, &text, l->e) < 0)
		return -1;
	if (sizes_names(text, known_size, l->p, &why) < 0)
		return json_fail(l->json, v, l->e, "%s", why.text);
	*out = arena_strdup(l->p->arena, text);
	return 0;
}

static const char *const gemm_names[3] = {"M", "N", "K"};

static int load_baseline(struct load *l)
{
	const struct cJSON *baseline;
	const char *type;
	if (!json_get(l->root, "baseline"))
		return 0;
	if (json_object(l->json, l->root, "baseline", "an object with gemm, M, N and K", &baseline, l->e) < 0 ||
	    json_only(l->json, baseline, (const char *const[]){"gemm", "M", "N", "K", NULL}, l->e) < 0 ||
	    json_string(l->json, baseline, "gemm", "\"f16\"", &type, l->e) < 0)
		return -1;
	if (strcmp(type, "f16"))
		return json_fail(l->json, json_get(baseline, "gemm"), l->e, "is \"%s\": write \"f16\"", type);
	for (unsigned i = 0; i < 3; i++)
		if (load_expression(l, baseline, gemm_names[i], "a size, e.g. \"N\", or 1", &l->p->gemm[i]) < 0)
			return -1;
	return 0;
}

int problem_gemm(const struct problem *p, const struct sizes *sizes, struct gemm_shape *out, struct err *e)
{
	int64_t *const to[3] = {&out->m, &out->n, &out->k};
	for (unsigned i = 0; i < 3; i++) {
		if (sizes_eval(p->gemm[i], sizes, to[i], e) < 0)
			return err_wrap(e, "%s", gemm_names[i]);
		if (*to[i] < 1 || *to[i] > INT32_MAX)
			return err_input(e, "%s: %s is %lld: write a size from 1 to %d", gemm_names[i], p->gemm[i], (long long)*to[i],
					 INT32_MAX);
	}
	double mib = 2.0 * ((double)out->m * (double)out->k + (double)out->n * (double)out->k + (double)out->m * (double)out->n) / (1 << 20);
	if (mib > TESTCASE_MAX_MIB)
		return err_input(e, "its operands take %.0f MiB in FP16; %d MiB are the most", mib, TESTCASE_MAX_MIB);
	return 0;
}

static int load_work(struct load *l)
{
	static const char *const units[] = {"fp32", "fp16", "tensor_f16", "tensor_i8"};
	const struct cJSON *work;
	const char *unit;
	struct problem *p = l->p;
	if (json_object(l->json, l->root, "work", "an object with bytes, flops and unit", &work, l->e) < 0 ||
	    json_only(l->json, work, (const char *const[]){"bytes", "flops", "unit", NULL}, l->e) < 0)
		return -1;
	const struct cJSON *bytes = json_get(work, "bytes");
	if (!(bytes && json_is_string(bytes) && !strcmp(json_text(bytes), "auto")) &&
	    load_expression(l, work, "bytes", "\"auto\" or an expression, e.g. \"N*K/2\"", &p->bytes) < 0)
		return -1;
	if (load_expression(l, work, "flops", "an expression, e.g. \"2*N*K\"", &p->flops) < 0 ||
	    json_string(l->json, work, "unit", "\"fp32\", \"fp16\", \"tensor_f16\" or \"tensor_i8\"", &unit, l->e) < 0)
		return -1;
	for (unsigned i = 0; i < 4; i++)
		if (!strcmp(units[i], unit))
			p->unit = units[i];
	if (!p->unit)
		return json_fail(l->json, json_get(work, "unit"), l->e, "is \"%s\": write \"fp32\", \"fp16\", \"tensor_f16\" or \"tensor_i8\"", unit);
	return 0;
}

/* {"Wq": 1.1}: how often each input may be read. */
static int load_passes(struct load *l, const struct cJSON *rules)
{
	const char *inputs[PROBLEM_MAX_TENSORS + 1];
	const struct cJSON *passes;
	struct problem *p = l->p;
	unsigned n = 0;
	if (!json_get(rules, "max_weight_passes"))
		return 0;
	for (unsigned i = 0; i < p->n_arguments; i++)
		if (p->arguments[i].role == ROLE_INPUT)
			inputs[n++] = p->arguments[i].name;
	inputs[n] = NULL;
	if (json_object(l->json, rules, "max_weight_passes", "null, or how often each input may be read, e.g. {\"Wq\": 1.1}", &passes, l->e) < 0 ||
	    json_only(l->json, passes, inputs, l->e) < 0)
		return -1;
	if (!json_count(passes))
		return json_fail(l->json, passes, l->e, "is empty: write null, or how often each input may be read, e.g. {\"%s\": 1.1}", inputs[0]);
	for (unsigned i = 0; i < p->n_arguments; i++)
		if (json_get(passes, p->arguments[i].name) &&
		    json_number(l->json, passes, p->arguments[i].name, 1, 1000, &p->max_passes[i], l->e) < 0)
			return -1;
	return 0;
}

static int load_rules(struct load *l)
{
	const struct cJSON *rules;
	static const char *const names[] = {"max_launches", "scratch_bytes", "max_intermediate_bytes", "max_weight_passes", NULL};
	enum { REQUIRED = 2 };
	if (json_object(l->json, l->root, "rules", "an object with max_launches and scratch_bytes, null where anything goes", &rules, l->e) < 0 ||
	    json_only(l->json, rules, names, l->e) < 0)
		return -1;
	for (unsigned i = 0; i < REQUIRED; i++) {
		bool named = false;
		for (const struct cJSON *v = json_first(rules); v; v = json_next(v))
			named |= !strcmp(json_key(v), names[i]);
		if (!named)
			return json_fail(l->json, rules, l->e, "field %s is missing: write a number, or null where anything goes", names[i]);
	}
	l->p->max_launches = -1;
	if (json_get(rules, "max_launches") &&
	    json_integer(l->json, rules, "max_launches", 1, 1000000, &l->p->max_launches, l->e) < 0)
		return -1;
	if (json_get(rules, "scratch_bytes") &&
	    load_expression(l, rules, "scratch_bytes", "null, a number of bytes, or an expression", &l->p->scratch_bytes) < 0)
		return -1;
	if (json_get(rules, "max_intermediate_bytes") &&
	    load_expression(l, rules, "max_intermediate_bytes", "null, a number of bytes, or an expression", &l->p->max_intermediate_bytes) < 0)
		return -1;
	return load_passes(l, rules);
}

static int load_score(struct load *l)
{
	const struct cJSON *score, *tiers;
	struct problem *p = l->p;
	double *t = p->tiers;
	if (json_object(l->json, l->root, "score", "an object with correct, efficiency, full_at and tiers", &score, l->e) < 0 ||
	    json_only(l->json, score, (const char *const[]){"correct", "efficiency", "full_at", "tiers", NULL}, l->e) < 0 ||
	    json_number(l->json, score, "correct", 0, 100, &p->score_correct, l->e) < 0 ||
	    json_number(l->json, score, "efficiency", 0, 100, &p->score_efficiency, l->e) < 0 ||
	    json_number(l->json, score, "full_at", 0.01, 1, &p->full_at, l->e) < 0 ||
	    json_object(l->json, score, "tiers", "an object, e.g. {\"bronze\": 0.5, \"silver\": 0.8, \"gold\": 0.9}", &tiers, l->e) < 0 ||
	    json_only(l->json, tiers, (const char *const[]){"bronze", "silver", "gold", NULL}, l->e) < 0 ||
	    json_number(l->json, tiers, "bronze", 0, 1, &t[TIER_BRONZE], l->e) < 0 ||
	    json_number(l->json, tiers, "silver", 0, 1, &t[TIER_SILVER], l->e) < 0 ||
	    json_number(l->json, tiers, "gold", 0, 1, &t[TIER_GOLD], l->e) < 0)
		return -1;
	if (p->score_correct + p->score_efficiency != 100)
		return json_fail(l->json, score, l->e, "correct and efficiency are %g together: make it 100",
				 p->score_correct + p->score_efficiency);
	if (t[TIER_BRONZE] > t[TIER_SILVER] || t[TIER_SILVER] > t[TIER_GOLD])
		return json_fail(l->json, tiers, l->e, "bronze must not be above silver, nor silver above gold");
	return 0;
}

static int load_limits(struct load *l)
{
	const struct cJSON *limits;
	struct problem *p = l->p;
	int64_t mib = DEFAULT_MEMORY_MIB, millions = DEFAULT_MILLIONS, compile_mib = DEFAULT_COMPILE_MIB;
	p->seconds = DEFAULT_SECONDS;
	p->compile_seconds = DEFAULT_COMPILE_SECONDS;
	if (json_get(l->root, "limits")) {
		if (json_object(l->json, l->root, "limits", "an object with seconds, memory_mib, million_instructions, compile_seconds and compile_mib",
				&limits, l->e) < 0 ||
		    json_only(l->json, limits, (const char *const[]){"seconds", "memory_mib", "million_instructions", "compile_seconds",
			      "compile_mib", NULL}, l->e) < 0)
			return -1;
		if (json_get(limits, "seconds") && json_number(l->json, limits, "seconds", 0.1, 600, &p->seconds, l->e) < 0)
			return -1;
		if (json_get(limits, "memory_mib") && json_integer(l->json, limits, "memory_mib", 16, 65536, &mib, l->e) < 0)
			return -1;
		if (json_get(limits, "million_instructions") &&
		    json_integer(l->json, limits, "million_instructions", 1, 100000, &millions, l->e) < 0)
			return -1;
		if (json_get(limits, "compile_seconds") &&
		    json_number(l->json, limits, "compile_seconds", 1, 600, &p->compile_seconds, l->e) < 0)
			return -1;
		if (json_get(limits, "compile_mib") && json_integer(l->json, limits, "compile_mib", 256, 65536, &compile_mib, l->e) < 0)
			return -1;
	}
	p->memory = (uint64_t)mib << 20;
	p->instructions = (uint64_t)millions * 1000000;
	p->compile_memory = (uint64_t)compile_mib << 20;
	return 0;
}

/* ---- packages ---- */

int problem_file(const struct problem *p, const char *name, struct buf *out, struct err *e)
{
	CLEANUP_FREE char *path = NULL;
	if (asprintf(&path, "%s/%s", p->folder, name) < 0)
		BUG("out of memory");
	if (buf_read_file(out, path, MAX_FILE, e) < 0)
		return err_wrap(e, "problem %s", p->id);
	return 0;
}

/* A change of cases or oracle is another version: its hidden cases are drawn anew. */
static int hash_version(struct problem *p, struct err *e)
{
	CLEANUP_BUF struct buf text = {0};
	unsigned char hash[16];
	if (problem_file(p, "problem.json", &text, e) < 0 || problem_file(p, "oracle.c", &text, e) < 0)
		return -1;
	crypto_generichash(hash, sizeof hash, (const unsigned char *)text.data, text.size, NULL, 0);
	sodium_bin2hex(p->version, sizeof p->version, hash, sizeof hash);
	return 0;
}

static int load(struct load *l, const char *folder_name)
{
	static const char *const fields[] = {"format", "id", "title", "difficulty", "tags", "teaches", "needs", "entry", "arguments", "prepare",
					     "sizes", "cases", "timing", "baseline", "work", "rules", "score", "limits", NULL};
	if (!json_is_object(l->root))
		return json_fail(l->json, l->root, l->e, "the file must hold an object: {\"format\": 1, ...}");
	return json_only(l->json, l->root, fields, l->e) < 0 || load_head(l, folder_name) < 0 || load_arguments(l) < 0 ||
	       load_extra_sizes(l) < 0 || load_cases(l) < 0 || load_baseline(l) < 0 || load_work(l) < 0 || load_rules(l) < 0 || load_score(l) < 0 ||
	       load_limits(l) < 0 || try_cases(l) < 0 ? -1 : 0;
}

struct problem *problem_open(const char *folder, struct err *e)
{
	CLEANUP_FREE char *path = NULL, *real = realpath(folder, NULL);
	struct stat st;
	if (!real || stat(real, &st) < 0 || !S_ISDIR(st.st_mode) || strlen(real) >= sizeof ((struct problem *)0)->folder) {
		err_input(e, "%s: no such folder", folder);
		return NULL;
	}
	const char *name = strrchr(real, '/') + 1;
	if (asprintf(&path, "%s/problem.json", real) < 0)
		BUG("out of memory");
	char what[120];
	snprintf(what, sizeof what, "%.60s/problem.json", name);
	if (access(path, R_OK) < 0) {
		err_input(e, "%s: there is no problem.json in it, so it is no problem package", folder);
		return NULL;
	}
	CLEANUP(json_freep) struct json *json = json_read_file(path, what, e);
	if (!json)
		return NULL;
	struct arena *arena = arena_new();
	struct problem *p = arena_alloc(arena, sizeof *p);
	p->arena = arena;
	snprintf(p->folder, sizeof p->folder, "%s", real);
	struct load l = {.json = json, .root = json_root(json), .p = p, .e = e};
	if (load(&l, name) < 0 || hash_version(p, e) < 0) {
		arena_free(arena);
		return NULL;
	}
	return p;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int problem_ids(struct arena *a, const char *const **ids, size_t *n, struct err *e)
{
	const char *folder = paths()->problems;
	DIR *d = opendir(folder);
	if (!d)
		return err_errno(e, "cannot open the folder of problems, %s (set JUDGE_HOME to the judge's source tree)", folder);
	const char **list = NULL;
	*n = 0;
	for (struct dirent *f; (f = readdir(d));) {
		CLEANUP_FREE char *path = NULL;
		if (*f->d_name == '.' || asprintf(&path, "%s/%s/problem.json", folder, f->d_name) < 0 || access(path, F_OK) < 0)
			continue;
		list = reallocarray(list, *n + 1, sizeof *list);
		if (!list)
			BUG("out of memory");
		list[(*n)++] = arena_strdup(a, f->d_name);
	}
	closedir(d);
	if (*n)
		qsort(list, *n, sizeof *list, by_name);
	*ids = arena_dup(a, list, *n * sizeof *list);
	free(list);
	return 0;
}

static int unknown(const char *id, struct err *e)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	const char *const *ids;
	size_t n;
	if (problem_ids(a, &ids, &n, e) < 0)
		return -1;
	const char *near = n ? nearest_name(id, ids, n) : NULL;
	if (near)
		return err_input(e, "no problem \"%s\": did you mean \"%s\"?", id, near);
	CLEANUP_BUF struct buf list = {0};
	for (size_t i = 0; i < n; i++)
		buf_printf(&list, "%s%s", i ? ", " : "", ids[i]);
	return err_input(e, "no problem \"%s\"; there are: %s", id, n ? buf_str(&list) : "none");
}

struct problem *problem_find(const char *id, struct err *e)
{
	if (strchr(id, '/') || !strcmp(id, ".") || !strcmp(id, ".."))
		return problem_open(id, e);
	CLEANUP_FREE char *folder = NULL;
	if (asprintf(&folder, "%s/%s", paths()->problems, id) < 0)
		BUG("out of memory");
	if (!*id || access(folder, F_OK) < 0) {
		unknown(id, e);
		return NULL;
	}
	return problem_open(folder, e);
}

void problem_close(struct problem *p)
{
	if (p)
		arena_free(p->arena);
}

void problem_closep(struct problem **p)
{
	problem_close(*p);
}

/* ---- prototypes ---- */

static void prototype_argument(const struct argument *a, struct buf *out)
{
	if (a->role == ROLE_SCALAR)
		buf_printf(out, "%s %s", element_cuda(a->type), a->name);
	else if (a->role == ROLE_WORKSPACE)
		buf_printf(out, "void *%s", a->name);
	else
		buf_printf(out, "%s%s *%s", a->role == ROLE_INPUT ? "const " : "", element_cuda(a->type), a->name);
}

const char *problem_difficulty(const struct problem *p, const char *lang)
{
	static const struct text levels[] = {{"easy", "简单"}, {"medium", "中等"}, {"hard", "困难"}};
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
		if (!strcmp(levels[i].en, p->difficulty))
			return text_in(levels[i], lang);
	return p->difficulty;
}

void problem_prototype(const struct problem *p, bool prepare, struct buf *out)
{
	unsigned n = prepare ? p->n_prepare : p->n_arguments;
	buf_printf(out, "extern \"C\" void %s(", prepare ? "prepare" : "solve");
	for (unsigned i = 0; i < n; i++) {
		buf_adds(out, i ? ", " : "");
		prototype_argument(&p->arguments[prepare ? p->prepare[i] : i], out);
	}
	buf_adds(out, ")");
}

void problem_prelude(const struct problem *p, struct buf *out)
{
	const char *done[4] = {0};
	unsigned n = 0;
	buf_adds(out, "#include <stdint.h>\n");
	for (unsigned i = 0; i < p->n_arguments; i++) {
		const char *header = element_header(p->arguments[i].type);
		bool again = false;
		for (unsigned k = 0; k < n; k++)
			again |= header && !strcmp(done[k], header);
		if (header && !again && n < 4) {
			buf_printf(out, "#include <%s>\n", header);
			done[n++] = header;
		}
	}
	problem_prototype(p, false, out);
	buf_adds(out, ";\n");
	if (p->n_prepare) {
		problem_prototype(p, true, out);
		buf_adds(out, ";\n");
	}
}
