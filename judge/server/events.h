/* Open event streams: what the store says of judgings, sent as it happens.
 *
 * One thread looks at the database many times a second, which costs next to nothing while nothing is new, and hands each event to
 * the streams of its judging.
 */
#ifndef SERVER_EVENTS_H
#define SERVER_EVENTS_H

#include "request.h"

struct events;
struct stream;
struct MHD_Response;

struct events *events_start(const char *database, struct err *e);
/* Every stream ends after what it still has. */
void events_end_all(struct events *ev);
void events_stop(struct events *ev);		/* no stream is left */
unsigned events_open(struct events *ev);

/* A stream of a judging's events after `since`; whole: with what instructors alone may see.  NULL: the user has too many. */
struct stream *events_stream(struct events *ev, struct MHD_Connection *c, int64_t user, int64_t judging, int64_t since, bool whole);
struct MHD_Response *events_response(struct stream *st);	/* takes it over */
void events_drop(struct stream *st);
/* Data of an event as its reader may see it. */
const char *events_data(const struct store_event *e, bool whole);

#endif
