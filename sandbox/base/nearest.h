/* "Did you mean ...?": the name nearest to one that is not there. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/* Among n names (or up to a NULL if n is 0); NULL if none is near enough to be worth a suggestion. */
const char *nearest_name(const char *wrong, const char *const *names, size_t n);

#endif
