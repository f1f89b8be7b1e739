/* What a sample submission is there to get: see expectation.h. */
#include "expectation.h"

#include "../../sandbox/base/cleanup.h"
#include "../submission.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* A folder, the verdict that it stands for, and whether a file in it may name another. */
static const struct {
	const char *name;
	enum verdict verdict;
	bool fixed;
} folders[] = {{"accepted", VERDICT_AC, true}, {"wrong_answer", VERDICT_WA, false}, {"run_time_error", VERDICT_RE, false},
	       {"time_limit_exceeded", VERDICT_TLE, false}, {"rejected", VERDICT_NONE, false}};
enum { FOLDERS = sizeof folders / sizeof *folders, LINES = 60 };

const char *expectation_folders(void)
{
	return "accepted, wrong_answer, run_time_error, time_limit_exceeded and rejected";
}

bool expectation_folder(const char *name)
{
	for (int i = 0; i < FOLDERS; i++)
		if (!strcmp(folders[i].name, name))
			return true;
	return false;
}

/* The word after "// KEY:", in one of the first lines; the line's number, or 0. */
static int find_line(const char *source, const char *key, char *word, size_t size)
{
	size_t n = strlen(key);
	for (int line = 1; line <= LINES && *source; line++) {
		const char *p = source, *end = source + strcspn(source, "\n");
		if (!strncmp(p, "//", 2)) {
			for (p += 2; *p == ' ' || *p == '\t'; p++)
				;
			if (!strncmp(p, key, n) && p[n] == ':') {
				for (p += n + 1; *p == ' ' || *p == '\t'; p++)
					;
				size_t k = 0;
				while (p + k < end && !isspace((unsigned char)p[k]))
					k++;
				snprintf(word, size, "%.*s", (int)k, p);
				return line;
			}
		}
		source = *end ? end + 1 : end;
	}
	return 0;
}

int expectation_read(const char *folder, const char *path, struct expectation *out, struct findings *f)
{
	CLEANUP_BUF struct buf source = {0};
	CLEANUP_FREE char *full = NULL;
	struct err e = {0};
	char word[40];
	int line, i = 0;
	*out = (struct expectation){.verdict = VERDICT_NONE};
	if (asprintf(&full, "%s/%s", folder, path) < 0)
		BUG("out of memory");
	if (buf_read_file(&source, full, SUBMISSION_MAX_BYTES + 1, &e) < 0) {
		finding_add(f, path, 0, NULL, "can't be read: %s", e.text);
		return -1;
	}
	out->needs_gpu = find_line(buf_str(&source), "device", word, sizeof word) && !strcmp(word, "gpu");
	if (strncmp(path, "submissions/", 12))
		return 0;
	const char *kind = path + 12;
	size_t n = strcspn(kind, "/");
	while (i < FOLDERS && (strlen(folders[i].name) != n || strncmp(folders[i].name, kind, n)))
		i++;
	if (i == FOLDERS)
		BUG("%s is in no folder of submissions", path);
	out->verdict = folders[i].verdict;
	line = find_line(buf_str(&source), "expect", word, sizeof word);
	if (!line && out->verdict != VERDICT_NONE)
		return 0;
	enum verdict said = line ? verdict_find(word) : VERDICT_NONE;
	if (!line)
		finding_add(f, path, 1, NULL, "does not say what it must get: add a line \"// expect: RACE\" (or another verdict) below its first");
	else if (said == VERDICT_NONE || said == VERDICT_SE)
		finding_add(f, path, line, NULL, "expects \"%s\", which is no verdict of a program: write e.g. WA, RACE or IMA", word);
	else if (folders[i].fixed && said != folders[i].verdict)
		finding_add(f, path, line, NULL, "expects %s, and lies in %s/: move it, or remove the line", word, folders[i].name);
	else if (!folders[i].fixed && said == VERDICT_AC)
		finding_add(f, path, line, NULL, "expects AC, and lies in %s/: move it to accepted/", folders[i].name);
	else {
		out->verdict = said;
		return 0;
	}
	return -1;
}
