/* A worker: takes judgings from the queue, one at a time, and grades them. */
#ifndef QUEUE_WORKER_H
#define QUEUE_WORKER_H

#include "../../sandbox/base/err.h"

#include <stdbool.h>

struct worker_options {
	const char *data;		/* folder of judge.db and secret */
	unsigned workers;		/* that work on this queue: all but one of them rejudge, so that a place is kept */
	unsigned threads;		/* of a grading; 0: as grade() has it */
	unsigned patience_s;		/* once told to stop: how long a grading may go on */
	bool unsandboxed;
	bool once;			/* end when the queue is empty */
};

/* Until SIGTERM or SIGINT (the second one: at once).  -1 and e: it could not begin. */
int worker_run(const struct worker_options *o, struct err *e);

#endif
