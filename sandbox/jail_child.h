/* The inside half of a jail: what runs between clone and exec, and the supervisor that stays. */
#ifndef SANDBOX_JAIL_CHILD_H
#define SANDBOX_JAIL_CHILD_H

#include "jail.h"

struct sock_fprog;

enum { JAIL_MAX_FDS = 32, JAIL_MAX_MASKS = 24, JAIL_MAX_FD = 63 /* the highest number inside */, JAIL_UID = 1000 /* inside a user namespace */,
       JAIL_NOBODY = 65534 /* outside, and without one, where the judge is root */ };

/* All that the child needs, prepared before the clone: the parent may have threads, so the child allocates nothing. */
struct jail_plan {
	const struct jail_spec *spec;
	bool isolated;				/* in namespaces and a root of its own */
	bool user_namespace;			/* one of them; without, the judge is root */
	const struct sock_fprog *filter;	/* NULL: none */
	bool notifies;				/* the filter reports calls outside its list */
	bool root;				/* the judge is root, so supplementary groups can be dropped */
	bool grouped;				/* a control group limits memory and processes */
	struct jail_fd fds[JAIL_MAX_FDS];	/* 0, 1, 2 and the spec's */
	unsigned n_fds;
	char masks[JAIL_MAX_MASKS][300];	/* folders inside over which an empty one goes (jail_hide) */
	unsigned n_masks;
	int exe_fd;				/* -1: argv[0] */
	int go_fd;				/* a socket: one byte to start, anything more (or its end) to stop */
	int report_fd;				/* write end: struct jail_report */
	/* Written by the program's process before exec, read by the supervisor: they share memory until then. */
	char failure[300];
	int listener;				/* of the filter's notifications; -1: none */
};

enum jail_report_kind { REPORT_STARTED = 1, REPORT_FAILED, REPORT_ENDED, REPORT_DENIED, REPORT_CPU, REPORT_STOPPED };

struct jail_report {
	enum jail_report_kind kind;
	int status;			/* ENDED: of wait; DENIED: the system call */
	uint64_t cpu_us;		/* all but STARTED and FAILED */
	uint64_t peak_memory;		/* ENDED */
	char text[300];			/* FAILED */
};

/* The first process of a jail.  Its own exit is the end of everything in the jail. */
_Noreturn void jail_child(struct jail_plan *p);

/* jail_net.c; the judge's thread that is to clone: into the empty network namespace that jails of this policy may share.  False: there
 * is none, the jail needs one of its own. */
bool jail_net_enter(enum jail_policy policy);
void jail_net_leave(void);

/* jail_hide.c; in the judge: p->masks. */
int jail_plan_masks(struct jail_plan *p, struct err *e);
/* What a policy mounts by itself, each where it is on the host; ends with NULL. */
const char *const *jail_own_mounts(enum jail_policy policy);
/* jail_root.c; -1 and p->failure.  First, while still the judge's user, who can reach them, take the mounts; then, as the
 * jail's user, whose files they will be, build the root and move into it. */
int jail_take_mounts(struct jail_plan *p);
int jail_enter_root(struct jail_plan *p);
/* jail_landlock.c; the program's process alone, with no_new_privs set: the files of the root by Landlock, where the kernel has it. */
int jail_landlock(struct jail_plan *p);
/* The n-th mount of the root, by its place inside; NULL after the last. */
const char *jail_mounted(unsigned n, bool *device);
/* Set p->failure to "what: error" and return -1. */
int jail_fail(struct jail_plan *p, const char *what, const char *name);

#endif
