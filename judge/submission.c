/* A solution file: see submission.h. */
#include "submission.h"

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/json.h"
#include "../sandbox/base/tame.h"
#include "paths.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES_SEARCHED = 60 };

const char *submission_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!strcmp(path, "-"))
		return "stdin.cu";
	return slash ? slash + 1 : path;
}

void submission_shown_name(const char *path, char out[SUBMISSION_SHOWN])
{
	snprintf(out, SUBMISSION_SHOWN, "%s", submission_name(path));
	tame(out);
}

int submission_read(const char *path, struct buf *out, struct err *e)
{
	bool from_stdin = !strcmp(path, "-");
	CLEANUP_FD int fd = from_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_input(e, "cannot open %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) && !from_stdin)
		return err_input(e, "%s is no file: name a .cu file", path);
	while (out->size <= SUBMISSION_MAX_BYTES) {
		char block[65536];
		ssize_t n = read(fd, block, sizeof block);
		if (n < 0)
			return err_input(e, "cannot read %s: %s", path, strerror(errno));
		if (n == 0)
			break;
		buf_add(out, block, (size_t)n);
	}
	return 0;
}

const char *submission_refusal(const char *source, size_t size, char *text, size_t room)
{
	size_t at, blank = 0;
	if (size > SUBMISSION_MAX_BYTES) {
		snprintf(text, room, "the file is larger than %d KiB, the most a solution may have", SUBMISSION_MAX_BYTES >> 10);
		return text;
	}
	while (blank < size && isspace((unsigned char)source[blank]))
		blank++;
	if (blank == size) {
		snprintf(text, room, "the file is empty");
		return text;
	}
	const char *nul = memchr(source, 0, size);
	if (nul || !utf8_valid(source, size, &at)) {
		if (nul)
			at = (size_t)(nul - source);
		int line = 1;
		for (size_t i = 0; i < at; i++)
			line += source[i] == '\n';
		snprintf(text, room, "this is no CUDA source: line %d holds the byte 0x%02x, which is not text in UTF-8", line,
			 (unsigned char)source[at]);
		return text;
	}
	return NULL;
}

/* ---- which problem ---- */

static bool exists(const char *id)
{
	CLEANUP_FREE char *path = NULL;
	return *id && asprintf(&path, "%s/%s/problem.json", paths()->problems, id) > 0 && access(path, F_OK) == 0;
}

/* "// judge: ID" within the first lines. */
static bool from_line(const char *source, size_t size, char *id, size_t room)
{
	const char *at = source, *end = source + size;
	for (int i = 0; i < LINES_SEARCHED && at < end; i++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		if (!stop)
			stop = end;
		const char *p = at;
		while (p < stop && (*p == ' ' || *p == '\t'))
			p++;
		if (stop - p > 2 && p[0] == '/' && p[1] == '/') {
			for (p += 2; p < stop && (*p == ' ' || *p == '\t'); p++)
				;
			if (stop - p > 6 && !memcmp(p, "judge:", 6)) {
				for (p += 6; p < stop && (*p == ' ' || *p == '\t'); p++)
					;
				size_t n = 0;
				while (p + n < stop && !isspace((unsigned char)p[n]) && n + 1 < room)
					n++;
				memcpy(id, p, n);
				id[n] = 0;
				return n > 0;
			}
		}
		at = stop + 1;
	}
	return false;
}

/* The package that the file lies in: problems/int4-gemv/submissions/accepted/step1_textbook.cu. */
static bool from_folder(const char *path, char *folder, size_t room)
{
	CLEANUP_FREE char *real = realpath(path, NULL);
	char *slash;
	for (int up = 0; real && up < 4 && (slash = strrchr(real, '/')) && slash != real; up++) {
		*slash = 0;
		CLEANUP_FREE char *file = NULL;
		if (asprintf(&file, "%s/problem.json", real) > 0 && access(file, F_OK) == 0) {
			snprintf(folder, room, "%s", real);
			return true;
		}
	}
	return false;
}

/* int4-gemv.cu, int4_gemv.cu, int4-gemv.fast.cu, int4-gemv-2.cu. */
static bool from_name(const char *path, char *id, size_t room)
{
	snprintf(id, room, "%s", submission_name(path));
	for (char *p = id; *p; p++)
		if (*p == '_')
			*p = '-';
	size_t n = strlen(id);
	if (n > 3 && !strcmp(id + n - 3, ".cu"))
		id[n - 3] = 0;
	char whole[80];
	snprintf(whole, sizeof whole, "%.79s", id);
	for (;;) {
		if (exists(id))
			return true;
		char *cut = strpbrk(id, ".-") ? id + strlen(id) : NULL;
		while (cut && cut > id && *cut != '.' && *cut != '-')
			cut--;
		if (!cut || cut == id)
			break;
		*cut = 0;
	}
	snprintf(id, room, "%s", whole);
	return false;
}

struct problem *submission_problem(const char *path, const char *id, const char *source, size_t size, struct err *e)
{
	char found[600];
	if (id)
		return problem_find(id, e);
	if (from_line(source, size, found, sizeof found)) {
		struct problem *p = problem_find(found, e);
		if (!p && e->kind == ERR_INPUT)
			err_wrap(e, "%s: the line \"// judge: %s\"", path, found);
		return p;
	}
	if (from_folder(path, found, sizeof found) || from_name(path, found, sizeof found))
		return problem_find(found, e);
	if (!problem_find(found, e) && e->kind == ERR_INPUT)
		err_input(e, "which problem is %s for? Its name is none's; add -p ID, or a line \"// judge: ID\" to the file (judge list tells the ids)", path);
	return NULL;
}

int submission_problem_id(const char *path, const char *id, const char *source, size_t size, char *out, size_t room, struct err *e)
{
	char found[600];
	if (id)
		snprintf(found, sizeof found, "%s", id);
	else if (!from_line(source, size, found, sizeof found) && !from_folder(path, found, sizeof found))
		from_name(path, found, sizeof found);
	for (size_t n = strlen(found); n > 1 && found[n - 1] == '/'; n--)
		found[n - 1] = 0;
	const char *slash = strrchr(found, '/');		/* of a package's folder: its last part */
	if (snprintf(out, room, "%s", slash ? slash + 1 : found) >= (int)room || !*out)
		return err_input(e, "which problem is %s for? Add -p ID, or a line \"// judge: ID\" to the file", path);
	return 0;
}
