/* judge pack DIR: one archive of a package, to upload.  The same files make the same bytes. */
#include "../command.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/keep.h"
#include "../../sandbox/base/scratch.h"
#include "../figures.h"
#include "../server/package.h"
#include "../term.h"
#include "checkup.h"
#include "layout.h"
#include "rules.h"

#include <archive.h>
#include <archive_entry.h>
#include <string.h>

static void free_archive(struct archive **a)
{
	archive_write_free(*a);
}

static void free_entry(struct archive_entry **a)
{
	archive_entry_free(*a);
}

static la_ssize_t take_bytes(struct archive *a, void *out, const void *data, size_t size)
{
	(void)a;
	buf_add(out, data, size);
	return (la_ssize_t)size;
}

/* No owner, no time, no order of a disk: nothing but names and contents. */
static int add_file(struct archive *a, const struct problem *p, const char *path, struct err *e)
{
	CLEANUP_BUF struct buf text = {0};
	CLEANUP_FREE char *full = NULL, *name = NULL;
	CLEANUP(free_entry) struct archive_entry *entry = archive_entry_new();
	if (!entry || asprintf(&full, "%s/%s", p->folder, path) < 0 || asprintf(&name, "%s/%s", p->id, path) < 0)
		BUG("out of memory");
	if (buf_read_file(&text, full, PACKAGE_MAX_BYTES, e) < 0)
		return -1;
	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, (la_int64_t)text.size);
	archive_entry_set_mtime(entry, 0, 0);
	if (archive_write_header(a, entry) != ARCHIVE_OK ||
	    archive_write_data(a, buf_str(&text), text.size) != (la_ssize_t)text.size)
		return err_system(e, "cannot pack %s: %s", path, archive_error_string(a));
	return 0;
}

static int pack(const struct problem *p, const struct layout *l, struct buf *out, struct err *e)
{
	CLEANUP(free_archive) struct archive *a = archive_write_new();
	if (!a)
		BUG("out of memory");
	if (archive_write_set_format_ustar(a) != ARCHIVE_OK || archive_write_add_filter_gzip(a) != ARCHIVE_OK ||
	    archive_write_set_options(a, "gzip:!timestamp,gzip:compression-level=9") != ARCHIVE_OK ||
	    archive_write_open(a, out, NULL, take_bytes, NULL) != ARCHIVE_OK)
		return err_system(e, "cannot make an archive: %s", archive_error_string(a));
	for (unsigned i = 0; i < l->n; i++)
		if (add_file(a, p, l->files[i].path, e) < 0)
			return -1;
	return archive_write_close(a) == ARCHIVE_OK ? 0 : err_system(e, "cannot make an archive: %s", archive_error_string(a));
}

/* What a server will say to it, and whether it will see the same problem. */
static int try_unpacking(const struct problem *p, const struct buf *packed, struct err *e)
{
	CLEANUP(scratch_remove) struct scratch scratch = {.lock = -1};
	struct package *taken = calloc(1, sizeof *taken);
	if (!taken)
		BUG("out of memory");
	int rc = scratch_make(&scratch, "pack", e);
	if (rc == 0)
		rc = package_take(scratch.path, buf_str(packed), packed->size, true, taken, e);
	if (rc == 0 && strcmp(taken->version, p->version))
		rc = err_system(e, "the archive unpacks to version %s, and the folder has %s", taken->version, p->version);
	free(taken);
	return rc;
}

static void say(const struct problem *p, const struct layout *l, const char *path, size_t size)
{
	printf("wrote %s: %u files, %.1f KB, version %s\n", path, l->n, (double)size / 1e3, p->version);
	for (unsigned i = 0; i < l->n_others; i++)
		printf("%s%s%s", i ? ", " : "left out: ", l->others[i], i + 1 < l->n_others ? "" : "\n");
	printf("next: judge check %s, if you have not; then upload %s in the pages of judge serve (Manage, Problems)\n", p->id, path);
}

int cmd_pack(const struct options *o)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	CLEANUP(findings_free) struct findings f = {0};
	CLEANUP_BUF struct buf packed = {0};
	struct err e = {0};
	struct layout l;
	struct term out;
	char path[80], folder[600];
	if (options_want(o, COMMAND_pack, 1, &e) < 0 || layout_find(o->arguments[0], folder, sizeof folder, &e) < 0)
		return complain(&e);
	CLEANUP(problem_closep) struct problem *p = rules_check(folder, &f);
	if (f.n) {
		term_of(&out, stderr);
		checkup_print_findings(&out, &f);
		fprintf(stderr, "judge: %s is not packed: mend these first\n", o->arguments[0]);
		return EXIT_NOT_ACCEPTED;
	}
	layout_read(p->folder, a, &l, &f);
	snprintf(path, sizeof path, "./%s.tar.gz", p->id);
	if (pack(p, &l, &packed, &e) < 0 || try_unpacking(p, &packed, &e) < 0 ||
	    keep_file(path, 0644, &(struct keep){.data = buf_str(&packed), .size = packed.size, .fd = -1}, &e) < 0)
		return complain(&e);
	say(p, &l, path + 2, packed.size);
	return EXIT_ACCEPTED;
}
