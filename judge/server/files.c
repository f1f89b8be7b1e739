/* The pages: see files.h. */
#include "files.h"

#include "../../sandbox/base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILES = 4096, MAX_DEPTH = 4, LOOK_SECONDS = 2 };

struct entry {
	char path[256];			/* "/assets/main-ABCD.js" */
};

struct files {
	char *folder;
	pthread_mutex_t lock;
	double looked;
	size_t n;
	struct entry *at;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

static void add(struct files *f, const char *path)
{
	if (f->n == MAX_FILES || strlen(path) >= sizeof f->at->path)
		return;
	f->at = realloc(f->at, (f->n + 1) * sizeof *f->at);
	if (!f->at)
		BUG("out of memory");
	snprintf(f->at[f->n++].path, sizeof f->at->path, "%s", path);
}

/* Plain files only: no links, nothing whose name begins with a dot. */
static void walk(struct files *f, const char *path, int depth)
{
	char full[1000], next[512];
	struct stat st;
	snprintf(full, sizeof full, "%s%s", f->folder, path);
	DIR *d = opendir(full);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (*e->d_name == '.')
			continue;
		snprintf(next, sizeof next, "%s/%.240s", path, e->d_name);
		snprintf(full, sizeof full, "%s%s", f->folder, next);
		if (lstat(full, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH)
			walk(f, next, depth + 1);
		else if (S_ISREG(st.st_mode))
			add(f, next);
	}
	if (d)
		closedir(d);
}

static bool listed(const struct files *f, const char *path)
{
	struct entry key;
	if (strlen(path) >= sizeof key.path)
		return false;
	snprintf(key.path, sizeof key.path, "%s", path);
	return f->n && bsearch(&key, f->at, f->n, sizeof key, compare);
}

/* A page that was built anew has other files: a name that is not there is worth another look, now and then. */
static bool known(struct files *f, const char *path)
{
	pthread_mutex_lock(&f->lock);
	bool found = listed(f, path);
	if (!found && clock_seconds() - f->looked > LOOK_SECONDS) {
		f->n = 0;
		walk(f, "", 0);
		if (f->n)
			qsort(f->at, f->n, sizeof *f->at, compare);
		f->looked = clock_seconds();
		found = listed(f, path);
	}
	pthread_mutex_unlock(&f->lock);
	return found;
}

struct files *files_open(const char *folder)
{
	struct files *f = calloc(1, sizeof *f);
	if (!f)
		BUG("out of memory");
	f->folder = strdup(folder);
	f->looked = -LOOK_SECONDS - 1;
	pthread_mutex_init(&f->lock, NULL);
	return f;
}

void files_close(struct files *f)
{
	if (!f)
		return;
	free(f->folder);
	free(f->at);
	free(f);
}

static const char *type_of(const char *path)
{
	static const struct {
		const char *end, *type;
	} types[] = {
		{".html", "text/html; charset=utf-8"}, {".js", "text/javascript; charset=utf-8"}, {".css", "text/css; charset=utf-8"},
		{".svg", "image/svg+xml"}, {".png", "image/png"}, {".ico", "image/x-icon"}, {".woff2", "font/woff2"},
		{".json", "application/json"}, {".webmanifest", "application/manifest+json"}, {".txt", "text/plain; charset=utf-8"},
	};
	const char *dot = strrchr(path, '.');
	for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++)
		if (!strcmp(dot, types[i].end))
			return types[i].type;
	return "application/octet-stream";
}

static bool takes_gzip(const struct request *r)
{
	const char *accept = request_header(r, "Accept-Encoding");
	const char *at = accept ? strstr(accept, "gzip") : NULL;
	return at && strncmp(at + 4, ";q=0,", 5) && strcmp(at + 4, ";q=0");
}

static void send_file(struct files *f, struct request *r, const char *path, unsigned status)
{
	char full[1000], packed[300], tag[64];
	struct stat st;
	const char *condition = request_header(r, "If-None-Match");
	snprintf(packed, sizeof packed, "%s.gz", path);
	bool gzip = takes_gzip(r) && known(f, packed);
	snprintf(full, sizeof full, "%s%s", f->folder, gzip ? packed : path);
	int fd = open(full, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			close(fd);
		reply_refuse(r, MESSAGE_no_route, NULL, NULL);
		return;
	}
	bool hashed = !strncmp(path, "/assets/", 8), html = strstr(path, ".html");
	snprintf(tag, sizeof tag, "\"%llx-%llx%s\"", (unsigned long long)st.st_mtim.tv_sec * 1000000000ull + (unsigned long long)st.st_mtim.tv_nsec,
		 (unsigned long long)st.st_size, gzip ? "-gz" : "");
	r->reply.cached = true;
	r->reply.page = html;
	reply_header(r, "Cache-Control", hashed ? "public, max-age=31536000, immutable" : "no-cache");
	reply_header(r, "ETag", tag);
	reply_header(r, "Vary", "Accept-Encoding");
	if (condition && strstr(condition, tag)) {
		close(fd);
		reply_empty(r, 304);
		return;
	}
	if (gzip)
		reply_header(r, "Content-Encoding", "gzip");
	r->reply.status = status;
	r->reply.type = type_of(path);
	r->reply.fd = fd;
	r->reply.fd_size = (size_t)st.st_size;
	r->reply.has_file = true;
}

/* Pages by the first part of their address.  Others get index.html too, which says that there is nothing, and the status 404. */
static bool is_page(const char *path)
{
	static const char *const pages[] = {"", "problems", "submissions", "users", "sign-in", "register", "settings", "groups", "manage", "assignments"};
	size_t n = strcspn(path + 1, "/");
	for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
		if (strlen(pages[i]) == n && !strncmp(path + 1, pages[i], n))
			return true;
	return false;
}

void files_answer(struct files *f, struct request *r)
{
	if (strcmp(r->method, "GET") && strcmp(r->method, "HEAD")) {
		reply_refuse(r, MESSAGE_no_method, NULL, "GET, HEAD", NULL);
		reply_header(r, "Allow", "GET, HEAD");
	} else if (known(f, r->path)) {
		send_file(f, r, r->path, 200);
	} else if (!known(f, "/index.html")) {
		r->reply.page = true;
		reply_text(r, 503, "text/plain; charset=utf-8", "The pages are not built: run make web, or see the API at /api/v1/openapi.json\n");
	} else {
		const char *last = strrchr(r->path, '/');
		if (is_page(r->path) || !strchr(last, '.'))
			send_file(f, r, "/index.html", is_page(r->path) ? 200 : 404);
		else
			reply_refuse(r, MESSAGE_no_route, NULL, NULL);
	}
}
