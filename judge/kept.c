/* Times that are kept: see kept.h. */
#include "kept.h"

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/json.h"
#include "../sandbox/base/json_write.h"
#include "../sandbox/base/keep.h"
#include "paths.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* FORMAT: to be raised when times are measured in another way under the same key. */
enum { FORMAT = 1, HASH = 16, MAX_US = 1000000000 };

void kept_now(char *out, size_t size)
{
	time_t now = time(NULL);
	struct tm t;
	gmtime_r(&now, &t);
	strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &t);
}

int kept_path(const char *key, char *out, size_t size, struct err *e)
{
	unsigned char hash[HASH];
	char hex[2 * HASH + 1];
	if (!*paths()->state)
		return err_system(e, "nowhere to keep times: set HOME or XDG_STATE_HOME");
	crypto_generichash(hash, sizeof hash, (const unsigned char *)key, strlen(key), NULL, 0);
	sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
	snprintf(out, size, "%s/times/%s.json", paths()->state, hex);
	return 0;
}

/* ---- writing ---- */

int kept_write(const char *path, const struct buf *text, struct err *e)
{
	char folder[560];
	const char *slash = strrchr(path, '/');
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 0, path);
	if (keep_folder(folder, 0700) < 0)
		return err_errno(e, "cannot make the folder %s", folder);
	return keep_file(path, 0644, &(struct keep){.data = buf_str(text), .size = text->size}, e);
}

int kept_store(const char *key, const struct kept_time *t, struct err *e)
{
	CLEANUP_BUF struct buf text = {0};
	struct json_writer w = {.out = &text, .indent = true};
	char path[520], when[sizeof t->when];
	if (kept_path(key, path, sizeof path, e) < 0)
		return -1;
	snprintf(when, sizeof when, "%s", t->when);
	if (!*when)
		kept_now(when, sizeof when);
	json_open(&w, NULL, '{');
	json_write_integer(&w, "format", FORMAT);
	json_write_string(&w, "key", key);
	json_write_string(&w, "when", when);
	json_write_number(&w, "us", t->us);
	json_write_number(&w, "low_us", t->low_us);
	json_write_number(&w, "high_us", t->high_us);
	json_write_number(&w, "spread", t->spread);
	json_write_unsigned(&w, "sets", t->sets);
	json_write_unsigned(&w, "passes", t->passes);
	json_close(&w, '}');
	buf_addc(&text, '\n');
	return kept_write(path, &text, e);
}

/* ---- reading ---- */

static int read_time(const struct json *j, const char *key, struct kept_time *t, struct err *e)
{
	static const char *const names[] = {"format", "key", "when", "us", "low_us", "high_us", "spread", "sets", "passes", NULL};
	const struct cJSON *root = json_root(j);
	const char *stands, *when;
	int64_t format, sets, passes;
	if (!json_is_object(root))
		return json_fail(j, root, e, "an object is expected");
	if (json_only(j, root, names, e) < 0 || json_integer(j, root, "format", FORMAT, FORMAT, &format, e) < 0 ||
	    json_string(j, root, "key", "a string", &stands, e) < 0 || json_string(j, root, "when", "a string", &when, e) < 0 ||
	    json_number(j, root, "us", 1e-3, MAX_US, &t->us, e) < 0 || json_number(j, root, "low_us", 0, t->us, &t->low_us, e) < 0 ||
	    json_number(j, root, "high_us", t->us, MAX_US, &t->high_us, e) < 0 ||
	    json_number(j, root, "spread", 0, MAX_US, &t->spread, e) < 0 || json_integer(j, root, "sets", 1, 1000, &sets, e) < 0 ||
	    json_integer(j, root, "passes", 1, 1000000, &passes, e) < 0)
		return -1;
	if (strcmp(stands, key))
		return json_fail(j, json_get(root, "key"), e, "is of another time");
	if (strlen(when) >= sizeof t->when || strspn(when, "0123456789-:TZ") != strlen(when))
		return json_fail(j, json_get(root, "when"), e, "is no date");
	snprintf(t->when, sizeof t->when, "%s", when);
	t->sets = (unsigned)sets;
	t->passes = (unsigned)passes;
	return 0;
}

int kept_load(const char *key, struct kept_time *out, struct err *e)
{
	char path[520];
	struct kept_time t = {0};
	if (kept_path(key, path, sizeof path, e) < 0)
		return -1;
	if (access(path, F_OK) < 0)
		return err_errno(e, "nothing is kept in %s", path);
	CLEANUP(json_freep) struct json *j = json_read_file(path, path, e);
	if (!j || read_time(j, key, &t, e) < 0)
		return -1;
	*out = t;
	return 0;
}
