// A whole program has a private /tmp, and nothing of /usr.
#include <cstdio>
#include <fcntl.h>

int main()
{
	static const char *const places[] = {"/usr/lib/judge/problems/int4-gemv/oracle", "/usr/share/judge/problems/int4-gemv/oracle.c",
		"/usr/lib/judge-data/secret", "/usr/bin/judge", "/usr", "/lib"};
	for (const char *place : places)
		if (open(place, O_RDONLY) >= 0)
			return 1;
	puts("nothing seen");
}
