/* Text of others, made harmless for a terminal. */
#ifndef BASE_TAME_H
#define BASE_TAME_H

/* In place: control characters, among them those of U+0080 to U+009F, become '?'. */
void tame(char *text);

#endif
