/* Control groups: see cgroup.h.
 *
 * Version 2 lets no process live in a group that hands controllers to its children, and lets a user create groups only
 * below what was delegated to him.  So the place for our groups is searched upwards from our own group: the nearest
 * ancestor that we may write to and that hands down `memory` and `pids` (a systemd user session has one: app.slice).
 * Failing that, our own group, if it is ours to arrange (Delegate=yes, a container): its processes move to a leaf first.
 */
#include "cgroup.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { PATH_SIZE = 512, NAME_SIZE = 64, MOVES = 5 };

static struct place {
	int version;
	char memory[PATH_SIZE];		/* the folder in which our groups are made: of all controllers in version 2 */
	char pids[PATH_SIZE];		/* version 1: of the pids controller; empty: there is none */
	size_t memory_mount, pids_mount;	/* how much of the paths is the mount point */
	char note[300];
} place;
static pthread_once_t place_once = PTHREAD_ONCE_INIT;
static int put_text(const char *path, const char *text);
static struct cgroup_kernel kernel = {"", mkdir, put_text, rmdir};
static atomic_uint next_number;

struct cgroup {
	char memory[PATH_SIZE + NAME_SIZE], pids[PATH_SIZE + NAME_SIZE];	/* empty: not made */
	uint64_t limit;								/* of memory */
};

/* ---- files of a group ---- */

static int put_text(const char *path, const char *text)
{
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	return write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

static int put(const char *dir, const char *file, const char *text)
{
	char path[PATH_SIZE + 2 * NAME_SIZE];
	snprintf(path, sizeof path, "%s/%s", dir, file);
	return kernel.put(path, text);
}

static int put_number(const char *dir, const char *file, uint64_t n)
{
	char text[32];
	snprintf(text, sizeof text, "%llu", (unsigned long long)n);
	return put(dir, file, text);
}

/* The whole file, or "" if it can't be read. */
static void get(const char *dir, const char *file, char *out, size_t size)
{
	char path[PATH_SIZE + 2 * NAME_SIZE];
	snprintf(path, sizeof path, "%s/%s", dir, file);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
	out[n > 0 ? n : 0] = 0;
}

/* The number after the word `key` at the start of a line; 0 if there is none. */
static uint64_t keyed(const char *text, const char *key)
{
	size_t n = strlen(key);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, n) && line[n] == ' ')
			return strtoull(line + n, NULL, 10);
	}
	return 0;
}

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);
	for (const char *p = text; (p = strstr(p, word)); p += n)
		if ((p == text || strchr(" ,", p[-1])) && (!p[n] || strchr(" ,\n", p[n])))
			return true;
	return false;
}

/* ---- where our groups go ---- */

static FILE *open_proc(const char *name)
{
	char path[PATH_SIZE];
	snprintf(path, sizeof path, "%s/proc/self/%s", kernel.root, name);
	return fopen(path, "re");
}

/* Our own group's path in the hierarchy that /proc/self/cgroup calls `controller` ("" is version 2). */
static void own_path(const char *controller, char *out, size_t size)
{
	CLEANUP_FILE FILE *f = open_proc("cgroup");
	char line[1024];
	*out = 0;
	while (f && fgets(line, sizeof line, f)) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = 0;
		path[strcspn(path, "\n")] = 0;
		if (*controller ? has_word(names + 1, controller) : !names[1])
			snprintf(out, size, "%s", path);
	}
}

/* The folder of our own group in the hierarchy of `controller` ("": version 2), and how much of it is the mount. */
static bool own_folder(const char *controller, char *out, size_t size, size_t *mount_size)
{
	CLEANUP_FILE FILE *f = open_proc("mountinfo");
	char line[2048], path[PATH_SIZE];
	own_path(controller, path, sizeof path);
	while (f && fgets(line, sizeof line, f)) {
		char root[PATH_SIZE], mount[PATH_SIZE], type[NAME_SIZE], options[PATH_SIZE];
		char *tail = strstr(line, " - ");
		if (!tail || sscanf(line, "%*s %*s %*s %511s %511s", root, mount) != 2 ||
		    sscanf(tail, " - %63s %*s %511s", type, options) != 2)
			continue;
		if (*controller ? strcmp(type, "cgroup") || !has_word(options, controller) : strcmp(type, "cgroup2") != 0)
			continue;
		/* A container sees its part of the hierarchy alone, while its path may count from the true root. */
		size_t n = strcmp(root, "/") ? strlen(root) : 0;
		const char *rest = !strncmp(path, root, n) ? path + n : "";
		if (snprintf(out, size, "%s%s%s", kernel.root, mount, strcmp(rest, "/") ? rest : "") >= (int)size)
			continue;
		*mount_size = strlen(kernel.root) + strlen(mount);
		return true;
	}
	return false;
}

static bool writable(const char *dir)
{
	char path[PATH_SIZE + NAME_SIZE];
	snprintf(path, sizeof path, "%s/cgroup.procs", dir);
	return access(dir, W_OK) == 0 && access(path, W_OK) == 0;
}

/* Does the group hand memory and pids to its children, or can it be made to?  With the cpu controller, which some lack, each of our
 * groups gets an equal share of the processors, however many processes it holds. */
static bool hands_down(const char *dir)
{
	char text[300];
	get(dir, "cgroup.subtree_control", text, sizeof text);
	if (has_word(text, "memory") && has_word(text, "pids"))
		return true;
	get(dir, "cgroup.controllers", text, sizeof text);
	if (!has_word(text, "memory") || !has_word(text, "pids"))
		return false;
	if (has_word(text, "cpu")) {		/* refused where there are real-time processes */
		if (put(dir, "cgroup.subtree_control", "+cpu +memory +pids") == 0)
			return true;
		if (errno == EBUSY)
			return false;
	}
	return put(dir, "cgroup.subtree_control", "+memory +pids") == 0;
}

/* Move every process of the group into a leaf below it. */
static void make_leaf(const char *dir)
{
	char leaf[PATH_SIZE + NAME_SIZE], procs[8192];
	snprintf(leaf, sizeof leaf, "%s/judge-main", dir);
	if (kernel.make(leaf, 0755) < 0 && errno != EEXIST)
		return;
	get(dir, "cgroup.procs", procs, sizeof procs);
	for (char *save, *pid = strtok_r(procs, "\n", &save); pid; pid = strtok_r(NULL, "\n", &save))
		put(leaf, "cgroup.procs", pid);
}

/* A container's, mostly. */
static bool read_only(const char *dir)
{
	struct statvfs fs;
	return statvfs(dir, &fs) == 0 && (fs.f_flag & ST_RDONLY);
}

static void note_read_only(struct place *p, const char *dir)
{
	if (!*p->note && read_only(dir))
		snprintf(p->note, sizeof p->note, "control groups are mounted read-only, so memory limits hold for each process alone; "
			 "start the container with --privileged, or with /sys/fs/cgroup writable");
}

/* Version 2 is mounted without the memory controller: version 1 may have it (a hybrid system). */
static bool without_memory(struct place *p)
{
	char path[PATH_SIZE];
	size_t mount_size;
	if (!own_folder("memory", path, sizeof path, &mount_size))
		snprintf(p->note, sizeof p->note, "control groups are there, but without the memory controller, so memory limits "
			 "hold for each process alone; boot with cgroup_enable=memory, or, in a container, have it handed down");
	return false;
}

static bool find_v2(struct place *p)
{
	char own[PATH_SIZE], dir[PATH_SIZE], text[300];
	size_t mount_size;
	const char *forced = getenv("JUDGE_CGROUP");
	if (forced && *forced) {
		snprintf(p->memory, sizeof p->memory, "%s", forced);
		p->memory_mount = strlen(p->memory);
		if (writable(forced) && hands_down(forced))
			return true;
		snprintf(p->note, sizeof p->note, "JUDGE_CGROUP: %.150s is not a version 2 control group that hands down "
			 "the memory and pids controllers and is writable", forced);
		return false;
	}
	if (!own_folder("", own, sizeof own, &mount_size))
		return false;
	p->memory_mount = mount_size;
	snprintf(text, sizeof text, "%.*s", (int)mount_size, own);
	strcpy(dir, text);
	get(dir, "cgroup.controllers", text, sizeof text);
	if (!has_word(text, "memory"))
		return without_memory(p);
	strcpy(dir, own);
	for (char *slash; (slash = strrchr(dir, '/')) && (size_t)(slash - dir) >= mount_size;) {
		*slash = 0;
		if (writable(dir) && hands_down(dir))
			return strcpy(p->memory, dir), true;
	}
	if (writable(own)) {
		/* A process that forks meanwhile leaves a child behind: again. */
		for (int try = 0; try < MOVES; try++) {
			if (hands_down(own))
				return strcpy(p->memory, own), true;
			make_leaf(own);
		}
	}
	note_read_only(p, own);
	if (*p->note)
		return false;
	snprintf(p->note, sizeof p->note, "no control group is delegated to this user, so memory limits hold for each process "
		 "alone; start the judge with `systemd-run --user --scope -p Delegate=yes judge ...`, or with Delegate=yes in "
		 "its service");
	return false;
}

static bool find_v1(struct place *p)
{
	if (!own_folder("memory", p->memory, sizeof p->memory, &p->memory_mount))
		return false;
	note_read_only(p, p->memory);
	if (!writable(p->memory)) {
		if (!*p->note)
			snprintf(p->note, sizeof p->note, "control groups (version 1) belong to root here, so memory limits hold for each "
				 "process alone; run the judge as root, or boot with systemd.unified_cgroup_hierarchy=1");
		return false;
	}
	if (!own_folder("pids", p->pids, sizeof p->pids, &p->pids_mount) || !writable(p->pids)) {
		*p->pids = 0;
		snprintf(p->note, sizeof p->note, "there is no pids controller: the number of processes is limited by "
			 "RLIMIT_NPROC alone");
	}
	return true;
}

static void find_place(void)
{
	struct place p = {0};
	if (find_v2(&p))
		p.version = 2;
	else if (!*p.note && find_v1(&p))
		p.version = 1;
	else if (!*p.note)
		snprintf(p.note, sizeof p.note, "no writable control group with a memory controller, so memory limits hold for each "
			 "process alone; mount cgroup2 at /sys/fs/cgroup, or run the judge under systemd with Delegate=yes");
	place = p;
}

static const struct place *get_place(void)
{
	pthread_once(&place_once, find_place);
	return &place;
}

int cgroup_version(void)
{
	return get_place()->version;
}

const char *cgroup_note(void)
{
	return get_place()->note;
}

/* ---- one group ---- */

static int limit_v2(const struct cgroup *g, uint64_t memory, unsigned processes, struct err *e)
{
	if (memory && put_number(g->memory, "memory.max", memory) < 0)
		return err_errno(e, "cannot limit the memory of control group %s", g->memory);
	if (memory) {			/* absent where the kernel has no swap, or is older than the file */
		put(g->memory, "memory.swap.max", "0");
		put(g->memory, "memory.oom.group", "1");
	}
	if (processes && put_number(g->memory, "pids.max", processes) < 0)
		return err_errno(e, "cannot limit the processes of control group %s", g->memory);
	return 0;
}

static int limit_v1(const struct cgroup *g, uint64_t memory, unsigned processes, struct err *e)
{
	if (memory && put_number(g->memory, "memory.limit_in_bytes", memory) < 0)
		return err_errno(e, "cannot limit the memory of control group %s", g->memory);
	if (memory) {			/* absent where swap is not accounted for */
		put_number(g->memory, "memory.memsw.limit_in_bytes", memory);
		put(g->memory, "memory.swappiness", "0");
	}
	if (processes && *g->pids && put_number(g->pids, "pids.max", processes) < 0)
		return err_errno(e, "cannot limit the processes of control group %s", g->pids);
	return 0;
}

static int make(char *out, const char *dir, const char *name, struct err *e)
{
	char path[PATH_SIZE + NAME_SIZE];
	if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
		return err_system(e, "the path of control group %s is too long", dir);
	/* One that is there already was left by a dead judge that had our process id. */
	if (kernel.make(path, 0755) < 0 && (errno != EEXIST || kernel.remove(path) < 0 || kernel.make(path, 0755) < 0))
		return err_errno(e, "cannot make control group %s", path);
	strcpy(out, path);
	return 0;
}

int cgroup_new(uint64_t memory, unsigned processes, struct cgroup **out, struct err *e)
{
	const struct place *p = get_place();
	*out = NULL;
	if (!p->version)
		return 0;
	struct cgroup *g = calloc(1, sizeof *g);
	if (!g)
		BUG("out of memory");
	g->limit = memory;
	char name[NAME_SIZE];
	snprintf(name, sizeof name, "judge-%d-%u", (int)getpid(), atomic_fetch_add(&next_number, 1));
	int rc = make(g->memory, p->memory, name, e);
	if (rc == 0 && *p->pids)
		rc = make(g->pids, p->pids, name, e);
	if (rc == 0)
		rc = p->version == 2 ? limit_v2(g, memory, processes, e) : limit_v1(g, memory, processes, e);
	if (rc < 0) {
		cgroup_free(g);
		return -1;
	}
	*out = g;
	return 0;
}

int cgroup_open(const struct cgroup *g)
{
	return get_place()->version == 2 ? open(g->memory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

int cgroup_attach(const struct cgroup *g, pid_t pid, struct err *e)
{
	if (put_number(g->memory, "cgroup.procs", (uint64_t)pid) < 0)
		return err_errno(e, "cannot put a process into control group %s", g->memory);
	if (*g->pids && put_number(g->pids, "cgroup.procs", (uint64_t)pid) < 0)
		return err_errno(e, "cannot put a process into control group %s", g->pids);
	return 0;
}

/* The kernel counts a kill here too if it was the machine, or a group above, that had no memory left.  Version 1 has no
 * count of its own limit (failcnt stays 0 on new kernels), but a peak, which is at the limit then but for what cannot be
 * had in one piece. */
static bool was_at_limit(const struct cgroup *g)
{
	char text[1024];
	if (get_place()->version == 1)
		return g->limit && cgroup_peak_memory(g) + g->limit / 16 >= g->limit;
	get(g->memory, "memory.events", text, sizeof text);
	return keyed(text, "oom") > 0;
}

unsigned long cgroup_oom_kills(const struct cgroup *g)
{
	char text[1024];
	get(g->memory, get_place()->version == 2 ? "memory.events" : "memory.oom_control", text, sizeof text);
	unsigned long kills = (unsigned long)keyed(text, "oom_kill");
	return kills && was_at_limit(g) ? kills : 0;
}

unsigned long cgroup_refused_forks(const struct cgroup *g)
{
	char text[256];
	get(*g->pids ? g->pids : g->memory, "pids.events", text, sizeof text);
	return (unsigned long)keyed(text, "max");
}

uint64_t cgroup_peak_memory(const struct cgroup *g)
{
	char text[64];
	get(g->memory, get_place()->version == 2 ? "memory.peak" : "memory.max_usage_in_bytes", text, sizeof text);
	return strtoull(text, NULL, 10);
}

uint64_t cgroup_cpu_us(const struct cgroup *g)
{
	char text[1024];
	if (get_place()->version != 2)
		return 0;
	get(g->memory, "cpu.stat", text, sizeof text);	/* it needs no controller */
	return keyed(text, "usage_usec");
}

/* Before Linux 5.14 there is no cgroup.kill: frozen, they can't fork meanwhile, and they can be killed. */
static void kill_members(const char *dir)
{
	char procs[8192];
	if (put(dir, "cgroup.kill", "1") == 0)
		return;
	bool frozen = put(dir, "cgroup.freeze", "1") == 0;
	get(dir, "cgroup.procs", procs, sizeof procs);
	for (char *save, *pid = strtok_r(procs, "\n", &save); pid; pid = strtok_r(NULL, "\n", &save))
		if (atoi(pid) > 0)
			kill(atoi(pid), SIGKILL);
	if (frozen)
		put(dir, "cgroup.freeze", "0");
}

/* A group whose last process has just died may be busy for a moment. */
static void remove_group(const char *dir)
{
	for (int try = 0; *dir && kernel.remove(dir) < 0 && errno == EBUSY && try < 100; try++) {
		kill_members(dir);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

void cgroup_free(struct cgroup *g)
{
	if (!g)
		return;
	remove_group(g->memory);
	remove_group(g->pids);
	free(g);
}

/* A group named after a judge that is gone, and not so young that the judge may be in another pid namespace and about to
 * fill it.  Such a group has no processes, they died with their judge: it is removed if it is empty, nothing is killed. */
static bool is_leftover(const char *name, const char *path)
{
	int pid, n;
	char end;
	struct stat st;
	if (sscanf(name, "judge-%d-%d%c", &pid, &n, &end) != 2 || pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH)
		return false;
	return stat(path, &st) == 0 && time(NULL) - st.st_mtime > 1;
}

/* The dead judge may have run in another session, so the whole hierarchy is searched. */
static void sweep_folder(const char *dir, int depth)
{
	DIR *d = opendir(dir);
	for (struct dirent *entry; d && (entry = readdir(d));) {
		char path[2 * PATH_SIZE];
		if (entry->d_type != DT_DIR || *entry->d_name == '.' ||
		    snprintf(path, sizeof path, "%s/%s", dir, entry->d_name) >= (int)sizeof path)
			continue;
		if (is_leftover(entry->d_name, path))
			kernel.remove(path);
		else if (depth)
			sweep_folder(path, depth - 1);
	}
	if (d)
		closedir(d);
}

void cgroup_sweep(void)
{
	enum { DEPTH = 8 };
	const struct place *p = get_place();
	char root[PATH_SIZE];
	snprintf(root, sizeof root, "%.*s", (int)p->memory_mount, p->memory);
	if (p->version)
		sweep_folder(root, DEPTH);
	snprintf(root, sizeof root, "%.*s", (int)p->pids_mount, p->pids);
	if (*p->pids)
		sweep_folder(root, DEPTH);
}

void cgroup_play(const struct cgroup_kernel *k)
{
	kernel = *k;
	pthread_once(&place_once, find_place);
	find_place();
}
