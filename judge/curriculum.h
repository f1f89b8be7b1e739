/* The curriculum: ordered paths through the problems, problems/paths.json.
 *
 *	{"format": 1, "paths": [{"id", "title": {"en", "zh"}, "about": {"en", "zh"}, "problems": [ids, in order]}]}
 *
 * A path may name problems that are not there, which are not shown.  Problems in no path come after all paths.
 */
#ifndef JUDGE_CURRICULUM_H
#define JUDGE_CURRICULUM_H

#include "lang.h"
#include "problem.h"

struct path {
	const char *id;
	struct text title, about;
	const char **problems;
	unsigned n;
};

struct curriculum {
	struct arena *arena;
	struct path *paths;
	unsigned n;
};

struct curriculum *curriculum_empty(void);
/* The file in the judge's folder of problems; without one: no paths. */
struct curriculum *curriculum_open(struct err *e);
/* NULL and e: file, field, what is wrong, what would be right. */
struct curriculum *curriculum_read(const char *file, struct err *e);
void curriculum_free(struct curriculum *c);
void curriculum_freep(struct curriculum **c);
/* Where a problem is: its path, or NULL, and its place there, from 0. */
const struct path *curriculum_find(const struct curriculum *c, const char *id, unsigned *place);
/* -1 and e if problems need one another in a circle, or a path has one before what it needs. */
int curriculum_check(const struct curriculum *c, struct problem *const *problems, size_t n, struct err *e);

#endif
