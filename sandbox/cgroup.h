/* Control groups: limits of memory and processes over a whole tree, and the kernel's word on how they were met.
 *
 * Version 2 where its memory controller can be had, else version 1, else none; found once a process.  Each group is a
 * folder judge-<pid>-<number>, so that what a killed judge leaves behind is known by name.
 */
#ifndef SANDBOX_CGROUP_H
#define SANDBOX_CGROUP_H

#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

struct cgroup;

/* The enumerators are those of struct jail_host. */
int cgroup_version(void);			/* 0: none, 1, 2 */
const char *cgroup_note(void);			/* what is missing and how to mend it; "" when all is well */

/* A new empty group; 0 means no limit.  *out is NULL where the host has no control groups for us. */
int cgroup_new(uint64_t memory, unsigned processes, struct cgroup **out, struct err *e);
/* A descriptor of the group's folder, for clone3 to start a process in it; -1 where that can't be done (version 1). */
int cgroup_open(const struct cgroup *g);
int cgroup_attach(const struct cgroup *g, pid_t pid, struct err *e);
/* Processes that the kernel killed because the group was at its limit; 0 if the whole machine was short of memory. */
unsigned long cgroup_oom_kills(const struct cgroup *g);
unsigned long cgroup_refused_forks(const struct cgroup *g);	/* because of the limit of processes */
uint64_t cgroup_peak_memory(const struct cgroup *g);	/* bytes; 0 where the kernel does not tell */
/* Processor time of all that ever ran in it, microseconds; 0 where the kernel does not tell (version 1). */
uint64_t cgroup_cpu_us(const struct cgroup *g);
/* Kill what is in it, remove it, free it.  NULL is fine. */
void cgroup_free(struct cgroup *g);
/* Remove groups of judges that are gone. */
void cgroup_sweep(void);

/* What the kernel does, for tests that play it on a tree of files; no groups may be left from before. */
struct cgroup_kernel {
	const char *root;			/* stands before every path of the host; "": the host itself */
	int (*make)(const char *path, mode_t mode);
	int (*put)(const char *path, const char *text);		/* 0, or -1 and errno */
	int (*remove)(const char *path);
};
void cgroup_play(const struct cgroup_kernel *k);

#endif
