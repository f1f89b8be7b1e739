/* A grading in a process of its own: it may crash, be killed, or run away with the memory, and its worker goes on.
 *
 * The child runs grade() and tells its parent of progress and result through a pipe; it never touches the store.  It dies with its
 * parent.  The parent looks at grader_fd with poll, and calls grader_read when there is something.
 */
#ifndef QUEUE_GRADER_H
#define QUEUE_GRADER_H

#include "../progress.h"
#include "../store/store.h"

struct grader;

struct grader_options {
	const struct store_job *job;
	const unsigned char *secret;	/* 32 bytes */
	unsigned threads;
	bool unsandboxed;
};

enum grader_news {
	GRADER_NOTHING,			/* yet */
	GRADER_PROGRESS,
	GRADER_RESULT,			/* the end: there is an outcome */
	GRADER_FAILED,			/* the end: our failure, why says which */
	GRADER_DEVICE			/* the end: the device does not work, why says how */
};

struct grader_told {
	enum progress_kind kind;	/* PROGRESS */
	const char *stage, *text;
	unsigned done, total;
	struct store_outcome outcome;	/* RESULT */
	char why[2000];			/* FAILED, DEVICE */
};

/* Call while there is no thread.  NULL and e: no process, no pipe. */
struct grader *grader_start(const struct grader_options *o, struct err *e);
int grader_fd(const struct grader *g);
/* The next piece of news; does not wait.  Strings live until the next call; those of the outcome until grader_end. */
enum grader_news grader_read(struct grader *g, struct grader_told *out);
/* Kills it if it still runs, and frees g. */
void grader_end(struct grader *g);

/* Whether a device works: tried in a process of its own, which gets `seconds`.  -1 and e: it does not. */
int grader_probe(const char *device, bool unsandboxed, unsigned seconds, struct err *e);

#endif
