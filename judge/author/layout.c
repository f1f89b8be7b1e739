/* The files of a package: see layout.h. */
#include "layout.h"

#include "../../sandbox/base/cleanup.h"
#include "../problem.h"
#include "expectation.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Files of a package's own folder, and of submissions/. */
static const char *const texts[] = {"problem.json", "statement.en.md", "statement.zh.md", "steps.en.md", "steps.zh.md", "starter.cu", "oracle.c",
				    "reference.cu", "submissions/survivors.txt"};

struct walk {
	const char *root;
	struct arena *arena;
	struct layout *out;
	struct findings *findings;
};

static bool is_text(const char *path)
{
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!strcmp(texts[i], path))
			return true;
	return false;
}

static void keep_file(struct walk *w, const char *path, enum layout_kind kind)
{
	struct layout *l = w->out;
	if ((l->n & (l->n - 1)) == 0) {
		struct layout_file *more = arena_new_array(w->arena, struct layout_file, l->n ? 2 * l->n : 1);
		if (l->n)
			memcpy(more, l->files, l->n * sizeof *more);
		l->files = more;
	}
	l->files[l->n++] = (struct layout_file){arena_strdup(w->arena, path), kind};
}

static void keep_other(struct walk *w, const char *path)
{
	struct layout *l = w->out;
	if ((l->n_others & (l->n_others - 1)) == 0) {
		const char **more = arena_new_array(w->arena, const char *, l->n_others ? 2 * l->n_others : 1);
		if (l->n_others)
			memcpy(more, l->others, l->n_others * sizeof *more);
		l->others = more;
	}
	l->others[l->n_others++] = arena_strdup(w->arena, path);
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);
	return n > m && !strcmp(name + n - m, end);
}

static void take_entry(struct walk *w, const char *path, const char *name);

static void walk_folder(struct walk *w, const char *path)
{
	CLEANUP_FREE char *full = NULL;
	struct dirent **list;
	if (asprintf(&full, "%s/%s", w->root, path) < 0)
		BUG("out of memory");
	int n = scandir(full, &list, NULL, alphasort);
	if (n < 0) {
		finding_grave(w->findings, path, 0, NULL, "can't be read: %s", strerror(errno));
		return;
	}
	for (int i = 0; i < n; i++) {
		CLEANUP_FREE char *inside = NULL;
		const char *name = list[i]->d_name;
		if (asprintf(&inside, "%s%s%s", path, *path ? "/" : "", name) < 0)
			BUG("out of memory");
		if (strcmp(name, ".") && strcmp(name, ".."))
			take_entry(w, inside, name);
		free(list[i]);
	}
	free(list);
}

static void take_submission(struct walk *w, const char *path, const char *name)
{
	if (ends_in(name, ".cu") && *name != '.') {
		keep_file(w, path, LAYOUT_SUBMISSION);
		return;
	}
	keep_other(w, path);
	if (*name != '.' && !ends_in(name, "~"))
		finding_add(w->findings, path, 0, NULL, "is no .cu file: nothing grades it; name it NAME.cu, or move it away");
}

static void take_entry(struct walk *w, const char *path, const char *name)
{
	CLEANUP_FREE char *full = NULL;
	struct stat st;
	if (asprintf(&full, "%s/%s", w->root, path) < 0)
		BUG("out of memory");
	if (lstat(full, &st) < 0)
		return;
	const char *below = !strncmp(path, "submissions/", 12) ? path + 12 : NULL;
	if (S_ISDIR(st.st_mode)) {
		bool known = !strcmp(path, "submissions") || (below && expectation_folder(below));
		CLEANUP_FREE char *other = NULL;
		if (known) {
			walk_folder(w, path);
			return;
		}
		if (asprintf(&other, "%s/", path) < 0)
			BUG("out of memory");
		keep_other(w, other);
		if (below && *name != '.')
			finding_add(w->findings, other, 0, NULL, "is no folder of submissions: these are %s", expectation_folders());
	} else if (!S_ISREG(st.st_mode)) {
		keep_other(w, path);
		if (below || is_text(path))
			finding_add(w->findings, path, 0, NULL, "is neither a file nor a folder: put the file itself in its place");
	} else if (below && strchr(below, '/')) {
		take_submission(w, path, name);
	} else if (is_text(path)) {
		keep_file(w, path, LAYOUT_TEXT);
	} else {
		keep_other(w, path);
		if (below && ends_in(name, ".cu"))
			finding_add(w->findings, path, 0, NULL, "lies beside the folders of submissions: move it into one of %s", expectation_folders());
	}
}

int layout_find(const char *word, char *out, size_t size, struct err *e)
{
	struct stat st;
	if (stat(word, &st) == 0 && S_ISDIR(st.st_mode)) {
		snprintf(out, size, "%s", word);
		return 0;
	}
	if (strchr(word, '/'))
		return err_input(e, "%s: no such folder: name that of a package", word);
	CLEANUP(problem_closep) struct problem *p = problem_find(word, e);
	if (!p)
		return -1;
	snprintf(out, size, "%s", p->folder);
	return 0;
}

void layout_read(const char *folder, struct arena *a, struct layout *out, struct findings *f)
{
	struct walk w = {.root = folder, .arena = a, .out = out, .findings = f};
	*out = (struct layout){0};
	walk_folder(&w, "");
}
