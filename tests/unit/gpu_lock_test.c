/* The lock of a GPU: one holder at a time, and no trap in its place. */
#include "test.h"

#include "judge/gpu_lock.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Its name in the folder where it is; false if it is in none. */
static bool find(const char *uuid, char *path, size_t size)
{
	static const char *const folders[] = {"/run/lock", "/var/lock", "/tmp"};
	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, size, "%s/judge-%s.lock", folders[i], uuid);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

TEST(one_holder_at_a_time)
{
	char uuid[40], path[120];
	struct err e = {0};
	struct stat st;
	snprintf(uuid, sizeof uuid, "test-%d", (int)getpid());
	umask(077);
	int fd = gpu_lock(uuid, &e);
	CHECK(fd >= 0 && find(uuid, path, sizeof path));
	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0644);
	int other = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_EQ(flock(other, LOCK_EX | LOCK_NB), -1);
	close(fd);
	CHECK_EQ(flock(other, LOCK_EX | LOCK_NB), 0);
	close(other);
	unlink(path);
}

TEST(pipe_in_its_place_is_passed_by)
{
	char uuid[40], path[120], first[120];
	struct err e = {0};
	snprintf(uuid, sizeof uuid, "trap-%d", (int)getpid());
	int fd = gpu_lock(uuid, &e);
	CHECK(fd >= 0 && find(uuid, first, sizeof first));
	close(fd);
	unlink(first);
	CHECK_EQ(mkfifo(first, 0644), 0);
	fd = gpu_lock(uuid, &e);
	unlink(first);
	if (fd >= 0) {			/* in the next folder, where there is one */
		CHECK(find(uuid, path, sizeof path));
		unlink(path);
		close(fd);
	}
}
