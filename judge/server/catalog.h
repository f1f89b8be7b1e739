/* Problem packages as they are served: loaded once, loaded anew when the store knows another version. */
#ifndef SERVER_CATALOG_H
#define SERVER_CATALOG_H

#include "../problem.h"
#include "../store/store.h"

#include <stdatomic.h>

enum { CATALOG_LANGUAGES = 2 };		/* en, zh */

struct catalog;

struct served {				/* read-only */
	struct problem *problem;
	char *folder;
	struct buf statement[CATALOG_LANGUAGES], html[CATALOG_LANGUAGES];	/* Markdown; and as HTML, without hints */
	bool there[CATALOG_LANGUAGES];	/* else it is that of en */
	struct buf starter;
	atomic_uint users;
	struct served *next;
};

struct catalog *catalog_new(void);
void catalog_free(struct catalog *c);
/* Puts the packages that came with the judge into the store, but for those of which it has one that was uploaded since.  A package
 * that cannot be loaded is logged and left out. */
int catalog_begin(struct store *s, const char *uploads, struct err *e);
/* NULL and e: the package has become unreadable.  Give it back with served_put. */
struct served *catalog_get(struct catalog *c, const struct store_problem *p, struct err *e);
void served_put(struct served *s);
void served_putp(struct served **s);
/* What the store keeps of a package. */
enum store_result catalog_put(struct store *s, const struct problem *p, int64_t by, int64_t position, struct err *e);
/* In the place of the one in the folder `replaces`; CONFLICT if that is not the present one any more. */
enum store_result catalog_replace(struct store *s, const struct problem *p, int64_t by, const char *replaces, struct err *e);

#endif
