/* JSON, and what is kept in it: a message can be made about any value, and names its place. */
#include "fuzz.h"
#include "sandbox/base/json.h"
#include "sandbox/ptx/profile.h"

#include <stdlib.h>
#include <string.h>

static unsigned left;

static void check_text(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ')
			BUG("a message with a control character: 0x%02x", (unsigned char)*s);
}

static void visit(const struct json *j, const struct cJSON *v, int depth)
{
	struct err e = {0};
	if (depth > JSON_MAX_DEPTH)
		BUG("deeper than the limit");
	if (left && left--) {
		json_fail(j, v, &e, "is wrong");
		if (!strstr(e.text, "is wrong"))
			BUG("a message without its text");
		check_text(e.text);
	}
	if (json_is_string(v) && !json_text(v))
		BUG("a string without text");
	if (json_is_integer(v) && (json_value(v) > 9007199254740992.0 || json_value(v) < -9007199254740992.0))
		BUG("an integer that is not one");
	for (const struct cJSON *c = json_is_object(v) || json_is_array(v) ? json_first(v) : NULL; c; c = json_next(c))
		visit(j, c, depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = {0};
	struct profile p;
	struct json *j = json_parse((const char *)data, size, "x.json", &e);
	left = 50;
	if (j)
		visit(j, json_root(j), 0);
	else if (e.kind != ERR_INPUT || !e.text[0])
		BUG("a refusal without a reason");
	json_free(j);
	char *text = strndup((const char *)data, size);
	if (profile_parse(text, "x.json", &p, &e) < 0 && !e.text[0])
		BUG("a refusal without a reason");
	free(text);
	return 0;
}
