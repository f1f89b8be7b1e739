/* Who uses a GPU: see gpu_lock.h.  The files are everybody's and hold nothing; flock is the lock.
 *
 * flock is not fair: whoever wants the GPU alone would starve beside many that share it.  So there is a gate, which each holds only
 * while it waits: nobody comes in behind one who wants to be alone.
 *
 * Their folder is everybody's too: what lies there under that name may be another's trap (a pipe that nobody writes to, a lock that
 * is never given back), so nothing here waits without end.
 */
#include "gpu_lock.h"

#include "../sandbox/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 1800, PAUSE_US = 20000, FLAGS = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };

/* A regular file, or -1 with errno. */
static int open_file(const char *path)
{
	struct stat st;
	/* Others' files in a sticky folder may not be opened with O_CREAT: first as it is. */
	CLEANUP_FD int fd = open(path, FLAGS);
	if (fd < 0 && (fd = open(path, FLAGS | O_CREAT | O_EXCL, 0644)) >= 0)
		fchmod(fd, 0644);		/* whatever the umask: others' judges are to see it */
	if (fd < 0 && errno == EEXIST)
		fd = open(path, FLAGS);		/* another judge was faster */
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	errno = EEXIST;
	return S_ISREG(st.st_mode) ? take_fd(&fd) : -1;
}

static int wait_for(int fd, int how, const char *path, struct err *e)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	for (time_t end = t.tv_sec + PATIENCE_S; flock(fd, how | LOCK_NB) < 0; clock_gettime(CLOCK_MONOTONIC, &t)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_errno(e, "cannot lock %s", path);
		if (t.tv_sec >= end)
			return err_system(e, "the GPU was not to be had within %d minutes: somebody holds %s (fuser names them)",
					  PATIENCE_S / 60, path);
		usleep(PAUSE_US);
	}
	return 0;
}

int gpu_lock(const char *uuid, enum gpu_use use, struct err *e)
{
	static const char *const folders[] = {"/run/lock", "/var/lock", "/tmp"};
	char path[120], gate_path[130];
	for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++) {
		snprintf(path, sizeof path, "%s/judge-%.60s.lock", folders[i], uuid);
		snprintf(gate_path, sizeof gate_path, "%s.gate", path);
		CLEANUP_FD int fd = open_file(path);
		CLEANUP_FD int gate = fd < 0 ? -1 : open_file(gate_path);
		if (gate < 0)
			continue;
		if (wait_for(gate, LOCK_EX, gate_path, e) < 0 || wait_for(fd, use == GPU_ALONE ? LOCK_EX : LOCK_SH, path, e) < 0)
			return -1;
		return take_fd(&fd);
	}
	return err_errno(e, "cannot make the lock of the GPU, %s", path);
}
