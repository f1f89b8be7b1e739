/* Where the judge's own files are.
 *
 * In the source tree: problems/, reference/ and build/ (found upwards from the executable).  Installed: PREFIX/bin/judge
 * with PREFIX/share/judge and PREFIX/lib/judge.  $JUDGE_HOME names a source tree and wins.
 */
#ifndef JUDGE_PATHS_H
#define JUDGE_PATHS_H

#include <stddef.h>

struct paths {
	char executable[400];		/* of this program */
	char problems[440];		/* folder of problem packages */
	char template[440];		/* folder of the package that judge new writes */
	char oracles[440];		/* folder whose ID/oracle are prebuilt oracles */
	char reference[440];		/* folder of reference/problem.h and oracle_main.c */
	char libreference[460];		/* libreference.a */
	char libguest[460];
	char web[440];			/* folder of the pages that judge serve serves */
	char cache[440];		/* of the user: oracles built on demand; not made yet */
	char state[440];		/* of the user: what was measured of this machine; not made yet; empty: nowhere */
};

/* Found once; a field whose thing is nowhere is the place where it was looked for. */
const struct paths *paths(void);

#endif
