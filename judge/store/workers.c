/* Workers and devices: who is there, and what is out of service. */
#include "sql.h"

#include <string.h>

enum store_result store_worker_seen(struct store *s, const char *name, int64_t pid, const char *state, int64_t judging, struct err *e)
{
	struct query q;
	sql_query(&q, s, "INSERT INTO workers (name, pid, state, judging, started, seen, seen_boot, boot) VALUES ($1, $2, $3, $4, $5, $5, $6, $7)"
			 " ON CONFLICT (name) DO UPDATE SET pid = excluded.pid, state = excluded.state, judging = excluded.judging,"
			 " seen = excluded.seen, seen_boot = excluded.seen_boot, boot = excluded.boot");
	sql_put_text(&q, name);
	sql_put_int(&q, pid);
	sql_put_text(&q, state);
	sql_put_int(&q, judging);
	sql_put_int(&q, store_now());
	sql_put_int(&q, store_boot_ms());
	sql_put_text(&q, s->boot);
	return sql_run(&q, NULL, e, "workers");
}

enum store_result store_worker_gone(struct store *s, const char *name, struct err *e)
{
	struct query q;
	sql_query(&q, s, "DELETE FROM workers WHERE name = $1");
	sql_put_text(&q, name);
	return sql_run(&q, NULL, e, "workers");
}

enum store_result store_worker_did(struct store *s, const char *name, bool well, struct err *e)
{
	struct query q;
	sql_query(&q, s, "UPDATE workers SET graded = graded + $2, failed = failed + 1 - $2 WHERE name = $1");
	sql_put_text(&q, name);
	sql_put_int(&q, well);
	return sql_run(&q, NULL, e, "workers");
}

enum store_result store_workers(struct store *s, struct arena *a, struct store_workers *out, struct err *e)
{
	struct query q;
	struct store_workers list = {0};
	sql_query(&q, s, "SELECT name, state, pid, judging, started, seen, graded, failed, CASE WHEN boot = $1 AND seen_boot > $2 THEN 1 ELSE 0 END"
			 " FROM workers ORDER BY started, name");
	sql_put_text(&q, s->boot);
	sql_put_int(&q, store_boot_ms() - STORE_LEASE_MS);
	while (sql_row(&q))
		*LIST_ADD(&list, a) = (struct store_worker){
			.name = sql_get_text(&q, 0, a), .state = sql_get_text(&q, 1, a), .pid = sql_get_int(&q, 2), .judging = sql_get_int(&q, 3),
			.started = sql_get_int(&q, 4), .seen = sql_get_int(&q, 5), .graded = sql_get_int(&q, 6), .failed = sql_get_int(&q, 7),
			.alive = sql_get_int(&q, 8),
		};
	enum store_result rc = sql_done(&q, e, "workers");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}

enum store_result store_device_put(struct store *s, const char *id, const char *name, bool gpu, bool in_service, const char *note,
				   struct err *e)
{
	struct query q;
	sql_query(&q, s, "INSERT INTO devices (id, name, gpu, in_service, note, since, checked) VALUES ($1, $2, $3, $4, $5, $6, $6)"
			 " ON CONFLICT (id) DO UPDATE SET name = excluded.name, gpu = excluded.gpu, note = excluded.note, checked = excluded.checked,"
			 " since = CASE WHEN devices.in_service = excluded.in_service THEN devices.since ELSE excluded.since END,"
			 " in_service = excluded.in_service");
	sql_put_text(&q, id);
	sql_put_text(&q, name);
	sql_put_int(&q, gpu);
	sql_put_int(&q, in_service);
	sql_put_text(&q, in_service ? NULL : note);
	sql_put_int(&q, store_now());
	return sql_run(&q, NULL, e, "devices");
}

enum store_result store_devices(struct store *s, struct arena *a, struct store_devices *out, struct err *e)
{
	struct query q;
	struct store_devices list = {0};
	sql_query(&q, s, "SELECT id, name, note, gpu, in_service, since, checked FROM devices ORDER BY gpu DESC, id");
	while (sql_row(&q))
		*LIST_ADD(&list, a) = (struct store_device){
			.id = sql_get_text(&q, 0, a), .name = sql_get_text(&q, 1, a), .note = sql_get_text(&q, 2, a), .gpu = sql_get_int(&q, 3),
			.in_service = sql_get_int(&q, 4), .since = sql_get_int(&q, 5), .checked = sql_get_int(&q, 6),
		};
	enum store_result rc = sql_done(&q, e, "devices");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}
