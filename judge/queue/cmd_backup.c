/* judge backup, judge restore: a server's database as one file. */
#include "../command.h"

#include "../../sandbox/base/cleanup.h"
#include "../store/store.h"

#include <stdio.h>
#include <sys/stat.h>

static const char *folder(const struct options *o)
{
	return o->data ? o->data : "data";
}

int cmd_backup(const struct options *o)
{
	struct err e = {0};
	if (options_want(o, COMMAND_backup, 1, &e) < 0 || store_must_exist(folder(o), &e) < 0)
		return complain(&e);
	CLEANUP(store_closep) struct store *s = store_open(folder(o), &e);
	if (!s || store_backup(s, o->arguments[0], &e) != STORE_OK)
		return complain(&e);
	struct stat st = {0};
	stat(o->arguments[0], &st);
	printf("%s: %.1f MB; not in it: %s/secret and uploaded packages, which are files there\n", o->arguments[0], (double)st.st_size / 1e6,
	       folder(o));
	return 0;
}

int cmd_restore(const struct options *o)
{
	struct err e = {0};
	if (options_want(o, COMMAND_restore, 1, &e) < 0)
		return complain(&e);
	if (store_restore(folder(o), o->arguments[0], &e) != STORE_OK)
		return complain(&e);
	printf("restored; what was there before is kept as judge.db.before-restore in %s\n", folder(o));
	return 0;
}
