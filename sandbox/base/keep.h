/* Files that are kept: each appears whole or not at all, whatever ends the judge meanwhile, and whoever else writes it. */
#ifndef BASE_KEEP_H
#define BASE_KEEP_H

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What goes into the file: `size` bytes of `data`, or, with data NULL, all of the descriptor `fd` from its start; fd -1: nothing. */
struct keep {
	const void *data;
	size_t size;
	int fd;
};

/* Write beside the path, then rename.  The file has exactly this mode, whatever the umask.  What judges that were killed left
 * half-written in its folder is removed. */
int keep_file(const char *path, mode_t mode, const struct keep *what, struct err *e);
/* Make a folder and those above it, each with this mode; 0 if it is there already. */
int keep_folder(const char *path, mode_t mode);
/* A folder of ours or root's, where nobody else may write. */
bool keep_is_private(const char *folder);

#endif
