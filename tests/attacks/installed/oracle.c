/* A package whose author looks for other packages while it is compiled: that jail has the whole of /usr. */
#if !__has_include("/usr/share/judge/reference/problem.h")
#error /usr is not here: this proves nothing
#elif __has_include("/usr/share/judge/problems/int4-gemv/oracle.c") || __has_include("/usr/lib/judge/problems/int4-gemv/oracle") || \
	__has_include("/lib/judge/problems/int4-gemv/oracle") || __has_include("/usr/lib/judge-data/secret")
#error another package is here
#endif
#include "attacked.c"
