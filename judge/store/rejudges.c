/* Rejudging: submissions are judged again, by the problem's current version; nothing is overwritten. */
#include "sql.h"

#include "../../sandbox/base/cleanup.h"

#include <stdio.h>

/* Submissions x whose latest judging j is over, with what a new judging needs. */
#define AGAIN_FROM " FROM submissions x JOIN judgings j ON j.id = x.latest JOIN problems p ON p.id = x.problem WHERE j.state >= 2"
#define AGAIN "SELECT x.id, x.user_id, x.problem, p.version, x.device, x.result" AGAIN_FROM

struct again {
	struct queue_entry *at;
	size_t n;
};

static void read_again(struct query *q, struct arena *a, struct queue_entry *out)
{
	*out = (struct queue_entry){
		.submission = sql_get_int(q, 0), .user = sql_get_int(q, 1), .problem = sql_get_text(q, 2, a), .version = sql_get_text(q, 3, a),
		.device = sql_get_text(q, 4, a), .before = sql_get_int(q, 5), .rejudge = true,
	};
}

static enum store_result rejudge_one(struct store *s, int64_t submission, int64_t *judging, struct err *e)
{
	struct query q;
	struct queue_entry n = {0};
	CLEANUP(arena_freep) struct arena *a = arena_new();
	int64_t there = 0;
	sql_query(&q, s, "SELECT count(*) FROM submissions WHERE id = $1");
	sql_put_int(&q, submission);
	enum store_result rc = sql_one(&q, &there, e, "submissions");
	if (rc == STORE_OK && !there)
		return tell_not_found(e, "there is no submission %lld", (long long)submission);
	if (rc != STORE_OK)
		return rc;
	sql_query(&q, s, AGAIN " AND x.id = $1");
	sql_put_int(&q, submission);
	if (sql_row(&q))
		read_again(&q, a, &n);
	rc = sql_done(&q, e, "submissions");
	if (rc == STORE_OK && !n.submission)
		return tell_conflict(e, "submission %lld is being judged already", (long long)submission);
	return rc == STORE_OK ? queue_add(s, &n, judging, e) : rc;
}

enum store_result store_rejudge_one(struct store *s, int64_t submission, int64_t by, int64_t *judging, struct err *e)
{
	struct query q;
	int64_t id = 0, set = 0;
	enum store_result rc = sql_begin(s, e);
	if (rc != STORE_OK)
		return rc;
	rc = rejudge_one(s, submission, &id, e);
	if (rc == STORE_OK) {		/* a set of one, so that who asked is on record */
		sql_query(&q, s, "INSERT INTO rejudges (by_user, created, total) VALUES ($1, $2, 1) RETURNING id");
		sql_put_id(&q, by);
		sql_put_int(&q, store_now());
		rc = sql_one(&q, &set, e, "rejudges");
	}
	if (rc == STORE_OK) {
		sql_query(&q, s, "UPDATE judgings SET rejudge_id = $2 WHERE id = $1");
		sql_put_int(&q, id);
		sql_put_int(&q, set);
		rc = sql_run(&q, NULL, e, "judgings");
	}
	rc = sql_end(s, rc, e);
	if (rc == STORE_OK)
		*judging = id;
	return rc;
}

enum store_result store_rejudge_preview(struct store *s, const struct store_filter *f, int64_t *count, struct err *e)
{
	struct query q;
	CLEANUP_BUF struct buf sql = {0};
	buf_adds(&sql, "SELECT count(*)" AGAIN_FROM);
	filter_text(f, 1, &sql);
	sql_once(&q, s, buf_str(&sql));
	filter_put(f, &q);
	return sql_one(&q, count, e, "submissions");
}

static enum store_result find_all(struct store *s, const struct store_filter *f, struct arena *a, struct again *out, struct err *e)
{
	struct query q;
	CLEANUP_BUF struct buf sql = {0};
	buf_adds(&sql, AGAIN);
	filter_text(f, 1, &sql);
	buf_adds(&sql, " ORDER BY x.id");
	sql_once(&q, s, buf_str(&sql));
	filter_put(f, &q);
	while (sql_row(&q))
		read_again(&q, a, LIST_ADD(out, a));
	enum store_result rc = sql_done(&q, e, "submissions");
	return rc == STORE_OK && !out->n ? tell_invalid(e, "nothing to rejudge: no submission is like that") : rc;
}

static enum store_result rejudge_all(struct store *s, const struct store_filter *f, int64_t by, int64_t *rejudge, struct err *e)
{
	struct query q;
	struct again all = {0};
	CLEANUP(arena_freep) struct arena *a = arena_new();
	enum store_result rc = find_all(s, f, a, &all, e);
	if (rc != STORE_OK)
		return rc;
	sql_query(&q, s, "INSERT INTO rejudges (by_user, created, total) VALUES ($1, $2, $3) RETURNING id");
	sql_put_id(&q, by);
	sql_put_int(&q, store_now());
	sql_put_int(&q, (int64_t)all.n);
	rc = sql_one(&q, rejudge, e, "rejudges");
	for (size_t i = 0; i < all.n && rc == STORE_OK; i++) {
		int64_t judging;
		all.at[i].rejudge_id = *rejudge;
		rc = queue_add(s, &all.at[i], &judging, e);
	}
	return rc;
}

enum store_result store_rejudge_add(struct store *s, const struct store_filter *f, int64_t by, int64_t *rejudge, struct err *e)
{
	int64_t id = 0;
	enum store_result rc = sql_begin(s, e);
	if (rc != STORE_OK)
		return rc;
	rc = sql_end(s, rejudge_all(s, f, by, &id, e), e);
	if (rc == STORE_OK)
		*rejudge = id;
	return rc;
}

static enum store_result find_changed(struct store *s, struct arena *a, struct store_rejudge *out, struct err *e)
{
	struct query q;
	struct {
		struct store_changed *at;
		size_t n;
	} list = {0};
	sql_query(&q, s, "SELECT j.submission, b.verdict, j.verdict, b.score, j.score FROM judgings j LEFT JOIN judgings b ON b.id = j.before"
			 " WHERE j.rejudge_id = $1 AND j.state = 2 AND (b.id IS NULL OR b.verdict <> j.verdict OR"
			 " abs(coalesce(b.score, 0) - coalesce(j.score, 0)) > 0.05) ORDER BY j.submission");
	sql_put_int(&q, out->id);
	while (sql_row(&q))
		*LIST_ADD(&list, a) = (struct store_changed){
			.submission = sql_get_int(&q, 0), .before = sql_get_text(&q, 1, a), .after = sql_get_text(&q, 2, a),
			.score_before = sql_get_real(&q, 3), .score_after = sql_get_real(&q, 4),
		};
	out->changed = list.at;
	out->n_changed = list.n;
	return sql_done(&q, e, "rejudges");
}

enum store_result store_rejudge_get(struct store *s, int64_t id, struct arena *a, struct store_rejudge *out, struct err *e)
{
	struct query q;
	struct store_rejudge r = {0};
	enum store_result rc = sql_begin_reading(s, e);
	if (rc != STORE_OK)
		return rc;
	sql_query(&q, s, "SELECT r.id, r.created, r.total, u.name, (SELECT count(*) FROM judgings j WHERE j.rejudge_id = r.id AND j.state >= 2)"
			 " FROM rejudges r LEFT JOIN users u ON u.id = r.by_user WHERE r.id = $1");
	sql_put_int(&q, id);
	if (sql_row(&q))
		r = (struct store_rejudge){.id = sql_get_int(&q, 0), .created = sql_get_int(&q, 1), .total = sql_get_int(&q, 2),
					   .by = sql_get_text(&q, 3, a), .done = sql_get_int(&q, 4)};
	rc = sql_done(&q, e, "rejudges");
	if (rc == STORE_OK && !r.id)
		rc = tell_not_found(e, "there is no rejudging %lld", (long long)id);
	if (rc == STORE_OK)
		rc = find_changed(s, a, &r, e);
	rc = sql_end(s, rc, e);
	if (rc == STORE_OK)
		*out = r;
	return rc;
}
