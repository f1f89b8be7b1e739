/* Memory faults in words. */
#include "mem_state.h"

#include <stdarg.h>
#include <stdio.h>

int mem_fault(struct mem_ctx *c, enum fault_kind kind, unsigned lane, uint64_t addr, uint32_t bytes, const char *fmt, ...)
{
	struct fault *f = &c->fault;
	memset(f, 0, sizeof *f);
	f->kind = kind;
	memcpy(f->block, c->block_index, sizeof f->block);
	uint32_t x = c->block_dim[0] ? c->block_dim[0] : 1, y = c->block_dim[1] ? c->block_dim[1] : 1;
	uint32_t thread = c->warp * LANES + lane;
	f->thread[0] = thread % x;
	f->thread[1] = thread / x % y;
	f->thread[2] = thread / x / y;
	f->has_thread = 1;
	f->has_address = 1;
	f->address = addr;
	f->bytes = bytes;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(f->detail, sizeof f->detail, fmt, ap);
	va_end(ap);
	return -1;
}

const char *mem_deed(enum access_kind k)
{
	switch (k) {
	case ACCESS_READ:
	case ACCESS_VOLATILE_READ:
		return "read";
	case ACCESS_ATOMIC:
		return "did an atomic on";
	default:
		return "wrote";
	}
}

int mem_check_agree(struct mem_ctx *c, const struct lanes *l, enum fault_kind kind, uint32_t site, const struct stored *s)
{
	unsigned char data[LANES * 32];
	mem_gather(s->op, l->mask, s->rows, data);
	for (uint32_t rest = l->mask; rest; rest &= rest - 1) {
		unsigned a = first_lane(rest);
		for (uint32_t others = rest & (rest - 1); others; others &= others - 1) {
			unsigned b = first_lane(others);
			if (lane_address(l, a) != lane_address(l, b) || !memcmp(data + a * l->size, data + b * l->size, l->size))
				continue;
			c->other_site = site;
			return mem_fault(c, kind, b, lane_address(l, b), l->size,
					 "lanes %u and %u of warp %u write different values to one address with one %u-byte "
					 "store", a, b, c->warp, l->size);
		}
	}
	return 0;
}
