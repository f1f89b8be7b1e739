/* The janitor: see janitor.h.
 *
 * Theory of operation.  Jails die with the judge that started them, but their control groups are folders, and stay until
 * somebody removes them.  A signal handler can't wait for the last process in them to be gone, and SIGKILL has none.  So a
 * child holds one end of a pipe: a byte means that the judge ended well, and cleaned up itself; an end without one means
 * that it died.  Then the child sweeps, a few times, as processes take a moment to go, and ends.
 */
#include "janitor.h"

#include "../sandbox/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* Longer than a group is too young to be taken for a dead judge's (cgroup.c). */
enum { SWEEPS = 70, PAUSE_US = 50000 };

static int line = -1;

/* atexit: nothing is left to sweep. */
static void dismiss(void)
{
	ssize_t n = write(line, "", 1);
	(void)n;			/* a janitor that is gone needs no word */
}

static _Noreturn void wait_and_sweep(int end)
{
	char byte;
	ssize_t n;
	setsid();			/* what ends a terminal's processes must not end this one */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (dup2(end, STDIN_FILENO) < 0 || close_range(STDOUT_FILENO, ~0u, 0) < 0)
		_exit(1);
	while ((n = read(STDIN_FILENO, &byte, 1)) < 0 && errno == EINTR)
		;
	for (int i = 0; n == 0 && i < SWEEPS; i++) {
		usleep(PAUSE_US);
		jail_sweep();
	}
	_exit(0);
}

void janitor_start(void)
{
	int pair[2];
	if (line >= 0 || pipe2(pair, O_CLOEXEC) < 0)
		return;
	pid_t child = fork();
	if (child == 0)
		wait_and_sweep(pair[0]);
	close(pair[0]);
	if (child < 0) {
		close(pair[1]);
		return;
	}
	line = pair[1];
	atexit(dismiss);
}
