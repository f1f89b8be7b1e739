/* Runs the PTX conformance cases: every file tests/ptx/NAME.ptx (or of $PTX_CASES) is a kernel with its launch, inputs and
 * expected outputs in lines that begin with `//:`.
 *
 *	//: kernel NAME			(the first of the file if not given)
 *	//: grid X Y Z / block X Y Z	(1 1 1 / 32 1 1)
 *	//: shared BYTES / cooperative / unchecked / budget N
 *	//: in TYPE VALUES...		a pointer to a read-only buffer
 *	//: out TYPE VALUES...		a pointer to a buffer that must hold these values afterwards
 *	//: inout TYPE VALUES... => VALUES...
 *	//: u32 V, u64 V, f32 V		a scalar
 *	//: fault KIND [LINE]		(NONE if not given) with, if LINE is there, the place
 *	//: says TEXT			the fault's or the loader's message holds it
 *	//: refused			the module is not accepted
 *	//: prints TEXT			device printf, with \n for a new line
 *	//: counter NAME VALUE
 *
 * Parameters are in the order of their lines.  VALUES are numbers, A..B, V*N.  Each case runs with one and with three
 * host threads: outputs, counters and faults must be the same bits.
 */
#include "test.h"
#include "sandbox/base/buf.h"
#include "sandbox/ptx/emu.h"

#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARAMS = 16, MAX_COUNTERS = 16 };

struct values { unsigned char *data; size_t size; };

struct param {
	char type[8];
	bool pointer, read_only, checked;
	struct values start, expected;
	uint64_t scalar, addr;
};

struct test_case {
	const char *path;
	char kernel[128], fault[32], says[256], prints[512];
	uint32_t grid[3], block[3], shared, fault_line;
	uint64_t budget;
	bool cooperative, unchecked, refused, has_prints;
	struct param params[MAX_PARAMS];
	unsigned n_params, n_counters;
	struct { char name[48]; uint64_t value; } counters[MAX_COUNTERS];
};

struct result {
	struct values outputs[MAX_PARAMS];
	struct counters counters;
	struct fault fault;
	struct buf text;
	char error[2000];
};

/* ---- reading a case ---- */

static unsigned type_bytes(const struct test_case *c, const char *type)
{
	static const struct { const char *name; unsigned bytes; } types[] = {
		{"u8", 1}, {"s8", 1}, {"u16", 2}, {"s16", 2}, {"u32", 4}, {"s32", 4}, {"f32", 4}, {"u64", 8}, {"s64", 8}, {"f64", 8},
	};
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (!strcmp(type, types[i].name))
			return types[i].bytes;
	test_fail(c->path, 0, "unknown type %s", type);
}

static uint64_t number(const char *type, const char *s, char **end)
{
	uint64_t bits = 0;
	bool hex = !strncmp(s, "0x", 2);
	if (!hex && !strcmp(type, "f32")) {
		float f = strtof(s, end);
		memcpy(&bits, &f, 4);
	} else if (!hex && !strcmp(type, "f64")) {
		double d = strtod(s, end);
		memcpy(&bits, &d, 8);
	} else if (*s == '-') {
		bits = (uint64_t)strtoll(s, end, 0);
	} else {
		bits = strtoull(s, end, 0);
	}
	return bits;
}

static void add_value(struct values *v, uint64_t bits, unsigned bytes)
{
	v->data = realloc(v->data, v->size + bytes);
	memcpy(v->data + v->size, &bits, bytes);
	v->size += bytes;
}

/* One word of VALUES. */
static void add_word(const struct test_case *c, struct values *v, const char *type, const char *word)
{
	unsigned bytes = type_bytes(c, type);
	char *end;
	uint64_t first = number(type, word, &end);
	if (!strncmp(end, "..", 2)) {
		long long last = strtoll(end + 2, &end, 0), step = 1;
		if (*end == '/')
			step = strtoll(end + 1, &end, 0);
		for (long long x = (long long)first; step > 0 ? x <= last : x >= last; x += step)
			add_value(v, (uint64_t)x, bytes);
	} else {
		unsigned long long n = 1;
		if (*end == '*')
			n = strtoull(end + 1, &end, 0);
		for (unsigned long long i = 0; i < n; i++)
			add_value(v, first, bytes);
	}
	if (*end)
		test_fail(c->path, 0, "not a value: %s", word);
}

static void read_values(struct test_case *c, struct param *p, char *words)
{
	struct values *to = p->read_only || !p->checked ? &p->start : &p->expected;
	char *save = NULL, *w = strtok_r(words, " \t", &save);
	bool both = false;
	if (!w)
		test_fail(c->path, 0, "a buffer without type");
	snprintf(p->type, sizeof p->type, "%s", w);
	while ((w = strtok_r(NULL, " \t", &save))) {
		if (!strcmp(w, "=>")) {
			both = true;
			p->start = p->expected;
			p->expected = (struct values){0};
		} else {
			add_word(c, to, p->type, w);
		}
	}
	if (p->checked && !both)
		p->start = (struct values){0};
}

static void read_line(struct test_case *c, char *line)
{
	char *word = strtok(line, " \t"), *rest = strtok(NULL, "");
	struct param *p = &c->params[c->n_params];
	if (!word)
		return;
	if (!rest)
		rest = word + strlen(word);
	if (!strcmp(word, "kernel"))
		snprintf(c->kernel, sizeof c->kernel, "%s", rest);
	else if (!strcmp(word, "grid"))
		sscanf(rest, "%u %u %u", &c->grid[0], &c->grid[1], &c->grid[2]);
	else if (!strcmp(word, "block"))
		sscanf(rest, "%u %u %u", &c->block[0], &c->block[1], &c->block[2]);
	else if (!strcmp(word, "shared"))
		c->shared = (uint32_t)strtoul(rest, NULL, 0);
	else if (!strcmp(word, "budget"))
		c->budget = strtoull(rest, NULL, 0);
	else if (!strcmp(word, "cooperative"))
		c->cooperative = true;
	else if (!strcmp(word, "unchecked"))
		c->unchecked = true;
	else if (!strcmp(word, "refused"))
		c->refused = true;
	else if (!strcmp(word, "fault"))
		sscanf(rest, "%31s %u", c->fault, &c->fault_line);
	else if (!strcmp(word, "says"))
		snprintf(c->says, sizeof c->says, "%s", rest);
	else if (!strcmp(word, "prints")) {
		size_t n = c->has_prints ? strlen(c->prints) : 0;
		c->has_prints = true;
		for (const char *s = rest; *s && n + 2 < sizeof c->prints; s++) {
			if (s[0] == '\\' && s[1] == 'n')
				c->prints[n++] = '\n', s++;
			else
				c->prints[n++] = *s;
		}
	} else if (!strcmp(word, "counter")) {
		unsigned long long v = 0;
		sscanf(rest, "%47s %llu", c->counters[c->n_counters].name, &v);
		c->counters[c->n_counters++].value = v;
	} else if (!strcmp(word, "in") || !strcmp(word, "out") || !strcmp(word, "inout")) {
		p->pointer = true;
		p->read_only = !strcmp(word, "in");
		p->checked = !p->read_only;
		read_values(c, p, rest);
		c->n_params++;
	} else {
		snprintf(p->type, sizeof p->type, "%s", word);
		type_bytes(c, p->type);
		char *end;
		p->scalar = number(p->type, rest, &end);
		c->n_params++;
	}
	if (c->n_params == MAX_PARAMS || c->n_counters == MAX_COUNTERS)
		test_fail(c->path, 0, "too many parameters or counters");
}

static void read_case(struct test_case *c, const char *path, const struct buf *text)
{
	char line[60000];
	memset(c, 0, sizeof *c);
	c->path = path;
	strcpy(c->fault, "NONE");
	for (int i = 0; i < 3; i++)
		c->grid[i] = c->block[i] = 1;
	c->block[0] = 32;
	for (const char *s = text->data; s && *s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL) {
		size_t n = strcspn(s, "\n");
		if (strncmp(s, "//:", 3) || n >= sizeof line)
			continue;
		memcpy(line, s + 3, n - 3);
		line[n - 3] = '\0';
		read_line(c, line);
	}
}

static void free_case(struct test_case *c)
{
	for (unsigned i = 0; i < c->n_params; i++) {
		free(c->params[i].start.data);
		free(c->params[i].expected.data);
	}
}

/* ---- running it ---- */

static void keep_text(void *user, const char *text, size_t size)
{
	buf_add(user, text, size);
}

static void place_params(struct test_case *c, struct mem *m, const struct emu_kernel_info *info, unsigned char *block)
{
	const char *why = "";
	if (info->n_params != c->n_params)
		test_fail(c->path, 0, "the kernel has %u parameters, the case %u", info->n_params, c->n_params);
	for (unsigned i = 0; i < c->n_params; i++) {
		struct param *p = &c->params[i];
		if (!p->pointer) {
			memcpy(block + info->params[i].offset, &p->scalar, info->params[i].size);
			continue;
		}
		size_t size = p->start.size > p->expected.size ? p->start.size : p->expected.size;
		char name[8];
		snprintf(name, sizeof name, "%c", 'a' + (char)i);
		if (mem_alloc(m, size, p->read_only ? MEM_READ_ONLY : 0, name, &p->addr) < 0)
			test_fail(c->path, 0, "no device memory");
		if (p->start.size) {
			memcpy(mem_host(m, p->addr, p->start.size, &why), p->start.data, p->start.size);
			mem_mark_written(m, p->addr, p->start.size);
		}
		memcpy(block + info->params[i].offset, &p->addr, 8);
	}
}

static void fetch(struct test_case *c, struct mem *m, struct result *r)
{
	const char *why = "";
	for (unsigned i = 0; i < c->n_params; i++) {
		size_t n = c->params[i].pointer ? c->params[i].expected.size : 0;
		if (!n)
			continue;
		r->outputs[i].size = n;
		r->outputs[i].data = malloc(n);
		memcpy(r->outputs[i].data, mem_host(m, c->params[i].addr, n, &why), n);
	}
}

static void run_case(struct test_case *c, const struct buf *text, unsigned threads, struct result *r)
{
	struct err e = {0};
	struct profile profile;
	struct emu_report report;
	unsigned char params[4096] = {0};
	memset(r, 0, sizeof *r);
	struct emu_options o = {.threads = threads, .memory = 1 << 28, .budget = c->budget, .checks = !c->unchecked, .print = keep_text,
				.user = &r->text};
	if (profile_load("h200", &profile, &e) < 0)
		test_fail(c->path, 0, "%s", e.text);
	struct emu *g = emu_open(&profile, &o, &e);
	struct emu_module *m = emu_load(g, text->data, text->size, NULL, 0, &e);
	snprintf(r->error, sizeof r->error, "%s", e.text);
	if (m && !c->refused) {
		const struct emu_kernel *k = c->kernel[0] ? emu_kernel_find(m, c->kernel) : emu_kernel_at(m, 0);
		struct emu_kernel_info info;
		if (!k)
			test_fail(c->path, 0, "no kernel %s", c->kernel);
		emu_kernel_info(k, &info);
		place_params(c, emu_mem(g), &info, params);
		struct emu_launch l = {.kernel = k, .shared_dynamic = c->shared, .params = params, .cooperative = c->cooperative};
		memcpy(l.grid, c->grid, sizeof l.grid);
		memcpy(l.block, c->block, sizeof l.block);
		if (emu_launch(g, &l, &report, &e) < 0)
			test_fail(c->path, 0, "%s", e.text);
		r->fault = report.fault;
		r->counters = report.counters;
		fetch(c, emu_mem(g), r);
		emu_report_free(&report);
	} else if (!m && !c->refused) {
		test_fail(c->path, 0, "%s", e.text);
	} else if (m) {
		test_fail(c->path, 0, "the module was accepted");
	}
	emu_unload(g, m);
	emu_close(g);
}

static void free_result(struct result *r)
{
	for (unsigned i = 0; i < MAX_PARAMS; i++)
		free(r->outputs[i].data);
	buf_free(&r->text);
}

/* ---- judging it ---- */

static const char *fault_id(uint32_t kind)
{
	static const char *const ids[] = {
#define FAULT(id, verdict, text) #id,
#include "sandbox/fault.def"
#undef FAULT
	};
	return kind < sizeof ids / sizeof ids[0] ? ids[kind] : "?";
}

static void show(char *out, size_t size, const char *type, const unsigned char *data)
{
	uint64_t v = 0;
	float f;
	double d;
	memcpy(&v, data, strstr(type, "8") && strlen(type) == 2 ? 1 : strstr(type, "16") ? 2 : strstr(type, "32") ? 4 : 8);
	memcpy(&f, data, 4);
	if (!strcmp(type, "f64"))
		memcpy(&d, data, 8);
	if (!strcmp(type, "f32"))
		snprintf(out, size, "%g (0x%llx)", (double)f, (unsigned long long)v);
	else if (!strcmp(type, "f64"))
		snprintf(out, size, "%g (0x%llx)", d, (unsigned long long)v);
	else
		snprintf(out, size, "%llu (0x%llx)", (unsigned long long)v, (unsigned long long)v);
}

static void check_outputs(const struct test_case *c, const struct result *r)
{
	for (unsigned i = 0; i < c->n_params; i++) {
		const struct param *p = &c->params[i];
		if (!p->pointer || !p->checked)
			continue;
		unsigned bytes = type_bytes(c, p->type);
		for (size_t k = 0; k < p->expected.size; k += bytes) {
			char got[64], want[64];
			if (!memcmp(r->outputs[i].data + k, p->expected.data + k, bytes))
				continue;
			show(got, sizeof got, p->type, r->outputs[i].data + k);
			show(want, sizeof want, p->type, p->expected.data + k);
			test_fail(c->path, 0, "parameter %u, element %zu is %s, expected %s", i, k / bytes, got, want);
		}
	}
}

static void check_counters(const struct test_case *c, const struct result *r)
{
	for (unsigned i = 0; i < c->n_counters; i++) {
		bool found = false;
		for (unsigned k = 0; k < COUNTER_COUNT; k++) {
			if (strcmp(counter_name(k), c->counters[i].name))
				continue;
			uint64_t v = *counter_at((struct counters *)&r->counters, k);
			found = true;
			if (v != c->counters[i].value)
				test_fail(c->path, 0, "%s is %llu, expected %llu", c->counters[i].name, (unsigned long long)v,
					  (unsigned long long)c->counters[i].value);
		}
		if (!found)
			test_fail(c->path, 0, "no counter %s", c->counters[i].name);
	}
}

static void check(const struct test_case *c, const struct result *r)
{
	if (c->refused) {
		if (c->says[0] && !strstr(r->error, c->says))
			test_fail(c->path, 0, "refused with \"%s\"", r->error);
		return;
	}
	if (strcmp(fault_id(r->fault.kind), c->fault))
		test_fail(c->path, 0, "fault %s (%s) at %s:%u, expected %s", fault_id(r->fault.kind), r->fault.detail, r->fault.file,
			  r->fault.line, c->fault);
	if (c->fault_line && r->fault.line != c->fault_line)
		test_fail(c->path, 0, "the fault is at line %u, expected %u", r->fault.line, c->fault_line);
	if (c->says[0] && !strstr(r->fault.detail, c->says))
		test_fail(c->path, 0, "the fault says \"%s\"", r->fault.detail);
	if (c->has_prints && strcmp(buf_str(&r->text), c->prints))
		test_fail(c->path, 0, "printed \"%s\", expected \"%s\"", buf_str(&r->text), c->prints);
	if (r->fault.kind == FAULT_NONE)
		check_outputs(c, r);
	check_counters(c, r);
}

static void check_same(const struct test_case *c, const struct result *a, const struct result *b)
{
	for (unsigned i = 0; i < c->n_params; i++)
		if (a->outputs[i].size && a->fault.kind == FAULT_NONE &&
		    memcmp(a->outputs[i].data, b->outputs[i].data, a->outputs[i].size))
			test_fail(c->path, 0, "parameter %u differs between one and three host threads", i);
	if (memcmp(&a->counters, &b->counters, sizeof a->counters))
		test_fail(c->path, 0, "counters differ between one and three host threads");
	if (memcmp(&a->fault, &b->fault, sizeof a->fault))
		test_fail(c->path, 0, "the fault differs between one and three host threads: \"%s\" and \"%s\"", a->fault.detail,
			  b->fault.detail);
}

static void run_file(const char *path)
{
	struct err e = {0};
	struct buf text = {0};
	static struct test_case c;
	struct result one, three;
	if (buf_read_file(&text, path, 16 << 20, &e) < 0)
		test_fail(path, 0, "%s", e.text);
	read_case(&c, path, &text);
	run_case(&c, &text, 1, &one);
	check(&c, &one);
	run_case(&c, &text, 3, &three);
	check_same(&c, &one, &three);
	free_result(&one);
	free_result(&three);
	free_case(&c);
	buf_free(&text);
}

static int is_case(const struct dirent *d)
{
	size_t n = strlen(d->d_name);
	return n > 4 && !strcmp(d->d_name + n - 4, ".ptx");
}

TEST_WITHIN(cases, 120)
{
	const char *folder = getenv("PTX_CASES") ? getenv("PTX_CASES") : "tests/ptx";
	const char *only = getenv("PTX_CASE");
	struct dirent **names;
	setenv("JUDGE_PROFILES", "sandbox/ptx/profiles", 0);
	int n = scandir(folder, &names, is_case, alphasort);
	CHECK_MSG(n > 0, "no cases in %s: run from the top folder of the tree", folder);
	for (int i = 0; i < n; i++) {
		char path[512];
		snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
		if (!only || strstr(names[i]->d_name, only))
			run_file(path);
		free(names[i]);
	}
	free(names);
}
