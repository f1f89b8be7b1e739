/* The jail's root: an empty read-only tmpfs that holds the spec's bind mounts and, where asked for, a private /tmp.
 *
 * The mounts are taken from the host's tree as detached copies and made read-only before they are attached, so nothing
 * is ever written through them, not even a mount point.  The mount calls of Linux 5.12 are used: they make a whole tree
 * of mounts read-only at once.  No allocation: see jail_child.h.
 */
#include "jail_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_MOUNTS = 48, DETACH = 2 /* MNT_DETACH */ };

static const char *const libraries[] = {"/lib", "/lib64", "/usr/lib", "/usr/lib64", NULL};

static const char *const gpu_files[] = {
	"/dev/null", "/dev/zero", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-caps",
	"/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2", "/dev/nvidia3", "/dev/nvidia4", "/dev/nvidia5", "/dev/nvidia6", "/dev/nvidia7",
	"/dev/nvidia8", "/dev/nvidia9", "/dev/nvidia10", "/dev/nvidia11", "/dev/nvidia12", "/dev/nvidia13", "/dev/nvidia14",
	"/dev/nvidia15", NULL};

static int mount_new(const char *type, const char *at, unsigned long flags, const char *options)
{
	return (int)syscall(SYS_mount, type, at, type, flags, options);
}

static int set_attributes(int tree, unsigned flags, uint64_t attributes)
{
	struct mount_attr attr = {.attr_set = attributes};
	return (int)syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | flags, &attr, sizeof attr);
}

/* A detached copy of a host path, read-only; -1 with errno. */
static int take(const char *host, bool device)
{
	int tree = (int)syscall(SYS_open_tree, AT_FDCWD, host, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree < 0)
		return -1;
	uint64_t attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | (device ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV);
	if (set_attributes(tree, AT_RECURSIVE, attributes) < 0) {
		int number = errno;
		close(tree);
		errno = number;
		return -1;
	}
	return tree;
}

/* Make the folders above `path`, and `path` itself: a folder, or an empty file. */
static int make_point(const char *path, bool folder)
{
	char part[512];
	size_t n = strlen(path);
	if (n >= sizeof part)
		return errno = ENAMETOOLONG, -1;
	for (size_t i = 1; i <= n; i++) {
		if (path[i] != '/' && (path[i] || !folder))
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return -1;
	}
	if (folder)
		return 0;
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int attach(struct jail_plan *p, int tree, const char *inside)
{
	struct stat st;
	while (*inside == '/')
		inside++;
	if (fstat(tree, &st) < 0 || make_point(inside, S_ISDIR(st.st_mode)) < 0)
		return jail_fail(p, "cannot make the mount point", inside);
	if (syscall(SYS_move_mount, tree, "", AT_FDCWD, inside, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return jail_fail(p, "cannot mount", inside);
	close(tree);
	return 0;
}

/* Taken and not yet attached.  This process does it once. */
static struct {
	int tree;
	const char *inside;
	bool device;
} taken[MAX_MOUNTS];
static unsigned n_taken;

static int take_one(struct jail_plan *p, const char *host, const char *inside, bool device)
{
	if (n_taken == MAX_MOUNTS)
		return jail_fail(p, "too many mounts, at", host);
	int tree = take(host, device);
	if (tree < 0 && errno != ENOENT)
		return jail_fail(p, "cannot mount (Linux 5.12 or newer is needed)", host);
	if (tree >= 0) {
		taken[n_taken].tree = tree;
		taken[n_taken].device = device;
		taken[n_taken++].inside = inside;
	}
	return 0;
}

/* The files of NVIDIA's driver.  /sys tells it about the machine's memory and buses. */
static int take_gpu(struct jail_plan *p)
{
	for (unsigned i = 0; gpu_files[i]; i++)
		if (take_one(p, gpu_files[i], gpu_files[i], true) < 0)
			return -1;
	return take_one(p, "/sys", "/sys", false);
}

const char *const *jail_own_mounts(enum jail_policy policy)
{
	static const char *const none[] = {NULL};
	return policy == JAIL_DEVICE || policy == JAIL_GPU ? libraries : none;
}

int jail_take_mounts(struct jail_plan *p)
{
	const struct jail_spec *s = p->spec;
	if (syscall(SYS_mount, NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return jail_fail(p, "cannot detach from the host's mounts", NULL);
	for (unsigned i = 0; i < s->n_mounts; i++)
		if (take_one(p, s->mounts[i].host, s->mounts[i].inside, false) < 0)
			return -1;
	for (const char *const *own = jail_own_mounts(s->policy); *own; own++)
		if (take_one(p, *own, *own, false) < 0)
			return -1;
	if (s->policy == JAIL_GPU)
		return take_gpu(p);
	return s->policy == JAIL_COMPILE ? take_one(p, "/dev/null", "/dev/null", true) : 0;
}

const char *jail_mounted(unsigned n, bool *device)
{
	if (n >= n_taken)
		return NULL;
	*device = taken[n].device;
	return taken[n].inside;
}

static int private_tmp(struct jail_plan *p)
{
	char options[120];
	uint64_t size = p->spec->limits.tmpfs;
	if (!size)
		return 0;
	/* Inodes are kernel memory: enough for 4 KiB files, within reason. */
	uint64_t inodes = size / 4096 < 64 ? 64 : size / 4096 > 16384 ? 16384 : size / 4096;
	snprintf(options, sizeof options, "size=%llu,nr_inodes=%llu,mode=0700", (unsigned long long)size,
		 (unsigned long long)inodes);
	if (make_point("tmp", true) < 0 || mount_new("tmpfs", "tmp", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0)
		return jail_fail(p, "cannot mount the private", "/tmp");
	return 0;
}

/* Over what is to stay unseen.  What this process can't reach (another mount lies over it, or its folder is not for us) the program
 * can't either. */
static int mask(struct jail_plan *p)
{
	for (unsigned i = 0; i < p->n_masks; i++) {
		const char *at = p->masks[i] + strspn(p->masks[i], "/");
		if (mount_new("tmpfs", at, MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,nr_inodes=2,mode=0555") < 0 &&
		    errno != ENOENT && errno != EACCES)
			return jail_fail(p, "cannot hide", at);
	}
	return 0;
}

int jail_enter_root(struct jail_plan *p)
{
	/* Any folder that exists does for a place to build on; it is gone from view a moment later. */
	if (mount_new("tmpfs", "/proc", MS_NOSUID | MS_NODEV, "size=256k,nr_inodes=512,mode=0755") < 0 || chdir("/proc") < 0)
		return jail_fail(p, "cannot mount a root", NULL);
	/* First /tmp: a mount may lie below it, the libraries of a judge that is kept there for one. */
	if (private_tmp(p) < 0)
		return -1;
	for (unsigned i = 0; i < n_taken; i++)
		if (attach(p, taken[i].tree, taken[i].inside) < 0)
			return -1;
	if (mask(p) < 0)
		return -1;
	/* The jail's own processes; a host that hides parts of /proc from us does not allow it, and the driver can do without. */
	if (p->spec->policy == JAIL_GPU && make_point("proc", true) == 0)
		mount_new("proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	/* The old root lands on top of the new one, and goes. */
	if (syscall(SYS_pivot_root, ".", ".") < 0 || syscall(SYS_umount2, ".", DETACH) < 0 || chdir("/") < 0)
		return jail_fail(p, "cannot leave the host's root", NULL);
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || set_attributes(root, 0, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV) < 0)
		return jail_fail(p, "cannot make the root read-only", NULL);
	close(root);
	if (chdir(p->spec->limits.tmpfs ? "/tmp" : "/") < 0)
		return jail_fail(p, "cannot enter", "/tmp");
	return 0;
}
