/* System call policies: which calls each kind of jail may make, as data, compiled once to a kernel filter. */
#ifndef SANDBOX_POLICY_H
#define SANDBOX_POLICY_H

#include "base/err.h"
#include "jail.h"

#include <stdbool.h>

struct sock_fprog;

/* The one execveat that every policy lets through is that of a descriptor with this number.  It lies above every
 * jail's RLIMIT_NOFILE, so once the program runs no such descriptor can exist. */
enum { POLICY_EXE_FD = 700 };

/* The filter of a policy, built at first use; lives as long as the process.  NULL and e if libseccomp fails. */
const struct sock_fprog *policy_filter(enum jail_policy policy, struct err *e);
/* Is a call outside the list told to the supervisor (which ends the run), or does it just fail with ENOSYS? */
bool policy_notifies(enum jail_policy policy);
const char *policy_name(enum jail_policy policy);

#endif
