/* Kept files: see keep.h.
 *
 * The file beside is NAME.part-XXXXXX, and its writer holds a lock on it: what nobody holds is of a judge that is gone.
 */
#include "keep.h"

#include "cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART ".part-"

static int write_all(int to, const char *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = write(to, data + at, size - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += (size_t)n;
	}
	return 0;
}

static int copy_all(int to, int from)
{
	char piece[1 << 16];
	for (off_t at = 0;;) {
		ssize_t n = pread(from, piece, sizeof piece, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -1 : 0;
		if (write_all(to, piece, (size_t)n) < 0)
			return -1;
		at += n;
	}
}

static int fill(int to, const struct keep *what)
{
	if (what->data)
		return write_all(to, what->data, what->size);
	return what->fd >= 0 ? copy_all(to, what->fd) : 0;
}

/* Does the name still lead to the file?  A judge that swept may have been faster than our lock. */
static bool is_there(const char *path, int fd)
{
	struct stat a, b;
	return stat(path, &a) == 0 && fstat(fd, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static void sweep(const char *folder)
{
	DIR *d = opendir(folder);
	for (struct dirent *entry; d && (entry = readdir(d));) {
		const char *part = strstr(entry->d_name, PART);
		if (!part || strlen(part) != sizeof PART - 1 + 6)
			continue;
		CLEANUP_FD int fd = openat(dirfd(d), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			unlinkat(dirfd(d), entry->d_name, 0);
	}
	if (d)
		closedir(d);
}

int keep_file(const char *path, mode_t mode, const struct keep *what, struct err *e)
{
	char part[PATH_MAX], folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	if (!slash || snprintf(part, sizeof part, "%s" PART "XXXXXX", path) >= (int)sizeof part)
		return err_system(e, "%s is no path for a file", path);
	snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
	sweep(*folder ? folder : "/");
	CLEANUP_FD int fd = mkostemp(part, O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "cannot make %s", path);
	int rc = flock(fd, LOCK_EX) < 0 || fill(fd, what) < 0 || fchmod(fd, mode) < 0 || fsync(fd) < 0 ? err_errno(e, "cannot write %s", path) : 0;
	if (rc == 0 && (!is_there(part, fd) || rename(part, path) < 0))
		rc = err_errno(e, "cannot rename %s", part);
	if (rc < 0)
		unlink(part);
	return rc;
}

int keep_folder(const char *path, mode_t mode)
{
	char at[PATH_MAX];
	if (!*path || strlen(path) >= sizeof at)
		return errno = *path ? ENAMETOOLONG : ENOENT, -1;
	strcpy(at, path);
	for (char *p = at + 1;; p++) {
		char c = *p;
		if (c && c != '/')
			continue;
		*p = 0;
		if (mkdir(at, mode) < 0 && errno != EEXIST)
			return -1;
		if (!c)
			return 0;
		*p = c;
	}
}

bool keep_is_private(const char *folder)
{
	struct stat st;
	return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_uid == geteuid() || st.st_uid == 0) && !(st.st_mode & (S_IWGRP | S_IWOTH));
}
