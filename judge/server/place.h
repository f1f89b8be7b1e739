/* Where a problem stands among the others: its path, what it teaches, what should be solved before it. */
#ifndef SERVER_PLACE_H
#define SERVER_PLACE_H

#include "request.h"

#include "../../sandbox/base/json_write.h"
#include "../curriculum.h"
#include "../store/store.h"

/* The data folder's own paths.json, else the judge's.  One that cannot be read is logged and left out. */
struct curriculum *place_begin(const char *data);
/* Members of a problem: path, order, teaches, needs, tier.  all: the problems that whoever asks may see, where they are at hand. */
void place_members(struct json_writer *w, struct request *r, const struct store_problem *p, const struct store_problems *all);
/* "paths": every path that has a problem among all. */
void place_paths(struct json_writer *w, const struct request *r, const struct store_problems *all);

#endif
