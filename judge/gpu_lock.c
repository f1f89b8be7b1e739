/* One timing run a GPU at a time: see gpu_lock.h.  The file is everybody's and holds nothing; flock is the lock. */
#include "gpu_lock.h"

#include "../sandbox/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

int gpu_lock(const char *uuid, struct err *e)
{
	static const char *const folders[] = {"/run/lock", "/var/lock", "/tmp"};
	char path[120];
	for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++) {
		snprintf(path, sizeof path, "%s/judge-%.60s.lock", folders[i], uuid);
		/* Others' files in a sticky folder may not be opened with O_CREAT: first as it is. */
		CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
		if (fd < 0)
			continue;
		while (flock(fd, LOCK_EX) < 0)
			if (errno != EINTR)
				return err_errno(e, "cannot lock %s", path);
		return take_fd(&fd);
	}
	return err_errno(e, "cannot make the lock of the GPU, %s", path);
}
