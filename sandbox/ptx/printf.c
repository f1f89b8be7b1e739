/* Device printf: the format and the argument buffer are in device memory; each conversion is done by the host's
 * snprintf with a specification made from checked parts.
 */
#include "exec.h"

#include <stdio.h>
#include <string.h>

enum { MAX_FORMAT = 1024, MAX_STRING = 1024, MAX_WIDTH = 256, MAX_BLOCK_TEXT = 1 << 20 };

/* Bytes of any memory that the lane sees; nothing of it is counted. */
static int read_device(struct exec *x, unsigned lane, uint64_t addr, unsigned bytes, uint64_t *value)
{
	struct mem_op op = {.space = PTX_SPACE_GENERIC, .bytes = (uint8_t)bytes, .n = 1, .flags = MEM_UNCHECKED, .wide = 1};
	struct mem_site site = {0};
	struct counters saved = x->worker->counters;
	uint64_t addrs[32], row[32] __attribute__((aligned(64))) = {0};
	op.type = bytes == 1 ? PTX_T_U8 : bytes == 4 ? PTX_T_U32 : PTX_T_U64;
	for (unsigned i = 0; i < 32; i++)
		addrs[i] = addr;
	void *rows[1] = {row};
	int r = mem_load(&x->block->ctx, &op, &site, addrs, 1u << lane, rows);
	x->worker->counters = saved;
	*value = row[lane];
	return r;
}

int printf_string(struct exec *x, unsigned lane, uint64_t addr, char *out, size_t size)
{
	size_t n = 0;
	for (; n + 1 < size; n++) {
		uint64_t c;
		if (read_device(x, lane, addr + n, 1, &c) < 0)
			return -1;
		out[n] = (char)c;
		if (c == 0)
			return 0;
	}
	out[n] = '\0';
	return 0;
}

struct arguments {
	struct exec *x;
	unsigned lane;
	uint64_t at;
	uint32_t n;
};

static int next_argument(struct arguments *a, unsigned bytes, uint64_t *value)
{
	a->at = (a->at + bytes - 1) & ~(uint64_t)(bytes - 1);
	int r = read_device(a->x, a->lane, a->at, bytes, value);
	a->at += bytes;
	a->n++;
	return r;
}

struct conversion {
	char flags[8];
	int width, precision;		/* -1: none */
	unsigned longs;			/* 'l's; j, z, t count as one */
	unsigned shorts;
	char type;
};

static int parse_number(struct arguments *a, const char **s, int *out)
{
	if (**s == '*') {
		uint64_t v;
		(*s)++;
		if (next_argument(a, 4, &v) < 0)
			return -1;
		*out = (int)(uint32_t)v;
		return 0;
	}
	for (*out = 0; **s >= '0' && **s <= '9'; (*s)++)
		if (*out <= MAX_WIDTH)
			*out = *out * 10 + (**s - '0');
	return 0;
}

/* s behind the percent sign; moves behind the conversion. */
static int parse_conversion(struct arguments *a, const char **s, struct conversion *c)
{
	*c = (struct conversion){.width = -1, .precision = -1};
	for (size_t n = 0; **s && strchr("-+ #0", **s); (*s)++)
		if (n < sizeof c->flags - 1 && !strchr(c->flags, **s))
			c->flags[n++] = **s;
	if ((**s >= '1' && **s <= '9') || **s == '*')
		if (parse_number(a, s, &c->width) < 0)
			return -1;
	if (c->width < -1) {
		c->width = -c->width;
		if (!strchr(c->flags, '-'))
			c->flags[strlen(c->flags)] = '-';
	}
	if (**s == '.') {
		(*s)++;
		if (parse_number(a, s, &c->precision) < 0)
			return -1;
	}
	for (; **s && strchr("hljztL", **s); (*s)++) {
		c->longs += **s != 'h';
		c->shorts += **s == 'h';
	}
	if (c->width > MAX_WIDTH || c->width < -1)
		c->width = MAX_WIDTH;
	if (c->precision > MAX_WIDTH)
		c->precision = MAX_WIDTH;
	c->type = **s;
	if (**s)
		(*s)++;
	return 0;
}

static void specification(const struct conversion *c, const char *length, char type, char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size, "%%%s", c->flags);
	if (c->width >= 0)
		n += (size_t)snprintf(out + n, size - n, "%d", c->width);
	if (c->precision >= 0)
		n += (size_t)snprintf(out + n, size - n, ".%d", c->precision);
	snprintf(out + n, size - n, "%s%c", length, type);
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static int print_integer(struct arguments *a, const struct conversion *c, struct buf *out)
{
	char spec[48];
	uint64_t v;
	bool is_signed = c->type == 'd' || c->type == 'i';
	if (next_argument(a, c->longs ? 8 : 4, &v) < 0)
		return -1;
	if (!c->longs && is_signed)
		v = (uint64_t)(int64_t)(int32_t)v;
	if (c->shorts == 1)
		v = is_signed ? (uint64_t)(int64_t)(int16_t)v : (uint16_t)v;
	if (c->shorts > 1)
		v = is_signed ? (uint64_t)(int64_t)(int8_t)v : (uint8_t)v;
	specification(c, "ll", c->type, spec, sizeof spec);
	char text[2 * MAX_WIDTH + 64];
	snprintf(text, sizeof text, spec, (long long)v);
	buf_adds(out, text);
	return 0;
}

static int print_float(struct arguments *a, const struct conversion *c, struct buf *out)
{
	char spec[48], text[2 * MAX_WIDTH + 400];
	uint64_t v;
	double d;
	if (next_argument(a, 8, &v) < 0)
		return -1;
	memcpy(&d, &v, sizeof d);
	specification(c, "", c->type, spec, sizeof spec);
	snprintf(text, sizeof text, spec, d);
	buf_adds(out, text);
	return 0;
}

static int print_text(struct arguments *a, const struct conversion *c, struct buf *out)
{
	char spec[48], string[MAX_STRING], text[MAX_STRING + MAX_WIDTH + 8];
	uint64_t v;
	if (next_argument(a, c->type == 'c' ? 4 : 8, &v) < 0)
		return -1;
	if (c->type == 'p') {
		buf_printf(out, "0x%llx", (unsigned long long)v);
		return 0;
	}
	specification(c, "", c->type, spec, sizeof spec);
	if (c->type == 'c') {
		snprintf(text, sizeof text, spec, (int)(unsigned char)v);
	} else {
		if (v == 0)
			snprintf(string, sizeof string, "(null)");
		else if (printf_string(a->x, a->lane, v, string, sizeof string) < 0)
			return -1;
		snprintf(text, sizeof text, spec, string);
	}
	buf_adds(out, text);
	return 0;
}

static int print_conversion(struct arguments *a, const char **s, struct buf *out)
{
	struct conversion c;
	if (parse_conversion(a, s, &c) < 0)
		return -1;
	switch (c.type) {
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		return print_integer(a, &c, out);
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G':
	case 'a':
	case 'A':
		return print_float(a, &c, out);
	case 'c':
	case 's':
	case 'p':
		return print_text(a, &c, out);
	case '%':
		buf_addc(out, '%');
		return 0;
	default:
		buf_addc(out, '%');
		if (c.type)
			buf_addc(out, c.type);
		return 0;
	}
}

int printf_device(struct exec *x, unsigned lane, uint64_t format, uint64_t args, uint32_t *result)
{
	char text[MAX_FORMAT];
	struct buf scratch = {0}, *out = x->block->text.size < MAX_BLOCK_TEXT ? &x->block->text : &scratch;
	struct arguments a = {.x = x, .lane = lane, .at = args};
	int r = printf_string(x, lane, format, text, sizeof text);
	for (const char *s = text; r == 0 && *s;) {
		if (*s != '%') {
			buf_addc(out, *s++);
			continue;
		}
		s++;
		r = print_conversion(&a, &s, out);
	}
	buf_free(&scratch);
	*result = a.n;
	return r;
}
