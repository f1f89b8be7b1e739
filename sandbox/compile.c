/* The compile step: see compile.h.  The commands are compile_plan.c's; here a jail runs them and its results are read.
 *
 * What comes out of the jail is untrusted: a source that takes over a compiler can write any log, any PTX, any executable.
 * That gives it nothing: the log is cleaned text, and PTX and executable go to jails of their own.
 */
#include "compile.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/scratch.h"
#include "compile_cache.h"
#include "compile_check.h"
#include "compile_plan.h"
#include "compile_prefix.h"
#include "diagnostics.h"
#include "jail.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
	MAX_SOURCE = 4 << 20,		/* bytes; nvcc needs seconds for less */
	MAX_IMAGE = 100 << 20,
	MAX_LOG = 1 << 20
};

/* What the script told. */
struct outcome {
	bool started[N_COMPILE_STEPS], ended[N_COMPILE_STEPS];
	int status[N_COMPILE_STEPS];
	struct buf logs[N_COMPILE_STEPS];
	bool lost, done;
};

/* The descriptors that go into the jail. */
struct files {
	int source, prelude, library, ptx, guest, cubin;
};

static void files_close(struct files *f)
{
	int all[] = {f->source, f->prelude, f->library, f->ptx, f->guest, f->cubin};
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i] >= 0)
			close(all[i]);
}

static void outcome_free(struct outcome *o)
{
	for (unsigned i = 0; i < N_COMPILE_STEPS; i++)
		buf_free(&o->logs[i]);
}

static void clean_result(struct jail_result *r)
{
	jail_result_free(r);
}

/* ---- into the jail ---- */

/* A memory file; what is given to the jail to read is sealed first. */
static int memory_file(const char *name, const void *data, size_t size, struct err *e)
{
	CLEANUP_FD int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return err_errno(e, "cannot make a memory file");
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, (const char *)data + done, size - done);
		if (n < 0 && errno != EINTR)
			return err_errno(e, "cannot fill a memory file");
		done += n > 0 ? (size_t)n : 0;
	}
	if (data && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return err_errno(e, "cannot seal a memory file");
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_errno(e, "cannot rewind a memory file");
	return take_fd(&fd);
}

static int open_files(const struct compile_request *rq, struct files *f, struct err *e)
{
	const char *library = guest_library_path(e), *prelude = rq->prelude ? rq->prelude : "";
	if (!library)
		return -1;
	if ((f->library = open(library, O_RDONLY | O_CLOEXEC)) < 0)
		return err_errno(e, "cannot open %s", library);
	if ((f->source = memory_file("source", rq->source, rq->size, e)) < 0)
		return -1;
	if ((f->prelude = memory_file("prelude", prelude, strlen(prelude), e)) < 0)
		return -1;
	if ((f->ptx = memory_file("ptx", NULL, 0, e)) < 0)
		return -1;
	if ((f->cubin = memory_file("cubin", NULL, 0, e)) < 0)
		return -1;
	f->guest = memory_file("guest", NULL, 0, e);
	return f->guest < 0 ? -1 : 0;
}

/* Without a jail the files are on a disk of the host's; that it is full is not the source's fault. */
static int check_space(const struct scratch *s, struct err *e)
{
	enum { LEAST = 1 << 20 };
	struct statvfs fs;
	if (!*s->path || statvfs(s->path, &fs) < 0 || (uint64_t)fs.f_bavail * fs.f_frsize >= LEAST)
		return 0;
	return err_system(e, "no space is left for the compiler's files in %s (TMPDIR can name another folder)", s->path);
}

static int run_script(const struct compile_request *rq, const struct toolchain *t, const struct files *f,
		      struct jail_result *r, struct err *e)
{
	CLEANUP(scratch_remove) struct scratch scratch = {.lock = -1};	/* without a jail the files need one of the host's */
	CLEANUP_BUF struct buf moved = {0};
	struct jail_mount mounts[COMPILE_MOUNTS];
	const char *argv[COMPILE_ARGS];
	struct jail_spec s;
	const char *script = compile_script(rq, t, e);
	if (!script)
		return -1;
	if (rq->unsandboxed) {
		if (scratch_make(&scratch, "compile", e) < 0)
			return -1;
		buf_printf(&moved, "cd '%s'\n%s", scratch.path, script);
		script = buf_str(&moved);
	}
	compile_jail(&s, rq, t, script, mounts, argv);
	CLEANUP(compile_prefix_close) struct compile_prefix prefix;
	compile_prefix_open(&prefix, rq, t);
	s.n_mounts += compile_prefix_mounts(&prefix, mounts + s.n_mounts);
	if (prefix.slices < 0)
		return err_errno(e, "no memory file for a compilation");
	const struct jail_fd fds[] = {{f->source, COMPILE_SOURCE_FD}, {f->prelude, COMPILE_PRELUDE_FD},
				      {f->library, COMPILE_LIBRARY_FD}, {f->ptx, COMPILE_PTX_FD},
				      {f->guest, COMPILE_GUEST_FD}, {f->cubin, COMPILE_CUBIN_FD}, {prefix.slices, COMPILE_SLICE_FD}};
	s.fds = fds;
	s.n_fds = sizeof fds / sizeof *fds;
	return jail_run(&s, r, e) < 0 ? -1 : check_space(&scratch, e);
}

/* ---- out of the jail ---- */

static enum compile_step step_of(const char *name, size_t n)
{
	for (enum compile_step s = 0; s < N_COMPILE_STEPS; s++)
		if (strlen(compile_step_name(s)) == n && !memcmp(compile_step_name(s), name, n))
			return s;
	return N_COMPILE_STEPS;
}

/* One line of the script's; the number of bytes of a log that follow it. */
static size_t read_line(const char *line, struct outcome *o, enum compile_step *log)
{
	char name[32];
	int number = 0;
	if (sscanf(line, "@log %31s %d", name, &number) == 2) {
		*log = step_of(name, strlen(name));
		return number > 0 ? (size_t)number : 0;
	}
	o->lost |= !strncmp(line, "@lost\n", 6);
	o->done |= !strncmp(line, "@done\n", 6);
	bool end = !strncmp(line, "@=", 2);
	if ((!end && strncmp(line, "@+", 2) != 0) || sscanf(line + 2, "%31s %d", name, &number) < 1)
		return 0;
	enum compile_step s = step_of(name, strlen(name));
	if (s == N_COMPILE_STEPS)
		return 0;
	o->started[s] = true;
	o->ended[s] |= end;
	if (end)
		o->status[s] = number;
	return 0;
}

static void read_outcome(const struct buf *out, struct outcome *o)
{
	const char *p = buf_str(out), *end = p + out->size;
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		if (!newline)
			return;
		enum compile_step log = N_COMPILE_STEPS;
		size_t follows = read_line(p, o, &log);
		p = newline + 1;
		if (follows > (size_t)(end - p))
			follows = (size_t)(end - p);
		if (log != N_COMPILE_STEPS)
			buf_add(&o->logs[log], p, follows);
		p += follows;
	}
}

/* sh reports death by signal as 128 + its number; 255 is what the tools exit with by themselves. */
static int signal_of(int status)
{
	return status > 128 && status <= 128 + 64 ? status - 128 : 0;
}

static const char *gibibytes(uint64_t n, struct arena *a)
{
	return n % (1ull << 30) ? arena_printf(a, "%llu MiB", (unsigned long long)n >> 20)
				: arena_printf(a, "%llu GiB", (unsigned long long)n >> 30);
}

/* The step that was running when the jail was ended: the last that began and did not end. */
static const char *running_step(const struct outcome *o)
{
	const char *text = "the compiler";
	for (enum compile_step s = 0; s < N_COMPILE_STEPS; s++)
		if (o->started[s] && !o->ended[s])
			text = compile_step_text(s);
	return text;
}

/* The last words of the step that failed, where no tool's message was understood. */
static const char *last_words(const char *log, struct arena *a)
{
	const char *end = log + strlen(log);
	while (end > log && (end[-1] == '\n' || end[-1] == ' '))
		end--;
	const char *line = end;
	while (line > log && line[-1] != '\n' && end - line < 200)
		line--;
	return end > line ? arena_printf(a, ": %.*s", (int)(end - line), line) : "";
}

static const char *count_errors(const struct compiled *c, struct arena *a)
{
	size_t n = 0;
	for (size_t i = 0; i < c->n_diagnostics; i++)
		n += c->diagnostics[i].severity == DIAGNOSTIC_ERROR;
	return n ? arena_printf(a, "%zu error%s", n, n == 1 ? "" : "s") : NULL;
}

/* What a source is told it may take: the clock's limit is three times that (compile_jail). */
static double seconds_of(const struct jail_limits *limits)
{
	return limits->wall_ms / 3e3;
}

/* Why a compilation failed, in a line; NULL if it did not. */
static const char *find_reason(const struct jail_result *r, const struct outcome *o, const struct jail_limits *limits,
			       const struct compiled *c, struct arena *a)
{
	if (r->end == JAIL_MEMORY)
		return arena_printf(a, "the compiler ran out of memory (limit %s)", gibibytes(limits->memory, a));
	if (r->end == JAIL_WALL || r->end == JAIL_CPU)
		return arena_printf(a, "%s took longer than %g s", running_step(o), seconds_of(limits));
	if (r->end != JAIL_EXITED)
		return arena_printf(a, "the compiler was stopped: %s", jail_end_name(r->end));
	for (enum compile_step s = 0; s < N_COMPILE_STEPS; s++) {
		int signal = signal_of(o->status[s]);
		if (signal == SIGXFSZ)
			return arena_printf(a, "%s wrote a file of more than %llu MiB: is an initialised array too large?",
					    compile_step_text(s), (unsigned long long)limits->file_size >> 20);
		if (signal == SIGXCPU || (signal == SIGKILL && r->cpu_us >= (uint64_t)limits->cpu_ms * 1000))
			return arena_printf(a, "%s took longer than %g s", compile_step_text(s), seconds_of(limits));
		if (signal)
			return arena_printf(a, "%s crashed on this source (%s)", compile_step_text(s), strsignal(signal));
	}
	for (enum compile_step s = 0; s < N_COMPILE_STEPS; s++)
		if (o->started[s] && o->status[s]) {
			const char *errors = count_errors(c, a);
			if (errors)
				return errors;
			const char *log = diagnostics_clean(buf_str(&o->logs[s]), o->logs[s].size, MAX_LOG, a);
			return arena_printf(a, "%s failed%s", compile_step_text(s), last_words(log, a));
		}
	return NULL;
}

/* An error that no tool's message tells of (a crash, a limit) becomes a diagnostic, so that there is always one. */
static void ensure_diagnostic(struct compiled *c, const char *name, struct arena *a)
{
	if (count_errors(c, a))
		return;
	struct diagnostic *d = arena_new_array(a, struct diagnostic, c->n_diagnostics + 1);
	*d = (struct diagnostic){.file = name, .severity = DIAGNOSTIC_ERROR, .text = c->why_not};
	if (c->n_diagnostics)
		memcpy(d + 1, c->diagnostics, c->n_diagnostics * sizeof *d);
	c->diagnostics = d;
	c->n_diagnostics++;
}

/* The logs one after the other; device messages that repeat the front end's are dropped by diagnostics_parse. */
static void join_logs(const struct outcome *o, struct buf *b)
{
	for (enum compile_step s = 0; s < N_COMPILE_STEPS; s++) {
		buf_add(b, o->logs[s].data, o->logs[s].size);
		if (b->size && b->data[b->size - 1] != '\n')
			buf_addc(b, '\n');
	}
}

/* A memory file's bytes and a NUL; NULL where it is empty or too large, as *size tells. */
static int read_image(int fd, const char *what, struct arena *a, char **out, size_t *size, struct err *e)
{
	struct stat st;
	*out = NULL;
	*size = 0;
	if (fstat(fd, &st) < 0)
		return err_errno(e, "cannot read the %s", what);
	*size = (size_t)st.st_size;
	if (st.st_size == 0 || st.st_size > MAX_IMAGE)
		return 0;
	char *text = arena_alloc(a, (size_t)st.st_size + 1);
	for (off_t done = 0; done < st.st_size;) {
		ssize_t n = pread(fd, text + done, (size_t)(st.st_size - done), done);
		if (n <= 0)
			return err_errno(e, "cannot read the %s", what);
		done += n;
	}
	text[st.st_size] = 0;
	*out = text;
	return 0;
}

static int read_images(const struct files *f, struct arena *a, struct compiled *c, struct err *e)
{
	char *ptx, *cubin;
	if (read_image(f->ptx, "PTX", a, &ptx, &c->ptx_size, e) < 0 || read_image(f->cubin, "cubin", a, &cubin, &c->cubin_size, e) < 0)
		return -1;
	c->ptx = ptx;
	c->cubin = cubin;
	if (ptx)
		c->ptx_size = strlen(ptx);	/* PTX has no NUL; what follows one is not PTX */
	return 0;
}

/* In the PTX's table of files the source bears its own name, so that faults and profiles do. */
static void name_source(struct compiled *c, const char *name, struct arena *a)
{
	static const char inside[] = "/" COMPILE_SOURCE "\"";
	const char *start = NULL, *end = NULL;
	if (strpbrk(name, "\"\\/\n") || strlen(name) > 200)
		return;
	for (const char *l = strstr(c->ptx, "\t.file\t"); l; l = strstr(l + 1, "\t.file\t")) {
		const char *stop = strchrnul(l, '\n'), *at = memmem(l, (size_t)(stop - l), inside, sizeof inside - 1);
		if (at) {
			start = at + 1;
			end = at + sizeof inside - 2;
			break;
		}
	}
	if (!start)
		return;
	c->ptx = arena_printf(a, "%.*s%s%s", (int)(start - c->ptx), c->ptx, name, end);
	c->ptx_size = strlen(c->ptx);
}

/* The executable in a file of the judge's own: the jail's copy could be open for writing somewhere else. */
static int take_guest(int from, struct err *e)
{
	struct stat st;
	CLEANUP_FD int fd = memfd_create("guest", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || fstat(from, &st) < 0)
		return err_errno(e, "cannot make a memory file");
	for (off_t done = 0; done < st.st_size;) {
		char piece[1 << 16];
		ssize_t n = pread(from, piece, sizeof piece, done);
		if (n <= 0 || write(fd, piece, (size_t)n) != n)
			return err_errno(e, "cannot copy the guest");
		done += n;
	}
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return err_errno(e, "cannot seal the guest");
	return take_fd(&fd);
}

/* The toolkit's own header refuses the host compiler: no submission can compile here.  A source can print the same words, so
 * an empty one is tried before it is believed. */
static bool suspect_toolchain(const struct buf *log)
{
	return strstr(buf_str(log), "host_config.h") && strstr(buf_str(log), "unsupported GNU version");
}

static bool toolchain_fails(const struct compile_request *rq, const struct toolchain *t)
{
	CLEANUP(files_close) struct files f = {-1, -1, -1, -1, -1, -1};
	CLEANUP(outcome_free) struct outcome o = {0};
	CLEANUP(clean_result) struct jail_result r = {0};
	struct compile_request empty = *rq;
	empty.source = "";
	empty.size = 0;
	empty.prelude = NULL;
	if (open_files(&empty, &f, NULL) < 0 || run_script(&empty, t, &f, &r, NULL) < 0)
		return true;
	read_outcome(&r.out, &o);
	return o.status[STEP_FRONT_CPP] || o.status[STEP_FRONT];
}

/* Was one of the compilers killed by somebody outside, as a machine short of memory does?  Then what came of it says nothing
 * about the source.  FACTS: the script says so.  WORDS: a compiler's driver does, which a source can make it say, too. */
enum suspicion { TRUSTED, WORDS, FACTS };

static enum suspicion suspect_kill(const struct jail_result *r, const struct jail_limits *limits, const struct outcome *o)
{
	bool failed = false, killed = o->lost || !o->done, words = false;
	if (r->end != JAIL_EXITED)
		return TRUSTED;
	for (enum compile_step s = 0; s < N_COMPILE_STEPS; s++) {
		failed |= o->status[s] != 0;
		killed |= o->started[s] && !o->ended[s];
		killed |= signal_of(o->status[s]) == SIGKILL && r->cpu_us < (uint64_t)limits->cpu_ms * 1000;
		words |= o->status[s] && (strstr(buf_str(&o->logs[s]), "Killed") || strstr(buf_str(&o->logs[s]), "signal 9"));
	}
	killed |= !failed && !o->ended[STEP_COLLECT];
	return killed ? FACTS : words ? WORDS : TRUSTED;
}

static int read_results(const struct compile_request *rq, const struct toolchain *t, const struct files *f,
			const struct jail_limits *limits, const struct jail_result *r, const struct outcome *outcome, struct arena *a,
			struct compiled *c, struct err *e)
{
	CLEANUP_BUF struct buf log = {0};
	const struct outcome o = *outcome;
	join_logs(&o, &log);
	if (o.status[STEP_PREPARE])
		return err_system(e, "cannot set up a compilation: %.500s", buf_str(&log));
	if (suspect_toolchain(&log) && toolchain_fails(rq, t))
		return err_system(e, "nvcc does not work with this version of gcc: install an older one and set NVCC_CCBIN to its "
				  "g++, e.g. NVCC_CCBIN=/usr/bin/g++-12");
	if (read_images(f, a, c, e) < 0)
		return -1;
	c->log = diagnostics_clean(buf_str(&log), log.size, MAX_LOG, a);
	c->n_diagnostics = diagnostics_parse(c->log, rq->name, a, &c->diagnostics);
	diagnostics_map_ptx(c->diagnostics, c->n_diagnostics, rq->name, c->ptx);
	compile_explain(rq, a, c->diagnostics, c->n_diagnostics);
	c->n_kernels = resources_parse(buf_str(&o.logs[STEP_PTXAS]), a, &c->kernels);
	c->why_not = find_reason(r, &o, limits, c, a);
	if (!c->why_not)
		c->why_not = compile_refuse(c, rq->parts == COMPILE_ALL ? f->guest : -1, a);
	if (c->why_not) {
		ensure_diagnostic(c, rq->name, a);
		return 0;
	}
	name_source(c, rq->name, a);
	c->ok = rq->parts != COMPILE_ALL;
	if (c->ok)
		return 0;
	c->guest_fd = take_guest(f->guest, e);
	c->ok = c->guest_fd >= 0;
	return c->ok ? 0 : -1;
}

/* A source that no compiler needs to see. */
static const char *refuse(const struct compile_request *rq, struct arena *a)
{
	if (rq->size > MAX_SOURCE)
		return arena_printf(a, "the source has %zu bytes; the limit is %d", rq->size, MAX_SOURCE);
	const char *nul = memchr(rq->source, 0, rq->size);
	if (nul)
		return arena_printf(a, "the source has a NUL byte at offset %zu: it is not a text file", (size_t)(nul - rq->source));
	return NULL;
}

/* The entry and the architecture go into shell commands. */
static bool is_plain(const char *s)
{
	return *s && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(s);
}

const struct diagnostic *compiled_first_error(const struct compiled *c)
{
	for (size_t i = 0; i < c->n_diagnostics; i++)
		if (c->diagnostics[i].severity == DIAGNOSTIC_ERROR)
			return &c->diagnostics[i];
	return NULL;
}

/* Would it come out like that again?  Not if the machine had a part in it: a limit, a signal, memory or space that ran out. */
static bool is_settled(const struct jail_result *r, const struct outcome *o, enum suspicion found, const struct compiled *c)
{
	static const char *const words[] = {"nternal error", "nternal compiler error", "No space left", "annot allocate", "ut of memory",
					    "memory exhausted", "Killed", "signal "};
	if (r->end != JAIL_EXITED || found || !o->done || o->lost)
		return false;
	for (enum compile_step s = 0; s < N_COMPILE_STEPS; s++)
		if (o->started[s] && (!o->ended[s] || signal_of(o->status[s])))
			return false;
	for (unsigned i = 0; i < sizeof words / sizeof *words && !c->ok; i++)
		if (strstr(c->log, words[i]))
			return false;
	/* nor if a header is wrong: a kept one may have been damaged */
	const struct diagnostic *first = c->ok ? NULL : compiled_first_error(c);
	return !first || !first->file || !strcmp(first->file, c->name);
}

/* TRUSTED: done.  Else try again; last: then e says why there is no more to be had. */
static enum suspicion compile_once(const struct compile_request *rq, const struct toolchain *t, bool last, struct arena *a,
				   struct compiled *out, bool *settled, struct err *e)
{
	CLEANUP(files_close) struct files f = {-1, -1, -1, -1, -1, -1};
	CLEANUP(clean_result) struct jail_result r = {0};
	CLEANUP(outcome_free) struct outcome o = {0};
	struct jail_mount mounts[COMPILE_MOUNTS];
	const char *argv[COMPILE_ARGS];
	struct jail_spec s;
	if (open_files(rq, &f, e) < 0 || run_script(rq, t, &f, &r, e) < 0)
		return FACTS;
	compile_jail(&s, rq, t, "", mounts, argv);
	read_outcome(&r.out, &o);
	enum suspicion found = suspect_kill(&r, &s.limits, &o);
	if (found == FACTS || (found && !last)) {
		err_system(e, "a compiler was killed from outside (is the machine short of memory?)");
		return found;
	}
	out->wall_us = r.wall_us;
	out->peak_memory = r.peak_memory;
	if (read_results(rq, t, &f, &s.limits, &r, &o, a, out, e) < 0)
		return FACTS;
	*settled = is_settled(&r, &o, found, out);
	return TRUSTED;
}

int compile(const struct compile_request *rq, struct arena *a, struct compiled *out, struct err *e)
{
	*out = (struct compiled){.name = rq->name, .guest_fd = -1, .log = ""};
	if ((rq->entry && !is_plain(rq->entry)) || !is_plain(rq->arch))
		return err_system(e, "compile step: entry \"%s\" or architecture \"%s\" is not a plain name",
				  rq->entry ? rq->entry : "", rq->arch);
	const struct toolchain *t = toolchain_find(e);
	if (!t)
		return -1;
	out->why_not = refuse(rq, a);
	if (out->why_not) {
		ensure_diagnostic(out, rq->name, a);
		return 0;
	}
	struct compile_key key;
	double began = clock_seconds();
	compile_cache_key(rq, t, &key);
	if (compile_cache_get(&key, rq, a, out)) {
		out->wall_us = (uint64_t)((clock_seconds() - began) * 1e6);
		return 0;
	}
	struct err first = {0};
	bool settled = false;
	if (compile_once(rq, t, false, a, out, &settled, &first) && compile_once(rq, t, true, a, out, &settled, e))
		return err_wrap(e, "compile step");
	if (settled)
		compile_cache_put(&key, out);
	return 0;
}

void compiled_close(struct compiled *c)
{
	if (c->guest_fd >= 0)
		close(c->guest_fd);
	c->guest_fd = -1;
}
