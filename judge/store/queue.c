/* The queue: judgings that wait, and who has them.
 *
 * Order.  First submissions go before rejudgings.  Among equals each judging has a turn, given when it comes: one more than the
 * last turn that its user has in the queue or under way, but at least the least turn that anybody has there.  Jobs go by turn, then
 * by number.  So whoever has nothing in the queue comes after one job of each other user at most, however many these handed in, and
 * finding what is next is one look into an index.
 *
 * Leases.  A claim makes the attempt's number one higher; it is the fencing token, and every later word about the judging must name
 * it.  The lease is counted on the machine's clock since boot, with the boot's id beside it: setting the clock neither ends leases
 * nor makes them eternal, and those of another boot are over.  Whoever looks puts judgings whose lease is over back into the queue.
 *
 * Failures.  An attempt that we lost (its lease ended, grading failed by our fault) counts; after STORE_ATTEMPTS of them the verdict
 * is SE.  An attempt that is given back does not count.
 */
#include "sql.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/json_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NOTE_BYTES = 4000 };

/* ---- events ---- */

enum store_result event_add(struct store *s, int64_t judging, const char *kind, const char *data, struct err *e)
{
	struct query q;
	sql_query(&q, s, "INSERT INTO events (judging, kind, data, created) VALUES ($1, $2, $3, $4)");
	sql_put_int(&q, judging);
	sql_put_text(&q, kind);
	sql_put_text(&q, data);
	sql_put_int(&q, store_now());
	return sql_run(&q, NULL, e, "events");
}

static enum store_result event_text(struct store *s, int64_t judging, const char *kind, const char *key, const char *text, struct err *e)
{
	CLEANUP_BUF struct buf data = {0};
	struct json_writer w = {.out = &data};
	json_open(&w, NULL, '{');
	json_write_string(&w, key, text);
	json_close(&w, '}');
	return event_add(s, judging, kind, buf_str(&data), e);
}

/* ---- coming ---- */

static enum store_result next_turn(struct store *s, const struct queue_entry *n, int64_t *turn, struct err *e)
{
	struct query q;
	int64_t least = 0, own = 0;
	sql_query(&q, s, "SELECT coalesce(min(turn), 0) FROM judgings WHERE state < 2 AND rejudge = $1");
	sql_put_int(&q, n->rejudge);
	enum store_result rc = sql_one(&q, &least, e, "queue");
	if (rc != STORE_OK)
		return rc;
	sql_query(&q, s, "SELECT coalesce(max(turn), -1) + 1 FROM judgings WHERE state < 2 AND rejudge = $1 AND user_id = $2");
	sql_put_int(&q, n->rejudge);
	sql_put_int(&q, n->user);
	rc = sql_one(&q, &own, e, "queue");
	*turn = own > least ? own : least;
	return rc;
}

static enum store_result insert(struct store *s, const struct queue_entry *n, int64_t turn, int64_t *judging, struct err *e)
{
	struct query q;
	sql_query(&q, s, "INSERT INTO judgings (submission, user_id, problem, version, device, rejudge, rejudge_id, before, turn, created)"
			 " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id");
	sql_put_int(&q, n->submission);
	sql_put_int(&q, n->user);
	sql_put_text(&q, n->problem);
	sql_put_text(&q, n->version);
	sql_put_text(&q, n->device);
	sql_put_int(&q, n->rejudge);
	sql_put_id(&q, n->rejudge_id);
	sql_put_id(&q, n->before);
	sql_put_int(&q, turn);
	sql_put_int(&q, store_now());
	enum store_result rc = sql_one(&q, judging, e, "queue");
	if (rc != STORE_OK)
		return rc;
	sql_query(&q, s, "UPDATE submissions SET latest = $2 WHERE id = $1");
	sql_put_int(&q, n->submission);
	sql_put_int(&q, *judging);
	return sql_run(&q, NULL, e, "submissions");
}

/* Of a rejudging no place is told: nobody waits for it, and to count for each of thousands takes long. */
static enum store_result tell_place(struct store *s, const struct queue_entry *n, int64_t turn, int64_t judging, struct err *e)
{
	struct query q;
	int64_t place = 0;
	char data[40] = "{}";
	if (!n->rejudge) {
		sql_query(&q, s, "SELECT count(*) FROM judgings WHERE state = 0 AND rejudge = 0 AND (turn < $1 OR (turn = $1 AND id <= $2))");
		sql_put_int(&q, turn);
		sql_put_int(&q, judging);
		enum store_result rc = sql_one(&q, &place, e, "queue");
		if (rc != STORE_OK)
			return rc;
		snprintf(data, sizeof data, "{\"place\":%lld}", (long long)place);
	}
	return event_add(s, judging, "queued", data, e);
}

enum store_result queue_add(struct store *s, const struct queue_entry *n, int64_t *judging, struct err *e)
{
	int64_t turn = 0;
	enum store_result rc = next_turn(s, n, &turn, e);
	if (rc == STORE_OK)
		rc = insert(s, n, turn, judging, e);
	return rc == STORE_OK ? tell_place(s, n, turn, *judging, e) : rc;
}

/* ---- claiming ---- */

/* What may go now: not too many rejudgings, and nothing for a device that is out of service. */
#define MAY_GO                                                                                                        \
	" FROM judgings j WHERE j.state = 0 AND j.rejudge <= CASE WHEN"                                                  \
	" (SELECT count(*) FROM judgings r WHERE r.state = 1 AND r.rejudge = 1) < $1 THEN 1 ELSE 0 END AND NOT EXISTS"   \
	" (SELECT 1 FROM devices d WHERE d.id = j.device AND d.in_service = 0) ORDER BY j.rejudge, j.turn, j.id LIMIT 1"

static enum store_result take(struct store *s, const char *worker, unsigned rejudges, int64_t *judging, struct err *e)
{
	struct query q;
	sql_query(&q, s, "UPDATE judgings SET state = 1, attempt = attempt + 1, worker = $2, started = $3, lease_until = $4, lease_boot = $5,"
			 " cancelling = 0, stage = 'start', done = 0, total = 0 WHERE id = (SELECT j.id" MAY_GO ") RETURNING id");
	sql_put_int(&q, rejudges);
	sql_put_text(&q, worker);
	sql_put_int(&q, store_now());
	sql_put_int(&q, store_boot_ms() + STORE_LEASE_MS);
	sql_put_text(&q, s->boot);
	enum store_result rc = sql_one(&q, judging, e, "judging to do");
	return rc == STORE_OK ? event_add(s, *judging, "stage", "{\"stage\":\"start\",\"done\":0,\"total\":0}", e) : rc;
}

static enum store_result read_job(struct store *s, int64_t judging, struct arena *a, struct store_job *out, struct err *e)
{
	struct query q;
	sql_query(&q, s, "SELECT j.id, j.submission, j.user_id, j.attempt, j.problem, j.version, v.folder, x.name, x.source, j.device,"
			 " x.samples, j.rejudge FROM judgings j JOIN submissions x ON x.id = j.submission JOIN versions v ON"
			 " v.problem = j.problem AND v.version = j.version WHERE j.id = $1");
	sql_put_int(&q, judging);
	if (sql_row(&q)) {
		struct store_job job = {
			.judging = sql_get_int(&q, 0), .submission = sql_get_int(&q, 1), .user = sql_get_int(&q, 2),
			.token = (unsigned)sql_get_int(&q, 3), .problem = sql_get_text(&q, 4, a), .version = sql_get_text(&q, 5, a),
			.folder = sql_get_text(&q, 6, a), .name = sql_get_text(&q, 7, a), .device = sql_get_text(&q, 9, a),
			.samples = sql_get_int(&q, 10), .rejudge = sql_get_int(&q, 11),
		};
		const void *source = sql_get_blob(&q, 8, &job.size);
		char *copy = arena_alloc(a, job.size + 1);
		memcpy(copy, source, job.size);
		job.source = copy;
		*out = job;
	}
	return sql_done(&q, e, "queue");
}

enum store_result store_claim(struct store *s, const char *worker, unsigned rejudges, struct arena *a, struct store_job *out, struct err *e)
{
	struct query q;
	int64_t judging = 0;
	struct store_job job = {0};
	sql_query(&q, s, "SELECT j.id" MAY_GO);		/* to look costs nobody the right to write */
	sql_put_int(&q, rejudges);
	enum store_result rc = sql_one(&q, &judging, e, "judging to do");
	if (rc != STORE_OK || (rc = sql_begin(s, e)) != STORE_OK)
		return rc;
	rc = take(s, worker, rejudges, &judging, e);
	if (rc == STORE_OK)
		rc = read_job(s, judging, a, &job, e);
	rc = sql_end(s, rc, e);
	if (rc == STORE_OK)
		*out = job;
	return rc;
}

/* ---- while it runs ---- */

enum store_result store_heartbeat(struct store *s, int64_t judging, unsigned token, bool *cancel, struct err *e)
{
	struct query q;
	int64_t asked = 0;
	sql_query(&q, s, "UPDATE judgings SET lease_until = $3, lease_boot = $4 WHERE id = $1 AND attempt = $2 AND state = 1"
			 " RETURNING cancelling");
	sql_put_int(&q, judging);
	sql_put_int(&q, token);
	sql_put_int(&q, store_boot_ms() + STORE_LEASE_MS);
	sql_put_text(&q, s->boot);
	enum store_result rc = sql_one(&q, &asked, e, "lease");
	if (rc == STORE_NOT_FOUND)
		return tell_stale(e, judging);
	if (rc == STORE_OK)
		*cancel = asked;
	return rc;
}

static void progress_data(const char *kind, const char *stage, unsigned done, unsigned total, const char *text, struct buf *out)
{
	struct json_writer w = {.out = out};
	json_open(&w, NULL, '{');
	json_write_string(&w, "stage", stage);
	if (strcmp(kind, "result")) {
		json_write_unsigned(&w, "done", done);
		json_write_unsigned(&w, "total", total);
	}
	if (text)
		json_write_string(&w, strcmp(kind, "result") ? "case" : "text", text);
	json_close(&w, '}');
}

enum store_result store_progress(struct store *s, int64_t judging, unsigned token, const char *kind, const char *stage, unsigned done,
				 unsigned total, const char *text, struct err *e)
{
	struct query q;
	int64_t n = 0;
	CLEANUP_BUF struct buf data = {0};
	progress_data(kind, stage, done, total, text, &data);
	enum store_result rc = sql_begin(s, e);
	if (rc != STORE_OK)
		return rc;
	sql_query(&q, s, "UPDATE judgings SET stage = $3, done = $4, total = $5 WHERE id = $1 AND attempt = $2 AND state = 1");
	sql_put_int(&q, judging);
	sql_put_int(&q, token);
	sql_put_text(&q, stage);
	sql_put_int(&q, done);
	sql_put_int(&q, total);
	rc = sql_run(&q, &n, e, "progress");
	if (rc == STORE_OK && !n)
		rc = tell_stale(e, judging);
	if (rc == STORE_OK)
		rc = event_add(s, judging, kind, buf_str(&data), e);
	return sql_end(s, rc, e);
}

/* ---- the end ---- */

static enum store_result put_case(struct store *s, int64_t judging, size_t number, const struct store_case *c, struct err *e)
{
	struct query q;
	sql_query(&q, s, "INSERT INTO cases (judging, number, name, stage, verdict, visible, timing, gpu, why, printed, sizes, fault, worst,"
			 " error_ratio, time_us, floor_us, efficiency, bytes, flops, reference_us, cublas_us, limiter) VALUES ($1, $2, $3, $4,"
			 " $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)");
	sql_put_int(&q, judging);
	sql_put_int(&q, (int64_t)number);
	sql_put_text(&q, c->name);
	sql_put_text(&q, c->stage);
	sql_put_text(&q, c->verdict);
	sql_put_int(&q, c->visible);
	sql_put_int(&q, c->timing);
	sql_put_int(&q, c->gpu);
	sql_put_text(&q, c->why);
	sql_put_text(&q, c->printed);
	sql_put_text(&q, c->sizes);
	sql_put_text(&q, c->fault);
	sql_put_text(&q, c->worst);
	sql_put_real(&q, c->error_ratio);
	sql_put_real(&q, c->time_us);
	sql_put_real(&q, c->floor_us);
	sql_put_real(&q, c->efficiency);
	sql_put_real(&q, c->bytes);
	sql_put_real(&q, c->flops);
	sql_put_real(&q, c->reference_us);
	sql_put_real(&q, c->cublas_us);
	sql_put_text(&q, c->limiter);
	return sql_run(&q, NULL, e, "cases");
}

static enum store_result put_report(struct store *s, int64_t judging, const struct store_outcome *o, struct err *e)
{
	struct query q;
	sql_query(&q, s, "INSERT INTO reports (judging, report, public_report, ptx) VALUES ($1, $2, $3, $4)");
	sql_put_int(&q, judging);
	sql_put_blob(&q, o->report, o->report_size);
	sql_put_blob(&q, o->report_public, o->report_public_size);
	sql_put_text(&q, o->ptx);
	return sql_run(&q, NULL, e, "reports");
}

/* From running to done, for whoever has the token. */
static enum store_result set_done(struct store *s, int64_t judging, unsigned token, const struct store_outcome *o, struct err *e)
{
	struct query q;
	int64_t submission = 0;
	sql_query(&q, s, "UPDATE judgings SET state = 2, finished = $3, version = coalesce($4, version), verdict = $5, text = $6, tier = $7,"
			 " score = $8, efficiency = $9, time_us = $10, stage = NULL, done = 0, total = 0, cancelling = 0, lease_until = 0"
			 " WHERE id = $1 AND attempt = $2 AND state = 1 RETURNING submission");
	sql_put_int(&q, judging);
	sql_put_int(&q, token);
	sql_put_int(&q, store_now());
	sql_put_text(&q, o->version);
	sql_put_text(&q, o->verdict);
	sql_put_text(&q, o->text);
	sql_put_text(&q, o->tier);
	sql_put_real(&q, o->score);
	sql_put_real(&q, o->efficiency);
	sql_put_real(&q, o->time_us);
	enum store_result rc = sql_one(&q, &submission, e, "judging");
	if (rc != STORE_OK)
		return rc == STORE_NOT_FOUND ? tell_stale(e, judging) : rc;
	sql_query(&q, s, "UPDATE submissions SET result = $2 WHERE id = $1 AND (result IS NULL OR result < $2)");
	sql_put_int(&q, submission);
	sql_put_int(&q, judging);
	return sql_run(&q, NULL, e, "submissions");
}

static enum store_result tell_done(struct store *s, int64_t judging, const struct store_outcome *o, struct err *e)
{
	CLEANUP_BUF struct buf data = {0};
	struct json_writer w = {.out = &data};
	json_open(&w, NULL, '{');
	json_write_string(&w, "verdict", o->verdict);
	json_write_number(&w, "score", o->score);
	json_write_number(&w, "efficiency", o->efficiency);
	json_close(&w, '}');
	return event_add(s, judging, "done", buf_str(&data), e);
}

enum store_result store_finish(struct store *s, int64_t judging, unsigned token, const struct store_outcome *o, struct err *e)
{
	enum store_result rc = sql_begin(s, e);
	if (rc != STORE_OK)
		return rc;
	rc = set_done(s, judging, token, o, e);
	for (size_t i = 0; i < o->n_cases && rc == STORE_OK; i++)
		rc = put_case(s, judging, i, &o->cases[i], e);
	if (rc == STORE_OK && (o->report || o->ptx))
		rc = put_report(s, judging, o, e);
	if (rc == STORE_OK)
		rc = tell_done(s, judging, o, e);
	return sql_end(s, rc, e);
}

/* ---- back to the queue ---- */

static enum store_result requeue(struct store *s, int64_t judging, unsigned token, bool counts, const char *why, struct err *e)
{
	struct query q;
	int64_t n = 0;
	sql_query(&q, s, "UPDATE judgings SET state = 0, failures = failures + $3, lease_until = 0, stage = NULL, done = 0, total = 0,"
			 " note = CASE WHEN $3 = 0 THEN note ELSE substr(coalesce(note || '\n', '') || $4, 1, $5) END"
			 " WHERE id = $1 AND attempt = $2 AND state = 1");
	sql_put_int(&q, judging);
	sql_put_int(&q, token);
	sql_put_int(&q, counts);
	sql_put_text(&q, why);
	sql_put_int(&q, NOTE_BYTES);
	enum store_result rc = sql_run(&q, &n, e, "queue");
	if (rc == STORE_OK && !n)
		return tell_stale(e, judging);
	return rc == STORE_OK ? event_text(s, judging, "queued", "retry", counts ? "a failure of the judge's own" : "given back", e) : rc;
}

static enum store_result set_cancelled(struct store *s, int64_t judging, struct err *e)
{
	struct query q;
	sql_query(&q, s, "UPDATE judgings SET state = 3, finished = $2, stage = NULL, done = 0, total = 0, cancelling = 0, lease_until = 0"
			 " WHERE id = $1");
	sql_put_int(&q, judging);
	sql_put_int(&q, store_now());
	enum store_result rc = sql_run(&q, NULL, e, "queue");
	return rc == STORE_OK ? event_add(s, judging, "cancelled", "{}", e) : rc;
}

struct held {				/* what there is to know of a judging whose attempt ends without a result */
	int64_t failures;
	bool cancelling;
	char *note;
};

static enum store_result look(struct store *s, int64_t judging, unsigned token, struct arena *a, struct held *out, struct err *e)
{
	struct query q;
	sql_query(&q, s, "SELECT failures, cancelling, note FROM judgings WHERE id = $1 AND attempt = $2 AND state = 1");
	sql_put_int(&q, judging);
	sql_put_int(&q, token);
	bool there = sql_row(&q);
	if (there) {
		const char *note = sql_get_text(&q, 2, a);
		*out = (struct held){.failures = sql_get_int(&q, 0), .cancelling = sql_get_int(&q, 1), .note = arena_strdup(a, note ? note : "")};
	}
	enum store_result rc = sql_done(&q, e, "queue");
	return rc == STORE_OK && !there ? tell_stale(e, judging) : rc;
}

/* The last attempt was lost too. */
static enum store_result give_up(struct store *s, int64_t judging, unsigned token, const char *why, struct err *e)
{
	struct query q;
	struct store_outcome o = {.verdict = "SE", .score = NAN, .efficiency = NAN, .time_us = NAN,
				  .text = "the judge failed to grade this, several times over; it does not count against the program"};
	sql_query(&q, s, "UPDATE judgings SET failures = failures + 1, note = substr(coalesce(note || '\n', '') || $2, 1, $3) WHERE id = $1");
	sql_put_int(&q, judging);
	sql_put_text(&q, why);
	sql_put_int(&q, NOTE_BYTES);
	enum store_result rc = sql_run(&q, NULL, e, "queue");
	return rc == STORE_OK ? store_finish(s, judging, token, &o, e) : rc;
}

/* An attempt ends without a result: by cancelling if that was asked for, else by another attempt or the end. */
static enum store_result lose(struct store *s, int64_t judging, unsigned token, bool counts, const char *why, struct err *e)
{
	struct held h = {0};
	CLEANUP(arena_freep) struct arena *a = arena_new();
	enum store_result rc = sql_begin(s, e);
	if (rc != STORE_OK)
		return rc;
	rc = look(s, judging, token, a, &h, e);
	if (rc == STORE_OK && h.cancelling)
		rc = set_cancelled(s, judging, e);
	else if (rc == STORE_OK && counts && h.failures + 1 >= STORE_ATTEMPTS)
		rc = give_up(s, judging, token, why, e);
	else if (rc == STORE_OK)
		rc = requeue(s, judging, token, counts, why, e);
	return sql_end(s, rc, e);
}

enum store_result store_fail(struct store *s, int64_t judging, unsigned token, const char *why, struct err *e)
{
	return lose(s, judging, token, true, why, e);
}

enum store_result store_give_back(struct store *s, int64_t judging, unsigned token, const char *why, struct err *e)
{
	return lose(s, judging, token, false, why, e);
}

/* ---- cancelling ---- */

enum store_result store_cancelled(struct store *s, int64_t judging, unsigned token, struct err *e)
{
	struct held h;
	CLEANUP(arena_freep) struct arena *a = arena_new();
	enum store_result rc = sql_begin(s, e);
	if (rc != STORE_OK)
		return rc;
	rc = look(s, judging, token, a, &h, e);
	if (rc == STORE_OK)
		rc = set_cancelled(s, judging, e);
	return sql_end(s, rc, e);
}

static enum store_result cancel(struct store *s, int64_t judging, struct err *e)
{
	struct query q;
	int64_t state = 0;
	sql_query(&q, s, "SELECT state FROM judgings WHERE id = $1");
	sql_put_int(&q, judging);
	enum store_result rc = sql_one(&q, &state, e, "such judging");
	if (rc != STORE_OK)
		return rc;
	if (state == STATE_QUEUED)
		return set_cancelled(s, judging, e);
	if (state != STATE_RUNNING)
		return tell_conflict(e, "judging %lld is over already", (long long)judging);
	sql_query(&q, s, "UPDATE judgings SET cancelling = 1 WHERE id = $1");
	sql_put_int(&q, judging);
	return sql_run(&q, NULL, e, "queue");
}

enum store_result store_cancel(struct store *s, int64_t judging, struct err *e)
{
	enum store_result rc = sql_begin(s, e);
	return rc == STORE_OK ? sql_end(s, cancel(s, judging, e), e) : rc;
}

/* ---- leases that are over ---- */

struct lost {
	struct lost_judging {
		int64_t judging;
		unsigned token;
		char *worker;
	} *at;
	size_t n;
};

/* $3: this worker's end now, whatever their leases say. */
static enum store_result find_lost(struct store *s, const char *dead, struct arena *a, struct lost *out, struct err *e)
{
	struct query q;
	sql_query(&q, s, "SELECT id, attempt, worker FROM judgings WHERE state = 1 AND (lease_boot <> $1 OR lease_until < $2 OR worker = $3)");
	sql_put_text(&q, s->boot);
	sql_put_int(&q, store_boot_ms());
	sql_put_text(&q, dead);
	while (sql_row(&q)) {
		const char *worker = sql_get_text(&q, 2, a);
		*LIST_ADD(out, a) = (struct lost_judging){sql_get_int(&q, 0), (unsigned)sql_get_int(&q, 1),
							  arena_strdup(a, worker ? worker : "?")};
	}
	return sql_done(&q, e, "queue");
}

enum store_result store_expire(struct store *s, const char *dead, unsigned *n, struct err *e)
{
	struct lost lost = {0};
	CLEANUP(arena_freep) struct arena *a = arena_new();
	enum store_result rc = find_lost(s, dead, a, &lost, e);
	if (n)
		*n = (unsigned)lost.n;
	if (rc != STORE_OK || !lost.n || (rc = sql_begin(s, e)) != STORE_OK)
		return rc;
	lost = (struct lost){0};		/* once more, now that nobody else can write */
	rc = find_lost(s, dead, a, &lost, e);
	for (size_t i = 0; i < lost.n && rc == STORE_OK; i++) {
		char why[120];
		snprintf(why, sizeof why, "attempt %u: worker %.60s died, or was not heard of any more", lost.at[i].token, lost.at[i].worker);
		rc = lose(s, lost.at[i].judging, lost.at[i].token, true, why, e);
	}
	rc = sql_end(s, rc, e);
	if (n)
		*n = rc == STORE_OK ? (unsigned)lost.n : 0;
	return rc;
}
