/* What the API says when it refuses: see message.h. */
#include "message.h"

#include "../../sandbox/base/cleanup.h"

#include <string.h>

static const struct {
	unsigned status;
	const char *code, *en, *zh;
} table[] = {
#define MESSAGE(id, status, code, en, zh) {status, code, en, zh},
#include "messages.def"
#undef MESSAGE
};

unsigned message_status(enum message m)
{
	return table[m].status;
}

const char *message_code(enum message m)
{
	return table[m].code;
}

const char *message_text(enum message m, const char *lang, struct arena *a, va_list arguments)
{
	CLEANUP_BUF struct buf out = {0};
	const char *at = strcmp(lang, "zh") ? table[m].en : table[m].zh, *hole;
	while ((hole = strstr(at, "{}"))) {
		const char *argument = va_arg(arguments, const char *);
		buf_add(&out, at, (size_t)(hole - at));
		if (!argument)
			BUG("message %d wants more arguments", (int)m);
		buf_adds(&out, argument);
		at = hole + 2;
	}
	buf_adds(&out, at);
	return arena_strdup(a, buf_str(&out));
}
