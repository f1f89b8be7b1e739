/* Crash safety: kill a process of the judge's at some moment of a grading, look what that grading says and what is left, then
 * grade again.
 *
 *	kills ROUNDS SEED JUDGE FOLDER WORK
 *
 * Victims take turns: any process at any moment, the judge itself, one of its supervisors or its janitor, a compiler, the device
 * process, a guest, an oracle.  Some rounds begin with an empty cache, so that the victim may be at work on what is to be kept
 * there; some run without a sandbox; in some a second judge shares cache and folder, and must not notice.
 *
 * A grading whose child was killed gives the right verdict or says that the judge failed, and never anything else.  A round ends
 * well if after it no process and no mount is left, the next grading gives the right verdict, and no temporary file is left
 * after that; at the end there must be no control group and no half-written file.
 *
 * The source is another one in each round, so that there is a compiler to be killed, whatever the judge keeps of earlier rounds;
 * the next grading has the victim's, where both are right or both wrong, and so meets what that one has kept.
 *
 * First somebody kills every device process that has a guest: no program is to blame for that, however often.
 *
 * We are the reaper of all orphans, so a process that is left is a child of ours.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4096, LONG_MS = 120000, GONE_MS = 10000, EXIT_ACCEPTED = 0, EXIT_NOT_ACCEPTED = 1, EXIT_JUDGE = 3 };

static const char *judge, *folder, *work;
static pid_t judges[4 * MOST];
static unsigned n_judges, failed;
static char trouble[2000];

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void pause_ms(double ms)
{
	struct timespec t = {(time_t)(ms / 1e3), (long)(ms * 1e6) % 1000000000};
	nanosleep(&t, NULL);
}

__attribute__((format(printf, 1, 2)))
static void complain(const char *fmt, ...)
{
	size_t n = strlen(trouble);
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(trouble + n, sizeof trouble - n, fmt, ap);
	va_end(ap);
}

static void read_text(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = 0;
}

/* ---- processes ---- */

struct process {
	pid_t pid, parent;
	char name[32], command[200];	/* the last with blanks for NUL */
};

static bool read_process(pid_t pid, struct process *p)
{
	char path[64], stat[512], state;
	int parent;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	read_text(path, stat, sizeof stat);
	char *name = strchr(stat, '('), *end = strrchr(stat, ')');
	if (!name || !end || sscanf(end, ") %c %d", &state, &parent) != 2 || state == 'Z')
		return false;
	*p = (struct process){.pid = pid, .parent = parent};
	snprintf(p->name, sizeof p->name, "%.*s", (int)(end - name - 1), name + 1);
	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, p->command, sizeof p->command - 1);
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < n; i++)
		if (!p->command[i])
			p->command[i] = ' ';
	return true;
}

/* Children, each of the thread that made it: quicker than a look at every process of the machine, and guests are short-lived. */
static unsigned add_children(pid_t parent, struct process *out, unsigned n)
{
	char path[64], text[8000], *end;
	snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		char file[400];
		snprintf(file, sizeof file, "%s/%s/children", path, e->d_name);
		read_text(file, text, sizeof text);
		for (char *at = text; n < MOST; at = end) {
			pid_t pid = (pid_t)strtol(at, &end, 10);
			if (end == at)
				break;
			n += read_process(pid, &out[n]);
		}
	}
	if (d)
		closedir(d);
	return n;
}

/* The tree below (and with) a process. */
static unsigned read_tree(pid_t root, struct process *out)
{
	unsigned n = read_process(root, &out[0]);
	for (unsigned k = 0; k < n; k++)
		n = add_children(out[k].pid, out, n);
	return n;
}

static bool is_judge(const struct process *p) { return !strcmp(p->name, "judge") && !strstr(p->command, "__device"); }

enum kind { ANY, JUDGE, FORK, COMPILER, DEVICE, GUEST, ORACLE, KINDS };
static const char *const kind_names[] = {"any", "judge", "supervisor or janitor", "compiler", "device", "guest", "oracle"};

static enum kind kind_of(const struct process *p, pid_t root)
{
	if (p->pid == root)
		return JUDGE;
	if (is_judge(p))
		return FORK;
	if (strstr(p->command, "__device"))
		return DEVICE;
	if (!strncmp(p->command, "solve", 5))
		return GUEST;
	return !strncmp(p->command, "oracle", 6) ? ORACLE : COMPILER;
}

/* ---- gradings ---- */

struct run {
	pid_t pid;
	bool wrong;			/* the submission is */
	bool ended;
	int status;			/* of wait */
	char out[600];
};

struct way {
	const char *cache;
	unsigned round;			/* which the source tells */
	bool unsandboxed;
};

static void write_source(char path[600], bool wrong, unsigned round)
{
	char text[20000], from[600];
	snprintf(from, sizeof from, "%.500s/%s.cu", folder, wrong ? "wrong" : "right");
	snprintf(path, 600, "%.500s/%s-%u.cu", work, wrong ? "wrong" : "right", round);
	read_text(from, text, sizeof text);
	FILE *f = fopen(path, "we");
	if (!f || fprintf(f, "%s// round %u\n", text, round) < 0 || fclose(f) != 0) {
		perror(path);
		exit(2);
	}
}

static void start(struct run *r, const char *name, bool wrong, const struct way *w)
{
	char submission[600], problem[600];
	*r = (struct run){.wrong = wrong};
	snprintf(r->out, sizeof r->out, "%.500s/%s", work, name);
	write_source(submission, wrong, w->round);
	snprintf(problem, sizeof problem, "%.500s/doubled", folder);
	r->pid = fork();
	if (r->pid == 0) {
		int fd = open(r->out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
			_exit(99);
		setenv("JUDGE_CACHE", w->cache, 1);
		execl(judge, "judge", "--json", "-d", "emulated", "-p", problem, submission, w->unsandboxed ? "--no-sandbox" : NULL, NULL);
		_exit(98);
	}
	judges[n_judges++] = r->pid;
}

/* Its wait status; whatever else ends meanwhile is reaped, the other run among it, which may be NULL. */
static int finish(struct run *r, struct run *other)
{
	for (double end = now_ms() + LONG_MS; !r->ended && now_ms() < end;) {
		int status;
		pid_t dead = waitpid(-1, &status, WNOHANG);
		struct run *whose = dead == r->pid ? r : other && dead == other->pid ? other : NULL;
		if (whose) {
			whose->ended = true;
			whose->status = status;
		} else if (dead <= 0) {
			pause_ms(2);
		}
	}
	if (!r->ended) {
		complain("; it did not end");
		kill(r->pid, SIGKILL);
		waitpid(r->pid, &r->status, 0);
	}
	return r->status;
}

static bool is_right(const struct run *r, int status)
{
	char text[20000];
	if (!WIFEXITED(status) || WEXITSTATUS(status) != (r->wrong ? EXIT_NOT_ACCEPTED : EXIT_ACCEPTED))
		return false;
	read_text(r->out, text, sizeof text);
	return strstr(text, r->wrong ? "\n  \"verdict\": \"WA\"" : "\n  \"verdict\": \"AC\"");
}

static void tell(const struct run *r, const char *what, int status)
{
	char text[20000];
	read_text(r->out, text, sizeof text);
	char *verdict = strstr(text, "\n  \"verdict\""), *says = strstr(text, "judge: ");
	complain("; %s (the %s submission) ended with %s %d: %.300s", what, r->wrong ? "wrong" : "right", WIFEXITED(status) ? "status" : "signal",
		 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), verdict ? verdict + 3 : says ? says : text);
}

/* ---- what is left ---- */

static void check_processes(void)
{
	double end = now_ms() + GONE_MS;
	while (now_ms() < end) {
		pid_t dead = waitpid(-1, NULL, WNOHANG);
		if (dead < 0 && errno == ECHILD)
			return;
		if (!dead)
			pause_ms(5);
	}
	static struct process tree[MOST];
	unsigned n = read_tree(getpid(), tree);
	for (unsigned i = 1; i < n; i++) {
		complain("; left: process %d, %s (%.60s)", (int)tree[i].pid, tree[i].name, tree[i].command);
		kill(tree[i].pid, SIGKILL);
	}
}

static unsigned count_mounts(void)
{
	unsigned n = 0;
	FILE *f = fopen("/proc/self/mountinfo", "re");
	for (int c; f && (c = getc(f)) != EOF;)
		n += c == '\n';
	fclose(f);
	return n;
}

static int look_at_file(const char *path, const struct stat *st, int type, struct FTW *level)
{
	(void)st, (void)type;
	if (level->level)
		complain("; left: %s", path);
	return 0;
}

static int look_at_part(const char *path, const struct stat *st, int type, struct FTW *level)
{
	(void)st, (void)type, (void)level;
	if (strstr(path, ".part-"))
		complain("; left: %s", path);
	return 0;
}

static int look_at_group(const char *path, const struct stat *st, int type, struct FTW *level)
{
	int pid, number;
	(void)st;
	if ((type != FTW_D && type != FTW_DNR) || sscanf(path + level->base, "judge-%d-%d", &pid, &number) != 2)
		return 0;
	for (unsigned i = 0; i < n_judges; i++)
		if (judges[i] == pid)
			complain("; left: %s", path);
	return 0;
}

/* ---- one round ---- */

static unsigned killed[KINDS], missed, survived, told;

/* Kill one, and say which; false if the run was over before there was one. */
static bool kill_one(pid_t root, enum kind wanted, double typical_ms)
{
	static struct process tree[MOST];
	double end = now_ms() + 4 * typical_ms + 10000;
	unsigned skip = wanted == ANY ? 0 : (unsigned)(drand48() * 4);
	pid_t skipped = 0;
	if (wanted == ANY)
		pause_ms(drand48() * typical_ms * 0.95);
	while (now_ms() < end && kill(root, 0) == 0) {
		unsigned n = read_tree(root, tree), fits = 0;
		if (!n)
			return false;
		for (unsigned i = 0; i < n; i++)
			if (wanted == ANY || kind_of(&tree[i], root) == wanted)
				tree[fits++] = tree[i];
		struct process *p = fits ? &tree[(unsigned)(drand48() * fits)] : NULL;
		if (p && skip && wanted != JUDGE) {
			skip -= p->pid != skipped;
			skipped = p->pid;
		} else if (p) {
			enum kind kind = kind_of(p, root);
			bool brief = kind == GUEST || kind == ORACLE;
			pause_ms(kind == JUDGE && wanted == JUDGE ? drand48() * typical_ms : drand48() * drand48() * (brief ? 2 : 20));
			if (kill(p->pid, SIGKILL) < 0)
				continue;
			killed[kind]++;
			printf(" %s (%d, %s)", kind_names[kind], (int)p->pid, p->name);
			return true;
		}
		pause_ms(0.2);
	}
	return false;
}

static void check_victim(const struct run *r, int status)
{
	bool by_us = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	if (is_right(r, status))
		survived++;
	else if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_JUDGE)
		told++;
	else if (!by_us)
		tell(r, "the grading meanwhile", status);
}

static void round_of(unsigned number, double typical_ms, unsigned mounts)
{
	static char cache[700], tmp[700];
	struct way w = {cache, number, number % 7 == 5};
	struct run victim, other, next;
	bool cold = number % 5 == 3, twin = number % 6 == 1;
	if (!*cache || cold)
		snprintf(cache, sizeof cache, "%.500s/cache-%u", work, number);
	snprintf(tmp, sizeof tmp, "%.500s/tmp", work);
	printf("%3u:%s%s%s", number, cold ? " cold cache," : "", w.unsandboxed ? " no sandbox," : "", twin ? " beside another," : "");
	start(&victim, "victim", number % 3 == 2, &w);
	if (twin)
		start(&other, "other", number % 2, &w);
	if (!kill_one(victim.pid, number % (KINDS + 1) < KINDS ? (enum kind)(number % (KINDS + 1)) : ANY, typical_ms)) {
		missed++;
		printf(" nothing");
	}
	check_victim(&victim, finish(&victim, twin ? &other : NULL));
	if (twin) {
		int status = finish(&other, NULL);
		if (!is_right(&other, status))
			tell(&other, "another grading meanwhile", status);
	}
	check_processes();
	if (count_mounts() != mounts)
		complain("; left: a mount");
	w.unsandboxed = false;
	start(&next, "next", number % 2 == 0, &w);
	int status = finish(&next, NULL);
	if (!is_right(&next, status))
		tell(&next, "the next grading", status);
	check_processes();
	nftw(tmp, look_at_file, 16, FTW_PHYS);
}

/* Device processes of this run, whenever there is a guest, until it ends. */
static void hunt(bool wrong, const struct way *w)
{
	static struct process tree[MOST];
	struct run r;
	unsigned n, kills = 0;
	start(&r, "hunted", wrong, w);
	while (!r.ended && (n = read_tree(r.pid, tree))) {
		bool guest = false;
		for (unsigned i = 0; i < n; i++)
			guest |= kind_of(&tree[i], r.pid) == GUEST;
		for (unsigned i = 0; i < n && guest; i++)
			kills += kind_of(&tree[i], r.pid) == DEVICE && kill(tree[i].pid, SIGKILL) == 0;
		pause_ms(0.2);
	}
	int status = finish(&r, NULL);
	if (!is_right(&r, status) && !(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_JUDGE))
		tell(&r, "a grading whose device processes are killed", status);
	printf("hunted: %u device processes killed, %s", kills, is_right(&r, status) ? "right all the same" : "the judge says that it failed");
	check_processes();
}

static bool conclude(const char *what)
{
	bool good = !*trouble;
	printf("%s%s\n", good ? "" : what, good ? "" : trouble);
	failed += !good;
	*trouble = 0;
	fflush(stdout);
	return good;
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	unsigned rounds = (unsigned)atoi(argv[1]), passed = 0, mounts = count_mounts();
	char cache[700], tmp[700];
	struct way w = {.cache = cache, .round = MOST};
	struct run r;
	srand48(atol(argv[2]));
	judge = argv[3];
	folder = argv[4];
	work = argv[5];
	if (rounds < 1 || rounds > MOST || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return 2;
	snprintf(tmp, sizeof tmp, "%.500s/tmp", work);
	snprintf(cache, sizeof cache, "%.500s/cache-0", work);
	mkdir(tmp, 0700);
	setenv("TMPDIR", tmp, 1);
	start(&r, "first", false, &w);
	int status = finish(&r, NULL);			/* fills the cache, too */
	if (!is_right(&r, status))
		tell(&r, "the first grading", status);
	double began = now_ms();
	w.round++;
	start(&r, "second", true, &w);
	status = finish(&r, NULL);
	if (!is_right(&r, status))
		tell(&r, "the second grading", status);
	double typical_ms = now_ms() - began;
	printf("seed %s, %.0f ms a grading", argv[2], typical_ms);
	passed += conclude(" FAILED");
	for (int wrong = 0; wrong < 2; wrong++) {
		w.round++;
		hunt(wrong, &w);
		passed += conclude(" FAILED");
	}
	for (unsigned i = 0; i < rounds; i++) {
		round_of(i, typical_ms, mounts);
		passed += conclude(" FAILED");
	}
	pause_ms(2500);					/* younger groups are left alone */
	w.round++;
	start(&r, "last", false, &w);
	status = finish(&r, NULL);
	if (!is_right(&r, status))
		tell(&r, "the last grading", status);
	nftw("/sys/fs/cgroup", look_at_group, 16, FTW_PHYS);
	nftw(work, look_at_part, 16, FTW_PHYS);
	printf("at the end");
	passed += conclude(" FAILED");
	printf("saw: %u kills", rounds - missed);
	for (int k = JUDGE; k < KINDS; k++)
		printf(", %s %u", kind_names[k], killed[k]);
	printf("; %u gradings were right all the same, %u told of a failure of the judge\n", survived, told);
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}
