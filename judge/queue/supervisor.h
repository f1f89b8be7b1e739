/* The supervisor: keeps a number of `judge worker` processes going.
 *
 * It has a thread of its own, whose children they are: a worker gets SIGTERM when that thread ends, however it ends, and the system
 * sees to that (PR_SET_PDEATHSIG).  A worker that ends by itself is started again, at once the first time and then ever later, up to
 * half a minute.  The thread also puts expired leases back, and forgets what is old.
 */
#ifndef QUEUE_SUPERVISOR_H
#define QUEUE_SUPERVISOR_H

#include "../../sandbox/base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct supervisor;

struct supervisor_options {
	const char *data;		/* folder of judge.db and secret */
	unsigned workers;		/* 0: as many as cores */
	unsigned threads;		/* of each grading; 0: cores / workers, at least 2 */
	bool unsandboxed;
	const char *program;		/* the judge; NULL: this very program, also if its file was replaced meanwhile */
	const char *log;		/* file that the workers' messages are added to; NULL: our stderr */
};

struct supervisor_health {
	unsigned wanted, running;	/* workers */
	uint64_t restarts;		/* since the start */
	double last_restart;		/* seconds ago; negative: never */
	char last_reason[200];		/* "worker 2 ended: Killed"; empty: none did */
};

/* NULL and e: the data folder can't be opened, or no thread started. */
struct supervisor *supervisor_start(const struct supervisor_options *o, struct err *e);
/* Stop: workers get SIGTERM, finish what they grade within `patience_s` seconds, then give it back.  Frees s. */
void supervisor_stop(struct supervisor *s, unsigned patience_s);
/* End the workers well (each after its job) and start new ones, e.g. after a new device. */
void supervisor_restart(struct supervisor *s);
void supervisor_health(struct supervisor *s, struct supervisor_health *out);

#endif
