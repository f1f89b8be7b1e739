/* Slices of headers: see compile_slice.h.
 *
 * Theory of operation.  The text is cut into tokens, the tokens into declarations: what ends in a semicolon, or in the brace of a
 * function's body, at the level of a file, a namespace, or an extern "C".  Each declaration is put down under the names that it
 * declares.  From the source's words on, every declaration of a word is kept, and its words are looked up in turn.
 *
 * What declares which name is told by the few forms that headers use, not by a C++ parser.  A name too many keeps a declaration
 * that nobody needs.  A name that is missed means a declaration that is missing: mostly the compiler complains, but of an overload
 * or a specialisation it can't, so in doubt a word counts as a name.  Not looked for is what the language itself names: the
 * tuple_size of a structured binding.
 */
#include "compile_slice.h"

#include "base/cleanup.h"
#include "base/fnv.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64, NONE = -1 };

/* Words that are no names.  The first are looked for below; those of the second line stand before parentheses that declare nothing. */
#define WORDS(X)                                                                                                                       \
	X(template) X(using) X(namespace) X(extern) X(inline) X(typedef) X(class) X(struct) X(union) X(enum) X(operator) X(static_assert) \
	X(__attribute__) X(__attribute) X(__declspec) X(decltype) X(noexcept) X(alignas) X(asm) X(__asm__) X(throw) X(__typeof__) X(typeof) \
	X(sizeof) X(alignof) X(explicit)                                                                                               \
	X(and) X(auto) X(bool) X(break) X(case) X(catch) X(char) X(const) X(constexpr) X(const_cast) X(continue) X(default)   \
	X(delete) X(do) X(double) X(dynamic_cast) X(else) X(false) X(float) X(for) X(friend) X(goto) X(if) X(int) X(long) X(mutable)      \
	X(new) X(not) X(or) X(private) X(protected) X(public) X(register) X(reinterpret_cast) X(return) X(short) X(signed) X(static)      \
	X(static_cast) X(switch) X(this) X(thread_local) X(true) X(try) X(typeid) X(typename) X(unsigned) X(virtual) X(void) X(volatile)  \
	X(wchar_t) X(while) X(__inline__) X(__inline) X(__extension__) X(__restrict) X(__restrict__) X(__volatile__) X(__const) X(host)   \
	X(device) X(global) X(shared) X(constant) X(managed) X(always_inline) X(unused) X(visibility) X(__visibility__) X(__nothrow__)    \
	X(__leaf__) X(nothrow) X(noreturn) X(__noreturn__) X(__nonnull__) X(__pure__) X(aligned) X(__aligned__)

enum word {
#define X(w) WORD_##w,
	WORDS(X)
#undef X
	N_WORDS
};

static const char *const known_words[] = {
#define X(w) #w,
	WORDS(X)
#undef X
};

/* What the compiler looks up by itself. */
static const char *const compilers_own[] = {
	"dim3", "uint3", "size_t", "ptrdiff_t", "nullptr_t", "type_info", "initializer_list", "bad_alloc", "align_val_t", "malloc", "free", "memcpy", "memset",
	"printf", "vprintf", "__assert_fail", "__assertfail", "__cudaPushCallConfiguration", "__cudaPopCallConfiguration",
	"cudaConfigureCall", "cudaSetupArgument", "cudaLaunch", "cudaLaunchKernel", "cudaGetParameterBuffer", "cudaGetParameterBufferV2",
	"cudaLaunchDevice", "cudaLaunchDeviceV2",
	/* and what the headers need that the front end adds for the host, and what it puts into the bodies of device functions there */
	"__cudaGetKernel", "__cudaLaunchKernel_helper", "__isinf", "__isnan", "__signbit", "copysign", "cos", "erfc", "exp", "exp2", "fabs",
	"floor", "log", "log1p", "log2", "round", "sin", "sqrt", "exit",
};

/* Small headers that may come on top of the kept ones, and what they name of those. */
static const struct {
	const char *name, *of, *words;	/* of: the one that they bring in, if it must be there */
} others[] = {
	{"cstdint", "stdint.h", "int8_t int16_t int32_t int64_t int_fast8_t int_fast16_t int_fast32_t int_fast64_t int_least8_t int_least16_t "
		    "int_least32_t int_least64_t intmax_t intptr_t uint8_t uint16_t uint32_t uint64_t uint_fast8_t uint_fast16_t "
		    "uint_fast32_t uint_fast64_t uint_least8_t uint_least16_t uint_least32_t uint_least64_t uintmax_t uintptr_t "
		    "__int8_t __int16_t __int32_t __int64_t __int_least8_t __int_least16_t __int_least32_t __int_least64_t __intmax_t "
		    "__uint8_t __uint16_t __uint32_t __uint64_t __uint_least8_t __uint_least16_t __uint_least32_t __uint_least64_t __uintmax_t"},
	{"cstring", "string.h", "memchr memcmp memcpy memmove memset strcat strcmp strcoll strcpy strcspn strerror strlen strncat strncmp strncpy strspn "
		    "strtok strxfrm strchr strpbrk strrchr strstr"},
	{"cstdio", "stdio.h", "FILE fpos_t clearerr fclose feof ferror fflush fgetc fgetpos fgets fopen fprintf fputc fputs fread freopen fscanf fseek "
		   "fsetpos ftell fwrite getc getchar perror printf putc putchar puts remove rename rewind scanf setbuf setvbuf sprintf "
		   "sscanf tmpfile tmpnam ungetc vfprintf vprintf vsprintf snprintf vfscanf vscanf vsnprintf vsscanf"},
	{"cassert", NULL, "__assert_fail __assert_perror_fail __assert"},
	{"assert.h", NULL, "__assert_fail __assert_perror_fail __assert"},
	{"climits", NULL, ""},
	{"cfloat", NULL, ""},
};

enum kind { DIRECTIVE, WORD, PUNCTUATION, OTHER };

struct token {
	const char *text;
	uint32_t size, row;
	int32_t what;		/* WORD: which; of a bracket: the token that is its other end; NONE */
	uint16_t mark;		/* PUNCTUATION: its characters; else 0 */
	uint16_t kind;
};

#define PAIR(a, b) ((unsigned)(a) | (unsigned)(b) << 8)

struct word_entry {
	const char *text;
	uint32_t size;
	int32_t first;		/* name under which something is declared; NONE */
	const char *body;	/* of the macro of that name, up to the line's end; NULL */
};

struct name {			/* one of those that declare the word */
	int32_t item, next;
};

struct item {
	enum { DECLARATION, OPEN, CLOSE, PRAGMA } what;
	int32_t from, to;	/* tokens; of DECLARATION and OPEN without the last */
	int32_t marker;		/* # LINE "FILE" that it is after */
	bool always;		/* what it is for is not known */
};

struct compile_slicer {		/* once made, only read */
	struct buf text, macros;
	struct token *tokens;
	int32_t n_tokens, room_tokens;
	struct word_entry *words;
	int32_t n_words, room_words;
	int32_t *slots;		/* of a hash table: a word, or NONE */
	uint32_t n_slots;	/* a power of two */
	struct name *names;
	int32_t n_names, room_names;
	struct item *items;
	int32_t n_items, room_items;
	int32_t marker;
	bool lost;		/* the text is not understood */
};

/* What one source wants of it. */
struct cut {
	const struct compile_slicer *s;
	bool *wanted;		/* by word */
	bool *kept;		/* by item */
	int32_t *todo;		/* words that are wanted and not looked up yet */
	int32_t n_todo;
};

static void *more(void *p, int32_t n, int32_t *room, size_t size)
{
	if (n < *room)
		return p;
	*room = *room ? 2 * *room : 1024;
	p = realloc(p, (size_t)*room * size);
	if (!p)
		BUG("out of memory");
	return p;
}

void compile_slicer_free(struct compile_slicer *s)
{
	if (!s)
		return;
	buf_free(&s->text);
	buf_free(&s->macros);
	free(s->tokens);
	free(s->words);
	free(s->slots);
	free(s->names);
	free(s->items);
	free(s);
}

static struct buf take_buf(struct buf *b)
{
	struct buf taken = *b;
	*b = (struct buf){0};
	return taken;
}

/* ---- words ---- */

static int32_t *slot_of(const struct compile_slicer *s, const char *text, size_t size)
{
	uint64_t hash = fnv(fnv_basis, text, size);
	for (uint32_t i = (uint32_t)(hash ^ hash >> 32);; i++) {
		int32_t *slot = &s->slots[i & (s->n_slots - 1)];
		if (*slot == NONE || (s->words[*slot].size == size && !memcmp(s->words[*slot].text, text, size)))
			return slot;
	}
}

static void make_slots(struct compile_slicer *s)
{
	s->n_slots = s->n_slots ? 2 * s->n_slots : 1u << 16;
	free(s->slots);
	s->slots = malloc(s->n_slots * sizeof *s->slots);
	if (!s->slots)
		BUG("out of memory");
	memset(s->slots, 0xff, s->n_slots * sizeof *s->slots);
	for (int32_t i = 0; i < s->n_words; i++)
		*slot_of(s, s->words[i].text, s->words[i].size) = i;
}

static int32_t word_of(struct compile_slicer *s, const char *text, size_t size)
{
	int32_t *slot = slot_of(s, text, size);
	if (*slot != NONE)
		return *slot;
	s->words = more(s->words, s->n_words, &s->room_words, sizeof *s->words);
	s->words[s->n_words] = (struct word_entry){.text = text, .size = (uint32_t)size, .first = NONE};
	int32_t w = *slot = s->n_words++;
	if ((uint32_t)s->n_words > s->n_slots / 2)
		make_slots(s);
	return w;
}

static bool starts_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static bool in_word(char c)
{
	return starts_word(c) || (c >= '0' && c <= '9');
}

static size_t word_size(const char *p, const char *end)
{
	const char *q = p;
	while (q < end && in_word(*q))
		q++;
	return (size_t)(q - p);
}

/* ---- tokens ---- */

static const char *string_end(const char *p, const char *end)
{
	char quote = *p++;
	while (p < end && *p != quote && *p != '\n')
		p += *p == '\\' ? 2 : 1;
	return p < end && *p == quote ? p + 1 : NULL;
}

static size_t punctuation_size(const char *p, const char *end)
{
	static const char two[][3] = {"::", "->", "<<", "<=", ">=", ">>"};
	if (*p != ':' && *p != '-' && *p != '<' && *p != '>')
		return 1;
	for (size_t i = 0; i < sizeof two / sizeof *two; i++)
		if (end - p >= 2 && !memcmp(p, two[i], 2))
			return 2;
	return 1;
}

/* The token at p; NULL: not understood. */
static const char *read_token(struct compile_slicer *s, const char *p, const char *end, bool new_line, struct token *t)
{
	const char *q;
	if (new_line && *p == '#') {
		t->kind = DIRECTIVE;
		q = memchr(p, '\n', (size_t)(end - p));
		return q ? q : end;
	}
	if (starts_word(*p)) {
		size_t n = word_size(p, end);
		if (n <= 3 && p + n < end && (p[n] == '"' || p[n] == '\'')) {	/* a prefix, L"" */
			t->kind = OTHER;
			return memchr(p, 'R', n) ? NULL : string_end(p + n, end);
		}
		t->kind = WORD;
		t->what = word_of(s, p, n);
		return p + n;
	}
	t->kind = OTHER;
	if (*p == '"' || *p == '\'')
		return string_end(p, end);
	if ((*p >= '0' && *p <= '9') || (*p == '.' && end - p > 1 && p[1] >= '0' && p[1] <= '9')) {
		for (q = p + 1; q < end && (in_word(*q) || *q == '.' || *q == '\'' || ((*q == '+' || *q == '-') && strchr("eEpP", q[-1]))); q++)
			;
		return q;
	}
	t->kind = PUNCTUATION;
	t->mark = (unsigned char)*p;
	if (punctuation_size(p, end) == 1)
		return p + 1;
	t->mark = (uint16_t)PAIR(p[0], p[1]);
	return p + 2;
}

/* Brackets find each other. */
static bool pair_brackets(struct compile_slicer *s)
{
	int32_t *open = NULL, n = 0, room = 0;
	bool good = true;
	for (int32_t i = 0; i < s->n_tokens && good; i++) {
		const struct token *t = &s->tokens[i];
		if (!t->mark || t->size != 1)
			continue;
		if (strchr("([{", *t->text)) {
			open = more(open, n, &room, sizeof *open);
			open[n++] = i;
		} else if (strchr(")]}", *t->text)) {
			char other = *t->text == ')' ? '(' : *t->text == ']' ? '[' : '{';
			if (!n || *s->tokens[open[n - 1]].text != other) {
				good = false;
			} else {
				s->tokens[i].what = open[--n];
				s->tokens[open[n]].what = i;
			}
		}
	}
	free(open);
	return good && !n;
}

static bool read_tokens(struct compile_slicer *s, const char *p, const char *end)
{
	uint32_t row = 0;
	bool new_line = true;
	while (p < end) {
		if (*p == '\n') {
			row++;
			new_line = true;
			p++;
			continue;
		}
		if (strchr(" \t\f\v\r", *p)) {
			p++;
			continue;
		}
		struct token t = {.text = p, .row = row, .what = NONE};
		const char *q = read_token(s, p, end, new_line, &t);
		if (!q || q > end)
			return false;
		t.size = (uint32_t)(q - p);
		s->tokens = more(s->tokens, s->n_tokens, &s->room_tokens, sizeof *s->tokens);
		s->tokens[s->n_tokens++] = t;
		new_line = false;
		p = q;
	}
	return pair_brackets(s);
}

/* ---- declarations ---- */

static bool is_spelt(const struct token *t, const char *text)
{
	return t->size == strlen(text) && !memcmp(t->text, text, t->size);
}

static bool is(const struct compile_slicer *s, int32_t i, int32_t end, unsigned mark)
{
	return i < end && s->tokens[i].mark == mark;
}

static bool is_word(const struct compile_slicer *s, int32_t i, int32_t end, enum word w)
{
	return i < end && s->tokens[i].kind == WORD && s->tokens[i].what == (int32_t)w;
}

static bool is_name(const struct compile_slicer *s, int32_t i, int32_t end)
{
	return i < end && s->tokens[i].kind == WORD && s->tokens[i].what >= N_WORDS;
}

static bool is_bracket(const struct compile_slicer *s, int32_t i, int32_t end)
{
	return is(s, i, end, '(') || is(s, i, end, '[') || is(s, i, end, '{');
}

/* A word that declares nothing, and its parentheses. */
static bool is_attribute(const struct compile_slicer *s, int32_t i, int32_t end)
{
	return i < end && s->tokens[i].kind == WORD && s->tokens[i].what >= WORD___attribute__ && s->tokens[i].what <= WORD_explicit &&
	       is(s, i + 1, end, '(');
}

static bool is_class_key(const struct compile_slicer *s, int32_t i, int32_t end)
{
	return i < end && s->tokens[i].kind == WORD && s->tokens[i].what >= WORD_class && s->tokens[i].what <= WORD_enum;
}

static int32_t past(const struct compile_slicer *s, int32_t bracket)
{
	return s->tokens[bracket].what + 1;
}

/* Past the angle bracket that closes the one at i. */
static int32_t past_angle(const struct compile_slicer *s, int32_t i, int32_t end)
{
	int depth = 0;
	while (i < end) {
		if (is(s, i, end, '<'))
			depth++;
		else if (is(s, i, end, '>'))
			depth--;
		else if (is(s, i, end, PAIR('>', '>')))
			depth -= 2;
		i = is_bracket(s, i, end) ? past(s, i) : i + 1;
		if (depth <= 0)
			return i;
	}
	return end;
}

static void declare(struct compile_slicer *s, int32_t item, int32_t word)
{
	s->names = more(s->names, s->n_names, &s->room_names, sizeof *s->names);
	s->names[s->n_names] = (struct name){item, s->words[word].first};
	s->words[word].first = s->n_names++;
}

/* Is the word one of template <class A, typename B>'s, between these tokens? */
static bool is_template_parameter(const struct compile_slicer *s, int32_t from, int32_t to, int32_t word)
{
	for (int32_t i = from + 1; i < to; i++)
		if (s->tokens[i].kind == WORD && s->tokens[i].what == word &&
		    (is_word(s, i - 1, to, WORD_class) || is_word(s, i - 1, to, WORD_typename) || is(s, i - 1, to, '.')))
			return true;
	return false;
}

/* In a list of parameters: the parameter's name, and not of its type? */
static bool is_parameter(const struct compile_slicer *s, int32_t i, int32_t end)
{
	bool last = is(s, i + 1, end + 1, ',') || is(s, i + 1, end + 1, ')') || is(s, i + 1, end + 1, '=');
	return last && !is(s, i - 1, end, '(') && !is(s, i - 1, end, ',') && !is(s, i - 1, end, PAIR(':', ':')) &&
	       !is_word(s, i - 1, end, WORD_const) && !is_word(s, i - 1, end, WORD_volatile) && !is_word(s, i - 1, end, WORD_typename) &&
	       !is_class_key(s, i - 1, end);
}

/* An operator, under the names of its operands' types, and of the class that it is a member of.  Without any it is for all.
 * at: the word "operator"; from: past template <...>. */
static void declare_operator(struct compile_slicer *s, int32_t item, int32_t from, int32_t at, int32_t end)
{
	bool any = false;
	int32_t open = at + 1;
	if (is(s, open, end, '(') && is(s, open + 1, end, ')'))		/* operator() */
		open += 2;
	while (open < end && !is(s, open, end, '('))
		open++;
	int32_t close = open < end ? s->tokens[open].what : end;
	for (int32_t i = from; i < close; i++) {
		bool of_class = i < at && is(s, i + 1, end, PAIR(':', ':')), of_operand = i > open && !is_parameter(s, i, close);
		if (!is_name(s, i, end) || (!of_class && !of_operand) || is_spelt(&s->tokens[i], "size_t") || is_spelt(&s->tokens[i], "std") ||
		    is_template_parameter(s, s->items[item].from, from, s->tokens[i].what))
			continue;
		declare(s, item, s->tokens[i].what);
		any = true;
	}
	s->items[item].always = !any;
}

/* Names of enum { a, b = 1 }. */
static void declare_enumerators(struct compile_slicer *s, int32_t item, int32_t open)
{
	int32_t end = s->tokens[open].what;
	bool begins = true;
	for (int32_t i = open + 1; i < end; i = is_bracket(s, i, end) ? past(s, i) : i + 1) {
		if (s->tokens[i].kind == DIRECTIVE)
			continue;
		if (begins && is_name(s, i, end))
			declare(s, item, s->tokens[i].what);
		begins = is(s, i, end, ',');
	}
}

/* A class, or what is declared together with one; false: the word only begins a type.  *at: past the word. */
static bool declare_class(struct compile_slicer *s, int32_t item, int32_t end, int32_t *at)
{
	int32_t i = *at + 1, first = *at + 1;
	bool is_enum = is_word(s, *at, end, WORD_enum);
	while (i < end && (s->tokens[i].kind == WORD || is(s, i, end, PAIR(':', ':'))))
		i = is_attribute(s, i, end) ? past(s, i + 1) : i + 1;
	*at = first;
	if (!is(s, i, end, '{') && !is(s, i, end, ':') && !is(s, i, end, ';') && !is(s, i, end, '<'))
		return false;
	for (int32_t k = first; k < i; k = is_attribute(s, k, end) ? past(s, k + 1) : k + 1)	/* of typedef struct a b; both */
		if (is_name(s, k, end))
			declare(s, item, s->tokens[k].what);
	if (is(s, i, end, '<'))
		i = past_angle(s, i, end);
	while (i < end && !is(s, i, end, '{') && !is(s, i, end, ';'))
		i = is_bracket(s, i, end) ? past(s, i) : i + 1;
	if (is(s, i, end, '{')) {
		if (is_enum)
			declare_enumerators(s, item, i);
		i = past(s, i);
	}
	for (; i < end; i = is_attribute(s, i, end) ? past(s, i + 1) : i + 1)	/* } name; */
		if (is_name(s, i, end))
			declare(s, item, s->tokens[i].what);
	return true;
}

/* The words of a qualified name that ends at i. */
static void declare_qualified(struct compile_slicer *s, int32_t item, int32_t from, int32_t i)
{
	declare(s, item, s->tokens[i].what);
	for (; i - 2 >= from && is(s, i - 1, i, PAIR(':', ':')) && is_name(s, i - 2, i); i -= 2)
		declare(s, item, s->tokens[i - 2].what);
}

/* using a::b; using a = b; using namespace a; */
static void declare_using(struct compile_slicer *s, int32_t item, int32_t from, int32_t end)
{
	int32_t last = NONE;
	for (int32_t i = from; i < end && !is(s, i, end, '='); i++)
		if (is_name(s, i, end))
			last = s->tokens[i].what;
	if (last != NONE)
		declare(s, item, last);
	s->items[item].always = last == NONE;
}

/* Functions, variables or types: T name(...), T name = ..., T a[2], b, typedef T name, T (*name)(...), T (name)(...). */
static void declare_declarator(struct compile_slicer *s, int32_t item, int32_t from, int32_t end)
{
	bool is_type = false;
	int32_t last = NONE, i = from;
	while (i < end && !is(s, i, end, '{')) {
		is_type |= is_word(s, i, end, WORD_typedef);
		if (is_attribute(s, i, end)) {
			i = past(s, i + 1);
		} else if (is_class_key(s, i, end)) {
			if (declare_class(s, item, end, &i))
				return;
		} else if (is(s, i, end, '(')) {
			if (i > from && is_name(s, i - 1, end)) {
				declare_qualified(s, item, from, i - 1);
				if (!is_type && !(is_name(s, i + 1, end) && is(s, i + 2, end, ')') && is(s, i + 3, end, '(')))
					return;
			}
			if (is_name(s, i + 1, end) && is(s, i + 2, end, ')'))
				declare(s, item, s->tokens[i + 1].what);
			if (is(s, i + 1, end, '*')) {
				int32_t k = i + 1;
				while (k < end && !is_name(s, k, end))
					k++;
				if (k < end)
					declare(s, item, s->tokens[k].what);
				return;
			}
			i = past(s, i);
		} else if (is(s, i, end, '<') && last != NONE) {
			i = past_angle(s, i, end);
		} else if (is(s, i, end, '[')) {		/* an array's size, or [[an attribute]] */
			i = past(s, i);
		} else if (is(s, i, end, ',') || is(s, i, end, '=')) {
			if (last != NONE)
				declare(s, item, last);
			last = NONE;
			while (i < end && !is(s, i, end, ','))
				i = is_bracket(s, i, end) ? past(s, i) : i + 1;
			i++;
		} else {
			if (is_name(s, i, end))
				last = s->tokens[i].what;
			i++;
		}
	}
	if (last != NONE)
		declare(s, item, last);
}

static void declare_names(struct compile_slicer *s, int32_t item)
{
	int32_t i = s->items[item].from, end = s->items[item].to, before = s->n_names;
	while (is_word(s, i, end, WORD_template) && is(s, i + 1, end, '<'))
		i = past_angle(s, i + 1, end);
	if (is_word(s, i, end, WORD_static_assert))
		return;
	for (int32_t k = i; k < end && !is(s, k, end, '{'); k = is(s, k, end, '(') ? past(s, k) : k + 1)
		if (is_word(s, k, end, WORD_operator)) {
			declare_operator(s, item, i, k, end);
			return;
		}
	if (is_word(s, i, end, WORD_using))
		declare_using(s, item, i + 1, end);
	else
		declare_declarator(s, item, i, end);
	if (s->n_names == before)
		s->items[item].always = true;
}

/* ---- the file ---- */

static int32_t add_item(struct compile_slicer *s, struct item item)
{
	s->items = more(s->items, s->n_items, &s->room_items, sizeof *s->items);
	item.marker = s->marker;
	s->items[s->n_items] = item;
	return s->n_items++;
}

/* The brace of extern "C" { and namespace a { at i; NONE: it is none. */
static int32_t scope_brace(const struct compile_slicer *s, int32_t i, int32_t end)
{
	if (is_word(s, i, end, WORD_extern) && i + 2 < end && s->tokens[i + 1].kind == OTHER && is(s, i + 2, end, '{'))
		return i + 2;
	if (!is_word(s, i, end, WORD_namespace) && !(is_word(s, i, end, WORD_inline) && is_word(s, i + 1, end, WORD_namespace)))
		return NONE;
	while (i < end && !is(s, i, end, '{') && !is(s, i, end, ';') && !is(s, i, end, '='))
		i = is_attribute(s, i, end) ? past(s, i + 1) : i + 1;
	return is(s, i, end, '{') ? i : NONE;
}

/* Past the declaration at i. */
static int32_t declaration_end(const struct compile_slicer *s, int32_t i, int32_t end)
{
	bool parameters = false, is_type = false, is_class = false;
	while (i < end) {
		if (is_word(s, i, end, WORD_template) && is(s, i + 1, end, '<')) {
			i = past_angle(s, i + 1, end);
		} else if (is_attribute(s, i, end)) {
			i = past(s, i + 1);
		} else if (is_class && is(s, i, end, '<')) {	/* of a specialisation, or a base */
			i = past_angle(s, i, end);
		} else if (is(s, i, end, '{')) {
			i = past(s, i);
			if (is(s, i, end, ';'))
				return i + 1;
			if (parameters && !is_type && !is_class)
				return i;
		} else if (is(s, i, end, ';')) {
			return i + 1;
		} else {
			is_type |= is_word(s, i, end, WORD_typedef);
			if (is(s, i, end, '(')) {	/* struct a f(): a function after all */
				parameters = true;
				is_class &= !is_name(s, i - 1, end);
			}
			is_class |= is_class_key(s, i, end) && !parameters;
			i = is_bracket(s, i, end) ? past(s, i) : i + 1;
		}
	}
	return end;
}

static bool begins_with(const struct token *t, const char *text)
{
	return t->size >= strlen(text) && !memcmp(t->text, text, strlen(text));
}

/* # LINE "FILE", or a pragma. */
static void read_directive(struct compile_slicer *s, int32_t i)
{
	if (begins_with(&s->tokens[i], "# "))
		s->marker = i;
	else if (begins_with(&s->tokens[i], "#pragma"))
		add_item(s, (struct item){.what = PRAGMA, .from = i, .to = i + 1});
	else
		s->lost = true;
}

/* Markers inside a declaration count for what follows it. */
static void pass_markers(struct compile_slicer *s, int32_t from, int32_t to)
{
	for (int32_t i = to - 1; i > from; i--)
		if (s->tokens[i].kind == DIRECTIVE && begins_with(&s->tokens[i], "# ")) {
			s->marker = i;
			return;
		}
}

static void read_scope(struct compile_slicer *s, int32_t i, int32_t end, int depth)
{
	s->lost |= depth == DEPTH_MAX;
	while (i < end && !s->lost) {
		int32_t brace;
		if (s->tokens[i].kind == DIRECTIVE) {
			read_directive(s, i++);
		} else if (is(s, i, end, ';')) {
			i++;
		} else if ((brace = scope_brace(s, i, end)) != NONE) {
			int32_t close = s->tokens[brace].what;
			add_item(s, (struct item){.what = OPEN, .from = i, .to = brace + 1});
			pass_markers(s, i, brace);
			read_scope(s, brace + 1, close, depth + 1);
			add_item(s, (struct item){.what = CLOSE, .from = close, .to = close + 1});
			i = close + 1;
		} else {
			int32_t to = declaration_end(s, i, end);
			declare_names(s, add_item(s, (struct item){.what = DECLARATION, .from = i, .to = to}));
			pass_markers(s, i, to);
			i = to;
		}
	}
}

/* #define NAME BODY, #define NAME(A) BODY: of each the rest of the line. */
static void read_macros(struct compile_slicer *s, const char *p, const char *end)
{
	static const char define[] = "#define ";
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p)), *line_end = newline ? newline : end;
		size_t skip = sizeof define - 1;
		if ((size_t)(line_end - p) > skip && !memcmp(p, define, skip)) {
			size_t n = word_size(p + skip, line_end);
			int32_t word = word_of(s, p + skip, n);
			s->words[word].body = p + skip + n;
		}
		p = line_end + 1;
	}
}

/* ---- what is wanted ---- */

static void cut_free(struct cut *c)
{
	free(c->wanted);
	free(c->kept);
	free(c->todo);
}

static void want(struct cut *c, int32_t word)
{
	if (word >= N_WORDS && !c->wanted[word]) {
		c->wanted[word] = true;
		c->todo[c->n_todo++] = word;	/* each word once: there is room */
	}
}

/* All words of a text, whatever they stand in, that headers know. */
static void want_words(struct cut *c, const char *p, const char *end)
{
	while (p < end) {
		size_t n = word_size(p, end);
		if (n && starts_word(*p)) {
			int32_t word = *slot_of(c->s, p, n);
			if (word != NONE)
				want(c, word);
		}
		p += n ? n : 1;
	}
}

/* Of the macros among them, what they are made of, too.  False: one of them makes names. */
static bool want_macros(struct cut *c)
{
	for (int32_t i = 0; i < c->n_todo; i++) {
		const char *body = c->s->words[c->todo[i]].body;
		if (!body)
			continue;
		const char *end = body + strcspn(body, "\n");
		if (memmem(body, (size_t)(end - body), "##", 2))
			return false;
		want_words(c, body, end);
	}
	return true;
}

static void keep_item(struct cut *c, int32_t item)
{
	c->kept[item] = true;
	for (int32_t i = c->s->items[item].from; i < c->s->items[item].to; i++)
		if (c->s->tokens[i].kind == WORD)
			want(c, c->s->tokens[i].what);
}

static void keep_wanted(struct cut *c)
{
	const struct compile_slicer *s = c->s;
	for (int32_t i = 0; i < s->n_items; i++)
		if (s->items[i].always)
			keep_item(c, i);
	while (c->n_todo)
		for (int32_t n = s->words[c->todo[--c->n_todo]].first; n != NONE; n = s->names[n].next)
			if (!c->kept[s->names[n].item])
				keep_item(c, s->names[n].item);
}

/* Is the header in the text? */
static bool is_there(const struct compile_slicer *s, const char *name, size_t size)
{
	char marker[300];
	int n = snprintf(marker, sizeof marker, "/%.*s\" ", (int)size, name);
	return (size_t)n < sizeof marker && memmem(s->text.data, s->text.size, marker, (size_t)n);
}

/* What the header names is wanted.  False: it isn't among the kept ones, and no small one. */
static bool want_header(struct cut *c, const char *name, size_t size)
{
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strlen(others[i].name) == size && !memcmp(others[i].name, name, size)) {
			want_words(c, others[i].words, others[i].words + strlen(others[i].words));
			return !others[i].of || is_there(c->s, others[i].of, strlen(others[i].of));
		}
	return is_there(c->s, name, size);
}

static bool want_headers(struct cut *c, const char *source, const char *end)
{
	static const char include[] = "include";
	for (const char *p = source; (p = memmem(p, (size_t)(end - p), include, sizeof include - 1));) {
		p += sizeof include - 1;
		const char *q = p;
		while (q < end && *q && strchr(" \t\f\v\r", *q))
			q++;
		if (q < end && *q == '/')		/* a comment */
			return false;
		if (q == end || (*q != '<' && *q != '"')) {
			if (!strncmp(p, "_next", 5))
				return false;
			continue;
		}
		const char *close = memchr(q + 1, *q == '<' ? '>' : '"', (size_t)(end - q - 1));
		if (!close || close - q > 200 || !want_header(c, q + 1, (size_t)(close - q - 1)))
			return false;
	}
	return !memmem(source, (size_t)(end - source), "import", 6);
}

/* ---- the slice ---- */

/* The line of a token, and its file with the flags that say what kind of header it is. */
static void add_marker(const struct compile_slicer *s, int32_t marker, const struct token *t, struct buf *out)
{
	if (marker == NONE)
		return;
	const struct token *m = &s->tokens[marker];
	const char *file = memchr(m->text, '"', m->size), *end = m->text + m->size, *quote = file ? memrchr(file, '"', (size_t)(end - file)) : NULL;
	if (!quote)
		return;
	buf_printf(out, "\n# %ld %.*s", strtol(m->text + 2, NULL, 10) + (long)(t->row - m->row) - 1, (int)(quote + 1 - file), file);
	for (const char *flag = quote + 1; flag < end; flag++)
		if (*flag == '3' || *flag == '4')
			buf_printf(out, " %c", *flag);
	buf_addc(out, '\n');
}

static void add_tokens(const struct compile_slicer *s, const struct item *item, struct buf *out)
{
	const struct token *first = &s->tokens[item->from], *last = &s->tokens[item->to - 1];
	add_marker(s, item->marker, first, out);
	buf_add(out, first->text, (size_t)(last->text + last->size - first->text));
	buf_addc(out, '\n');
}

/* extern "C" is opened when something in it is kept; a namespace always, since its name is taken. */
static void add_slice(const struct cut *c, struct buf *out)
{
	const struct compile_slicer *s = c->s;
	const struct item *open[DEPTH_MAX + 1];
	int depth = 0, written = 0;
	for (int32_t i = 0; i < s->n_items; i++) {
		const struct item *item = &s->items[i];
		if (item->what == OPEN) {
			open[depth++] = item;
			if (!is_word(s, item->from, item->to, WORD_extern))
				for (; written < depth; written++)
					add_tokens(s, open[written], out);
		} else if (item->what == CLOSE) {
			if (written == depth) {
				buf_adds(out, "}\n");
				written--;
			}
			depth--;
		} else if (item->what == PRAGMA) {
			buf_addc(out, '\n');
			buf_add(out, s->tokens[item->from].text, s->tokens[item->from].size);
			buf_addc(out, '\n');
		} else if (c->kept[i]) {
			for (; written < depth; written++)
				add_tokens(s, open[written], out);
			add_tokens(s, item, out);
		}
	}
	buf_adds(out, "\n# 0 \"<command-line>\" 2\n");
}

struct compile_slicer *compile_slicer_new(struct buf *text, struct buf *macros)
{
	struct compile_slicer *s = calloc(1, sizeof *s);
	if (!s)
		BUG("out of memory");
	s->marker = NONE;
	s->text = take_buf(text);
	s->macros = take_buf(macros);
	make_slots(s);
	for (size_t i = 0; i < N_WORDS; i++)
		word_of(s, known_words[i], strlen(known_words[i]));
	read_macros(s, buf_str(&s->macros), buf_str(&s->macros) + s->macros.size);
	if (read_tokens(s, buf_str(&s->text), buf_str(&s->text) + s->text.size))
		read_scope(s, 0, s->n_tokens, 0);
	else
		s->lost = true;
	return s;
}

bool compile_slice(const struct compile_slicer *s, const char *source, size_t size, struct buf *out)
{
	if (s->lost || !s->text.size)
		return false;
	CLEANUP(cut_free) struct cut c = {
		.s = s, .wanted = calloc((size_t)s->n_words, sizeof *c.wanted), .kept = calloc((size_t)s->n_items + 1, sizeof *c.kept),
		.todo = calloc((size_t)s->n_words, sizeof *c.todo)};
	if (!c.wanted || !c.kept || !c.todo)
		BUG("out of memory");
	want_words(&c, source, source + size);
	for (size_t i = 0; i < sizeof compilers_own / sizeof *compilers_own; i++)
		want_words(&c, compilers_own[i], compilers_own[i] + strlen(compilers_own[i]));
	if (!want_headers(&c, source, source + size) || !want_macros(&c))
		return false;
	keep_wanted(&c);
	add_slice(&c, out);
	return true;
}
