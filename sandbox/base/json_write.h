/* Writing JSON, straight into a buffer.  Commas and indentation are the writer's business; nesting is checked. */
#ifndef BASE_JSON_WRITE_H
#define BASE_JSON_WRITE_H

#include "buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { JSON_WRITE_DEPTH = 16 };

struct json_writer {
	struct buf *out;
	bool indent;			/* one member a line; else all on one */
	int depth;
	bool begun[JSON_WRITE_DEPTH];	/* something stands at this level already */
};

/* key is NULL for elements of an array and for the document itself. */
void json_open(struct json_writer *w, const char *key, char bracket /* '{' or '[' */);
void json_close(struct json_writer *w, char bracket /* '}' or ']' */);
void json_write_string(struct json_writer *w, const char *key, const char *value);	/* NULL: null; bad UTF-8 becomes U+FFFD */
void json_write_number(struct json_writer *w, const char *key, double value);		/* not finite: null */
/* Infinity has no number in JSON: such a ratio is the string "inf". */
void json_write_ratio(struct json_writer *w, const char *key, double value);
void json_write_integer(struct json_writer *w, const char *key, int64_t value);
void json_write_unsigned(struct json_writer *w, const char *key, uint64_t value);
void json_write_bool(struct json_writer *w, const char *key, bool value);
void json_write_null(struct json_writer *w, const char *key);

#endif
