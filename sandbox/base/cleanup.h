/* Cleanup attributes: a resource is given back when its variable leaves its scope. */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include "buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(f) __attribute__((cleanup(f)))
#define CLEANUP_FD CLEANUP(cleanup_fd)
#define CLEANUP_FILE CLEANUP(cleanup_file)
#define CLEANUP_FREE CLEANUP(cleanup_free)
#define CLEANUP_BUF CLEANUP(buf_free)

static inline void cleanup_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

/* Hand a descriptor on: the variable forgets it. */
static inline int take_fd(int *fd)
{
	int f = *fd;
	*fd = -1;
	return f;
}

#endif
