/* Device profiles: data files, found by id, read strictly. */
#include "profile.h"

#include "../base/buf.h"
#include "../base/cleanup.h"
#include "../base/json.h"

#include <dirent.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 64 << 10 };

/* The numbers of a profile: field, how it is kept, range. */
enum kind { U32, U64, REAL };
static const struct field {
	const char *name;
	enum kind kind;
	size_t offset;
	double min, max;
} fields[] = {
#define FIELD(name, kind, min, max) {#name, kind, offsetof(struct profile, name), min, max}
	FIELD(sms, U32, 1, 1024),
	FIELD(schedulers_per_sm, U32, 1, 16),
	FIELD(clock_ghz, REAL, 0.1, 10),
	FIELD(dram_gbs, REAL, 1, 1e6),
	FIELD(dram_read_gbs, REAL, 1, 1e6),
	FIELD(l2_gbs, REAL, 1, 1e6),
	FIELD(dram_bytes, U64, 1 << 20, 0x1p50),
	FIELD(l2_bytes, U32, 1 << 16, 1 << 30),
	FIELD(l2_ways, U32, 1, 64),
	FIELD(l1_bytes, U32, 1 << 12, 1 << 24),
	FIELD(shared_per_sm, U32, 1 << 10, 1 << 24),
	FIELD(shared_per_block, U32, 1 << 10, 1 << 24),
	FIELD(shared_reserved, U32, 0, 1 << 16),
	FIELD(registers_per_sm, U32, 1 << 10, 1 << 24),
	FIELD(max_registers_per_thread, U32, 16, 1024),
	FIELD(register_unit, U32, 1, 4096),
	FIELD(max_threads_per_sm, U32, 32, 8192),
	FIELD(max_blocks_per_sm, U32, 1, 256),
	FIELD(max_threads_per_block, U32, 32, 1024),
	FIELD(warp_size, U32, 32, 32),
	FIELD(launch_us, REAL, 0, 1000),
	FIELD(dram_latency_ns, REAL, 1, 1e5),
	FIELD(l2_latency_ns, REAL, 1, 1e5),
	FIELD(l1_latency_cycles, REAL, 1, 1e4),
	FIELD(shared_latency_cycles, REAL, 1, 1e4),
	FIELD(fp32_rate, REAL, 1e-3, 64),
	FIELD(fp16_rate, REAL, 1e-3, 64),
	FIELD(fp64_rate, REAL, 1e-3, 64),
	FIELD(int_rate, REAL, 1e-3, 64),
	FIELD(convert_rate, REAL, 1e-3, 64),
	FIELD(sfu_rate, REAL, 1e-3, 64),
	FIELD(issue_rate, REAL, 1e-3, 64),
	FIELD(l1_wavefronts, REAL, 1e-3, 16),
	FIELD(shared_wavefronts, REAL, 1e-3, 16),
	FIELD(tensor_f16_flops, REAL, 1, 1e6),
	FIELD(tensor_i8_flops, REAL, 1, 1e6),
#undef FIELD
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

/* ---- reading ---- */

static bool is_id(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");
	return n && !s[n] && n < sizeof((struct profile *)0)->id;
}

static int text_field(const struct json *j, const char *name, const char *right, char *out, size_t size, struct err *e)
{
	const char *s;

	if (json_string(j, json_root(j), name, right, &s, e) < 0)
		return -1;
	if (!*s || strlen(s) >= size)
		return json_fail(j, json_get(json_root(j), name), e, "write 1 to %zu characters", size - 1);
	memcpy(out, s, strlen(s) + 1);
	return 0;
}

static int number_field(const struct json *j, const struct field *f, struct profile *p, struct err *e)
{
	void *at = (char *)p + f->offset;
	int64_t n;

	if (f->kind == REAL)
		return json_number(j, json_root(j), f->name, f->min, f->max, at, e);
	if (json_integer(j, json_root(j), f->name, (int64_t)f->min, (int64_t)f->max, &n, e) < 0)
		return -1;
	if (f->kind == U64) {
		uint64_t v = (uint64_t)n;
		memcpy(at, &v, sizeof v);
	} else {
		uint32_t v = (uint32_t)n;
		memcpy(at, &v, sizeof v);
	}
	return 0;
}

/* What no single field's range says. */
static int check(const struct json *j, const struct profile *p, struct err *e)
{
	const struct cJSON *root = json_root(j);

	if (strspn(p->arch, "0123456789") != strlen(p->arch))
		return json_fail(j, json_get(root, "arch"), e, "write the compute capability times ten, e.g. \"90\"");
	if (!is_id(p->id))
		return json_fail(j, json_get(root, "id"), e, "write lower-case letters, digits and '-'");
	if (p->dram_read_gbs > p->dram_gbs)
		return json_fail(j, json_get(root, "dram_read_gbs"), e, "cannot exceed dram_gbs");
	if (p->shared_per_sm > p->l1_bytes)
		return json_fail(j, json_get(root, "shared_per_sm"), e, "cannot exceed l1_bytes");
	if (p->shared_per_block + p->shared_reserved > p->shared_per_sm)
		return json_fail(j, json_get(root, "shared_per_block"), e,
				 "with shared_reserved cannot exceed shared_per_sm");
	return 0;
}

static int read_fields(const struct json *j, struct profile *p, struct err *e)
{
	const char *names[N_FIELDS + 5] = {"id", "name", "arch", "sources"};

	if (!json_is_object(json_root(j)))
		return json_fail(j, json_root(j), e, "write an object { ... }");
	for (size_t i = 0; i < N_FIELDS; i++)
		names[i + 4] = fields[i].name;
	if (json_only(j, json_root(j), names, e) < 0 ||
	    text_field(j, "id", "a string, e.g. \"h200\"", p->id, sizeof p->id, e) < 0 ||
	    text_field(j, "name", "a string, e.g. \"NVIDIA H200\"", p->name, sizeof p->name, e) < 0 ||
	    text_field(j, "arch", "a string, e.g. \"90\"", p->arch, sizeof p->arch, e) < 0)
		return -1;
	for (size_t i = 0; i < N_FIELDS; i++)
		if (number_field(j, &fields[i], p, e) < 0)
			return -1;
	return check(j, p, e);
}

int profile_parse(const char *text, const char *what, struct profile *out, struct err *e)
{
	CLEANUP(json_freep) struct json *j = json_parse(text, strlen(text), what, e);
	struct profile p = {0};

	if (!j || read_fields(j, &p, e) < 0)
		return -1;
	*out = p;
	return 0;
}

/* ---- finding ---- */

/* The folders that may hold profiles, in the order in which they are asked. */
static unsigned folders(char out[4][PATH_MAX])
{
	const char *own = getenv("JUDGE_PROFILES");
	char exe[PATH_MAX];
	unsigned n = 0;

	if (own && *own && strlen(own) < PATH_MAX)
		memcpy(out[n++], own, strlen(own) + 1);
	ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
	if (length <= 0)
		return n;
	exe[length] = 0;
	char *slash = strrchr(exe, '/');
	if (slash)
		*slash = 0;
	static const char *const beside[] = {"profiles", "../profiles", "../share/judge/profiles"};
	for (size_t i = 0; i < 3; i++)
		if (snprintf(out[n], PATH_MAX, "%s/%s", exe, beside[i]) < PATH_MAX)
			n++;
	return n;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_folder(const char *path, struct profile_ids *out, unsigned *n)
{
	DIR *d = opendir(path);

	if (!d)
		return;
	for (struct dirent *f; *n < PROFILES_MAX && (f = readdir(d));) {
		char id[sizeof out->texts[0]];
		size_t length = strlen(f->d_name);
		bool known = false;
		if (length < 6 || length - 5 >= sizeof id || strcmp(f->d_name + length - 5, ".json"))
			continue;
		memcpy(id, f->d_name, length - 5);
		id[length - 5] = 0;
		for (unsigned i = 0; i < *n; i++)
			known |= !strcmp(out->ids[i], id);
		if (known || !is_id(id))
			continue;
		memcpy(out->texts[*n], id, sizeof id);
		out->ids[*n] = out->texts[*n];
		++*n;
	}
	closedir(d);
}

const char *const *profile_list(struct profile_ids *out)
{
	char paths[4][PATH_MAX];
	unsigned n = 0, n_folders = folders(paths);

	for (unsigned i = 0; i < n_folders; i++)
		add_folder(paths[i], out, &n);
	qsort(out->ids, n, sizeof *out->ids, by_text);
	out->ids[n] = NULL;
	return out->ids;
}

static int unknown(const char *id, struct err *e)
{
	CLEANUP_BUF struct buf known = {0};
	struct profile_ids ids;

	for (const char *const *s = profile_list(&ids); *s; s++)
		buf_printf(&known, "%s%s", known.size ? ", " : "", *s);
	if (!known.size)
		return err_system(e, "no device profiles found: set JUDGE_PROFILES to the folder that holds them");
	return err_input(e, "there is no device profile '%.40s'; known: %s", id, known.data);
}

int profile_load(const char *id, struct profile *out, struct err *e)
{
	char paths[4][PATH_MAX], path[PATH_MAX + 64], what[64];
	unsigned n = is_id(id) ? folders(paths) : 0;
	struct profile p;

	for (unsigned i = 0; i < n; i++) {
		CLEANUP_BUF struct buf text = {0};
		if ((size_t)snprintf(path, sizeof path, "%s/%s.json", paths[i], id) >= sizeof path ||
		    access(path, F_OK) < 0)
			continue;
		snprintf(what, sizeof what, "%s.json", id);
		if (buf_read_file(&text, path, MAX_BYTES, e) < 0 || profile_parse(buf_str(&text), what, &p, e) < 0)
			return -1;
		if (strcmp(p.id, id))
			return err_input(e, "%s: its id is '%s', which is not the file's name", what, p.id);
		*out = p;
		return 0;
	}
	return unknown(id, e);
}
