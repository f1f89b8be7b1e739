/* The runner of unit tests: see test.h. */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_SKIPPED = 77 };

static struct test *first, **last = &first;

void test_register(struct test *t)
{
	*last = t;
	last = &t->next;
}

void test_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fprintf(stderr, "%s:%d: ", file, line);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	fflush(NULL);
	_exit(1);
}

void test_skip(const char *why)
{
	printf("skipped: %s\n", why);
	fflush(NULL);
	_exit(EXIT_SKIPPED);
}

void test_check_str(const char *file, int line, const char *a, const char *b, const char *ea, const char *eb)
{
	if (!a || !b || strcmp(a, b) != 0)
		test_fail(file, line, "%s is \"%s\", expected %s \"%s\"", ea, a ? a : "(null)", eb, b ? b : "(null)");
}

/* Network namespaces are the jails', and stay for as long as the process does (jail_net.c). */
static int open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;
	for (struct dirent *e; d && (e = readdir(d));) {
		char to[5] = "";
		n += e->d_name[0] != '.' && (readlinkat(dirfd(d), e->d_name, to, 4) < 0 || strcmp(to, "net:") != 0);
	}
	if (d)
		closedir(d);
	return n;
}

/* In the child: run the test, then look for what it left behind. */
static _Noreturn void run_here(const struct test *t)
{
	int before = open_descriptors();
	t->run();
	fflush(NULL);
	int after = open_descriptors();
	if (after != before)
		test_fail(t->name, 0, "descriptors left open: %d before, %d after", before, after);
	if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
		test_fail(t->name, 0, "a child process was left behind");
	exit(0);	/* not _exit: LeakSanitizer reports at exit */
}

static int wait_for(pid_t pid, unsigned seconds, bool *timed_out)
{
	struct timespec nap = {0, 2000000};
	int status;
	*timed_out = false;
	for (double left = seconds; waitpid(pid, &status, WNOHANG) == 0; left -= 0.002) {
		if (left < 0 && !*timed_out) {
			*timed_out = true;
			kill(-pid, SIGKILL);
		}
		nanosleep(&nap, NULL);
	}
	kill(-pid, SIGKILL);	/* whatever the test started */
	return status;
}

int main(int argc, char **argv)
{
	unsigned passed = 0, failed = 0, skipped = 0;
	for (struct test *t = first; t; t = t->next) {
		if (argc > 1 && strcmp(argv[1], t->name) != 0)
			continue;
		fflush(NULL);
		pid_t pid = fork();
		if (pid == 0) {
			setpgid(0, 0);
			run_here(t);
		}
		setpgid(pid, pid);
		bool timed_out;
		int status = wait_for(pid, t->seconds * (getenv("SAN") && *getenv("SAN") ? 10 : 1), &timed_out);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
			passed++;
		} else if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED) {
			skipped++;
		} else {
			failed++;
			printf("FAILED %s %s", argv[0], t->name);
			if (timed_out)
				printf(": longer than %u s", t->seconds);
			else if (WIFSIGNALED(status))
				printf(": %s", strsignal(WTERMSIG(status)));
			printf("\n");
		}
	}
	if (argc > 1 && !passed && !failed && !skipped) {
		fprintf(stderr, "%s: no test named %s\n", argv[0], argv[1]);
		return 2;
	}
	printf("%u passed, %u failed", passed, failed);
	if (skipped)
		printf(", %u skipped", skipped);
	printf("\n");
	return failed != 0;
}
