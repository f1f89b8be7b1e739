/* judge: the command line.  `judge __device` is the inside of the jail that holds the device; see sandbox/session.h.
 * `judge __cublas` times a GEMM; see sandbox/device/gemm.h. */
#include "../sandbox/device/gemm.h"
#include "../sandbox/jail.h"
#include "../sandbox/session.h"
#include "command.h"
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int (*const table[COMMANDS])(const struct options *o) = {
#define COMMAND(id, arguments, summary) [COMMAND_##id] = cmd_##id,
#include "commands.def"
#undef COMMAND
};

static void version(void)
{
	printf("judge %s\n", JUDGE_VERSION);
}

/* A word that is neither command nor file: what was meant? */
static int unknown(const char *word)
{
	const char *near = command_nearest(word);
	struct stat st;
	if (stat(word, &st) == 0 || strchr(word, '.') || strchr(word, '/'))
		return -1;
	if (near)
		fprintf(stderr, "judge: no command \"%s\": did you mean \"judge %s\"?\n", word, near);
	else
		fprintf(stderr, "judge: no command and no file \"%s\": see judge --help\n", word);
	return EXIT_USAGE;
}

static int dispatch(enum command c, int argc, char **argv)
{
	struct options o;
	struct err e = {0};
	if (options_parse(c, argc, argv, &o, &e) < 0)
		return complain(&e);
	if (o.version) {
		version();
		return 0;
	}
	if (o.help) {
		if (argv[0] && !strcmp(argv[0], "judge"))
			help_all(stdout);
		else
			help_command(c, stdout);
		return 0;
	}
	return table[c](&o);
}

/* A closed descriptor 0, 1 or 2 would become that of the next file opened, be it a jail's socket. */
static void hold_descriptors(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* Wherever this is installed: no jail has packages, their oracles, or what is kept of others' work. */
static void hide_own_folders(void)
{
	const struct paths *p = paths();
	jail_hide(p->problems);
	jail_hide(p->oracles);
	jail_hide(p->cache);
	jail_hide(p->state);
}

/* What was not written is no success.  A reader that went away (EPIPE) wants no message. */
static int written(int status)
{
	errno = 0;
	bool failed = fflush(stdout) != 0;
	int why = errno;
	if (!failed && !ferror(stdout))
		return status;
	if (why != EPIPE)
		fprintf(stderr, "judge: cannot write to standard output%s%s\n", why ? ": " : "", why ? strerror(why) : "");
	return EXIT_JUDGE;
}

static int judge(int argc, char **argv)
{
	enum command c;
	if (argc < 2) {
		help_all(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "help")) {
		if (argc > 2 && command_find(argv[2], &c) == 0)
			help_command(c, stdout);
		else
			help_all(stdout);
		return 0;
	}
	if (command_find(argv[1], &c) == 0)
		return dispatch(c, argc - 1, argv + 1);
	if (argv[1][0] != '-') {
		int status = unknown(argv[1]);
		if (status >= 0)
			return status;
	}
	argv[0] = (char[]){"judge"};
	return dispatch(COMMAND_grade, argc, argv);
}

int main(int argc, char **argv)
{
	if (argc >= 2 && !strcmp(argv[1], "__device"))
		return device_main(argc, argv);
	if (argc >= 2 && !strcmp(argv[1], "__cublas"))
		return gemm_main(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	hold_descriptors();
	hide_own_folders();
	return written(judge(argc, argv));
}
