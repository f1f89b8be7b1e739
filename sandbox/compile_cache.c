/* The cache of compilations: see compile_cache.h.
 *
 * A file is a head and a content, fields one after the other: numbers of 8 bytes, texts and images as their size and their bytes.
 * The content was written by this program on this machine, and the checksum says that it is all there; it is read with care
 * all the same, since a mistake here would be everybody's.
 */
#include "compile_cache.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/keep.h"
#include "compile_prefix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FORMAT = 1,
	MAX_RESULT = 64 << 20,		/* bytes; a larger one is not kept */
	LARGE = 4 << 20,
	DEFAULT_MIB = 512,
	SWEEP_EACH = 8			/* results kept; it reads the whole folder */
};

static const char magic[8] = "judgeCC";

struct head {
	char magic[8];
	uint64_t format, size;		/* of the content */
	unsigned char sum[32];		/* of the key and the content */
};

/* ---- the key ---- */

static void mix(crypto_generichash_state *h, const void *data, size_t size)
{
	uint64_t n = size;
	crypto_generichash_update(h, (const unsigned char *)&n, sizeof n);
	crypto_generichash_update(h, data, size);
}

static void mix_text(crypto_generichash_state *h, const char *s)
{
	mix(h, s ? s : "", s ? strlen(s) + 1 : 0);
}

static void mix_number(crypto_generichash_state *h, uint64_t n)
{
	mix(h, &n, sizeof n);
}

static void mix_stat(crypto_generichash_state *h, const char *path)
{
	struct stat st = {0};
	mix_number(h, stat(path, &st) == 0);
	mix_number(h, (uint64_t)st.st_size);
	mix_number(h, (uint64_t)st.st_mtim.tv_sec);
	mix_number(h, (uint64_t)st.st_mtim.tv_nsec);
}

/* The tools, and folders of headers and libraries, whose own time says that a package has put a file there or taken it away. */
static void mix_toolchain(crypto_generichash_state *h, const struct toolchain *t)
{
	static const char *const toolkit[] = {"bin/nvcc", "bin/nvcc.profile", "bin/cudafe++", "bin/ptxas", "bin/fatbinary", "nvvm/bin/cicc",
					      "nvvm/libdevice", "nvvm/libdevice/libdevice.10.bc", "include/.", "include/crt/.",
					      "include/cccl/.", "include/cooperative_groups/."};
	static const char *const host[] = {"/usr/bin/gcc", "/usr/bin/g++", "/usr/bin/as", "/usr/bin/ld", "/usr/include", "/usr/include/bits",
					   "/usr/include/c++/*", "/usr/include/*-linux-gnu", "/usr/include/*-linux-gnu/bits",
					   "/usr/include/*-linux-gnu/c++/*/bits", "/usr/lib/gcc/*/*", "/usr/lib/gcc/*/*/cc1plus",
					   "/usr/lib/gcc/*/*/include", "/usr/lib/*-linux-gnu/libc.a", "/usr/lib64/libc.a",
					   "/usr/libexec/gcc/*/*/cc1plus"};
	const char *compiler = getenv("NVCC_CCBIN");
	glob_t found = {0};
	char path[PATH_MAX];
	mix_text(h, t->root);
	mix_text(h, t->version);
	for (unsigned i = 0; i < sizeof toolkit / sizeof *toolkit; i++) {
		snprintf(path, sizeof path, "%s/%s", t->root, toolkit[i]);
		mix_stat(h, path);
	}
	for (unsigned i = 0; i < sizeof host / sizeof *host; i++)
		glob(host[i], i ? GLOB_APPEND : 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		mix_text(h, found.gl_pathv[i]);
		mix_stat(h, found.gl_pathv[i]);
	}
	globfree(&found);
	mix_text(h, compiler);
	if (compiler)
		mix_stat(h, compiler);
}

static bool mix_library(crypto_generichash_state *h)
{
	CLEANUP_BUF struct buf library = {0};
	const char *path = guest_library_path(NULL);
	if (!path || buf_read_file(&library, path, MAX_RESULT, NULL) < 0)
		return false;
	mix(h, library.data, library.size);
	return true;
}

static bool asks_for_time(const struct compile_request *rq)
{
	/* or puts the name together */
	static const char *const words[] = {"__TIME", "__DATE", "__T\\", "__TI\\", "__TIM\\", "__D\\", "__DA\\", "__DAT\\", "_\\", "##", "%:%:", "\?\?=\?\?="};
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		if (memmem(rq->source, rq->size, words[i], strlen(words[i])))
			return true;
	return false;
}

static bool find_folder(char *out, size_t size)
{
	char cache[PATH_MAX - 16];
	return compile_cache_folder(cache, sizeof cache) && snprintf(out, size, "%s/compiled", cache) < (int)size;
}

void compile_cache_key(const struct compile_request *rq, const struct toolchain *t, struct compile_key *key)
{
	crypto_generichash_state h;
	char folder[PATH_MAX];
	*key = (struct compile_key){.usable = false};
	if (rq->unsandboxed || !find_folder(folder, sizeof folder) || asks_for_time(rq))
		return;
	crypto_generichash_init(&h, NULL, 0, sizeof key->hash);
	mix_number(&h, FORMAT);
	mix_text(&h, JUDGE_VERSION);
	mix_stat(&h, "/proc/self/exe");		/* which makes the plan, and reads what compilers say */
	mix(&h, rq->source, rq->size);
	mix_text(&h, rq->name);
	mix_text(&h, rq->prelude);
	mix_text(&h, rq->entry);
	mix_text(&h, rq->arch);
	for (const char *const *o = rq->options; o && *o; o++)
		mix_text(&h, *o);
	mix_number(&h, rq->parts);
	mix_number(&h, rq->wall_ms);
	mix_number(&h, rq->memory);
	mix_toolchain(&h, t);
	key->usable = mix_library(&h);
	crypto_generichash_final(&h, key->hash, sizeof key->hash);
}

/* ---- the folder ---- */

static bool usable_folder(const char *folder)
{
	char above[PATH_MAX];
	snprintf(above, sizeof above, "%.*s", (int)(strrchr(folder, '/') - folder), folder);
	return keep_is_private(above) && keep_is_private(folder);
}

static bool path_of(const struct compile_key *key, char *folder, char *path, size_t size)
{
	char hex[2 * sizeof key->hash + 1];
	sodium_bin2hex(hex, sizeof hex, key->hash, sizeof key->hash);
	return key->usable && find_folder(folder, size) && snprintf(path, size, "%s/%s", folder, hex) < (int)size;
}

static void sum_of(const struct compile_key *key, const void *content, size_t size, unsigned char sum[32])
{
	crypto_generichash_state h;
	crypto_generichash_init(&h, NULL, 0, 32);
	crypto_generichash_update(&h, key->hash, sizeof key->hash);
	crypto_generichash_update(&h, content, size);
	crypto_generichash_final(&h, sum, 32);
}

/* ---- fields ---- */

static const uint64_t absent = UINT64_MAX;

static void put_number(struct buf *b, uint64_t n)
{
	buf_add(b, &n, sizeof n);
}

static void put_bytes(struct buf *b, const void *data, size_t size)
{
	put_number(b, data ? size : absent);
	if (data)
		buf_add(b, data, size);
}

static void put_text(struct buf *b, const char *s)
{
	put_bytes(b, s, s ? strlen(s) : 0);
}

struct reader {
	const char *at, *end;
	bool bad;
	struct arena *arena;
};

static uint64_t get_number(struct reader *r)
{
	uint64_t n = 0;
	if ((size_t)(r->end - r->at) < sizeof n) {
		r->bad = true;
		return 0;
	}
	memcpy(&n, r->at, sizeof n);
	r->at += sizeof n;
	return n;
}

static int get_int(struct reader *r)
{
	return (int)(int64_t)get_number(r);
}

/* Where they are; NULL: there are none. */
static const char *get_bytes(struct reader *r, size_t *size)
{
	uint64_t n = get_number(r);
	*size = 0;
	if (n == absent)
		return NULL;
	if (n > (uint64_t)(r->end - r->at)) {
		r->bad = true;
		return NULL;
	}
	const char *data = r->at;
	*size = (size_t)n;
	r->at += n;
	return data;
}

static char *get_text(struct reader *r, size_t *size)
{
	const char *data = get_bytes(r, size);
	return data ? arena_strndup(r->arena, data, *size) : NULL;
}

/* How many of something follow, each of which takes at least `least` bytes. */
static size_t get_count(struct reader *r, size_t least)
{
	uint64_t n = get_number(r);
	if (n > (uint64_t)(r->end - r->at) / least) {
		r->bad = true;
		return 0;
	}
	return (size_t)n;
}

static void put_diagnostics(struct buf *b, const struct compiled *c)
{
	put_number(b, c->n_diagnostics);
	for (size_t i = 0; i < c->n_diagnostics; i++) {
		const struct diagnostic *d = &c->diagnostics[i];
		put_text(b, d->file);
		put_number(b, (uint64_t)d->line);
		put_number(b, (uint64_t)d->column);
		put_number(b, d->severity);
		put_text(b, d->text);
	}
}

static void get_diagnostics(struct reader *r, struct compiled *c)
{
	size_t n = get_count(r, 5 * sizeof(uint64_t)), size;
	c->diagnostics = arena_new_array(r->arena, struct diagnostic, n + 1);
	for (c->n_diagnostics = 0; c->n_diagnostics < n && !r->bad; c->n_diagnostics++) {
		struct diagnostic *d = &c->diagnostics[c->n_diagnostics];
		d->file = get_text(r, &size);
		d->line = get_int(r);
		d->column = get_int(r);
		d->severity = get_int(r);
		d->text = get_text(r, &size);
		r->bad |= d->severity > DIAGNOSTIC_NOTE || !d->text;
	}
}

static void put_kernels(struct buf *b, const struct compiled *c)
{
	put_number(b, c->n_kernels);
	for (size_t i = 0; i < c->n_kernels; i++) {
		const struct kernel_resources *k = &c->kernels[i];
		const int numbers[] = {k->registers, k->shared, k->stack, k->spill_store, k->spill_load, k->barriers};
		put_text(b, k->name);
		for (unsigned j = 0; j < sizeof numbers / sizeof *numbers; j++)
			put_number(b, (uint64_t)numbers[j]);
	}
}

static void get_kernels(struct reader *r, struct compiled *c)
{
	size_t n = get_count(r, 7 * sizeof(uint64_t)), size;
	c->kernels = arena_new_array(r->arena, struct kernel_resources, n + 1);
	for (c->n_kernels = 0; c->n_kernels < n && !r->bad; c->n_kernels++) {
		struct kernel_resources *k = &c->kernels[c->n_kernels];
		int *const numbers[] = {&k->registers, &k->shared, &k->stack, &k->spill_store, &k->spill_load, &k->barriers};
		k->name = get_text(r, &size);
		r->bad |= !k->name;
		for (unsigned j = 0; j < sizeof numbers / sizeof *numbers; j++)
			*numbers[j] = get_int(r);
	}
}

/* ---- the whole of it ---- */

static bool put_guest(struct buf *b, int fd)
{
	CLEANUP_BUF struct buf guest = {0};
	struct stat st;
	if (fd < 0) {
		put_number(b, absent);
		return true;
	}
	if (fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > MAX_RESULT)
		return false;
	char *to = buf_grow(&guest, (size_t)st.st_size);
	for (off_t done = 0; done < st.st_size;) {
		ssize_t n = pread(fd, to + done, (size_t)(st.st_size - done), done);
		if (n <= 0)
			return false;
		done += n;
	}
	put_bytes(b, guest.data, guest.size);
	return true;
}

/* -1 also where none was kept. */
static int get_guest(struct reader *r)
{
	size_t size;
	const char *data = get_bytes(r, &size);
	if (!data || r->bad)
		return -1;
	CLEANUP_FD int fd = memfd_create("guest", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	for (size_t done = 0; fd >= 0 && done < size;) {
		ssize_t n = write(fd, data + done, size - done);
		if (n <= 0)
			r->bad = true;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	r->bad |= fd < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0;
	return r->bad ? -1 : take_fd(&fd);
}

static bool write_content(struct buf *b, const struct compiled *c)
{
	put_number(b, c->ok);
	put_number(b, c->peak_memory);
	put_text(b, c->why_not);
	put_text(b, c->log);
	put_bytes(b, c->ptx, c->ptx_size);
	put_bytes(b, c->cubin, c->cubin_size);
	put_diagnostics(b, c);
	put_kernels(b, c);
	return put_guest(b, c->guest_fd);
}

static bool read_content(struct reader *r, const struct compile_request *rq, struct compiled *c)
{
	size_t size;
	struct compiled made = {.name = rq->name, .guest_fd = -1, .kept = true};
	made.ok = get_number(r) == 1;
	made.peak_memory = get_number(r);
	made.why_not = get_text(r, &size);
	made.log = get_text(r, &size);
	made.ptx = get_text(r, &made.ptx_size);
	const char *cubin = get_bytes(r, &made.cubin_size);
	made.cubin = cubin ? arena_dup(r->arena, cubin, made.cubin_size) : NULL;
	get_diagnostics(r, &made);
	get_kernels(r, &made);
	made.guest_fd = get_guest(r);
	r->bad |= r->at != r->end || !made.log || made.ok != !made.why_not || (made.ok && !made.ptx) ||
		  (made.guest_fd >= 0) != (made.ok && rq->parts == COMPILE_ALL);
	if (r->bad)
		compiled_close(&made);
	else
		*c = made;
	return !r->bad;
}

/* ---- taking and keeping ---- */

/* A file of ours that nobody else may read or write; -1: it isn't there, or is something else, and then it goes. */
static int open_file(const char *path)
{
	struct stat st;
	CLEANUP_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077) && st.st_nlink == 1)
		return take_fd(&fd);
	if (fd >= 0 || (errno != ENOENT && errno != EMFILE && errno != ENFILE))
		unlink(path);
	return -1;
}

static bool read_file(int fd, const struct compile_key *key, struct buf *b, struct reader *r)
{
	struct head head;
	unsigned char sum[32];
	if (buf_read_fd(b, fd, "a kept compilation", sizeof head + MAX_RESULT, NULL) < 0 || b->size < sizeof head)
		return false;
	memcpy(&head, b->data, sizeof head);
	r->at = b->data + sizeof head;
	r->end = b->data + b->size;
	if (memcmp(head.magic, magic, sizeof magic) != 0 || head.format != FORMAT || head.size != b->size - sizeof head)
		return false;
	sum_of(key, r->at, head.size, sum);
	return !memcmp(sum, head.sum, sizeof sum);
}

bool compile_cache_get(const struct compile_key *key, const struct compile_request *rq, struct arena *a, struct compiled *out)
{
	char folder[PATH_MAX], path[PATH_MAX];
	CLEANUP_BUF struct buf b = {0};
	struct reader r = {.arena = a};
	if (!path_of(key, folder, path, sizeof path) || !usable_folder(folder))
		return false;
	CLEANUP_FD int fd = open_file(path);
	if (fd < 0)
		return false;
	if (!read_file(fd, key, &b, &r) || !read_content(&r, rq, out)) {
		unlink(path);
		return false;
	}
	futimens(fd, NULL);		/* the last to go */
	return true;
}

/* ---- eviction ---- */

struct kept {
	char name[2 * 32 + 1];
	struct timespec used;
	off_t size;
};

struct list {
	struct kept *all;
	size_t n, room;
	uint64_t size;
};

static bool is_name(const char *s)
{
	return strlen(s) == 2 * 32 && strspn(s, "0123456789abcdef") == 2 * 32;
}

static void list_folder(DIR *d, struct list *l)
{
	for (struct dirent *entry; (entry = readdir(d));) {
		struct stat st;
		if (!is_name(entry->d_name) || fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (l->n == l->room) {
			l->room = l->room ? 2 * l->room : 256;
			if (!(l->all = realloc(l->all, l->room * sizeof *l->all)))
				BUG("out of memory");
		}
		struct kept *k = &l->all[l->n++];
		memcpy(k->name, entry->d_name, sizeof k->name);
		k->used = st.st_mtim;
		k->size = st.st_size;
		l->size += (uint64_t)st.st_size;
	}
}

static int by_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct kept *)a)->used, *y = &((const struct kept *)b)->used;
	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static uint64_t size_limit(void)
{
	const char *set = getenv("JUDGE_CACHE_MIB");
	char *end;
	unsigned long mib = set ? strtoul(set, &end, 10) : 0;
	return (uint64_t)(set && *set && !*end && mib < 1 << 30 ? mib : DEFAULT_MIB) << 20;
}

/* Somewhat below the limit, so that it isn't met again at once.  One process does it; the others have no need to wait. */
static void sweep(const char *folder)
{
	struct list l = {0};
	uint64_t limit = size_limit();
	DIR *d = opendir(folder);
	if (!d)
		return;
	if (flock(dirfd(d), LOCK_EX | LOCK_NB) == 0) {
		list_folder(d, &l);
		if (l.size > limit)
			qsort(l.all, l.n, sizeof *l.all, by_use);
		for (size_t i = 0; l.size > limit && i < l.n; i++) {
			limit = size_limit() / 8 * 7;
			unlinkat(dirfd(d), l.all[i].name, 0);
			l.size -= (uint64_t)l.all[i].size;
		}
	}
	free(l.all);
	closedir(d);
}

void compile_cache_put(const struct compile_key *key, const struct compiled *c)
{
	char folder[PATH_MAX], path[PATH_MAX];
	CLEANUP_BUF struct buf b = {0};
	struct head head = {.format = FORMAT};
	if (!path_of(key, folder, path, sizeof path) || keep_folder(folder, 0700) < 0 || !usable_folder(folder))
		return;
	buf_grow(&b, sizeof head);
	if (!write_content(&b, c) || b.size > MAX_RESULT)
		return;
	memcpy(head.magic, magic, sizeof magic);
	head.size = b.size - sizeof head;
	sum_of(key, b.data + sizeof head, head.size, head.sum);
	memcpy(b.data, &head, sizeof head);
	keep_file(path, 0600, &(struct keep){.data = b.data, .size = b.size}, NULL);
	/* A small limit is soon met. */
	if (key->hash[0] % SWEEP_EACH == 0 || b.size > LARGE || size_limit() < (uint64_t)DEFAULT_MIB << 20)
		sweep(folder);
}

/* Of a folder that isn't there: could the nearest above it that is hold it?  The cache's own folder, next above, must be private. */
static bool can_be_made(const char *folder)
{
	char path[PATH_MAX], *slash;
	snprintf(path, sizeof path, "%s", folder);
	do {
		slash = strrchr(path, '/');
		slash[slash == path] = 0;	/* "/" stays */
	} while (access(path, F_OK) < 0);
	bool next_above = !strchr(folder + strlen(path) + 1, '/');
	return access(path, W_OK) == 0 && (!next_above || keep_is_private(path));
}

void compile_cache_look(struct compile_cache_state *out)
{
	struct list l = {0};
	*out = (struct compile_cache_state){.most = size_limit()};
	if (!find_folder(out->folder, sizeof out->folder)) {
		*out->folder = 0;
		return;
	}
	DIR *d = opendir(out->folder);
	out->usable = d ? usable_folder(out->folder) && access(out->folder, W_OK) == 0 : can_be_made(out->folder);
	if (d) {
		list_folder(d, &l);
		closedir(d);
	}
	out->results = l.n;
	out->bytes = l.size;
	free(l.all);
}
