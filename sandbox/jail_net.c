/* The empty network namespace that a judge's jails share, where it is root.  See jail_child.h.
 *
 * Making and ending network namespaces goes one at a time in the whole kernel, and an end waits for every processor: jails that
 * start side by side wait for each other.  So the judge makes one, and a thread that starts a jail is in it while it clones.
 * There is nothing in it, its loopback is down, and no policy that lets a program have sockets shares it.
 *
 * An ordinary user can enter none that he has not got a user namespace for: his jails have one each, as those with sockets do.
 */
#include "base/cleanup.h"
#include "jail_child.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static int own = -1, empty = -1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int open_net(void)
{
	return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

/* In a thread of its own.  Root of a user namespace may own the new one, and not the one that it was in: there's no way back. */
static void *make_empty(void *unused)
{
	CLEANUP_FD int fd = unshare(CLONE_NEWNET) == 0 ? open_net() : -1;
	if (fd >= 0 && setns(own, CLONE_NEWNET) == 0)
		empty = take_fd(&fd);
	return unused;
}

static void prepare(void)
{
	pthread_t t;
	if (geteuid() || (own = open_net()) < 0 || pthread_create(&t, NULL, make_empty, NULL) != 0)
		return;
	pthread_join(t, NULL);
}

bool jail_net_enter(enum jail_policy policy)
{
	if (policy == JAIL_GPU)
		return false;
	pthread_once(&once, prepare);
	return empty >= 0 && setns(empty, CLONE_NEWNET) == 0;
}

void jail_net_leave(void)
{
	if (setns(own, CLONE_NEWNET) < 0)
		BUG("cannot leave the jails' network namespace");
}
