/* Reading what happened to judgings: see the table in store.h. */
#include "sql.h"

enum store_result store_events(struct store *s, int64_t judging, int64_t since, unsigned limit, struct arena *a, struct store_events *out,
			       struct err *e)
{
	struct query q;
	struct store_events list = {0};
	if (judging)
		sql_query(&q, s, "SELECT id, judging, created, kind, data FROM events WHERE id > $1 AND judging = $3 ORDER BY id LIMIT $2");
	else
		sql_query(&q, s, "SELECT id, judging, created, kind, data FROM events WHERE id > $1 ORDER BY id LIMIT $2");
	sql_put_int(&q, since);
	sql_put_int(&q, limit);
	if (judging)
		sql_put_int(&q, judging);
	while (sql_row(&q))
		*LIST_ADD(&list, a) = (struct store_event){.id = sql_get_int(&q, 0), .judging = sql_get_int(&q, 1), .created = sql_get_int(&q, 2),
							   .kind = sql_get_text(&q, 3, a), .data = sql_get_text(&q, 4, a)};
	enum store_result rc = sql_done(&q, e, "events");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}

enum store_result store_last_event(struct store *s, int64_t *id, struct err *e)
{
	struct query q;
	sql_query(&q, s, "SELECT coalesce(max(id), 0) FROM events");
	return sql_one(&q, id, e, "events");
}
