/* One attack: has the judge grade a file, and looks at the verdict, the report, and what is left of it.
 *
 * usage: attempt JUDGE PACKAGES WORK FILE.cu
 * prints "ok" for each verdict that is as the file's first lines say, or "FAILED FILE: ...":
 *	// expect: CE			the verdict of the whole
 *	// says: took longer than	part of its text, or of a diagnostic's
 *	// try 7: RE socket		the verdict of the case try-7, and part of its text: one program tries many things
 *	// package: bombed		one of PACKAGES; else "attacked", with a second for each case, where a TLE is expected, and "patient"
 *					where a busy machine must not be taken for an endless program
 *
 * A case's text is that of a hidden one.  What is left is told exactly, whatever else the machine does: as a subreaper this process inherits all that the judge
 * leaves running; /tmp and /dev/shm are its own; control groups bear the judge's number.
 */
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	TRIES = 64, HEAD_LINES = 80, LINE = 400,
	/* twice the limits of attacked/problem.json: three times the compiler's time for a busy machine, and a case */
	SECONDS = 2 * (3 * 5 + 1),
	MEMORY_MIB = 128,		/* of the judge itself; some 10 is usual */
	OUTPUT_MAX = 64 << 20
};

struct expected {
	char verdict[8], says[LINE];
};

struct attack {
	const char *path;
	struct expected whole, tries[TRIES];
	unsigned last_try;
	char package[40];
	unsigned failures, passed;
};

struct outcome {
	pid_t pid;
	int status;
	double seconds;
	unsigned long peak_kib;
	char *out, *err;
	size_t out_size, err_size;
	bool late;
};

__attribute__((format(printf, 2, 3))) static void fail(struct attack *a, const char *fmt, ...)
{
	va_list ap;
	printf("FAILED %s: ", a->path);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	a->failures++;
}

static void die(const char *what)
{
	printf("FAILED attempt: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* ---- what the file says ---- */

static void take_expected(struct expected *x, const char *text)
{
	int n = 0;
	sscanf(text, "%7[A-Z] %n", x->verdict, &n);
	snprintf(x->says, sizeof x->says, "%s", text + n);
}

static bool expects(const struct attack *a, const char *verdict)
{
	bool does = !strcmp(a->whole.verdict, verdict);
	for (unsigned n = 0; n <= a->last_try; n++)
		does |= !strcmp(a->tries[n].verdict, verdict);
	return does;
}

static void read_head(struct attack *a)
{
	char line[LINE];
	FILE *f = fopen(a->path, "r");
	if (!f)
		die(a->path);
	for (int i = 0; i < HEAD_LINES && fgets(line, sizeof line, f); i++) {
		unsigned n;
		int at = 0;
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "// expect: ", 11))
			sscanf(line + 11, "%7[A-Z]", a->whole.verdict);
		else if (!strncmp(line, "// says: ", 9))
			snprintf(a->whole.says, sizeof a->whole.says, "%s", line + 9);
		else if (!strncmp(line, "// package: ", 12))
			sscanf(line + 12, "%39s", a->package);
		else if (sscanf(line, "// try %u: %n", &n, &at) == 1 && at && n < TRIES) {
			take_expected(&a->tries[n], line + at);
			a->last_try = n > a->last_try ? n : a->last_try;
		}
	}
	fclose(f);
	if (!*a->package)
		snprintf(a->package, sizeof a->package, "%s", expects(a, "TLE") ? "attacked" : "patient");
	if (!*a->whole.verdict && !a->last_try)
		fail(a, "no verdict is expected");
}

/* ---- the judge ---- */

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Of all that has ended. */
static double processor_seconds(void)
{
	struct rusage u;
	getrusage(RUSAGE_CHILDREN, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* A /tmp and a /dev/shm of our own, but where the tests themselves lie below them. */
static bool private_folders(const char *work)
{
	if (!strncmp(work, "/tmp/", 5) || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	return mount("tmpfs", "/tmp", "tmpfs", 0, NULL) == 0 && mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL) == 0;
}

static void start_judge(const struct attack *a, const char *judge, const char *packages, const char *folder, int out, int err)
{
	char package[500];
	snprintf(package, sizeof package, "%s/%s", packages, a->package);
	const char *const argv[] = {judge, "--json", "-p", package, a->path, a->last_try ? NULL : "--samples", NULL};
	int null = open("/dev/null", O_RDONLY);
	if (chdir(folder) < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(126);
	execv(judge, (char *const *)argv);
	_exit(127);
}

static void sample_memory(struct outcome *o)
{
	char path[64], line[200];
	snprintf(path, sizeof path, "/proc/%d/status", (int)o->pid);
	FILE *f = fopen(path, "r");
	unsigned long kib;
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmHWM: %lu", &kib) == 1)
			o->peak_kib = kib;
	if (f)
		fclose(f);
}

/* False at the end. */
static bool take_output(int fd, char **text, size_t *size)
{
	char piece[65536];
	ssize_t n = read(fd, piece, sizeof piece);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0 || *size + (size_t)n > OUTPUT_MAX)
		return false;
	*text = realloc(*text, *size + (size_t)n + 1);
	memcpy(*text + *size, piece, (size_t)n);
	*size += (size_t)n;
	(*text)[*size] = 0;
	return true;
}

static void watch(struct outcome *o, int out, int err)
{
	double began = now();
	struct pollfd fds[] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		poll(fds, 2, 10);
		if (fds[0].revents && !take_output(out, &o->out, &o->out_size))
			fds[0].fd = -1;
		if (fds[1].revents && !take_output(err, &o->err, &o->err_size))
			fds[1].fd = -1;
		sample_memory(o);
		if (now() - began > 2 * SECONDS && !o->late) {
			o->late = true;
			kill(o->pid, SIGKILL);
		}
		/* whoever holds the pipes now is not the judge */
		if (waitpid(o->pid, &o->status, WNOHANG) == o->pid) {
			o->seconds = now() - began;
			while (take_output(out, &o->out, &o->out_size))
				if (poll(&fds[0], 1, 0) <= 0)
					break;
			return;
		}
	}
	waitpid(o->pid, &o->status, 0);
	o->seconds = now() - began;
}

/* ---- what is left ---- */

static void check_processes(struct attack *a)
{
	for (int i = 0; i < 100; i++) {
		if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
			return;
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	fail(a, "a process is left");
}

static void check_empty(struct attack *a, const char *folder)
{
	DIR *d = opendir(folder);
	for (struct dirent *x; d && (x = readdir(d));)
		if (strcmp(x->d_name, ".") && strcmp(x->d_name, ".."))
			fail(a, "left in %s: %s", folder, x->d_name);
	if (d)
		closedir(d);
}

static char group_prefix[40], left_group[400];

static int look_for_group(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	(void)st, (void)kind;
	if (!strncmp(path + f->base, group_prefix, strlen(group_prefix)))
		snprintf(left_group, sizeof left_group, "%s", path);
	return 0;
}

static void check_groups(struct attack *a, pid_t judge)
{
	snprintf(group_prefix, sizeof group_prefix, "judge-%d-", (int)judge);
	nftw("/sys/fs/cgroup", look_for_group, 16, FTW_PHYS);
	if (*left_group)
		fail(a, "a control group is left: %s", left_group);
}

static unsigned mounts(void)
{
	unsigned n = 0;
	int c;
	FILE *f = fopen("/proc/self/mountinfo", "r");
	while (f && (c = getc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

/* ---- the report ---- */

static const char *string_of(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	return cJSON_IsString(v) ? v->valuestring : "";
}

static bool said(const cJSON *report, const char *text)
{
	const cJSON *d;
	if (strstr(string_of(report, "text"), text))
		return true;
	cJSON_ArrayForEach(d, cJSON_GetObjectItemCaseSensitive(report, "diagnostics"))
		if (strstr(string_of(d, "text"), text))
			return true;
	return false;
}

static void check_tries(struct attack *a, const cJSON *report)
{
	const cJSON *c;
	unsigned n;
	cJSON_ArrayForEach(c, cJSON_GetObjectItemCaseSensitive(report, "cases")) {
		const char *verdict = string_of(c, "verdict"), *text = string_of(c, "text");
		if (sscanf(string_of(c, "name"), "try-%u", &n) != 1 || n >= TRIES)
			n = 1;
		const struct expected *x = &a->tries[n];
		if (!*x->verdict && n <= a->last_try)
			continue;
		const char *want = *x->verdict ? x->verdict : "AC";
		if (strcmp(verdict, want) || !strstr(text, x->says))
			fail(a, "try %u: %s (%s), expected %s (%s)", n, verdict, text, want, x->says);
		else if (*x->verdict)
			a->passed++;
	}
}

/* Its own text has no control characters, whatever a submission prints. */
static bool printable(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] < ' ' && text[i] != '\n')
			return false;
	return true;
}

static void check_report(struct attack *a, const struct outcome *o)
{
	const char *end = NULL;
	cJSON *report = o->out ? cJSON_ParseWithOpts(o->out, &end, true) : NULL;
	const char *verdict = string_of(report, "verdict"), *text = string_of(report, "text");
	if (!report || strlen(o->out) != o->out_size || !printable(o->out, o->out_size)) {
		fail(a, "no sound report (status %d): %.300s", o->status, o->err ? o->err : "");
	} else if (*a->whole.verdict) {
		int want = strcmp(a->whole.verdict, "AC") ? 1 : 0;
		if (strcmp(verdict, a->whole.verdict) || !WIFEXITED(o->status) || WEXITSTATUS(o->status) != want)
			fail(a, "%s (status %d): %.300s; expected %s", verdict, o->status, text, a->whole.verdict);
		else if (!said(report, a->whole.says))
			fail(a, "it does not say \"%s\" but: %.300s", a->whole.says, text);
		else
			a->passed++;
	}
	if (a->last_try)
		check_tries(a, report);
	cJSON_Delete(report);
}

int main(int argc, char **argv)
{
	struct outcome o = {0};
	struct attack a = {.path = argv[argc - 1]};
	char folder[500];
	int out[2], err[2];
	if (argc != 5)
		return fprintf(stderr, "usage: attempt JUDGE PACKAGE WORK FILE.cu\n"), 2;
	read_head(&a);
	snprintf(folder, sizeof folder, "%s/in-XXXXXX", argv[3]);
	if (!mkdtemp(folder) || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		die(argv[3]);
	bool own = private_folders(argv[3]);
	unsigned before = mounts();
	if ((o.pid = fork()) < 0)
		die("fork");
	if (o.pid == 0)
		start_judge(&a, argv[1], argv[2], folder, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	watch(&o, out[0], err[0]);
	check_report(&a, &o);
	if (o.late || (o.seconds > SECONDS && !getenv("SAN")))
		fail(&a, "%s %.1f s, its limit is %d", o.late ? "stopped after" : "took", o.seconds, SECONDS);
	if (o.peak_kib > MEMORY_MIB << 10 && !getenv("SAN"))
		fail(&a, "the judge took %lu MiB", o.peak_kib >> 10);
	check_processes(&a);
	check_groups(&a, o.pid);
	check_empty(&a, folder);
	if (own) {
		check_empty(&a, "/tmp");
		check_empty(&a, "/dev/shm");
		if (mounts() != before)
			fail(&a, "a mount is left");
	}
	rmdir(folder);
	for (unsigned i = 0; i < a.passed && !a.failures; i++)
		puts("ok");
	if (getenv("TIMES"))
		printf("# %5.1f s, %5.1f s of processors, %4lu MiB %s\n", o.seconds, processor_seconds(), o.peak_kib >> 10, a.path);
	free(o.out);
	free(o.err);
	return 0;
}
