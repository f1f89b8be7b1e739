/* Boards, plots and profiles: the best of what was accepted.
 *
 * A submission counts by the newest judging that is done (submissions.result), all cases of it graded.
 */
#include "sql.h"

#include <math.h>

/* Accepted submissions x with their results j and users u, numbered within each `part` by how good they are. */
#define BEST(part, where)                                                                                                        \
	"SELECT u.id AS user_id, u.name, u.display, x.id AS submission, j.id AS judging, x.created, j.efficiency, j.time_us, j.score," \
	" x.problem, j.device, row_number() OVER (PARTITION BY " part " ORDER BY CASE WHEN j.efficiency IS NULL THEN 1 ELSE 0 END,"   \
	" j.efficiency DESC, j.score DESC, x.created, x.id) AS nth FROM judgings j JOIN submissions x ON x.result = j.id"              \
	" JOIN users u ON u.id = x.user_id WHERE j.state = 2 AND j.verdict = 'AC' AND x.samples = 0 AND " where

enum store_result store_leaderboard(struct store *s, const char *problem, const char *device, int64_t group, int64_t cursor, unsigned limit,
				    struct arena *a, struct store_ranks *out, struct err *e)
{
	struct query q;
	struct store_ranks list = {0};
	sql_query(&q, s, "SELECT user_id, name, display, submission, judging, created, efficiency, time_us, score FROM ("
			 BEST("x.user_id", "j.problem = $1 AND j.device = $2 AND ($3 = 0 OR x.user_id IN"
					   " (SELECT user_id FROM members WHERE group_id = $3))")
			 ") b WHERE nth = 1 ORDER BY CASE WHEN efficiency IS NULL THEN 1 ELSE 0 END, efficiency DESC, score DESC, created,"
			 " submission LIMIT $5 OFFSET $4");
	sql_put_text(&q, problem);
	sql_put_text(&q, device);
	sql_put_int(&q, group);
	sql_put_int(&q, cursor);
	sql_put_int(&q, (int64_t)limit + 1);
	while (sql_row(&q)) {
		if (list.n == limit) {
			list.next = cursor + limit;
			break;
		}
		struct store_rank *r = LIST_ADD(&list, a);
		*r = (struct store_rank){
			.rank = cursor + (int64_t)list.n, .user = sql_get_int(&q, 0), .name = sql_get_text(&q, 1, a),
			.display = sql_get_text(&q, 2, a), .submission = sql_get_int(&q, 3), .judging = sql_get_int(&q, 4),
			.when = sql_get_int(&q, 5), .efficiency = sql_get_real(&q, 6), .time_us = sql_get_real(&q, 7), .score = sql_get_real(&q, 8),
		};
	}
	enum store_result rc = sql_done(&q, e, "leaderboard");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}

enum store_result store_points(struct store *s, const char *problem, const char *device, int64_t viewer, unsigned limit, struct arena *a,
			       struct store_points *out, struct err *e)
{
	struct query q;
	struct store_points list = {0};
	sql_query(&q, s, "SELECT b.submission, b.user_id, b.created, c.name, c.sizes, c.limiter, c.efficiency, c.time_us, c.floor_us, c.bytes,"
			 " c.flops, c.reference_us, c.cublas_us FROM (" BEST("x.user_id", "j.problem = $1 AND j.device = $2")
			 ") b JOIN cases c ON c.judging = b.judging WHERE (b.nth = 1 OR b.user_id = $3) AND c.timing = 1 AND c.verdict = 'AC' AND"
			 " c.gpu = CASE WHEN substr($2, 1, 3) = 'gpu' THEN 1 ELSE 0 END ORDER BY b.submission DESC, c.number LIMIT $4");
	sql_put_text(&q, problem);
	sql_put_text(&q, device);
	sql_put_int(&q, viewer);
	sql_put_int(&q, limit);
	while (sql_row(&q))
		*LIST_ADD(&list, a) = (struct store_point){
			.submission = sql_get_int(&q, 0), .user = sql_get_int(&q, 1), .when = sql_get_int(&q, 2), .name = sql_get_text(&q, 3, a),
			.sizes = sql_get_text(&q, 4, a), .limiter = sql_get_text(&q, 5, a), .efficiency = sql_get_real(&q, 6),
			.time_us = sql_get_real(&q, 7), .floor_us = sql_get_real(&q, 8), .bytes = sql_get_real(&q, 9),
			.flops = sql_get_real(&q, 10), .reference_us = sql_get_real(&q, 11), .cublas_us = sql_get_real(&q, 12),
		};
	enum store_result rc = sql_done(&q, e, "points");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}

enum store_result store_user_solved(struct store *s, int64_t user, struct arena *a, struct store_solveds *out, struct err *e)
{
	struct query q;
	struct store_solveds list = {0};
	sql_query(&q, s, "SELECT problem, device, efficiency, time_us, score, submission, created FROM ("
			 BEST("x.problem, j.device", "x.user_id = $1") ") b WHERE nth = 1 ORDER BY problem, device");
	sql_put_int(&q, user);
	while (sql_row(&q))
		*LIST_ADD(&list, a) = (struct store_solved){
			.problem = sql_get_text(&q, 0, a), .device = sql_get_text(&q, 1, a), .efficiency = sql_get_real(&q, 2),
			.time_us = sql_get_real(&q, 3), .score = sql_get_real(&q, 4), .submission = sql_get_int(&q, 5), .when = sql_get_int(&q, 6),
		};
	enum store_result rc = sql_done(&q, e, "solved problems");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}

/* The civil date of a day since 1970, by the rules of the Gregorian calendar (400 years have 146,097 days). */
static const char *date(int64_t day, struct arena *a)
{
	int64_t z = day + 719468, era = z / 146097, of_era = z - era * 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
	int64_t of_month = of_year - (153 * month + 2) / 5 + 1;
	month += month < 10 ? 3 : -9;
	return arena_printf(a, "%04lld-%02lld-%02lld", (long long)(year + era * 400 + (month <= 2)), (long long)month, (long long)of_month);
}

enum store_result store_user_activity(struct store *s, int64_t user, int64_t since, struct arena *a, struct store_days *out, struct err *e)
{
	struct query q;
	struct store_days list = {0};
	sql_query(&q, s, "SELECT x.created / 86400000, count(*), sum(CASE WHEN j.verdict = 'AC' AND x.samples = 0 THEN 1 ELSE 0 END)"
			 " FROM submissions x LEFT JOIN judgings j ON j.id = x.result WHERE x.user_id = $1 AND x.created >= $2"
			 " GROUP BY x.created / 86400000 ORDER BY 1");
	sql_put_int(&q, user);
	sql_put_int(&q, since);
	while (sql_row(&q))
		*LIST_ADD(&list, a) = (struct store_day){.day = date(sql_get_int(&q, 0), a), .submissions = sql_get_int(&q, 1),
							 .accepted = sql_get_int(&q, 2)};
	enum store_result rc = sql_done(&q, e, "activity");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}
