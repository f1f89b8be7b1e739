/* The server: what its parts share.  serve.c makes it; requests point to it. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "address.h"
#include "conf.h"

#include <stdatomic.h>

struct catalog;
struct curriculum;
struct events;
struct files;
struct http;
struct lanes;
struct metrics;
struct rate;
struct supervisor;

struct server {
	struct conf conf;
	const char *data;		/* folder, absolute */
	const char *database;		/* for store_open */
	struct networks proxies;
	struct catalog *catalog;
	struct curriculum *curriculum;
	struct events *events;
	struct files *files;
	struct http *http;
	struct lanes *lanes;
	struct metrics *metrics;
	struct rate *rate;
	struct supervisor *supervisor;	/* NULL: workers are started by others */
	atomic_bool stopping;
};

#endif
