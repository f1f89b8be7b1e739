/* Submissions, their judgings, and what came of them. */
#include "sql.h"

#include "../../sandbox/base/cleanup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_CHARACTERS = 120, SOURCE_MAX_BYTES = 1 << 20 };

static const char *const states[] = {"queued", "running", "done", "cancelled"};

const char *store_state_name(enum store_state st)
{
	return states[st];
}

/* ---- a judging ---- */

void judging_read(struct query *q, int c, struct arena *a, struct store_judging *out)
{
	*out = (struct store_judging){
		.id = sql_get_int(q, c), .submission = sql_get_int(q, c + 1), .user = sql_get_int(q, c + 2), .problem = sql_get_text(q, c + 3, a),
		.version = sql_get_text(q, c + 4, a), .state = (enum store_state)sql_get_int(q, c + 5), .attempt = (unsigned)sql_get_int(q, c + 6),
		.rejudge = sql_get_int(q, c + 7), .rejudge_id = sql_get_int(q, c + 8), .device = sql_get_text(q, c + 9, a), .created = sql_get_int(q, c + 10),
		.started = sql_get_int(q, c + 11), .finished = sql_get_int(q, c + 12), .verdict = sql_get_text(q, c + 13, a),
		.text = sql_get_text(q, c + 14, a), .score = sql_get_real(q, c + 15), .efficiency = sql_get_real(q, c + 16),
		.time_us = sql_get_real(q, c + 17), .tier = sql_get_text(q, c + 18, a), .stage = sql_get_text(q, c + 19, a),
		.done = (unsigned)sql_get_int(q, c + 20), .total = (unsigned)sql_get_int(q, c + 21), .cancelling = sql_get_int(q, c + 22),
		.worker = sql_get_text(q, c + 23, a), .note = sql_get_text(q, c + 24, a),
	};
}

/* How many go before it, and itself. */
static enum store_result find_place(struct store *s, struct store_judging *j, struct err *e)
{
	struct query q;
	sql_query(&q, s, "SELECT count(*) + 1 FROM judgings o, judgings j WHERE j.id = $1 AND o.state = 0 AND (o.rejudge < j.rejudge OR"
		     " (o.rejudge = j.rejudge AND (o.turn < j.turn OR (o.turn = j.turn AND o.id < j.id))))");
	sql_put_int(&q, j->id);
	return sql_one(&q, &j->place, e, "queue");
}

enum store_result store_judging_get(struct store *s, int64_t id, struct arena *a, struct store_judging *out, struct err *e)
{
	struct query q;
	struct store_judging j = {0};
	enum store_result rc = sql_begin_reading(s, e);
	if (rc != STORE_OK)
		return rc;
	sql_query(&q, s, "SELECT " JUDGING_COLUMNS " FROM judgings j WHERE j.id = $1");
	sql_put_int(&q, id);
	bool there = sql_row(&q);
	if (there)
		judging_read(&q, 0, a, &j);
	rc = sql_done(&q, e, "judgings");
	if (rc == STORE_OK && !there)
		rc = tell_not_found(e, "there is no judging %lld", (long long)id);
	if (rc == STORE_OK && j.state == STATE_QUEUED)
		rc = find_place(s, &j, e);
	rc = sql_end(s, rc, e);
	if (rc == STORE_OK)
		*out = j;
	return rc;
}

enum store_result store_judgings(struct store *s, int64_t submission, struct arena *a, struct store_judgings *out, struct err *e)
{
	struct query q;
	struct store_judgings list = {0};
	sql_query(&q, s, "SELECT " JUDGING_COLUMNS " FROM judgings j WHERE j.submission = $1 ORDER BY j.id");
	sql_put_int(&q, submission);
	while (sql_row(&q))
		judging_read(&q, 0, a, LIST_ADD(&list, a));
	enum store_result rc = sql_done(&q, e, "judgings");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}

enum store_result store_cases(struct store *s, int64_t judging, struct arena *a, struct store_cases *out, struct err *e)
{
	struct query q;
	struct store_cases list = {0};
	sql_query(&q, s, "SELECT name, stage, verdict, visible, timing, gpu, why, printed, sizes, fault, worst, error_ratio, time_us, floor_us,"
		     " efficiency, bytes, flops, reference_us, cublas_us, limiter FROM cases WHERE judging = $1 ORDER BY number");
	sql_put_int(&q, judging);
	while (sql_row(&q))
		*LIST_ADD(&list, a) = (struct store_case){
			.name = sql_get_text(&q, 0, a), .stage = sql_get_text(&q, 1, a), .verdict = sql_get_text(&q, 2, a), .visible = sql_get_int(&q, 3),
			.timing = sql_get_int(&q, 4), .gpu = sql_get_int(&q, 5), .why = sql_get_text(&q, 6, a), .printed = sql_get_text(&q, 7, a),
			.sizes = sql_get_text(&q, 8, a), .fault = sql_get_text(&q, 9, a), .worst = sql_get_text(&q, 10, a),
			.error_ratio = sql_get_real(&q, 11), .time_us = sql_get_real(&q, 12), .floor_us = sql_get_real(&q, 13),
			.efficiency = sql_get_real(&q, 14), .bytes = sql_get_real(&q, 15), .flops = sql_get_real(&q, 16),
			.reference_us = sql_get_real(&q, 17), .cublas_us = sql_get_real(&q, 18), .limiter = sql_get_text(&q, 19, a),
		};
	enum store_result rc = sql_done(&q, e, "cases");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}

enum store_result store_report(struct store *s, int64_t judging, bool whole, struct buf *out, struct err *e)
{
	struct query q;
	size_t size = 0;
	sql_query(&q, s, "SELECT CASE WHEN $2 THEN report ELSE public_report END FROM reports WHERE judging = $1");
	sql_put_int(&q, judging);
	sql_put_int(&q, whole);
	bool there = sql_row(&q) && !sql_is_null(&q, 0);
	if (there) {
		const void *text = sql_get_blob(&q, 0, &size);
		buf_add(out, text, size);
	}
	enum store_result rc = sql_done(&q, e, "reports");
	return rc == STORE_OK && !there ? tell_not_found(e, "judging %lld has no report", (long long)judging) : rc;
}

enum store_result store_ptx(struct store *s, int64_t judging, struct arena *a, const char **ptx, struct err *e)
{
	struct query q;
	const char *p = NULL;
	sql_query(&q, s, "SELECT ptx FROM reports WHERE judging = $1");
	sql_put_int(&q, judging);
	if (sql_row(&q))
		p = sql_get_text(&q, 0, a);
	enum store_result rc = sql_done(&q, e, "reports");
	if (rc == STORE_OK && !p)
		return tell_not_found(e, "judging %lld has no PTX: it did not compile, or has not yet", (long long)judging);
	if (rc == STORE_OK)
		*ptx = p;
	return rc;
}

/* ---- a submission ---- */

#define SUBMISSION                                                                                                          \
	"SELECT x.id, x.user_id, u.name, u.display, x.problem, x.name, x.created, x.device, x.samples, length(x.source), "     \
	JUDGING_COLUMNS
#define SUBMISSION_FROM " FROM submissions x JOIN users u ON u.id = x.user_id JOIN judgings j ON j.id = x.latest "
enum { SUBMISSION_WIDTH = 10 };

static void read_submission(struct query *q, struct arena *a, struct store_submission *out)
{
	*out = (struct store_submission){
		.id = sql_get_int(q, 0), .user = sql_get_int(q, 1), .user_name = sql_get_text(q, 2, a), .user_display = sql_get_text(q, 3, a),
		.problem = sql_get_text(q, 4, a), .name = sql_get_text(q, 5, a), .created = sql_get_int(q, 6), .device = sql_get_text(q, 7, a),
		.scope = sql_get_int(q, 8) ? "samples" : "full", .size = (size_t)sql_get_int(q, 9),
	};
	judging_read(q, SUBMISSION_WIDTH, a, &out->judging);
}

static enum store_result insert(struct store *s, const struct store_submission_new *n, int64_t *submission, int64_t *judging, struct err *e)
{
	struct query q;
	const char *version = NULL;
	CLEANUP(arena_freep) struct arena *a = arena_new();
	sql_query(&q, s, "SELECT version FROM problems WHERE id = $1");
	sql_put_text(&q, n->problem);
	if (sql_row(&q))
		version = sql_get_text(&q, 0, a);
	enum store_result rc = sql_done(&q, e, "problems");
	if (rc == STORE_OK && !version)
		return tell_not_found(e, "there is no problem \"%.70s\"", n->problem);
	if (rc != STORE_OK)
		return rc;
	sql_query(&q, s, "INSERT INTO submissions (user_id, problem, name, source, device, samples, created)"
		     " VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id");
	sql_put_int(&q, n->user);
	sql_put_text(&q, n->problem);
	sql_put_text(&q, n->name);
	sql_put_blob(&q, n->source, n->size);
	sql_put_text(&q, n->device);
	sql_put_int(&q, n->samples);
	sql_put_int(&q, store_now());
	rc = sql_one(&q, submission, e, "submissions");
	if (rc != STORE_OK)
		return rc;
	struct queue_entry j = {.submission = *submission, .user = n->user, .problem = n->problem, .version = version, .device = n->device};
	return queue_add(s, &j, judging, e);
}

enum store_result store_submission_add(struct store *s, const struct store_submission_new *n, int64_t *submission, int64_t *judging,
				       struct err *e)
{
	int64_t x = 0, j = 0;
	if (!store_plain_text(n->name, NAME_CHARACTERS) || strchr(n->name, '/'))
		return tell_invalid(e, "the file's name: 1 to %d characters, no '/' and no control characters", NAME_CHARACTERS);
	if (!n->size || n->size > SOURCE_MAX_BYTES)
		return tell_invalid(e, "the source: 1 byte to %d KiB", SOURCE_MAX_BYTES >> 10);
	enum store_result rc = sql_begin(s, e);
	if (rc != STORE_OK)
		return rc;
	rc = sql_end(s, insert(s, n, &x, &j, e), e);
	if (rc == STORE_OK) {
		*submission = x;
		*judging = j;
	}
	return rc;
}

enum store_result store_submission_get(struct store *s, int64_t id, struct arena *a, struct store_submission *out, struct err *e)
{
	struct query q;
	struct store_submission x = {0};
	sql_query(&q, s, SUBMISSION ", x.source" SUBMISSION_FROM "WHERE x.id = $1");
	sql_put_int(&q, id);
	bool there = sql_row(&q);
	if (there) {
		read_submission(&q, a, &x);
		size_t size;
		const void *source = sql_get_blob(&q, SUBMISSION_WIDTH + JUDGING_WIDTH, &size);
		char *copy = arena_alloc(a, size + 1);
		memcpy(copy, source, size);
		x.source = copy;
	}
	enum store_result rc = sql_done(&q, e, "submissions");
	if (rc == STORE_OK && !there)
		return tell_not_found(e, "there is no submission %lld", (long long)id);
	if (rc == STORE_OK)
		*out = x;
	return rc;
}

/* ---- filters ---- */

/* Conditions on submissions x, users u, latest judgings j; parameters from $`first` on, put by filter_put in this order. */
void filter_text(const struct store_filter *f, int first, struct buf *out)
{
	if (f->problem)
		buf_printf(out, " AND x.problem = $%d", first++);
	if (f->user)
		buf_printf(out, " AND x.user_id = (SELECT id FROM users WHERE name = $%d)", first++);
	if (f->verdict && !strcmp(f->verdict, "pending"))
		buf_adds(out, " AND j.state < 2");
	else if (f->verdict)
		buf_printf(out, " AND j.verdict = $%d", first++);
	if (f->group)
		buf_printf(out, " AND x.user_id IN (SELECT user_id FROM members WHERE group_id = $%d)", first++);
	if (f->since)
		buf_printf(out, " AND x.created >= $%d", first++);
	if (f->until)
		buf_printf(out, " AND x.created < $%d", first++);
}

void filter_put(const struct store_filter *f, struct query *q)
{
	if (f->problem)
		sql_put_text(q, f->problem);
	if (f->user)
		sql_put_text(q, f->user);
	if (f->verdict && strcmp(f->verdict, "pending"))
		sql_put_text(q, f->verdict);
	if (f->group)
		sql_put_int(q, f->group);
	if (f->since)
		sql_put_int(q, f->since);
	if (f->until)
		sql_put_int(q, f->until);
}

enum store_result store_submissions(struct store *s, const struct store_filter *f, int64_t cursor, unsigned limit, struct arena *a,
				    struct store_submissions *out, struct err *e)
{
	struct query q;
	struct store_submissions list = {0};
	CLEANUP_BUF struct buf sql = {0};
	buf_adds(&sql, SUBMISSION SUBMISSION_FROM "WHERE x.id < $1");
	filter_text(f, 3, &sql);
	buf_adds(&sql, " ORDER BY x.id DESC LIMIT $2");
	sql_once(&q, s, buf_str(&sql));
	sql_put_int(&q, cursor ? cursor : INT64_MAX);
	sql_put_int(&q, (int64_t)limit + 1);
	filter_put(f, &q);
	while (sql_row(&q)) {
		if (list.n == limit) {
			list.next = list.at[list.n - 1].id;
			break;
		}
		read_submission(&q, a, LIST_ADD(&list, a));
	}
	enum store_result rc = sql_done(&q, e, "submissions");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}

enum store_result store_queue(struct store *s, unsigned limit, struct arena *a, struct store_submissions *out, struct err *e)
{
	struct query q;
	struct store_submissions list = {0};
	sql_query(&q, s, SUBMISSION " FROM judgings j JOIN submissions x ON x.id = j.submission JOIN users u ON u.id = x.user_id"
		     " WHERE j.state < 2 ORDER BY j.state DESC, j.rejudge, j.turn, j.id LIMIT $1");
	sql_put_int(&q, limit);
	while (sql_row(&q)) {
		struct store_submission *x = LIST_ADD(&list, a);
		read_submission(&q, a, x);
		x->judging.place = x->judging.state == STATE_QUEUED && list.n > 1 ? list.at[list.n - 2].judging.place + 1 :
			x->judging.state == STATE_QUEUED;
	}
	enum store_result rc = sql_done(&q, e, "queue");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}

/* ---- counts ---- */

enum store_result store_count(struct store *s, struct store_counts *out, struct err *e)
{
	struct query q;
	struct store_counts c = {0};
	sql_query(&q, s, "SELECT (SELECT count(*) FROM judgings WHERE state = 0), (SELECT count(*) FROM judgings WHERE state = 1),"
		     " (SELECT count(*) FROM judgings WHERE state = 2), (SELECT count(*) FROM judgings WHERE state = 3),"
		     " (SELECT count(*) FROM judgings WHERE state = 2 AND verdict = 'SE'), (SELECT count(*) FROM users),"
		     " (SELECT count(*) FROM submissions), (SELECT coalesce(min(created), 0) FROM judgings WHERE state = 0)");
	if (sql_row(&q))
		c = (struct store_counts){
			.queued = sql_get_int(&q, 0), .running = sql_get_int(&q, 1), .done = sql_get_int(&q, 2), .cancelled = sql_get_int(&q, 3),
			.system_errors = sql_get_int(&q, 4), .users = sql_get_int(&q, 5), .submissions = sql_get_int(&q, 6), .oldest_queued = sql_get_int(&q, 7),
		};
	enum store_result rc = sql_done(&q, e, "counts");
	if (rc == STORE_OK)
		*out = c;
	return rc;
}
