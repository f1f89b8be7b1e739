/* Where the CUDA toolkit and our guest library are: see compile.h. */
#include "base/cleanup.h"
#include "compile.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first `nvcc` on PATH, followed to its true place; false if there is none. */
static bool nvcc_on_path(char *out)
{
	const char *path = getenv("PATH");
	while (path && *path) {
		size_t n = strcspn(path, ":");
		char candidate[PATH_MAX];
		snprintf(candidate, sizeof candidate, "%.*s/nvcc", (int)n, path);
		if (access(candidate, X_OK) == 0 && realpath(candidate, out))
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

/* The folder above bin/nvcc, with no symbolic link in it; false if nvcc isn't there or the name is too long. */
static bool is_root(const char *dir, char *out, size_t size)
{
	char nvcc[PATH_MAX], real[PATH_MAX];
	snprintf(nvcc, sizeof nvcc, "%s/bin/nvcc", dir);
	if (access(nvcc, X_OK) < 0 || !realpath(dir, real) || strlen(real) >= size)
		return false;
	strcpy(out, real);
	return true;
}

static bool find_root(char *out, size_t size)
{
	const char *home = getenv("CUDA_HOME");
	char nvcc[PATH_MAX];
	if (home && *home)
		return is_root(home, out, size);
	if (nvcc_on_path(nvcc)) {
		for (int up = 0; up < 2; up++)
			*strrchr(nvcc, '/') = 0;
		if (is_root(*nvcc ? nvcc : "/", out, size))
			return true;
	}
	return is_root("/usr/local/cuda", out, size);
}

/* As CUDART_VERSION has it: the first whose PTX and headers the guest runtime is written against. */
enum { OLDEST = 12040 };

/* The headers know the version; asking nvcc would cost a process. */
static int read_version(struct toolchain *t)
{
	static const char *const places[] = {"include", "targets/x86_64-linux/include", "../../include"};
	static const char macro[] = "#define CUDART_VERSION";
	for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
		CLEANUP_BUF struct buf b = {0};
		char path[PATH_MAX];
		snprintf(path, sizeof path, "%s/%s/cuda_runtime_api.h", t->root, places[i]);
		if (buf_read_file(&b, path, 16 << 20, NULL) < 0)
			continue;
		const char *at = strstr(buf_str(&b), macro);
		int number = at ? atoi(at + sizeof macro - 1) : 0;
		if (number < 1000)
			continue;
		t->major = number / 1000;
		t->minor = number % 1000 / 10;
		snprintf(t->version, sizeof t->version, "%d.%d", t->major, t->minor);
		return 0;
	}
	return -1;
}

const struct toolchain *toolchain_find(struct err *e)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct toolchain found;
	static bool have;
	/* Debian's own package is 11.8. */
	static const char how[] = "install the CUDA Toolkit 13.0 or later (https://developer.nvidia.com/cuda-downloads; package "
				  "cuda-toolkit-13-0), or set CUDA_HOME to where it is";
	const struct toolchain *result = NULL;
	pthread_mutex_lock(&lock);
	struct toolchain t = {0};
	if (!have && !find_root(t.root, sizeof t.root))
		err_system(e, "no CUDA toolkit: nvcc is not %s; %s",
			   getenv("CUDA_HOME") ? "in the folder that CUDA_HOME names" : "on PATH or in /usr/local/cuda", how);
	else if (!have && read_version(&t) < 0)
		err_system(e, "the CUDA toolkit in %s has no cuda_runtime_api.h: install its headers (package cuda-cudart-dev)", t.root);
	else if (!have && 1000 * t.major + 10 * t.minor < OLDEST)
		err_system(e, "the CUDA toolkit in %s is version %s, older than 12.4: %s", t.root, t.version, how);
	else if (!have) {
		found = t;
		have = true;
	}
	if (have)
		result = &found;
	pthread_mutex_unlock(&lock);
	return result;
}

static bool readable(char *out, size_t size, const char *dir, const char *rest)
{
	return snprintf(out, size, "%s%s", dir, rest) < (int)size && access(out, R_OK) == 0;
}

static bool find_guest(char *out, size_t size)
{
	const char *forced = getenv("JUDGE_LIB");
	char dir[PATH_MAX];
	if (forced && *forced)
		return readable(out, size, forced, "/libguest.a");
	ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);
	if (n <= 0)
		return false;
	dir[n] = 0;
	*strrchr(dir, '/') = 0;
	return readable(out, size, dir, "/libguest.a") || readable(out, size, dir, "/../libguest.a") ||
	       readable(out, size, dir, "/../lib/judge/libguest.a");
}

const char *guest_library_path(struct err *e)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char found[PATH_MAX];
	pthread_mutex_lock(&lock);
	char path[PATH_MAX];
	if (!*found && find_guest(path, sizeof path))
		strcpy(found, path);
	const char *result = *found ? found : NULL;
	pthread_mutex_unlock(&lock);
	if (!result)
		err_system(e, "libguest.a, the judge's CUDA runtime for submissions, is not beside the executable (run `make`) nor "
			   "in ../lib/judge (run `make install`); JUDGE_LIB can name its folder");
	return result;
}
