/* Uploaded problem packages: see package.h.
 *
 * Of an archive only names, sizes and bytes are believed, and these within limits.  A name is taken apart here, and must be plain:
 * letters, digits, dot, dash, underscore; no two that differ in case alone.  Anything but files and folders is refused.  Files are
 * made with O_EXCL and O_NOFOLLOW in a folder that is new.
 */
#include "package.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/json.h"
#include "../../sandbox/base/keep.h"
#include "../author/rules.h"

#include <archive.h>
#include <archive_entry.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_NAME = 160, MAX_DEPTH = 6 };

struct unpack {
	const char *folder;
	size_t packed, bytes;
	unsigned n;
	char names[PACKAGE_MAX_FILES][MAX_NAME];
	struct err *e;
};

/* ---- names ---- */

static int check_name(const char *name, struct err *e)
{
	size_t n = strlen(name);
	int depth = 0;
	if (!n || n >= MAX_NAME)
		return err_input(e, "a name of %zu bytes: 1 to %d are allowed", n, MAX_NAME - 1);
	if (*name == '/')
		return err_input(e, "%s: an absolute path; write names relative to the package", name);
	for (const char *at = name; *at; depth++) {
		size_t part = strcspn(at, "/");
		if (!part || *at == '.')
			return err_input(e, "%s: parts of a name must not be empty or begin with a dot", name);
		for (size_t i = 0; i < part; i++)
			if (!isalnum((unsigned char)at[i]) && !strchr("._-+", at[i]))
				return err_input(e, "an entry's name has the byte 0x%02x: use letters, digits and ._-+", (unsigned char)at[i]);
		at += part + (at[part] == '/');
	}
	return depth > MAX_DEPTH ? err_input(e, "%s: more than %d folders deep", name, MAX_DEPTH) : 0;
}

static int remember(struct unpack *u, const char *name)
{
	for (unsigned i = 0; i < u->n; i++)
		if (!strcasecmp(u->names[i], name))
			return strcmp(u->names[i], name) ? err_input(u->e, "%s and %s differ in case alone", u->names[i], name)
							 : err_input(u->e, "%s is there twice", name);
	if (u->n == PACKAGE_MAX_FILES)
		return err_input(u->e, "more than %d entries", PACKAGE_MAX_FILES);
	snprintf(u->names[u->n++], MAX_NAME, "%s", name);
	return 0;
}

/* ---- unpacking ---- */

static int make_folders(struct unpack *u, const char *name, bool all)
{
	char path[1000];
	size_t base = strlen(u->folder) + 1;
	snprintf(path, sizeof path, "%s/%s", u->folder, name);
	for (char *at = path + base; *at; at++) {
		if (*at != '/')
			continue;
		*at = 0;
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return err_errno(u->e, "cannot make a folder");
		*at = '/';
	}
	if (all && mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_errno(u->e, "cannot make a folder");
	return 0;
}

static int count_bytes(struct unpack *u, size_t n)
{
	u->bytes += n;
	if (u->bytes > PACKAGE_MAX_BYTES)
		return err_input(u->e, "unpacked it has more than %d MiB", PACKAGE_MAX_BYTES >> 20);
	if (u->bytes > (1 << 20) && u->bytes / PACKAGE_MAX_RATIO > u->packed)
		return err_input(u->e, "it unpacks to more than %d times its size", PACKAGE_MAX_RATIO);
	return 0;
}

static int write_file(struct unpack *u, struct archive *a, const char *name)
{
	char path[1000];
	const void *data;
	size_t size;
	la_int64_t offset, at = 0;
	int result;
	snprintf(path, sizeof path, "%s/%s", u->folder, name);
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return errno == EEXIST || errno == ENOTDIR || errno == EISDIR ? err_input(u->e, "%s is both a file and a folder", name)
									     : err_errno(u->e, "cannot make %s", name);
	while ((result = archive_read_data_block(a, &data, &size, &offset)) == ARCHIVE_OK) {
		if (offset != at)
			return err_input(u->e, "%s: sparse files are not taken", name);
		at += (la_int64_t)size;
		if (count_bytes(u, size) < 0)
			return -1;
		for (const char *from = data; size;) {
			ssize_t n = write(fd, from, size);
			if (n <= 0)
				return err_errno(u->e, "cannot write %s", name);
			from += n;
			size -= (size_t)n;
		}
	}
	return result == ARCHIVE_EOF ? 0 : err_input(u->e, "%s: the archive is damaged: %s", name, archive_error_string(a));
}

static int take_entry(struct unpack *u, struct archive *a, struct archive_entry *entry)
{
	char name[1024];
	const char *raw = archive_entry_pathname(entry);
	if (!raw || strlen(raw) >= sizeof name)
		return err_input(u->e, "an entry has no name, or one that is too long");
	snprintf(name, sizeof name, "%s", !strncmp(raw, "./", 2) ? raw + 2 : raw);
	size_t n = strlen(name);
	bool folder = archive_entry_filetype(entry) == AE_IFDIR;
	if (folder && n && name[n - 1] == '/')
		name[n - 1] = 0;
	if (folder && (!*name || !strcmp(name, ".")))
		return 0;
	if (check_name(name, u->e) < 0)
		return -1;
	if (archive_entry_hardlink(entry) || archive_entry_symlink(entry) || (!folder && archive_entry_filetype(entry) != AE_IFREG))
		return err_input(u->e, "%s: neither a file nor a folder (links and devices are not taken)", name);
	if (archive_entry_is_encrypted(entry))
		return err_input(u->e, "%s is encrypted", name);
	if (remember(u, name) < 0 || make_folders(u, name, folder) < 0)
		return -1;
	return folder ? 0 : write_file(u, a, name);
}

static void free_archive(struct archive **a)
{
	archive_read_free(*a);
}

int package_unpack(const char *folder, const void *data, size_t size, struct err *e)
{
	CLEANUP_FREE struct unpack *u = calloc(1, sizeof *u);
	CLEANUP(free_archive) struct archive *a = archive_read_new();
	struct archive_entry *entry;
	int result;
	if (!u || !a)
		BUG("out of memory");
	u->folder = folder;
	u->packed = size;
	u->e = e;
	archive_read_support_filter_gzip(a);
	archive_read_support_format_tar(a);
	archive_read_support_format_zip(a);
	if (archive_read_open_memory(a, data, size) != ARCHIVE_OK)
		return err_input(e, "this is neither a .zip nor a .tar.gz");
	while ((result = archive_read_next_header(a, &entry)) == ARCHIVE_OK || result == ARCHIVE_WARN)
		if (take_entry(u, a, entry) < 0)
			return -1;
	if (result != ARCHIVE_EOF)
		return u->n ? err_input(e, "the archive is damaged: %s", archive_error_string(a))
			    : err_input(e, "this is neither a .zip nor a .tar.gz");
	return u->n ? 0 : err_input(e, "the archive is empty");
}

/* ---- folders ---- */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

static void remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

struct workplace {
	char path[500];
};

static void remove_workplace(struct workplace *w)
{
	if (*w->path)
		remove_tree(w->path);
}

/* The folder with problem.json: `top` itself, or the only thing in it. */
static int find_package(const char *top, char *out, size_t size, struct err *e)
{
	char only[256] = "";
	int n = 0;
	snprintf(out, size, "%s/problem.json", top);
	if (access(out, F_OK) == 0) {
		snprintf(out, size, "%s", top);
		return 0;
	}
	DIR *d = opendir(top);
	for (struct dirent *f; d && (f = readdir(d));)
		if (*f->d_name != '.') {
			snprintf(only, sizeof only, "%s", f->d_name);
			n++;
		}
	if (d)
		closedir(d);
	snprintf(out, size, "%s/%.200s/problem.json", top, only);
	if (n != 1 || access(out, F_OK) < 0)
		return err_input(e, "problem.json: not there; it belongs at the top of the archive, or in its only folder");
	snprintf(out, size, "%s/%.200s", top, only);
	return 0;
}

/* The package's folder must have its name: what the archive calls it may be anything. */
static int name_package(const char *top, const char *at, char *out, size_t size, char id[64], struct err *e)
{
	char path[900];
	const char *text;
	snprintf(path, sizeof path, "%s/problem.json", at);
	CLEANUP(json_freep) struct json *j = json_read_file(path, "problem.json", e);
	if (!j || json_string(j, json_root(j), "id", "the problem's id, e.g. \"int4-gemv\"", &text, e) < 0)
		return -1;
	if (!problem_is_id(text))
		return err_input(e, "problem.json: id: \"%.60s\": use 1 to 63 small letters, digits and -", text);
	snprintf(id, 64, "%s", text);
	snprintf(out, size, "%s.package/%s", top, id);
	snprintf(path, sizeof path, "%s.package", top);
	if (mkdir(path, 0755) < 0 || rename(at, out) < 0)
		return err_errno(e, "cannot name the package's folder");
	return 0;
}

/* ---- checks ---- */

/* The grave ones first. */
static void keep_messages(const struct findings *f, struct package *out)
{
	for (int grave = 1; grave >= 0; grave--)
		for (unsigned i = 0; i < f->n && out->n < PACKAGE_MESSAGES; i++)
			if (f->at[i].grave == grave)
				out->messages[out->n++] = f->at[i];
}

/* root/ID/VERSION/ID, or VERSION-2 and so on: the same version may come with other texts, and what grades keeps its files. */
static int put_in_place(const char *root, const char *from, struct package *p, struct err *e)
{
	char path[600];
	snprintf(path, sizeof path, "%s/%s", root, p->id);
	if (keep_folder(path, 0755) < 0)
		return err_errno(e, "cannot make %s", path);
	for (unsigned i = 1; i < 10000; i++) {
		char end[16] = "";
		if (i > 1)
			snprintf(end, sizeof end, "-%u", i);
		snprintf(path, sizeof path, "%.400s/%s/%s%s", root, p->id, p->version, end);
		if (mkdir(path, 0755) < 0) {
			if (errno == EEXIST)
				continue;
			return err_errno(e, "cannot make %s", path);
		}
		snprintf(p->folder, sizeof p->folder, "%s/%s", path, p->id);
		return rename(from, p->folder) < 0 ? err_errno(e, "cannot move the package to %s", p->folder) : 0;
	}
	return err_system(e, "%s has too many copies of one version", path);
}

static int make_workplace(const char *root, struct workplace *w, struct err *e)
{
	if (keep_folder(root, 0755) < 0)
		return err_errno(e, "cannot make %s", root);
	snprintf(w->path, sizeof w->path, "%.400s/.new-XXXXXX", root);
	if (!mkdtemp(w->path)) {
		err_errno(e, "cannot make a folder in %s", root);
		*w->path = 0;
		return -1;
	}
	chmod(w->path, 0755);
	return 0;
}

/* The package in `folder`, NULL: what went before failed already, with e. */
static int check_and_place(const char *root, const char *folder, bool check, struct package *out, struct err *e)
{
	CLEANUP(findings_free) struct findings f = {0};
	CLEANUP(problem_closep) struct problem *p = folder ? rules_check(folder, &f) : NULL;
	if (!folder && e->kind == ERR_INPUT)
		finding_of_err(&f, e);
	keep_messages(&f, out);
	if (!folder)
		return -1;
	if (!p || findings_grave(&f))
		return err_input(e, "the package can't be used");
	snprintf(out->version, sizeof out->version, "%s", p->version);
	return check ? 0 : put_in_place(root, folder, out, e);
}

int package_take(const char *root, const void *data, size_t size, bool check, struct package *out, struct err *e)
{
	CLEANUP(remove_workplace) struct workplace work = {""}, named = {""};
	char at[800], folder[900];
	memset(out, 0, sizeof *out);
	if (make_workplace(root, &work, e) < 0)
		return -1;
	snprintf(named.path, sizeof named.path, "%.480s.package", work.path);
	bool there = package_unpack(work.path, data, size, e) == 0 && find_package(work.path, at, sizeof at, e) == 0 &&
		     name_package(work.path, at, folder, sizeof folder, out->id, e) == 0;
	return check_and_place(root, there ? folder : NULL, check, out, e);
}

void package_remove(const struct package *p)
{
	char path[sizeof p->folder];
	snprintf(path, sizeof path, "%s", p->folder);
	*strrchr(path, '/') = 0;		/* VERSION-N, which is its alone */
	remove_tree(path);
}

/* ---- another text ---- */

static int copy_file(const char *from, const char *to, struct err *e)
{
	char piece[1 << 16];
	ssize_t n;
	CLEANUP_FD int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP_FD int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (in < 0 || out < 0)
		return err_errno(e, "cannot copy %s", from);
	while ((n = read(in, piece, sizeof piece)) > 0)
		for (ssize_t at = 0, one; at < n; at += one)
			if ((one = write(out, piece + at, (size_t)(n - at))) <= 0)
				return err_errno(e, "cannot write %s", to);
	return n < 0 ? err_errno(e, "cannot read %s", from) : 0;
}

/* Files and folders; whatever else came there, and what is hidden, is no part of a package. */
static int copy_tree(const char *from, const char *to, int depth, struct err *e)
{
	int rc = mkdir(to, 0755) < 0 ? err_errno(e, "cannot make %s", to) : 0;
	DIR *d = rc < 0 ? NULL : opendir(from);
	if (!d)
		return rc < 0 ? rc : err_errno(e, "cannot read %s", from);
	for (struct dirent *f; rc == 0 && (f = readdir(d));) {
		char path[1200], target[1200];
		struct stat st;
		snprintf(path, sizeof path, "%.900s/%s", from, f->d_name);
		snprintf(target, sizeof target, "%.900s/%s", to, f->d_name);
		if (*f->d_name == '.' || lstat(path, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH)
			rc = copy_tree(path, target, depth + 1, e);
		else if (S_ISREG(st.st_mode))
			rc = copy_file(path, target, e);
	}
	closedir(d);
	return rc;
}

int package_edit(const char *root, const char *from, const char *name, const char *text, struct package *out, struct err *e)
{
	CLEANUP(remove_workplace) struct workplace work = {""};
	char folder[900], path[1000];
	const char *id = strrchr(from, '/');
	memset(out, 0, sizeof *out);
	if (make_workplace(root, &work, e) < 0)
		return -1;
	snprintf(out->id, sizeof out->id, "%s", id ? id + 1 : from);
	snprintf(folder, sizeof folder, "%s/%s", work.path, out->id);
	snprintf(path, sizeof path, "%s/%s", folder, name);
	if (copy_tree(from, folder, 0, e) < 0 || keep_file(path, 0644, &(struct keep){.data = text, .size = strlen(text), .fd = -1}, e) < 0)
		return -1;
	return check_and_place(root, folder, false, out, e);
}
