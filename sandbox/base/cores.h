/* How many processors are there for us to use? */
#ifndef BASE_CORES_H
#define BASE_CORES_H

#include <unistd.h>

static inline unsigned host_cores(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (unsigned)n : 1;
}

#endif
