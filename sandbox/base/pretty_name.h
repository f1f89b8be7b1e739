/* Names of functions as their authors wrote them. */
#ifndef BASE_PRETTY_NAME_H
#define BASE_PRETTY_NAME_H

#include <stddef.h>

/* Demangled, without return type and parameters: "_Z4gemvILi4EEvPf" is "gemv<4>".  What can't be demangled stays as it is;
 * cut to size. */
void pretty_name(const char *mangled, char *out, size_t size);

#endif
