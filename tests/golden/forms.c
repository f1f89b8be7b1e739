/* Instruction forms and their operands: see forms.h. */
#include "forms.h"

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- reading and expanding ---- */

static uint64_t hash_text(const char *s)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3u;
	return h;
}

static int parse_operands(struct form *f, char *words, struct err *e)
{
	for (char *save, *w = strtok_r(words, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
		if (sscanf(w, "tol=%lf", &f->tolerance) == 1 || sscanf(w, "ftype=%7s", f->ftype) == 1)
			continue;
		struct form_operand o = {0};
		if (!(w[0] >= 'A' && w[0] <= 'Z') || w[1] != '=' || !w[2] || !strchr("phrl", w[2]))
			return err_input(e, "bad operand '%s'", w);
		o.name = w[0];
		o.kind = w[2];
		if (w[3] == ':') {
			if (f->n_in == FORM_MAX_OPERANDS)
				return err_input(e, "too many sources");
			snprintf(o.pool, sizeof o.pool, "%s", w + 4);
			f->in[f->n_in++] = o;
		} else {
			if (f->n_out == 8)
				return err_input(e, "too many destinations");
			f->out[f->n_out++] = o;
		}
	}
	return 0;
}

static int add_form(const char *line, struct arena *a, struct buf *forms, struct err *e)
{
	struct form f = {.line = arena_strdup(a, line), .ftype = "f32"};
	char *copy = arena_strdup(a, line), *semi = strchr(copy, ';');
	if (!semi)
		return err_input(e, "no ';' between operands and instruction");
	*semi = 0;
	f.text = semi + 1 + strspn(semi + 1, " ");
	f.hash = hash_text(line);
	if (parse_operands(&f, copy, e) < 0)
		return -1;
	buf_add(forms, &f, sizeof f);
	return 0;
}

/* Expand the first <...> of the line into each alternative, and so on. */
static int expand(const char *line, struct arena *a, struct buf *forms, struct err *e)
{
	const char *open = strchr(line, '<'), *close = open ? strchr(open, '>') : NULL;
	if (!open)
		return add_form(line, a, forms, e);
	if (!close)
		return err_input(e, "'<' without '>'");
	for (const char *p = open + 1;;) {
		size_t n = strcspn(p, "|>");
		if (expand(arena_printf(a, "%.*s%.*s%s", (int)(open - line), line, (int)n, p, close + 1), a, forms, e) < 0)
			return -1;
		p += n;
		if (*p++ == '>')
			return 0;
	}
}

int forms_read(const char *path, struct arena *a, struct form **out, size_t *n, struct err *e)
{
	CLEANUP_BUF struct buf text = {0}, forms = {0};
	if (buf_read_file(&text, path, 1 << 20, e) < 0)
		return -1;
	unsigned number = 0;
	for (char *save = text.data, *line; (line = strsep(&save, "\n"));) {
		number++;
		if (line[0] == 0 || line[0] == '#')
			continue;
		if (expand(line, a, &forms, e) < 0)
			return err_wrap(e, "%s:%u", path, number);
	}
	*n = forms.size / sizeof **out;
	*out = arena_dup(a, forms.data, forms.size);
	return 0;
}

/* ---- the kernel ---- */

static const char *reg_type(char kind)
{
	return kind == 'h' ? "b16" : kind == 'r' ? "b32" : kind == 'l' ? "b64" : "pred";
}

static void put_instruction(struct buf *b, const struct form *f)
{
	for (const char *p = f->text; *p; p++) {
		bool operand = false;
		/* a capital letter that stands alone is an operand */
		if (*p >= 'A' && *p <= 'Z' && (p == f->text || strchr(" ,{|!-[(", p[-1])) && (!p[1] || strchr(" ,}|;])", p[1])))
			operand = true;
		if (operand)
			buf_printf(b, "%%x%c", *p);
		else
			buf_addc(b, *p);
	}
}

char *form_ptx(const struct form *f, struct arena *a)
{
	CLEANUP_BUF struct buf b = {0};
	buf_printf(&b, ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry form(.param .u64 in, .param .u64 out)\n{\n"
		       "\t.reg .b64 %%in, %%out, %%w;\n\t.reg .b32 %%i, %%t, %%u;\n\t.reg .pred %%q;\n");
	for (unsigned i = 0; i < f->n_in; i++)
		buf_printf(&b, "\t.reg .%s %%x%c;\n", reg_type(f->in[i].kind), f->in[i].name);
	for (unsigned i = 0; i < f->n_out; i++)
		buf_printf(&b, "\t.reg .%s %%x%c;\n", reg_type(f->out[i].kind), f->out[i].name);
	buf_printf(&b, "\tld.param.u64 %%in, [in];\n\tld.param.u64 %%out, [out];\n\tmov.u32 %%i, %%tid.x;\n"
		       "\tmul.wide.u32 %%w, %%i, 8;\n\tadd.u64 %%in, %%in, %%w;\n\tadd.u64 %%out, %%out, %%w;\n");
	for (unsigned i = 0; i < f->n_in; i++) {
		unsigned at = i * FORM_THREADS * 8;
		char name = f->in[i].name;
		switch (f->in[i].kind) {
		case 'p':
			buf_printf(&b, "\tld.global.u32 %%t, [%%in+%u];\n\tsetp.ne.u32 %%x%c, %%t, 0;\n", at, name);
			break;
		default:
			buf_printf(&b, "\tld.global.%s %%x%c, [%%in+%u];\n", reg_type(f->in[i].kind), name, at);
		}
	}
	buf_adds(&b, "\t");
	put_instruction(&b, f);
	buf_adds(&b, "\n");
	for (unsigned i = 0; i < f->n_out; i++) {
		unsigned at = i * FORM_THREADS * 8;
		char name = f->out[i].name;
		switch (f->out[i].kind) {
		case 'p':
			buf_printf(&b, "\tselp.u32 %%t, 1, 0, %%x%c;\n\tcvt.u64.u32 %%w, %%t;\n", name);
			break;
		case 'h':
			buf_printf(&b, "\tcvt.u64.u16 %%w, %%x%c;\n", name);
			break;
		case 'r':
			buf_printf(&b, "\tcvt.u64.u32 %%w, %%x%c;\n", name);
			break;
		default:
			buf_printf(&b, "\tmov.b64 %%w, %%x%c;\n", name);
		}
		buf_printf(&b, "\tst.global.u64 [%%out+%u], %%w;\n", at);
	}
	buf_adds(&b, "\tret;\n}\n");
	return arena_strdup(a, buf_str(&b));
}

/* ---- operands ---- */

static uint64_t next(uint64_t *s)
{
	uint64_t z = (*s += 0x9e3779b97f4a7c15u);
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static const uint64_t special_int[] = {0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 32767, 32768, 65535,
	65536, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe, 0x7fffffffffffffff, 0x8000000000000000,
	0xffffffffffffffff, 0xffffffff00000000, 0x0f0f0f0f0f0f0f0f, 0xaaaaaaaaaaaaaaaa, 0x8080808080808080, 0x7f7f7f7f7f7f7f7f};
static const uint32_t special_f32[] = {0, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0xbf000000, 0x40200000, 0x3fc00000, 0xbfc00000,
	0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x7fffffff, 1, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000,
	0x7f7fffff, 0xff7fffff, 0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff, 0x4f800000, 0x5f000000, 0x5f800000,
	0x477fe000, 0x477ff000, 0x33000000, 0x33800000, 0x387fc000, 0x3f7fffff, 0x3f800001, 0x4b000000, 0x4b7fffff, 0x43fe8000, 0x43e00000,
	0x437f0000, 0x437f8000, 0x43800000, 0x42fe0000, 0xc3000000, 0xc3008000, 0x447a0000};
static const uint64_t special_f64[] = {0, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x3fe0000000000000, 0x3ff8000000000000,
	0x4004000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000000000001, 1,
	0x8000000000000001, 0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff, 0x41dfffffffc00000, 0x41e0000000000000,
	0xc1e0000000000000, 0x43e0000000000000, 0x43f0000000000000, 0xc3e0000000000000, 0x36a0000000000000, 0x380fffffe0000000,
	0x47efffffe0000000, 0x47effffff0000000, 0x3ff0000010000000, 0x3ff0000030000000};
static const uint16_t special_f16[] = {0, 0x8000, 0x3c00, 0xbc00, 0x3800, 0x3e00, 0x4100, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7c01, 1, 0x8001,
	0x03ff, 0x83ff, 0x0400, 0x7bff, 0xfbff, 0x6400, 0x6bff, 0x77ff, 0x7800, 0x5bf8, 0x3bff, 0x3c01, 0x5f40, 0x5800};
static const uint16_t special_bf16[] = {0, 0x8000, 0x3f80, 0xbf80, 0x3f00, 0x3fc0, 0x4020, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7f81, 1, 0x8001,
	0x007f, 0x0080, 0x7f7f, 0xff7f, 0x4f00, 0xcf00, 0x4f80, 0x3f81, 0x43e0};

#define PICK(table) ((table)[next(s) % (sizeof(table) / sizeof *(table))])

static uint16_t half_value(uint64_t *s, bool bf)
{
	uint64_t r = next(s);
	if (r % 3 == 0)
		return bf ? PICK(special_bf16) : PICK(special_f16);
	if (r % 3 == 1)
		return (uint16_t)(r >> 20);
	/* of ordinary size, so that sums and products are too */
	unsigned bias = bf ? 127 : 15, bits = bf ? 7 : 10;
	return (uint16_t)((r >> 40 & 1) << 15 | (bias - 4 + (r >> 41) % 8) << bits | (r >> 48 & ((1u << bits) - 1)));
}

static uint64_t half_pair(uint64_t *s, bool bf)
{
	uint64_t low = half_value(s, bf);
	return low | (uint64_t)half_value(s, bf) << 16;
}

/* A number of any width.  Two draws in an order that the data was made with, whatever the compiler would choose. */
static uint64_t narrowed(uint64_t *s)
{
	int64_t value = (int64_t)next(s);
	return (uint64_t)(value >> next(s) % 64);
}

static uint64_t draw(const char *pool, uint64_t *s, unsigned thread)
{
	uint64_t r = next(s);
	switch (pool[0]) {
	case 'i':	/* integers */
		return r & 1 ? PICK(special_int) : r & 2 ? next(s) : narrowed(s);
	case 's':	/* shift amounts, positions, lengths */
		return r & 1 ? next(s) % 70 : r & 2 ? next(s) % 300 : PICK(special_int);
	case 'f':
		if (r % 3 == 0)
			return PICK(special_f32);
		if (r % 3 == 1)
			return next(s) & 0xffffffff;
		return (r >> 8 & 1) << 31 | (119 + (r >> 9) % 16) << 23 | (next(s) & 0x7fffff);
	case 'g':	/* f32 of moderate size: arguments of sin, cos, ex2 */
		return (r >> 8 & 1) << 31 | (112 + (r >> 9) % 17) << 23 | (next(s) & 0x7fffff);
	case 'd':
		if (r % 3 == 0)
			return PICK(special_f64);
		if (r % 3 == 1)
			return next(s);
		return (r >> 8 & 1) << 63 | (1023ull - 8 + (r >> 9) % 16) << 52 | next(s) >> 12;
	case 'o':	/* f64 of ordinary size */
		return (r >> 8 & 1) << 63 | (1023ull - 4 + (r >> 9) % 8) << 52 | next(s) >> 12;
	case 'h':
		return half_pair(s, false);
	case 'b':
		return half_pair(s, true);
	case 'm':	/* matrix operands in f16: finite, of ordinary size */
	case 'n': {	/* the same in bf16 */
		unsigned bias = pool[0] == 'n' ? 127 : 15, bits = pool[0] == 'n' ? 7 : 10;
		uint64_t v = 0;
		for (int i = 0; i < 2; i++) {
			uint64_t w = next(s);
			v |= (((w & 1) << 15) | (bias - 3 + (w >> 1) % 6) << bits | (w >> 8 & ((1u << bits) - 1))) << 16 * i;
		}
		return v;
	}
	case 'q':	/* f32 of ordinary size, for accumulators and tf32 */
		return (r >> 8 & 1) << 31 | (124 + (r >> 9) % 6) << 23 | (next(s) & 0x7fffff);
	case 'e': {	/* four e4m3 or e5m2 numbers of ordinary size */
		uint64_t v = 0;
		for (int i = 0; i < 4; i++) {
			uint64_t w = next(s);
			v |= ((w & 1) << 7 | (0x30 + (w >> 1) % 0x10)) << 8 * i;
		}
		return v;
	}
	case 'k':	/* small signed integers, |v| < 2^20 */
		return (uint64_t)((int64_t)(r << 43) >> 43);
	case 'z':	/* lane numbers: 0..31, now and then beyond */
		return r % 8 ? next(s) % 32 : next(s);
	case 'v':	/* few distinct values, for match */
		return thread % 32 < 8 ? 5 : next(s) % 4;
	case 'x':
		return next(s);
	}
	BUG("unknown pool '%s'", pool);
}

uint64_t *form_inputs(const struct form *f, struct arena *a)
{
	uint64_t *v = arena_new_array(a, uint64_t, f->n_in * FORM_THREADS + 1);
	uint64_t s = f->hash;
	for (unsigned i = 0; i < f->n_in; i++)
		for (unsigned t = 0; t < FORM_THREADS; t++) {
			uint64_t w = f->in[i].kind == 'p' ? next(&s) >> 17 & 1 : draw(f->in[i].pool, &s, t);
			v[i * FORM_THREADS + t] = w;
		}
	return v;
}
