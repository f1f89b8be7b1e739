/* What of the store is shown, and to whom. */
#ifndef SERVER_VIEW_H
#define SERVER_VIEW_H

#include "package.h"
#include "request.h"

void view_user(struct json_writer *w, const char *key, const struct store_user *u, bool whole);
void view_users(struct json_writer *w, const struct store_users *us);	/* "items", whole */
/* Members of an object that is open. */
void view_problem_members(struct json_writer *w, const struct store_problem *p, bool with_hidden);
/* whole: for instructors.  lang: what is said in sentences is said in it. */
void view_submission(struct json_writer *w, const char *key, const struct store_submission *s, const char *lang, bool whole);
void view_judging_short(struct json_writer *w, const char *key, const struct store_judging *j, const char *lang, bool whole);
/* With cases, book and so on.  false: the refusal is in r->reply. */
bool view_judging(struct request *r, const struct store_judging *j, unsigned status);
/* What was found in a package; the refusal of one for that. */
void view_package_messages(struct json_writer *w, const struct package *p);
void view_package_refused(struct request *r, const struct package *p);
void view_group(struct json_writer *w, const char *key, const struct store_group *g, bool with_code);
void view_assignment(struct json_writer *w, const char *key, const struct store_assignment *a);
/* A JSON text of the store, as a member; null if there is none. */
void view_raw(struct json_writer *w, const char *key, const char *json);
/* A sentence about a hidden case without its sizes: no numbers but lines of the source. */
const char *view_without_sizes(struct arena *a, const char *text);

#endif
