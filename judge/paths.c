/* Where the judge's own files are: see paths.h. */
#include "paths.h"

#include "../sandbox/base/err.h"

#include <errno.h>
#include <libgen.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct paths found;

static bool there(const char *folder, const char *name)
{
	char path[600];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return access(path, R_OK) == 0;
}

/* The nearest of `folder` and the folders above it that has `name`. */
static bool upwards(const char *folder, const char *name, char *out, size_t size)
{
	char at[400];
	snprintf(at, sizeof at, "%s", folder);
	for (;;) {
		if (there(at, name)) {
			snprintf(out, size, "%s", at);
			return true;
		}
		char *slash = strrchr(at, '/');
		if (!slash || slash == at)
			return false;
		*slash = 0;
	}
}

static void source_tree(const char *home, const char *build)
{
	snprintf(found.problems, sizeof found.problems, "%s/problems", home);
	snprintf(found.template, sizeof found.template, "%s/judge/author/template/row-scale", home);
	snprintf(found.reference, sizeof found.reference, "%s/reference", home);
	snprintf(found.oracles, sizeof found.oracles, "%s/problems", build);
	snprintf(found.web, sizeof found.web, "%s/web", build);
	snprintf(found.libreference, sizeof found.libreference, "%s/libreference.a", build);
	snprintf(found.libguest, sizeof found.libguest, "%s/libguest.a", build);
}

static void installed(const char *prefix)
{
	snprintf(found.problems, sizeof found.problems, "%s/share/judge/problems", prefix);
	snprintf(found.template, sizeof found.template, "%s/share/judge/template/row-scale", prefix);
	snprintf(found.reference, sizeof found.reference, "%s/share/judge/reference", prefix);
	snprintf(found.oracles, sizeof found.oracles, "%s/lib/judge/problems", prefix);
	snprintf(found.web, sizeof found.web, "%s/share/judge/web", prefix);
	snprintf(found.libreference, sizeof found.libreference, "%s/lib/judge/libreference.a", prefix);
	snprintf(found.libguest, sizeof found.libguest, "%s/lib/judge/libguest.a", prefix);
}

static void find_cache(void)
{
	const char *own = getenv("JUDGE_CACHE"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	if (own)
		snprintf(found.cache, sizeof found.cache, "%.400s", *own == '/' ? own : "");
	else if (cache && *cache == '/')
		snprintf(found.cache, sizeof found.cache, "%.400s/judge", cache);
	else if (home && *home == '/')
		snprintf(found.cache, sizeof found.cache, "%.400s/.cache/judge", home);
}

static void find_state(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	if (state && *state == '/')
		snprintf(found.state, sizeof found.state, "%.400s/judge", state);
	else if (home && *home == '/')
		snprintf(found.state, sizeof found.state, "%.400s/.local/state/judge", home);
	else if (getuid() == 0)
		snprintf(found.state, sizeof found.state, "/var/lib/judge");
}

static void find(void)
{
	ssize_t n = readlink("/proc/self/exe", found.executable, sizeof found.executable - 1);
	if (n <= 0)
		snprintf(found.executable, sizeof found.executable, "judge");
	char folder[400], build[400], home[400], copy[400];
	snprintf(copy, sizeof copy, "%s", found.executable);
	snprintf(folder, sizeof folder, "%s", dirname(copy));
	bool built = upwards(folder, "libguest.a", build, sizeof build);
	const char *set = getenv("JUDGE_HOME");
	if (set && *set) {
		char dflt[420];
		snprintf(dflt, sizeof dflt, "%.400s/build", set);
		source_tree(set, built ? build : dflt);
	} else if (there(folder, "../share/judge/problems")) {
		snprintf(copy, sizeof copy, "%s", folder);	/* installed, be it inside a source tree */
		installed(dirname(copy));
	} else if (upwards(folder, "reference/problem.h", home, sizeof home) && there(home, "problems")) {
		char dflt[420];
		snprintf(dflt, sizeof dflt, "%s/build", home);
		source_tree(home, built ? build : dflt);
	} else {
		snprintf(copy, sizeof copy, "%s", folder);
		installed(dirname(copy));
	}
	find_cache();
	find_state();
}

const struct paths *paths(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find);
	return &found;
}
