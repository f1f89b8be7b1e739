/* JSON as it is read here: strictly, and with messages that say file, field, what is wrong and what would be right.
 *
 * Wraps cJSON once.  On top of it: limits on bytes and depth, UTF-8, the exact grammar of numbers and strings, nothing
 * after the value, no key twice, no \u0000.  Getters name the field by its path, "problem.json: cases[2].N: ...".
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_MAX_BYTES = 1 << 20, JSON_MAX_DEPTH = 32 };

struct json;		/* a document */
struct cJSON;		/* a value in it; lives as long as the document */

/* NULL and e (ERR_INPUT, "what: line 3, column 7: ...").  `what` names the document in messages; copied. */
struct json *json_parse(const char *text, size_t size, const char *what, struct err *e);
struct json *json_read_file(const char *path, const char *what, struct err *e);
void json_free(struct json *j);		/* NULL is fine */
void json_freep(struct json **j);	/* for CLEANUP(json_freep) */
const struct cJSON *json_root(const struct json *j);

/* Typed getters of a member of an object: 0 and *out, or -1 and e.  `right` completes "...: write " in messages, as in
 * "a string, e.g. \"medium\"".  A member that is null counts as missing. */
int json_string(const struct json *j, const struct cJSON *object, const char *field, const char *right,
		const char **out, struct err *e);
int json_integer(const struct json *j, const struct cJSON *object, const char *field, int64_t min, int64_t max,
		 int64_t *out, struct err *e);
int json_number(const struct json *j, const struct cJSON *object, const char *field, double min, double max,
		double *out, struct err *e);
int json_bool(const struct json *j, const struct cJSON *object, const char *field, bool *out, struct err *e);
int json_object(const struct json *j, const struct cJSON *object, const char *field, const char *right,
		const struct cJSON **out, struct err *e);
int json_array(const struct json *j, const struct cJSON *object, const char *field, const char *right,
	       const struct cJSON **out, struct err *e);

/* The member, or NULL if it is absent or null. */
const struct cJSON *json_get(const struct cJSON *object, const char *field);
/* -1 and e if the object has a member that is not among names (NULL-terminated); the nearest name is suggested. */
int json_only(const struct json *j, const struct cJSON *object, const char *const *names, struct err *e);

bool json_is_object(const struct cJSON *v);
bool json_is_array(const struct cJSON *v);
bool json_is_string(const struct cJSON *v);
bool json_is_number(const struct cJSON *v);
bool json_is_integer(const struct cJSON *v);	/* a number that is whole and below 2^53 */
const char *json_text(const struct cJSON *v);	/* of a string */
double json_value(const struct cJSON *v);	/* of a number */
const char *json_key(const struct cJSON *v);	/* of a member; NULL for an element */
const struct cJSON *json_first(const struct cJSON *v);	/* members or elements in order, then NULL */
const struct cJSON *json_next(const struct cJSON *v);
size_t json_count(const struct cJSON *v);

/* "FILE: PATH: text", for checks of one's own; returns -1. */
int json_fail(const struct json *j, const struct cJSON *v, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Of size bytes: well-formed UTF-8 without surrogates and overlong forms; *where gets the offset of the first bad byte. */
bool utf8_valid(const char *text, size_t size, size_t *where);

#endif
