/* Assignments: a problem that a group has until a deadline; extensions; grades. */
#include "sql.h"

#include <math.h>

enum { TITLE_CHARACTERS = 120 };

/* ---- writing ---- */

static enum store_result check(const struct store_assignment_new *n, struct err *e)
{
	if (n->title && !store_plain_text(n->title, TITLE_CHARACTERS))
		return tell_invalid(e, "the title: 1 to %d characters, no control characters", TITLE_CHARACTERS);
	if (n->deadline >= 0 && n->opens >= 0 && n->deadline <= n->opens)
		return tell_invalid(e, "the deadline must be after the opening");
	return STORE_OK;
}

static enum store_result find_title(struct store *s, const char *problem, struct arena *a, const char **title, struct err *e)
{
	struct store_problem p;
	enum store_result rc = store_problem_get(s, problem, 0, a, &p, e);
	if (rc == STORE_OK && !*title)
		*title = p.title;
	return rc;
}

static enum store_result insert(struct store *s, int64_t group, const struct store_assignment_new *n, struct arena *a, int64_t *id,
				struct err *e)
{
	struct query q;
	const char *title = n->title;
	struct store_group g;
	enum store_result rc = store_group_get(s, group, a, &g, e);
	if (rc == STORE_OK)
		rc = find_title(s, n->problem, a, &title, e);
	if (rc != STORE_OK)
		return rc;
	sql_query(&q, s, "INSERT INTO assignments (group_id, problem, title, opens, deadline) VALUES ($1, $2, $3, $4, $5) RETURNING id");
	sql_put_int(&q, group);
	sql_put_text(&q, n->problem);
	sql_put_text(&q, title);
	sql_put_int(&q, n->opens);
	sql_put_int(&q, n->deadline);
	return sql_one(&q, id, e, "assignments");
}

enum store_result store_assignment_add(struct store *s, int64_t group, const struct store_assignment_new *n, int64_t *id, struct err *e)
{
	int64_t made = 0;
	if (!n->problem || n->deadline <= 0 || n->opens < 0)
		return tell_invalid(e, "an assignment needs a problem and a deadline");
	enum store_result rc = check(n, e);
	if (rc != STORE_OK || (rc = sql_begin(s, e)) != STORE_OK)
		return rc;
	struct arena *a = arena_new();
	rc = sql_end(s, insert(s, group, n, a, &made, e), e);
	arena_free(a);
	if (rc == STORE_OK)
		*id = made;
	return rc;
}

static enum store_result change(struct store *s, int64_t id, const struct store_assignment_new *c, struct err *e)
{
	struct query q;
	int64_t n = 0, wrong = 0;
	sql_query(&q, s, "UPDATE assignments SET problem = coalesce($2, problem), title = coalesce($3, title),"
			 " opens = CASE WHEN $4 < 0 THEN opens ELSE $4 END, deadline = CASE WHEN $5 < 0 THEN deadline ELSE $5 END WHERE id = $1");
	sql_put_int(&q, id);
	sql_put_text(&q, c->problem);
	sql_put_text(&q, c->title);
	sql_put_int(&q, c->opens);
	sql_put_int(&q, c->deadline);
	enum store_result rc = sql_run(&q, &n, e, "assignment");
	if (rc == STORE_OK && !n)
		return tell_not_found(e, "there is no such assignment");
	if (rc != STORE_OK)
		return rc;
	sql_query(&q, s, "SELECT count(*) FROM assignments WHERE id = $1 AND deadline <= opens");
	sql_put_int(&q, id);
	rc = sql_one(&q, &wrong, e, "assignment");
	return rc == STORE_OK && wrong ? tell_invalid(e, "the deadline must be after the opening") : rc;
}

enum store_result store_assignment_set(struct store *s, int64_t id, const struct store_assignment_new *c, struct err *e)
{
	enum store_result rc = check(c, e);
	if (rc != STORE_OK || (rc = sql_begin(s, e)) != STORE_OK)
		return rc;
	return sql_end(s, change(s, id, c, e), e);
}

enum store_result store_assignment_remove(struct store *s, int64_t id, struct err *e)
{
	struct query q;
	sql_query(&q, s, "DELETE FROM assignments WHERE id = $1");
	sql_put_int(&q, id);
	return sql_must(&q, e, "assignments", "there is no such assignment");
}

enum store_result store_extension_set(struct store *s, int64_t assignment, int64_t user, int64_t deadline, struct err *e)
{
	struct query q;
	if (deadline <= 0)
		return tell_invalid(e, "the deadline must be a time");
	sql_query(&q, s, "INSERT INTO extensions (assignment, user_id, deadline) VALUES ($1, $2, $3)"
			 " ON CONFLICT (assignment, user_id) DO UPDATE SET deadline = excluded.deadline");
	sql_put_int(&q, assignment);
	sql_put_int(&q, user);
	sql_put_int(&q, deadline);
	return sql_run(&q, NULL, e, "extension");
}

enum store_result store_extension_remove(struct store *s, int64_t assignment, int64_t user, struct err *e)
{
	struct query q;
	sql_query(&q, s, "DELETE FROM extensions WHERE assignment = $1 AND user_id = $2");
	sql_put_int(&q, assignment);
	sql_put_int(&q, user);
	return sql_must(&q, e, "extensions", "nobody of this name has extra time there");
}

/* ---- reading ---- */

enum store_result store_extensions(struct store *s, int64_t assignment, struct arena *a, struct store_extensions *out, struct err *e)
{
	struct query q;
	struct store_extensions list = {0};
	sql_query(&q, s, "SELECT u.name, u.display, x.deadline FROM extensions x JOIN users u ON u.id = x.user_id"
			 " WHERE x.assignment = $1 ORDER BY u.name");
	sql_put_int(&q, assignment);
	while (sql_row(&q))
		*LIST_ADD(&list, a) = (struct store_extension){
			.user = sql_get_text(&q, 0, a), .display = sql_get_text(&q, 1, a), .deadline = sql_get_int(&q, 2),
		};
	enum store_result rc = sql_done(&q, e, "extensions");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}

/* The user's own deadline, of assignments s; and the user's results j of submissions x that were in time, best first. */
#define DEADLINE(user) "coalesce((SELECT x.deadline FROM extensions x WHERE x.assignment = s.id AND x.user_id = " user "), s.deadline)"
#define IN_TIME(user)                                                                                              \
	"FROM submissions x JOIN judgings j ON j.id = x.result WHERE x.user_id = " user " AND x.problem = s.problem"  \
	" AND x.samples = 0 AND x.created >= s.opens AND x.created <= " DEADLINE(user)                                \
	" ORDER BY coalesce(j.score, 0) DESC, x.created, x.id LIMIT 1"

#define ASSIGNMENT                                                                                       \
	"SELECT s.id, s.group_id, g.name, s.problem, s.title, s.opens, " DEADLINE("$1") " AS due,"          \
	" (SELECT j.score " IN_TIME("$1") "), (SELECT x.id " IN_TIME("$1") ")"                              \
	" FROM assignments s JOIN study_groups g ON g.id = s.group_id "

static void read_assignment(struct query *q, struct arena *a, struct store_assignment *out)
{
	*out = (struct store_assignment){
		.id = sql_get_int(q, 0), .group = sql_get_int(q, 1), .group_name = sql_get_text(q, 2, a), .problem = sql_get_text(q, 3, a),
		.title = sql_get_text(q, 4, a), .opens = sql_get_int(q, 5), .deadline = sql_get_int(q, 6), .best_score = sql_get_real(q, 7),
		.best_submission = sql_get_int(q, 8),
	};
}

enum store_result store_assignment_get(struct store *s, int64_t id, int64_t viewer, struct arena *a, struct store_assignment *out,
				       struct err *e)
{
	struct query q;
	struct store_assignment x = {0};
	sql_query(&q, s, ASSIGNMENT "WHERE s.id = $2");
	sql_put_int(&q, viewer);
	sql_put_int(&q, id);
	if (sql_row(&q))
		read_assignment(&q, a, &x);
	enum store_result rc = sql_done(&q, e, "assignments");
	if (rc == STORE_OK && !x.id)
		return tell_not_found(e, "there is no such assignment");
	if (rc == STORE_OK)
		*out = x;
	return rc;
}

enum store_result store_assignments(struct store *s, int64_t group, int64_t viewer, struct arena *a, struct store_assignments *out,
				    struct err *e)
{
	struct query q;
	struct store_assignments list = {0};
	sql_query(&q, s, ASSIGNMENT "WHERE s.group_id = $2 OR ($2 = 0 AND s.group_id IN (SELECT group_id FROM members WHERE user_id = $1))"
				    " ORDER BY due, s.id");
	sql_put_int(&q, viewer);
	sql_put_int(&q, group);
	while (sql_row(&q))
		read_assignment(&q, a, LIST_ADD(&list, a));
	enum store_result rc = sql_done(&q, e, "assignments");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}

enum store_result store_grades(struct store *s, int64_t group, struct arena *a, struct store_grades *out, struct err *e)
{
	struct query q;
	struct store_grades list = {0};
	sql_query(&q, s, "SELECT t.name, t.display, t.problem, t.title, t.id, t.due, x.id, x.created, j.score, j.efficiency, j.verdict FROM ("
			 "SELECT u.name, u.display, s.problem, s.title, s.id, " DEADLINE("u.id") " AS due,"
			 " (SELECT x.id " IN_TIME("u.id") ") AS best FROM members m JOIN users u ON u.id = m.user_id"
			 " JOIN assignments s ON s.group_id = m.group_id WHERE m.group_id = $1 AND u.role = 0) t"
			 " LEFT JOIN submissions x ON x.id = t.best LEFT JOIN judgings j ON j.id = x.result ORDER BY t.name, t.due, t.id");
	sql_put_int(&q, group);
	while (sql_row(&q))
		*LIST_ADD(&list, a) = (struct store_grade){
			.user = sql_get_text(&q, 0, a), .display = sql_get_text(&q, 1, a), .problem = sql_get_text(&q, 2, a),
			.title = sql_get_text(&q, 3, a), .assignment = sql_get_int(&q, 4), .deadline = sql_get_int(&q, 5),
			.submission = sql_get_int(&q, 6), .when = sql_get_int(&q, 7), .score = sql_get_real(&q, 8),
			.efficiency = sql_get_real(&q, 9), .verdict = sql_get_text(&q, 10, a),
		};
	enum store_result rc = sql_done(&q, e, "grades");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}
