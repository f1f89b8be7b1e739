/* judge new ID: a package that already grades, to make one's own of. */
#include "../command.h"

#include "../../sandbox/base/cleanup.h"
#include "../paths.h"
#include "../problem.h"
#include "layout.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FILE = 1 << 20 };

/* What stands for the id in the template, whose folder has that name too. */
static const char placeholder[] = "row-scale";

static void put_id(const struct buf *from, const char *id, struct buf *out)
{
	for (const char *at = buf_str(from);;) {
		const char *next = strstr(at, placeholder);
		if (!next) {
			buf_adds(out, at);
			return;
		}
		buf_add(out, at, (size_t)(next - at));
		buf_adds(out, id);
		at = next + strlen(placeholder);
	}
}

static int write_new(const char *path, const struct buf *text, struct err *e)
{
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_input(e, "cannot write %s: %s", path, strerror(errno));
	for (size_t at = 0; at < text->size;) {
		ssize_t n = write(fd, text->data + at, text->size - at);
		if (n < 0)
			return err_input(e, "cannot write %s: %s", path, strerror(errno));
		at += (size_t)n;
	}
	return 0;
}

static int make_folders(char *path, struct err *e)
{
	for (char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
		*at = 0;
		int rc = mkdir(path, 0777);
		int why = errno;
		*at = '/';
		if (rc < 0 && why != EEXIST)
			return err_input(e, "cannot make the folder of %s: %s", path, strerror(why));
	}
	return 0;
}

static int copy_file(const char *folder, const char *name, const char *id, struct err *e)
{
	CLEANUP_FREE char *from = NULL, *to = NULL;
	CLEANUP_BUF struct buf text = {0}, own = {0};
	if (asprintf(&from, "%s/%s", folder, name) < 0 || asprintf(&to, "%s/%s", id, name) < 0)
		BUG("out of memory");
	if (buf_read_file(&text, from, MAX_FILE, e) < 0)
		return -1;
	put_id(&text, id, &own);
	return make_folders(to, e) < 0 ? -1 : write_new(to, &own, e);
}

static int check_id(const char *id, struct err *e)
{
	if (!problem_is_id(id))
		return err_input(e, "\"%s\" can't be the id of a problem: write 1 to 63 small letters, digits and -, the first no -, e.g. q4-0-gemv", id);
	return 0;
}

/* The judge's own problems are found by id, so that one of the same id would be hard to tell apart. */
static int make_folder(const char *id, struct err *e)
{
	CLEANUP_FREE char *own = NULL;
	if (asprintf(&own, "%s/%s", paths()->problems, id) < 0)
		BUG("out of memory");
	if (access(own, F_OK) == 0)
		return err_input(e, "there is a problem \"%s\" already: choose another id", id);
	if (mkdir(id, 0777) == 0)
		return 0;
	if (errno == EEXIST)
		return err_input(e, "%s is there already: move it away, or choose another id", id);
	return err_input(e, "cannot make the folder %s: %s", id, strerror(errno));
}

int cmd_new(const struct options *o)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	CLEANUP(findings_free) struct findings none = {0};
	struct err e = {0};
	struct layout l;
	if (options_want(o, COMMAND_new, 1, &e) < 0)
		return complain(&e);
	const char *id = o->arguments[0];
	if (access(paths()->template, R_OK) < 0) {
		err_system(&e, "the template of packages is not at %s: set JUDGE_HOME to the judge's source tree, or install anew", paths()->template);
		return complain(&e);
	}
	layout_read(paths()->template, a, &l, &none);
	if (check_id(id, &e) < 0 || make_folder(id, &e) < 0)
		return complain(&e);
	for (unsigned i = 0; i < l.n; i++)
		if (copy_file(paths()->template, l.files[i].path, id, &e) < 0)
			return complain(&e);
	if (copy_file(paths()->template, "README.md", id, &e) < 0)
		return complain(&e);
	printf("wrote %s/: a small problem that works, INT8 rows times their scales, with notes on what to change\n"
	       "next: judge check %s   it passes as it is, and is to pass again when you are done\n"
	       "      %s/README.md   what to change, in which order\n",
	       id, id, id);
	return 0;
}
