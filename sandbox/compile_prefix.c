/* The precompiled prefix: see compile_prefix.h. */
#include "compile_prefix.h"

#include "base/cleanup.h"
#include "base/fnv.h"
#include "base/keep.h"

#include <errno.h>
#include <fcntl.h>
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

/* ---- names ---- */

static bool cache_folder(char *out, size_t size)
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

/* What it depends on.  That the bytes agree is checked for each compilation, and gcc checks that the precompiled header is
 * its own: a name that stays the same too long costs time, and is never wrong. */
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

/* The lines of a prelude that include headers, up to the first of another kind, and the mark. */
static void prefix_prelude(const char *prelude, struct buf *out)
{
	static const char include[] = "#include ";
	while (prelude && !strncmp(prelude, include, sizeof include - 1)) {
		size_t n = strcspn(prelude, "\n");
		buf_add(out, prelude, n);
		buf_addc(out, '\n');
		prelude += n + (prelude[n] == '\n');
	}
	buf_adds(out, "void " COMPILE_PREFIX_END "();\n");
}

static off_t size_of(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : -1;
}

/* ---- the builder ---- */

static bool start_builder(struct compile_prefix *p, const struct compile_request *rq, const struct toolchain *t,
			  const char *script, const struct buf *prelude)
{
	struct jail_mount mounts[COMPILE_MOUNTS];
	const char *argv[COMPILE_ARGS];
	struct jail_spec s;
	p->prelude_fd = memfd_create("prelude", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	p->header_fd = memfd_create("header", MFD_CLOEXEC);
	p->compiled_fd = memfd_create("compiled", MFD_CLOEXEC);
	const struct jail_fd fds[] = {{p->prelude_fd, COMPILE_PRELUDE_FD}, {p->header_fd, COMPILE_PTX_FD},
				      {p->compiled_fd, COMPILE_GUEST_FD}};
	if (p->prelude_fd < 0 || p->header_fd < 0 || p->compiled_fd < 0 ||
	    pwrite(p->prelude_fd, prelude->data, prelude->size, 0) != (ssize_t)prelude->size ||
	    fcntl(p->prelude_fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return false;
	compile_jail(&s, rq, t, script, mounts, argv);
	s.name = "compile-prefix";
	s.fds = fds;
	s.n_fds = sizeof fds / sizeof *fds;
	p->builder = jail_start(&s, NULL);
	return p->builder != NULL;
}

void compile_prefix_open(struct compile_prefix *p, const struct compile_request *rq, const struct toolchain *t)
{
	char folder[PATH_MAX - 64];
	CLEANUP_BUF struct buf prelude = {0};
	*p = (struct compile_prefix){.header_fd = -1, .compiled_fd = -1, .prelude_fd = -1};
	const char *script = rq->unsandboxed ? NULL : compile_prefix_script(rq, t);
	if (!script || !cache_folder(folder, sizeof folder))
		return;
	prefix_prelude(rq->prelude, &prelude);
	uint64_t key = key_of(script, buf_str(&prelude), t);
	snprintf(p->header, sizeof p->header, "%s/prefix-%016llx.h", folder, (unsigned long long)key);
	snprintf(p->compiled, sizeof p->compiled, "%s.gch", p->header);
	off_t size = size_of(p->header);
	p->ready = size >= MIN_HEADER && size_of(p->compiled) > 0;
	if (p->ready || size >= 0 || keep_folder(folder, 0700) < 0 || access(folder, W_OK) < 0 || atomic_exchange(&building, true))
		return;
	if (!start_builder(p, rq, t, script, &prelude))
		atomic_store(&building, false);
}

unsigned compile_prefix_mounts(const struct compile_prefix *p, struct jail_mount *mounts)
{
	if (!p->ready)
		return 0;
	mounts[0] = (struct jail_mount){p->header, COMPILE_PREFIX};
	mounts[1] = (struct jail_mount){p->compiled, COMPILE_PREFIX ".gch"};
	return 2;
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
		/* The header last: it is what says that the other is there.  An empty one says: don't try again. */
		if (made && keep(p->compiled_fd, p->compiled))
			keep(p->header_fd, p->header);
		else if (!made && ran && r.end == JAIL_EXITED && r.status < SIGNALLED)
			keep(-1, p->header);
		jail_result_free(&r);
		atomic_store(&building, false);
		p->builder = NULL;
	}
	int fds[] = {p->header_fd, p->compiled_fd, p->prelude_fd};
	for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	p->header_fd = p->compiled_fd = p->prelude_fd = -1;
}
