/* The lock of a GPU: who measures is alone, others share it, nobody starves, and no trap in its place. */
#include "test.h"

#include "judge/gpu_lock.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

static void remove_files(const char *path)
{
	char gate[140];
	snprintf(gate, sizeof gate, "%s.gate", path);
	unlink(path);
	unlink(gate);
}

static bool takes_at_once(const char *path, int how)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool taken = flock(fd, how | LOCK_NB) == 0;
	close(fd);
	return taken;
}

TEST(one_holder_at_a_time)
{
	char uuid[40], path[120];
	struct err e = {0};
	struct stat st;
	snprintf(uuid, sizeof uuid, "test-%d", (int)getpid());
	umask(077);
	int fd = gpu_lock(uuid, GPU_ALONE, &e);
	CHECK(fd >= 0 && find(uuid, path, sizeof path));
	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0644);
	int other = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_EQ(flock(other, LOCK_EX | LOCK_NB), -1);
	close(fd);
	CHECK_EQ(flock(other, LOCK_EX | LOCK_NB), 0);
	close(other);
	remove_files(path);
}

TEST(many_share_it)
{
	char uuid[40], path[120];
	struct err e = {0};
	snprintf(uuid, sizeof uuid, "share-%d", (int)getpid());
	int a = gpu_lock(uuid, GPU_SHARED, &e), b = gpu_lock(uuid, GPU_SHARED, &e);
	CHECK(a >= 0 && b >= 0 && find(uuid, path, sizeof path));
	CHECK(!takes_at_once(path, LOCK_EX));
	close(a);
	close(b);
	CHECK(takes_at_once(path, LOCK_EX));
	remove_files(path);
}

/* While one waits to be alone the gate is shut: who comes to share stands behind it. */
TEST(nobody_overtakes_who_wants_to_be_alone)
{
	char uuid[40], path[120], gate[140];
	struct err e = {0};
	int status;
	snprintf(uuid, sizeof uuid, "gate-%d", (int)getpid());
	int shared = gpu_lock(uuid, GPU_SHARED, &e);
	CHECK(shared >= 0 && find(uuid, path, sizeof path));
	snprintf(gate, sizeof gate, "%s.gate", path);
	pid_t waiter = fork();
	if (waiter == 0) {
		close(shared);			/* the lock is the parent's */
		_exit(gpu_lock(uuid, GPU_ALONE, &e) >= 0 ? 0 : 1);
	}
	while (takes_at_once(gate, LOCK_EX))
		usleep(1000);
	CHECK(takes_at_once(path, LOCK_SH));	/* it has not got it */
	close(shared);
	CHECK_EQ(waitpid(waiter, &status, 0), waiter);
	CHECK_EQ(status, 0);
	CHECK(takes_at_once(gate, LOCK_EX));
	remove_files(path);
}

TEST(pipe_in_its_place_is_passed_by)
{
	char uuid[40], path[120], first[120];
	struct err e = {0};
	snprintf(uuid, sizeof uuid, "trap-%d", (int)getpid());
	int fd = gpu_lock(uuid, GPU_ALONE, &e);
	CHECK(fd >= 0 && find(uuid, first, sizeof first));
	close(fd);
	remove_files(first);
	CHECK_EQ(mkfifo(first, 0644), 0);
	fd = gpu_lock(uuid, GPU_ALONE, &e);
	remove_files(first);
	if (fd >= 0) {			/* in the next folder, where there is one */
		CHECK(find(uuid, path, sizeof path));
		remove_files(path);
		close(fd);
	}
}
