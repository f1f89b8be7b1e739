/* Feeds files to a fuzz target: `fuzz_NAME FILE...`.  Each in a process of its own that may take a second (ten times as long under
 * a sanitizer); prints what failed, and "N passed, N failed".
 */
#include "fuzz.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4 << 20 };

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 0: well; 2: too slow.  Its memory is exactly as large as the input, so that a sanitizer sees a read past it. */
static int feed(const char *path, double limit)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = malloc(MOST);
	if (!f || !data)
		return 3;
	size_t size = fread(data, 1, MOST, f);
	fclose(f);
	data = realloc(data, size ? size : 1);
	LLVMFuzzerTestOneInput(data, 0);		/* what is set up once is not the input's time */
	double before = seconds();
	LLVMFuzzerTestOneInput(data, size);
	double took = seconds() - before;
	free(data);
	if (took > limit)
		fprintf(stderr, "took %.1f s\n", took);
	return took > limit ? 2 : 0;
}

static bool passes(const char *path, double limit)
{
	int status;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		alarm(60);
		exit(feed(path, limit));
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return false;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	printf("FAILED %s: %s %d\n", path, WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return false;
}

int main(int argc, char **argv)
{
	const char *san = getenv("SAN");
	int passed = 0, failed = 0;
	for (int i = 1; i < argc; i++)
		*(passes(argv[i], san && *san ? 10 : 1) ? &passed : &failed) += 1;
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
