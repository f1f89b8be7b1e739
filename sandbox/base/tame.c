/* Text of others, made harmless for a terminal: see tame.h. */
#include "tame.h"

void tame(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p; p++) {
		if (*p < ' ' || *p == 0x7f)
			*p = '?';
		else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
			p[0] = p[1] = '?';
		/* a byte of that range that belongs to no character: some terminals obey it */
		else if (*p >= 0x80 && *p < 0xa0 && (p == (unsigned char *)text || p[-1] < 0x80))
			*p = '?';
	}
}
