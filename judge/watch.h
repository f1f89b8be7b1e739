/* Waiting for a file to be saved. */
#ifndef JUDGE_WATCH_H
#define JUDGE_WATCH_H

#include "../sandbox/base/err.h"

struct watch;

/* Watches the folder, since editors save by renaming a new file over the old one. */
struct watch *watch_open(const char *path, struct err *e);
/* Until the file is written or replaced.  -1 and e if the folder is gone. */
int watch_wait(struct watch *w, struct err *e);
void watch_close(struct watch *w);

#endif
