/* judge.conf: `key = value` a line, "#" begins a comment.  conf.def has the keys. */
#ifndef SERVER_CONF_H
#define SERVER_CONF_H

#include "../../sandbox/base/buf.h"

#include <stdbool.h>

enum { CONF_TEXT = 400 };

struct conf {
#define TEXT(field, standard, what) char field[CONF_TEXT];
#define NUMBER(field, standard, least, most, what) unsigned field;
#define CHOICE(field, standard, words, what) char field[16];
#define FLAG(field, standard, what) bool field;
#include "conf.def"
#undef TEXT
#undef NUMBER
#undef CHOICE
#undef FLAG
};

void conf_standard(struct conf *c);
/* Over the standard.  e: "judge.conf: line 3: ...". */
int conf_read(struct conf *c, const char *path, struct err *e);
/* The same from a text that `what` names. */
int conf_parse(struct conf *c, const char *text, const char *what, struct err *e);
/* Every key with its meaning and its standard value, as a file to begin from. */
void conf_print(struct buf *out);

#endif
