/* Folders for a moment's files: see scratch.h. */
#include "scratch.h"

#include "cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define PREFIX "judge-tmp-"

static const char *parent(void)
{
	const char *t = getenv("TMPDIR");
	return t && *t == '/' && strlen(t) < 150 ? t : "/tmp";
}

/* Its lock, if it is a folder of ours and nobody holds it. */
static int lock_folder(const char *path)
{
	struct stat st;
	CLEANUP_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -1;
	return take_fd(&fd);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *level)
{
	(void)st, (void)kind, (void)level;
	return remove(path);
}

static void remove_tree(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

int scratch_make(struct scratch *s, const char *what, struct err *e)
{
	enum { TRIES = 3 };
	for (int i = 0; i < TRIES; i++) {
		snprintf(s->path, sizeof s->path, "%s/" PREFIX "%.20s-XXXXXX", parent(), what);
		if (!mkdtemp(s->path)) {
			*s->path = 0;
			return err_errno(e, "cannot make a folder in %s", parent());
		}
		s->lock = lock_folder(s->path);
		if (s->lock >= 0 && access(s->path, W_OK) == 0)
			return 0;
		scratch_remove(s);	/* a sweeping judge was between the two */
	}
	return err_system(e, "cannot lock a folder in %s", parent());
}

void scratch_remove(struct scratch *s)
{
	if (!*s->path)
		return;
	remove_tree(s->path);
	if (s->lock >= 0)
		close(s->lock);
	*s = (struct scratch){.lock = -1};
}

void scratch_sweep(void)
{
	DIR *d = opendir(parent());
	for (struct dirent *entry; d && (entry = readdir(d));) {
		char path[500];
		if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) ||
		    snprintf(path, sizeof path, "%s/%s", parent(), entry->d_name) >= (int)sizeof path)
			continue;
		CLEANUP_FD int lock = lock_folder(path);
		if (lock >= 0)
			remove_tree(path);
	}
	if (d)
		closedir(d);
}
