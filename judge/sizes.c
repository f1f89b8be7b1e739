/* Sizes of a problem: see sizes.h.  A recursive-descent evaluator; every step is checked for overflow. */
#include "sizes.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sizes_find(const struct sizes *s, const char *name, int64_t *out)
{
	for (unsigned i = 0; i < s->n; i++)
		if (!strcmp(s->at[i].name, name)) {
			*out = s->at[i].value;
			return 0;
		}
	return -1;
}

bool sizes_add(struct sizes *s, const char *name, int64_t value)
{
	int64_t old;
	if (s->n == PROBLEM_MAX_PARAMS || strlen(name) >= PROBLEM_NAME || sizes_find(s, name, &old) == 0)
		return false;
	snprintf(s->at[s->n].name, PROBLEM_NAME, "%s", name);
	s->at[s->n++].value = value;
	return true;
}

void sizes_text(const struct sizes *s, char *out, size_t size)
{
	size_t n = 0;
	*out = 0;
	for (unsigned i = 0; i < s->n && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%s=%lld", i ? " " : "", s->at[i].name, (long long)s->at[i].value);
}

/* ---- expressions ---- */

struct eval {
	const char *text, *at;
	const struct sizes *sizes;	/* NULL: only the syntax and the names */
	int (*name)(void *user, const char *name, struct err *e);
	void *user;
	int depth;
	struct err *e;
};

static int sum(struct eval *v, int64_t *out);

static void space(struct eval *v)
{
	while (isspace((unsigned char)*v->at))
		v->at++;
}

static bool take(struct eval *v, char c)
{
	space(v);
	if (*v->at != c)
		return false;
	v->at++;
	return true;
}

static int too_large(struct eval *v)
{
	return err_input(v->e, "%s: the value is too large or negative", v->text);
}

static int divide(struct eval *v, int64_t a, int64_t b, bool up, int64_t *out)
{
	if (!v->sizes)
		return *out = 1, 0;
	if (b <= 0)
		return err_input(v->e, "%s: division by %lld", v->text, (long long)b);
	if (!up && a % b)
		return err_input(v->e, "%s: %lld is not a multiple of %lld", v->text, (long long)a, (long long)b);
	*out = a / b + (a % b != 0);
	return 0;
}

/* cdiv(a, b), min(a, b), max(a, b): from after the name. */
static int function(struct eval *v, const char *name, int64_t *out)
{
	int64_t a, b;
	if (!take(v, '(') || sum(v, &a) < 0)
		return -1;
	if (!take(v, ','))
		return err_input(v->e, "%s: %s takes two values", v->text, name);
	if (sum(v, &b) < 0)
		return -1;
	if (!take(v, ')'))
		return err_input(v->e, "%s: \")\" is missing after %s(...", v->text, name);
	if (!strcmp(name, "cdiv"))
		return divide(v, a, b, true, out);
	*out = !strcmp(name, "min") == (a < b) ? a : b;
	return 0;
}

static int named(struct eval *v, int64_t *out)
{
	char name[PROBLEM_NAME];
	size_t n = 0;
	while (isalnum((unsigned char)v->at[n]) || v->at[n] == '_')
		n++;
	if (n >= sizeof name)
		return err_input(v->e, "%s: a name of more than %zu letters", v->text, sizeof name - 1);
	memcpy(name, v->at, n);
	name[n] = 0;
	v->at += n;
	space(v);
	if (*v->at == '(') {
		if (strcmp(name, "cdiv") && strcmp(name, "min") && strcmp(name, "max"))
			return err_input(v->e, "%s: no function \"%s\": there are cdiv, min and max", v->text, name);
		return function(v, name, out);
	}
	*out = 1;
	if (v->name)
		return v->name(v->user, name, v->e);
	if (sizes_find(v->sizes, name, out) < 0)
		return err_input(v->e, "%s: the size %s is not given", v->text, name);
	return 0;
}

static int atom(struct eval *v, int64_t *out)
{
	space(v);
	if (isdigit((unsigned char)*v->at)) {
		int64_t n = 0;
		for (; isdigit((unsigned char)*v->at); v->at++)
			if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *v->at - '0', &n))
				return too_large(v);
		*out = n;
		return 0;
	}
	if (isalpha((unsigned char)*v->at))
		return named(v, out);
	if (take(v, '(')) {
		if (++v->depth > 20)
			return err_input(v->e, "%s: nested too deep", v->text);
		if (sum(v, out) < 0)
			return -1;
		v->depth--;
		return take(v, ')') ? 0 : err_input(v->e, "%s: \")\" is missing", v->text);
	}
	if (!*v->at)
		return err_input(v->e, "%s: the expression ends where a size or number should be", v->text);
	return err_input(v->e, "%s: \"%c\" is not part of a size expression (names, numbers, + - * / and parentheses are)",
			 v->text, *v->at);
}

static int product(struct eval *v, int64_t *out)
{
	int64_t b;
	if (atom(v, out) < 0)
		return -1;
	for (;;) {
		if (take(v, '*')) {
			if (atom(v, &b) < 0)
				return -1;
			if (__builtin_mul_overflow(*out, b, out))
				return too_large(v);
		} else if (take(v, '/')) {
			if (atom(v, &b) < 0 || divide(v, *out, b, false, out) < 0)
				return -1;
		} else {
			return 0;
		}
	}
}

static int sum(struct eval *v, int64_t *out)
{
	int64_t b;
	if (product(v, out) < 0)
		return -1;
	for (;;) {
		bool plus = take(v, '+');
		if (!plus && !take(v, '-'))
			return 0;
		if (product(v, &b) < 0)
			return -1;
		if (plus ? __builtin_add_overflow(*out, b, out) : __builtin_sub_overflow(*out, b, out))
			return too_large(v);
	}
}

static int whole(struct eval *v, int64_t *out)
{
	if (sum(v, out) < 0)
		return -1;
	space(v);
	if (*v->at)
		return err_input(v->e, "%s: \"%s\" after the end of the expression", v->text, v->at);
	return 0;
}

int sizes_eval(const char *expression, const struct sizes *s, int64_t *out, struct err *e)
{
	struct eval v = {.text = expression, .at = expression, .sizes = s, .e = e};
	int64_t value;
	if (whole(&v, &value) < 0)
		return -1;
	if (value < 0)
		return too_large(&v);
	*out = value;
	return 0;
}

int sizes_names(const char *expression, int (*f)(void *user, const char *name, struct err *e), void *user, struct err *e)
{
	struct eval v = {.text = expression, .at = expression, .name = f, .user = user, .e = e};
	int64_t value;
	return whole(&v, &value);
}

/* ---- draws ---- */

int64_t size_drawn(const struct size_draw *d, uint64_t random)
{
	if (d->kind == DRAW_FIXED)
		return d->list[0];
	if (d->kind == DRAW_LIST)
		return d->list[random % d->n];
	int64_t low = (d->from + d->multiple - 1) / d->multiple, high = d->to / d->multiple;
	return (low + (int64_t)(random % (uint64_t)(high - low + 1))) * d->multiple;
}
