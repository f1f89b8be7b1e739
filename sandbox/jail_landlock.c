/* Landlock: the files of a jail's root once more, by a mechanism that knows nothing of mounts.  See jail_child.h.
 *
 * Whoever found a way round the mounts (a descriptor of the old root, a flaw in them) would still open nothing that is not listed
 * here.  Memory files and pipes are no files to Landlock.  libc has no calls for it, and the kernel's numbers here are those
 * of its interface, which older headers lack.  No allocation: see jail_child.h.
 */
#include "jail_child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	EXECUTE = 1 << 0, WRITE_FILE = 1 << 1, READ_FILE = 1 << 2, READ_DIR = 1 << 3,	/* below 13: the first version's */
	REFER = 1 << 13, TRUNCATE = 1 << 14, IOCTL_DEV = 1 << 15,
	OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV,
	READ = EXECUTE | READ_FILE | READ_DIR,
	DEVICE = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | IOCTL_DEV,
	NET = 3 /* bind and connect TCP */, SCOPE = 3 /* abstract sockets, signals */,
	CREATE_RULESET_VERSION = 1, RULE_PATH_BENEATH = 1
};

struct ruleset {
	uint64_t files, net, scope;
};

struct beneath {
	uint64_t allowed;
	int fd;
} __attribute__((packed));

/* All that this kernel's version can handle. */
static uint64_t handled(long version)
{
	uint64_t all = (1 << 13) - 1;
	return all | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0) | (version >= 5 ? IOCTL_DEV : 0);
}

static int allow_fd(int rules, uint64_t known, int fd, uint64_t allowed)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -1;
	struct beneath b = {allowed & known & (S_ISDIR(st.st_mode) ? ~0ull : (uint64_t)OF_FILES), fd};
	/* EBADFD: a file that is in no tree, such as a memory file, needs no rule. */
	return syscall(SYS_landlock_add_rule, rules, RULE_PATH_BENEATH, &b, 0) < 0 && errno != EBADFD ? -1 : 0;
}

static int allow(int rules, uint64_t known, const char *path, uint64_t allowed)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	int rc = fd < 0 ? -1 : allow_fd(rules, known, fd, allowed);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int allow_all(const struct jail_plan *p, int rules, uint64_t known)
{
	bool device;
	const char *inside;
	for (unsigned i = 0; (inside = jail_mounted(i, &device)); i++)
		if (allow(rules, known, inside, device ? DEVICE : READ) < 0)
			return -1;
	if (p->spec->policy != JAIL_GUEST && p->spec->policy != JAIL_ORACLE && allow(rules, known, "/", READ_DIR) < 0)
		return -1;
	if (p->spec->limits.tmpfs && allow(rules, known, "/tmp", known & ~(uint64_t)(EXECUTE | IOCTL_DEV)) < 0)
		return -1;
	return p->exe_fd >= 0 ? allow_fd(rules, known, p->exe_fd, EXECUTE | READ_FILE) : 0;
}

int jail_landlock(struct jail_plan *p)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
	if (version <= 0)
		return 0;			/* the kernel has none, or it is off */
	struct ruleset s = {handled(version), version >= 4 ? NET : 0, version >= 6 ? SCOPE : 0};
	/* Each field came with a version of its own. */
	size_t size = version >= 6 ? sizeof s : version >= 4 ? sizeof s - 8 : 8;
	int rules = (int)syscall(SYS_landlock_create_ruleset, &s, size, 0);
	if (rules < 0 || allow_all(p, rules, s.files) < 0 || syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		return jail_fail(p, "cannot set up Landlock", NULL);
	close(rules);
	return 0;
}
