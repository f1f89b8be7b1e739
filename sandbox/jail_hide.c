/* Folders that no jail sees: see jail_hide in jail.h.
 *
 * Where they are inside is found in the judge, before the clone, since names have to be resolved for that: /lib may be a link to
 * /usr/lib, and brings along what lies there.  The supervisor then mounts an empty folder over each (jail_root.c).
 */
#include "jail_child.h"

#include "base/cleanup.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *hidden[JAIL_HIDDEN_MAX];
static unsigned n_hidden;

void jail_hide(const char *folder)
{
	if (*folder != '/')
		return;
	pthread_mutex_lock(&lock);
	unsigned i = 0;
	while (i < n_hidden && strcmp(hidden[i], folder) != 0)
		i++;
	if (i == JAIL_HIDDEN_MAX)
		BUG("more than %d folders to hide", JAIL_HIDDEN_MAX);
	if (i == n_hidden && !(hidden[n_hidden++] = strdup(folder)))
		BUG("out of memory");
	pthread_mutex_unlock(&lock);
}

/* Where below the mounted folder it lies, "/judge/problems"; NULL: not there. */
static const char *below(const char *folder, const char *mounted)
{
	size_t n = strcmp(mounted, "/") ? strlen(mounted) : 0;
	return !strncmp(folder, mounted, n) && folder[n] == '/' && folder[n + 1] ? folder + n : NULL;
}

static int add(struct jail_plan *p, const char *inside, const char *rest, struct err *e)
{
	size_t n = strcmp(inside, "/") ? strlen(inside) : 0;
	if (p->n_masks == JAIL_MAX_MASKS ||
	    snprintf(p->masks[p->n_masks], sizeof p->masks[0], "%.*s%s", (int)n, inside, rest) >= (int)sizeof p->masks[0])
		return err_system(e, "cannot hide %s%s: too many folders, or too long a name", inside, rest);
	p->n_masks++;
	return 0;
}

static int mask_mount(struct jail_plan *p, const char *host, const char *inside, char (*folders)[PATH_MAX], unsigned n, struct err *e)
{
	char mounted[PATH_MAX];
	if (!realpath(host, mounted))
		return errno == ENOENT ? 0 : err_errno(e, "cannot tell where %s is", host);
	for (unsigned i = 0; i < n; i++) {
		const char *rest = below(folders[i], mounted);
		if (rest && add(p, inside, rest, e) < 0)
			return -1;
	}
	return 0;
}

int jail_plan_masks(struct jail_plan *p, struct err *e)
{
	const struct jail_spec *s = p->spec;
	const char *const *own = jail_own_mounts(s->policy);
	CLEANUP_FREE char (*folders)[PATH_MAX] = malloc(sizeof *folders * JAIL_HIDDEN_MAX);
	unsigned n = 0;
	int rc = 0;
	if (!folders)
		BUG("out of memory");
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < n_hidden; i++)		/* one that is not there yet has nothing to hide */
		n += realpath(hidden[i], folders[n]) != NULL;
	pthread_mutex_unlock(&lock);
	for (unsigned i = 0; n && i < s->n_mounts && rc == 0; i++)
		rc = mask_mount(p, s->mounts[i].host, s->mounts[i].inside, folders, n, e);
	for (; n && *own && rc == 0; own++)
		rc = mask_mount(p, *own, *own, folders, n, e);
	return rc;
}
