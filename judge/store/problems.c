/* Problems and their versions: which package a judging is graded by. */
#include "sql.h"

#include <math.h>
#include <string.h>

enum { ID_MAX_BYTES = 63 };

/* ---- writing ---- */

static bool good_id(const char *id)
{
	size_t n = strlen(id);
	return n >= 1 && n <= ID_MAX_BYTES && strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static enum store_result put_version(struct store *s, const struct store_problem_put *p, struct err *e)
{
	struct query q;
	sql_query(&q, s, "INSERT INTO versions (problem, version, folder, title, title_zh, difficulty, tags, by_user, created)"
		     " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (problem, version) DO UPDATE SET folder = excluded.folder,"
		     " title = excluded.title, title_zh = excluded.title_zh, difficulty = excluded.difficulty, tags = excluded.tags");
	sql_put_text(&q, p->id);
	sql_put_text(&q, p->version);
	sql_put_text(&q, p->folder);
	sql_put_text(&q, p->title);
	sql_put_text(&q, p->title_zh);
	sql_put_text(&q, p->difficulty);
	sql_put_text(&q, p->tags);
	sql_put_id(&q, p->by);
	sql_put_int(&q, store_now());
	return sql_run(&q, NULL, e, "problems");
}

static enum store_result put_edition(struct store *s, const struct store_problem_put *p, struct err *e)
{
	struct query q;
	sql_query(&q, s, "INSERT INTO editions (problem, version, folder, by_user, created) VALUES ($1, $2, $3, $4, $5)"
		     " ON CONFLICT (problem, version, folder) DO NOTHING");
	sql_put_text(&q, p->id);
	sql_put_text(&q, p->version);
	sql_put_text(&q, p->folder);
	sql_put_id(&q, p->by);
	sql_put_int(&q, store_now());
	return sql_run(&q, NULL, e, "problems");
}

/* Whoever replaces a package has read it: is it the one that is there still? */
static enum store_result check_replaced(struct store *s, const struct store_problem_put *p, struct err *e)
{
	struct query q;
	int64_t n = 0;
	sql_query(&q, s, "SELECT count(*) FROM problems p JOIN versions v ON v.problem = p.id AND v.version = p.version"
		     " WHERE p.id = $1 AND v.folder = $2");
	sql_put_text(&q, p->id);
	sql_put_text(&q, p->replaces);
	enum store_result rc = sql_one(&q, &n, e, "problems");
	return rc == STORE_OK && !n ? tell_conflict(e, "somebody else changed the problem \"%.70s\" meanwhile", p->id) : rc;
}

static enum store_result put_current(struct store *s, const struct store_problem_put *p, struct err *e)
{
	struct query q;
	int64_t last = 0;
	sql_query(&q, s, "SELECT coalesce(max(position), 0) FROM problems");
	enum store_result rc = sql_one(&q, &last, e, "problems");
	if (rc != STORE_OK)
		return rc;
	sql_query(&q, s, "INSERT INTO problems (id, version, position) VALUES ($1, $2, $3)"
		     " ON CONFLICT (id) DO UPDATE SET version = excluded.version");
	sql_put_text(&q, p->id);
	sql_put_text(&q, p->version);
	sql_put_int(&q, p->position >= 0 ? p->position : last + 1);
	return sql_run(&q, NULL, e, "problems");
}

enum store_result store_problem_put(struct store *s, const struct store_problem_put *p, struct err *e)
{
	if (!good_id(p->id))
		return tell_invalid(e, "the problem's id \"%.70s\": 1 to %d small letters, digits or '-'", p->id, ID_MAX_BYTES);
	enum store_result rc = sql_begin(s, e);
	if (rc != STORE_OK)
		return rc;
	if (p->replaces)
		rc = check_replaced(s, p, e);
	if (rc == STORE_OK)
		rc = put_current(s, p, e);
	if (rc == STORE_OK)
		rc = put_version(s, p, e);
	if (rc == STORE_OK)
		rc = put_edition(s, p, e);
	return sql_end(s, rc, e);
}

enum store_result store_problem_set(struct store *s, const char *id, int hidden, int64_t position, struct err *e)
{
	struct query q;
	int64_t n = 0;
	sql_query(&q, s, "UPDATE problems SET hidden = CASE WHEN $2 < 0 THEN hidden ELSE $2 END,"
		     " position = CASE WHEN $3 < 0 THEN position ELSE $3 END WHERE id = $1");
	sql_put_text(&q, id);
	sql_put_int(&q, hidden > 0 ? 1 : hidden);
	sql_put_int(&q, position);
	enum store_result rc = sql_run(&q, &n, e, "problems");
	return rc == STORE_OK && !n ? tell_not_found(e, "there is no problem \"%.70s\"", id) : rc;
}

/* ---- reading ---- */

/* Of users u and problems p: $1 is the viewer, or NULL.  A submission counts by its newest result; samples alone solve nothing. */
#define ACCEPTED "FROM submissions x JOIN judgings j ON j.id = x.result WHERE x.problem = p.id AND x.samples = 0 AND j.verdict = 'AC'"
#define PROBLEM                                                                                                        \
	"SELECT p.id, p.version, v.folder, v.title, v.title_zh, v.difficulty, v.tags, p.position, p.hidden, v.created,"   \
	" (SELECT count(DISTINCT x.user_id) FROM submissions x WHERE x.problem = p.id),"                                  \
	" (SELECT count(DISTINCT x.user_id) " ACCEPTED "),"                                                               \
	" EXISTS (SELECT 1 " ACCEPTED " AND x.user_id = $1),"                                                             \
	" EXISTS (SELECT 1 FROM submissions x WHERE x.user_id = $1 AND x.problem = p.id),"                                \
	" (SELECT max(j.efficiency) " ACCEPTED " AND x.user_id = $1)"                                                     \
	" FROM problems p JOIN versions v ON v.problem = p.id AND v.version = p.version "

static void read_problem(struct query *q, struct arena *a, struct store_problem *out)
{
	*out = (struct store_problem){
		.id = sql_get_text(q, 0, a), .version = sql_get_text(q, 1, a), .folder = sql_get_text(q, 2, a), .title = sql_get_text(q, 3, a),
		.title_zh = sql_get_text(q, 4, a), .difficulty = sql_get_text(q, 5, a), .tags = sql_get_text(q, 6, a), .position = sql_get_int(q, 7),
		.hidden = sql_get_int(q, 8), .created = sql_get_int(q, 9), .attempts = sql_get_int(q, 10), .accepted = sql_get_int(q, 11),
		.solved = sql_get_int(q, 12), .tried = sql_get_int(q, 13), .best_efficiency = sql_get_real(q, 14),
	};
}

enum store_result store_problems(struct store *s, int64_t viewer, bool with_hidden, struct arena *a, struct store_problems *out, struct err *e)
{
	struct query q;
	struct store_problems list = {0};
	sql_query(&q, s, PROBLEM "WHERE p.hidden <= $2 ORDER BY p.position, p.id");
	sql_put_id(&q, viewer);
	sql_put_int(&q, with_hidden);
	while (sql_row(&q))
		read_problem(&q, a, LIST_ADD(&list, a));
	enum store_result rc = sql_done(&q, e, "problems");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}

enum store_result store_problem_get(struct store *s, const char *id, int64_t viewer, struct arena *a, struct store_problem *out, struct err *e)
{
	struct query q;
	struct store_problem p = {0};
	sql_query(&q, s, PROBLEM "WHERE p.id = $2");
	sql_put_id(&q, viewer);
	sql_put_text(&q, id);
	bool there = sql_row(&q);
	if (there)
		read_problem(&q, a, &p);
	enum store_result rc = sql_done(&q, e, "problems");
	if (rc == STORE_OK && !there)
		return tell_not_found(e, "there is no problem \"%.70s\"", id);
	if (rc == STORE_OK)
		*out = p;
	return rc;
}

enum store_result store_problem_versions(struct store *s, const char *id, struct arena *a, struct store_versions *out, struct err *e)
{
	struct query q;
	struct store_versions list = {0};
	sql_query(&q, s, "SELECT d.version, d.folder, u.name, d.created, (SELECT count(*) FROM judgings j WHERE j.problem = d.problem AND"
		     " j.version = d.version), d.version = p.version AND d.folder = v.folder,"
		     " (SELECT count(*) FROM editions x WHERE x.problem = d.problem AND x.version = d.version AND x.id <= d.id)"
		     " FROM editions d JOIN versions v ON v.problem = d.problem AND v.version = d.version"
		     " JOIN problems p ON p.id = d.problem LEFT JOIN users u ON u.id = d.by_user WHERE d.problem = $1 ORDER BY d.id DESC");
	sql_put_text(&q, id);
	while (sql_row(&q))
		*LIST_ADD(&list, a) = (struct store_version){
			.version = sql_get_text(&q, 0, a), .folder = sql_get_text(&q, 1, a), .by = sql_get_text(&q, 2, a), .created = sql_get_int(&q, 3),
			.judgings = sql_get_int(&q, 4), .current = sql_get_int(&q, 5), .edition = sql_get_int(&q, 6),
		};
	enum store_result rc = sql_done(&q, e, "problems");
	if (rc == STORE_OK && !list.n)
		return tell_not_found(e, "there is no problem \"%.70s\"", id);
	if (rc == STORE_OK)
		*out = list;
	return rc;
}
