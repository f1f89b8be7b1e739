/* Names of a PTX module while it is parsed: scopes, and registers declared by the range. */
#ifndef PTX_SYMBOLS_H
#define PTX_SYMBOLS_H

#include "ptx.h"

enum binding_kind { B_REG, B_VECTOR, B_VAR, B_FUNC, B_TABLE, B_LABEL };

struct binding {
	uint8_t kind;
	bool is_range;			/* a register range: name<count> */
	uint32_t depth;			/* of the scope that owns it; 0: the module */
	int32_t reg;			/* B_REG: its number; range, vector: of the first */
	uint32_t count;			/* range, vector */
	uint32_t label;			/* B_LABEL: index of the instruction */
	union {
		struct ptx_var *var;
		struct ptx_func *func;
		struct ptx_table *table;
	};
	struct binding *below;		/* the one it hides */
	struct binding *next;		/* in the same scope */
	struct symbol *symbol;
};

struct symbol;
struct symbols;

/* Everything is allocated in a, which may be freed when parsing is done. */
struct symbols *symbols_new(struct arena *a);
void symbols_free(struct symbols *t);
/* The symbol of a name; the text must outlive the table. */
struct symbol *symbols_intern(struct symbols *t, const char *s, uint32_t n);

void symbols_push(struct symbols *t);
/* Leave a scope: its names are gone, those that they hid are back. */
void symbols_pop(struct symbols *t);
uint32_t symbols_depth(const struct symbols *t);

/* A new binding in the innermost scope; NULL: the scope has one of that name. */
struct binding *symbols_bind(struct symbols *t, const char *s, uint32_t n, enum binding_kind kind);
/* name<count>: the registers first, first + 1, ... */
struct binding *symbols_bind_range(struct symbols *t, const char *s, uint32_t n, int32_t first, uint32_t count);
/* What a name means here, or NULL.  For a register of a range, *reg gets its number (else the binding's own). */
const struct binding *symbols_find(const struct symbols *t, const char *s, uint32_t n, int32_t *reg);
/* The symbol's binding in the innermost scope, if that is a label. */
const struct binding *symbols_label_here(const struct symbols *t, const struct symbol *s);
const char *symbol_text(const struct symbol *s, uint32_t *n);

#endif
