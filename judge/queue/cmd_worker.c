/* judge worker: grades what is in a server's queue; the server starts as many as it wants. */
#include "../command.h"

#include "../../sandbox/base/cores.h"
#include "worker.h"

enum { PATIENCE_S = 30 };

int cmd_worker(const struct options *o)
{
	struct err e = {0};
	if (options_want(o, COMMAND_worker, 0, &e) < 0)
		return complain(&e);
	struct worker_options w = {
		.data = o->data ? o->data : "data", .workers = o->workers ? o->workers : host_cores(),
		.threads = o->threads, .patience_s = PATIENCE_S, .unsandboxed = o->no_sandbox, .once = o->once,
	};
	return worker_run(&w, &e) < 0 ? complain(&e) : 0;
}
