/* The oracle's executable: prebuilt by make, or gcc in a jail with a cache of the user's: see oracle.h. */
#include "oracle_build.h"

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/keep.h"
#include "../sandbox/base/scratch.h"
#include "../sandbox/jail.h"
#include "oracle.h"
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { MAX_EXECUTABLE = 64 << 20, CACHE_MODE = 0755 /* the jail's user executes it */ };

/* Whether the package is one of the judge's own folder, where make builds the oracles. */
static bool is_own(const struct problem *p)
{
	char own[600];
	CLEANUP_FREE char *real = NULL;
	snprintf(own, sizeof own, "%s/%s", paths()->problems, p->id);
	real = realpath(own, NULL);
	return real && !strcmp(real, p->folder);
}

static bool newer(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec > b->st_mtim.tv_sec
						      : a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

static int open_prebuilt(const struct problem *p)
{
	char path[600], source[600];
	struct stat built, written;
	snprintf(path, sizeof path, "%s/%s/oracle", paths()->oracles, p->id);
	snprintf(source, sizeof source, "%s/oracle.c", p->folder);
	if (!is_own(p) || stat(path, &built) < 0 || stat(source, &written) < 0 || newer(&written, &built))
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* ---- cache ---- */

/* Named by what goes into it: the package's version and the library's bytes. */
static int cache_name(const struct problem *p, char *out, size_t size, struct err *e)
{
	CLEANUP_BUF struct buf library = {0};
	unsigned char hash[16];
	char hex[33];
	if (buf_read_file(&library, paths()->libreference, MAX_EXECUTABLE, e) < 0)
		return err_wrap(e, "building the oracle of problem %s needs libreference.a (run make)", p->id);
	crypto_generichash_state h;
	crypto_generichash_init(&h, NULL, 0, sizeof hash);
	crypto_generichash_update(&h, (const unsigned char *)p->version, strlen(p->version));
	crypto_generichash_update(&h, (const unsigned char *)library.data, library.size);
	crypto_generichash_final(&h, hash, sizeof hash);
	sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
	snprintf(out, size, "%s/oracle-%s", paths()->cache, hex);
	return 0;
}

/* Keep a copy; a cache that can't be written is no failure. */
static void cache_keep(int fd, const char *path)
{
	if (*paths()->cache && keep_folder(paths()->cache, 0700) == 0)
		keep_file(path, CACHE_MODE, &(struct keep){.fd = fd}, NULL);
}

/* One that a jail could not execute counts as none, and is made again. */
static int cache_open(const char *path)
{
	struct stat st;
	CLEANUP_FD int fd = *paths()->cache ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0 || fstat(fd, &st) < 0 || (st.st_mode & CACHE_MODE) != CACHE_MODE)
		return -1;
	return take_fd(&fd);
}

/* ---- build ---- */

static int compile_into(const struct problem *p, int out, bool unsandboxed, struct err *e)
{
	static const char script[] =
		"gcc -std=gnu17 -O3 -ffp-contract=off -static -no-pie -fno-pie -I\"$1\" -I\"$1/..\" -o \"$4/oracle\" "
		"\"$2/oracle.c\" \"$1/oracle_main.c\" \"$3\" -lm && cat \"$4/oracle\"";
	const struct paths *at = paths();
	CLEANUP(scratch_remove) struct scratch scratch = {.lock = -1};
	if (unsandboxed && scratch_make(&scratch, "oracle", e) < 0)
		return -1;
	const char *made = unsandboxed ? scratch.path : "/tmp";
	const char *const inside[] = {"/bin/sh", "-c", script, "sh", "/judge/reference", "/package", "/judge/libreference.a", made, NULL};
	const char *const outside[] = {"/bin/sh", "-c", script, "sh", at->reference, p->folder, at->libreference, made, NULL};
	const struct jail_mount mounts[] = {
		{"/usr", "/usr"}, {"/bin", "/bin"}, {"/lib", "/lib"}, {"/lib64", "/lib64"},
		{at->reference, "/judge/reference"}, {at->libreference, "/judge/libreference.a"}, {p->folder, "/package"}};
	struct jail_spec spec = {
		.policy = JAIL_COMPILE, .name = "oracle-build", .argv = unsandboxed ? outside : inside,
		.envp = (const char *const[]){"PATH=/usr/bin:/bin", "LC_ALL=C", "TMPDIR=/tmp", NULL}, .exe_fd = -1,
		.mounts = mounts, .n_mounts = sizeof mounts / sizeof *mounts, .stdin_fd = -1, .stdout_fd = out, .stderr_fd = -1,
		.limits = {.wall_ms = 60000, .memory = 2ull << 30, .processes = 32, .file_size = MAX_EXECUTABLE, .tmpfs = 256 << 20,
			   .output = 64 << 10},
		.unsandboxed = unsandboxed,
	};
	struct jail_result r = {0};
	int rc = jail_run(&spec, &r, e);
	if (rc == 0 && (r.end != JAIL_EXITED || r.status != 0))
		rc = err_system(e, "oracle.c does not compile (%s): %s", jail_end_name(r.end), buf_str(&r.err));
	jail_result_free(&r);
	return rc;
}

int oracle_build(const struct problem *p, bool unsandboxed, struct err *e)
{
	CLEANUP_FD int fd = memfd_create("judge-oracle", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return err_errno(e, "cannot make a memory file");
	if (compile_into(p, fd, unsandboxed, e) < 0)
		return err_wrap(e, "problem %s", p->id);
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return err_errno(e, "cannot seal the oracle of problem %s", p->id);
	return take_fd(&fd);
}

int oracle_open(const struct problem *p, bool unsandboxed, struct err *e)
{
	char cached[600];
	int fd = open_prebuilt(p);
	if (fd >= 0)
		return fd;
	if (cache_name(p, cached, sizeof cached, e) < 0)
		return -1;
	if ((fd = cache_open(cached)) >= 0)
		return fd;
	fd = oracle_build(p, unsandboxed, e);
	if (fd >= 0)
		cache_keep(fd, cached);
	return fd;
}
