/* Run a command some times and print "MEDIAN_MS PEAK_KIB": wall time, and the largest resident set of it or any
 * process it waited for.   usage: measure_bench RUNS COMMAND...
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	int runs = argc > 2 ? atoi(argv[1]) : 0;
	if (runs < 1 || runs > 1000) {
		fprintf(stderr, "usage: measure_bench RUNS COMMAND...\n");
		return 2;
	}
	double ms[1000];
	long peak = 0;
	for (int i = 0; i < runs; i++) {
		double start = now_ms();
		pid_t pid = fork();
		if (pid == 0) {
			int null = open("/dev/null", O_WRONLY);
			dup2(null, 1);
			execvp(argv[2], argv + 2);
			perror(argv[2]);
			_exit(127);
		}
		struct rusage use;
		int status;
		wait4(pid, &status, 0, &use);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
			fprintf(stderr, "measure_bench: %s failed\n", argv[2]);
			return 1;
		}
		ms[i] = now_ms() - start;
		if (use.ru_maxrss > peak)
			peak = use.ru_maxrss;
	}
	qsort(ms, (size_t)runs, sizeof ms[0], by_value);
	printf("%.1f %ld\n", ms[runs / 2], peak);
	return 0;
}
