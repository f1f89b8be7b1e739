/* The kept headers: see compile_prefix.h. */
#include "compile_prefix.h"

#include "base/cleanup.h"
#include "base/fnv.h"
#include "base/keep.h"
#include "compile_slice.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MIN_HEADER = 1 << 16,		/* bytes; a smaller one is the mark of an attempt that failed */
       SIGNALLED = 128 };		/* the shell's status for a tool that was killed: no reason not to try again */

static atomic_bool building;		/* one builder a process */

static const struct file {
	const char *inside, *end;
} files[] = {
#define X(id, inside, end) {inside, end},
	COMPILE_PREFIX_FILES(X)
#undef X
};

/* ---- names ---- */

bool compile_cache_folder(char *out, size_t size)
{
	const char *own = getenv("JUDGE_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n;
	if (own)
		n = snprintf(out, size, "%s", own);		/* empty: no cache */
	else if (xdg && *xdg)
		n = snprintf(out, size, "%s/judge", xdg);
	else if (home && *home)
		n = snprintf(out, size, "%s/.cache/judge", home);
	else
		return false;
	return n > 0 && (size_t)n < size && *out == '/';
}

static uint64_t mix_file(uint64_t h, const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st = {0};
	snprintf(path, sizeof path, "%s%s", dir, name);
	if (stat(path, &st) < 0)
		return h;
	h = fnv(h, &st.st_mtim, sizeof st.st_mtim);
	return fnv(h, &st.st_size, sizeof st.st_size);
}

/* What they depend on that can be told before they are made. */
static uint64_t key_of(const char *script, const char *prelude, const struct toolchain *t)
{
	uint64_t h = fnv(fnv_basis, script, strlen(script));
	h = fnv(h, prelude, strlen(prelude));
	h = fnv(h, t->root, strlen(t->root));
	h = mix_file(h, t->root, "/bin/nvcc");
	h = mix_file(h, t->root, "/bin/cudafe++");
	h = mix_file(h, t->root, "/include/cuda_runtime.h");
	h = mix_file(h, "/usr/bin/", "gcc");
	h = mix_file(h, "/usr/include/", "stdlib.h");
	return mix_file(h, "/usr/include/", "math.h");
}

/* The lines of a prelude that include headers, up to the first of another kind; the mark; and what tells whether a header has
 * counted. */
static void prefix_prelude(const char *prelude, struct buf *out)
{
	static const char include[] = "#include ";
	while (prelude && !strncmp(prelude, include, sizeof include - 1)) {
		size_t n = strcspn(prelude, "\n");
		buf_add(out, prelude, n);
		buf_addc(out, '\n');
		prelude += n + (prelude[n] == '\n');
	}
	buf_adds(out, "void " COMPILE_PREFIX_END "();\nenum { judge_prefix_counter = __COUNTER__ };\n");
}

static off_t size_of(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : -1;
}

/* ---- the headers ---- */

enum { NUMBER = 16 + 1 };		/* a number in hexadecimal, and a newline */

/* Of the headers that a list names as the jail does, and of the kept files themselves. */
static uint64_t number_headers(const struct compile_prefix *p, const char *list)
{
	size_t inside = strlen(p->inside);
	uint64_t h = fnv_basis;
	for (const char *line = list, *end; (end = strchr(line, '\n')); line = end + 1) {
		CLEANUP_BUF struct buf path = {0};
		bool toolkit = !strncmp(line, p->inside, inside) && line[inside] == '/';
		buf_printf(&path, "%s%.*s", toolkit ? p->root : "", (int)(end - line - (toolkit ? inside : 0)), line + (toolkit ? inside : 0));
		h = mix_file(h, "", buf_str(&path));
	}
	for (unsigned i = 0; i < N_PREFIX_FILES; i++)
		h = mix_file(h, "", p->path[i]);
	return h;
}

static void keep_headers(const struct compile_prefix *p, const char *list)
{
	CLEANUP_BUF struct buf b = {0};
	buf_printf(&b, "%016llx\n%s", (unsigned long long)number_headers(p, list), list);
	keep_file(p->headers, 0644, &(struct keep){.data = b.data, .size = b.size}, NULL);
}

static bool headers_changed(const struct compile_prefix *p)
{
	CLEANUP_BUF struct buf b = {0};
	return buf_read_file(&b, p->headers, 1 << 20, NULL) < 0 || b.size <= NUMBER ||
	       strtoull(buf_str(&b), NULL, 16) != number_headers(p, buf_str(&b) + NUMBER);
}

/* ---- the builder ---- */

static bool make_files(struct compile_prefix *p, const struct buf *prelude)
{
	for (unsigned i = 0; i < N_PREFIX_FILES; i++)
		if ((p->fds[i] = memfd_create("prefix", MFD_CLOEXEC)) < 0)
			return false;
	p->prelude_fd = memfd_create("prelude", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return p->prelude_fd >= 0 && pwrite(p->prelude_fd, prelude->data, prelude->size, 0) == (ssize_t)prelude->size &&
	       fcntl(p->prelude_fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

static bool start_builder(struct compile_prefix *p, const struct compile_request *rq, const struct toolchain *t,
			  const char *script, const struct buf *prelude)
{
	static const int inside[N_PREFIX_FILES] = COMPILE_PREFIX_FDS;
	struct jail_mount mounts[COMPILE_MOUNTS];
	struct jail_fd fds[N_PREFIX_FILES + 1];
	const char *argv[COMPILE_ARGS];
	struct jail_spec s;
	if (!make_files(p, prelude))
		return false;
	for (unsigned i = 0; i < N_PREFIX_FILES; i++)
		fds[i] = (struct jail_fd){p->fds[i], inside[i]};
	fds[N_PREFIX_FILES] = (struct jail_fd){p->prelude_fd, COMPILE_PRELUDE_FD};
	compile_jail(&s, rq, t, script, mounts, argv);
	s.name = "compile-prefix";
	s.fds = fds;
	s.n_fds = N_PREFIX_FILES + 1;
	p->builder = jail_start(&s, NULL);
	return p->builder != NULL;
}

/* ---- slices ---- */

/* Slicers of the kept texts, which take longer to make than to use; a text that was made anew has another number. */
static struct {
	pthread_mutex_t lock;
	struct slicer {
		char path[PATH_MAX];
		uint64_t number;
		struct compile_slicer *slicer;
		unsigned users;
		uint64_t used;		/* when, in uses of any */
	} of[16];
	uint64_t uses;
} slicers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct compile_slicer *new_slicer(const struct compile_prefix *p, enum compile_prefix_file text, enum compile_prefix_file macros)
{
	enum { MOST = 64 << 20 };
	CLEANUP_BUF struct buf t = {0}, m = {0};
	if (buf_read_file(&t, p->path[text], MOST, NULL) < 0 || buf_read_file(&m, p->path[macros], MOST, NULL) < 0)
		return NULL;
	return compile_slicer_new(&t, &m);
}

/* The place of one that nobody uses, made for this text; or the one there is; NULL: all are in use.  With the lock held. */
static struct slicer *place_for(const struct compile_prefix *p, enum compile_prefix_file text, enum compile_prefix_file macros)
{
	struct slicer *spare = NULL;
	uint64_t number = mix_file(mix_file(fnv_basis, "", p->path[text]), "", p->path[macros]);
	for (size_t i = 0; i < sizeof slicers.of / sizeof *slicers.of; i++) {
		struct slicer *s = &slicers.of[i];
		if (s->slicer && s->number == number && !strcmp(s->path, p->path[text]))
			return s;
		if (!s->users && (!spare || s->used < spare->used))
			spare = s;
	}
	if (spare) {
		compile_slicer_free(spare->slicer);
		memcpy(spare->path, p->path[text], sizeof spare->path);
		spare->number = number;
		spare->slicer = new_slicer(p, text, macros);
	}
	return spare;
}

/* Without one the whole text does. */
static void add_slice(const struct compile_prefix *p, enum compile_prefix_file text, enum compile_prefix_file macros, const struct buf *source,
		      struct buf *out)
{
	pthread_mutex_lock(&slicers.lock);
	struct slicer *s = place_for(p, text, macros);
	if (s) {
		s->users++;
		s->used = ++slicers.uses;
	}
	pthread_mutex_unlock(&slicers.lock);
	if (s && s->slicer)
		compile_slice(s->slicer, buf_str(source), source->size, out);
	pthread_mutex_lock(&slicers.lock);
	if (s)
		s->users--;
	pthread_mutex_unlock(&slicers.lock);
}

static void make_slices(const struct compile_prefix *p, const struct compile_request *rq)
{
	CLEANUP_BUF struct buf source = {0}, device = {0}, all = {0};
	buf_printf(&source, "%s\n", rq->prelude ? rq->prelude : "");
	compile_join_lines(rq->source, rq->size, &source);
	add_slice(p, PREFIX_DEVICE_TEXT, PREFIX_DEVICE_MACROS, &source, &device);
	buf_printf(&all, "%zu\n", device.size);
	buf_add(&all, device.data, device.size);
	if (rq->parts == COMPILE_ALL)
		add_slice(p, PREFIX_FRONT_TEXT, PREFIX_FRONT_MACROS, &source, &all);
	if (p->slices >= 0 && pwrite(p->slices, all.data, all.size, 0) != (ssize_t)all.size && ftruncate(p->slices, 0) < 0)
		BUG("cannot empty a memory file");
}

/* ---- the files ---- */

static void open_kept(struct compile_prefix *p, const struct compile_request *rq, const struct toolchain *t)
{
	char folder[PATH_MAX - 64];
	CLEANUP_BUF struct buf prelude = {0};
	enum compile_headers kind = compile_look(rq->source, rq->size);
	const char *script = rq->unsandboxed ? NULL : compile_prefix_script(rq, t, kind);
	if (!script || !compile_cache_folder(folder, sizeof folder))
		return;
	prefix_prelude(rq->prelude, &prelude);
	uint64_t key = key_of(script, buf_str(&prelude), t);
	for (unsigned i = 0; i < N_PREFIX_FILES; i++)
		snprintf(p->path[i], sizeof p->path[i], "%s/prefix-%016llx%s", folder, (unsigned long long)key, files[i].end);
	snprintf(p->headers, sizeof p->headers, "%s/prefix-%016llx.headers", folder, (unsigned long long)key);
	off_t size = size_of(p->path[PREFIX_HEADER]);
	p->ready = size >= MIN_HEADER && keep_is_private(folder) && !headers_changed(p);
	p->text = kind != COMPILE_HEADERS_OWN;
	if (p->ready && kind == COMPILE_HEADERS_LEAN)
		make_slices(p, rq);
	if (p->ready || (size >= 0 && size < MIN_HEADER) || keep_folder(folder, 0700) < 0 || !keep_is_private(folder) ||
	    access(folder, W_OK) < 0 || atomic_exchange(&building, true))
		return;
	if (!start_builder(p, rq, t, script, &prelude))
		atomic_store(&building, false);
}

void compile_prefix_open(struct compile_prefix *p, const struct compile_request *rq, const struct toolchain *t)
{
	*p = (struct compile_prefix){.fds = {-1, -1, -1, -1, -1, -1}, .prelude_fd = -1, .inside = compile_inside_root(rq, t), .root = t->root,
				     .slices = memfd_create("slices", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
	open_kept(p, rq, t);
	if (p->slices >= 0 && fcntl(p->slices, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		BUG("cannot seal a memory file");
}

unsigned compile_prefix_mounts(const struct compile_prefix *p, struct jail_mount *mounts)
{
	unsigned n = 0;
	for (unsigned i = 0; i < N_PREFIX_FILES && p->ready; i++)
		if (size_of(p->path[i]) > 0 && (p->text || i == PREFIX_COMPILED || i == PREFIX_HEADER))
			mounts[n++] = (struct jail_mount){p->path[i], files[i].inside};
	return n;
}

/* fd -1: an empty one. */
static bool keep(int fd, const char *path)
{
	return keep_file(path, 0644, &(struct keep){.fd = fd}, NULL) == 0;
}

void compile_prefix_close(struct compile_prefix *p)
{
	struct jail_result r = {0};
	if (p->builder) {
		bool ran = jail_wait(p->builder, &r, NULL) == 0;
		bool made = ran && r.end == JAIL_EXITED && r.status == 0;
		unsigned kept = 0;
		while (made && kept < N_PREFIX_FILES && keep(p->fds[kept], p->path[kept]))
			kept++;
		if (kept == N_PREFIX_FILES)
			keep_headers(p, buf_str(&r.out));
		/* An empty prefix.h says: don't try again. */
		if (!made && ran && r.end == JAIL_EXITED && r.status < SIGNALLED)
			keep(-1, p->path[PREFIX_HEADER]);
		jail_result_free(&r);
		atomic_store(&building, false);
		p->builder = NULL;
	}
	for (unsigned i = 0; i < N_PREFIX_FILES; i++)
		if (p->fds[i] >= 0)
			close(p->fds[i]);
	if (p->prelude_fd >= 0)
		close(p->prelude_fd);
	if (p->slices >= 0)
		close(p->slices);
}
