/* What the API says when it refuses, in the language of who asked: messages.def. */
#ifndef SERVER_MESSAGE_H
#define SERVER_MESSAGE_H

#include "../../sandbox/base/arena.h"

#include <stdarg.h>

enum message {
#define MESSAGE(id, status, code, en, zh) MESSAGE_##id,
#include "messages.def"
#undef MESSAGE
	MESSAGE_COUNT
};

unsigned message_status(enum message m);
const char *message_code(enum message m);
/* lang: "en", "zh".  The arguments are strings, NULL after the last. */
const char *message_text(enum message m, const char *lang, struct arena *a, va_list arguments);

#endif
