/* The cache of compilations: what comes back is what went in, and what should not be taken is not. */
#include "sandbox/base/cleanup.h"
#include "sandbox/compile_cache.h"
#include "tests/unit/need_compiler.h"
#include "tests/unit/test.h"

#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char cache[] = "/tmp/compile-cache-test-XXXXXX";
static struct arena *a;
static const struct compile_request plain = {.source = "int x;", .size = 6, .name = "my.cu", .arch = "90"};

static void begin(void)
{
	CHECK(mkdtemp(cache));
	setenv("JUDGE_CACHE", cache, 1);
	unsetenv("JUDGE_CACHE_MIB");
	a = arena_new();
}

static void end(void)
{
	char command[100];
	snprintf(command, sizeof command, "rm -r %s", cache);
	CHECK_EQ(system(command), 0);
	arena_free(a);
}

static struct compile_key key_of(unsigned n)
{
	struct compile_key k = {.usable = true};
	memcpy(k.hash + 1, &n, sizeof n);	/* the first byte decides about sweeping */
	k.hash[0] = 1;
	return k;
}

static const char *path_of(unsigned n)
{
	static char path[200];
	struct compile_key k = key_of(n);
	size_t at = (size_t)snprintf(path, sizeof path, "%s/compiled/", cache);
	for (unsigned i = 0; i < sizeof k.hash; i++)
		at += (size_t)snprintf(path + at, sizeof path - at, "%02x", k.hash[i]);
	return path;
}

static size_t count(void)
{
	char pattern[100];
	glob_t g;
	snprintf(pattern, sizeof pattern, "%s/compiled/*", cache);
	size_t n = glob(pattern, 0, NULL, &g) == 0 ? g.gl_pathc : 0;
	globfree(&g);
	return n;
}

/* A result of about that size, told apart by n. */
static struct compiled result(unsigned n, size_t size)
{
	char *cubin = arena_alloc(a, size + 1);
	memset(cubin, (int)n, size);
	int guest = memfd_create("guest", MFD_CLOEXEC);
	CHECK_EQ(write(guest, "\177ELF\0guest", 10), 10);
	struct diagnostic *d = arena_new_array(a, struct diagnostic, 2);
	d[0] = (struct diagnostic){"my.cu", 3, 7, DIAGNOSTIC_WARNING, "variable \"x\" was declared but never referenced"};
	d[1] = (struct diagnostic){NULL, 0, 0, DIAGNOSTIC_NOTE, ""};
	struct kernel_resources *k = arena_new_array(a, struct kernel_resources, 1);
	*k = (struct kernel_resources){"_Z1kPf", 32, 4096, 8, 12, 16, 1};
	return (struct compiled){.ok = true, .name = "my.cu", .diagnostics = d, .n_diagnostics = 2, .log = "a log\n", .ptx = ".version 9.0\n",
				 .ptx_size = 13, .cubin = cubin, .cubin_size = size, .kernels = k, .n_kernels = 1, .guest_fd = guest,
				 .wall_us = 5, .peak_memory = 123456789012 + n};
}

static bool keep(unsigned n, size_t size)
{
	struct compiled c = result(n, size);
	struct compile_key k = key_of(n);
	compile_cache_put(&k, &c);
	compiled_close(&c);
	return access(path_of(n), F_OK) == 0;
}

static bool take(unsigned n)
{
	struct compiled c = {.guest_fd = -1};
	struct compile_key k = key_of(n);
	bool there = compile_cache_get(&k, &plain, a, &c);
	CHECK(!there || c.peak_memory == 123456789012u + n);
	compiled_close(&c);
	return there;
}

TEST(round_trip)
{
	begin();
	struct compiled c = result(1, 1000), got = {.guest_fd = -1};
	struct compile_key k = key_of(1);
	struct stat st;
	char guest[20];
	CHECK(!compile_cache_get(&k, &plain, a, &got));
	compile_cache_put(&k, &c);
	CHECK(compile_cache_get(&k, &plain, a, &got));
	CHECK(got.ok && got.kept && !got.why_not);
	CHECK_STR(got.name, "my.cu");
	CHECK_STR(got.log, c.log);
	CHECK_STR(got.ptx, c.ptx);
	CHECK_EQ(got.ptx_size, c.ptx_size);
	CHECK(got.cubin_size == 1000 && !memcmp(got.cubin, c.cubin, 1000));
	CHECK_EQ(got.peak_memory, c.peak_memory);
	CHECK_EQ(got.n_diagnostics, 2);
	CHECK_STR(got.diagnostics[0].file, "my.cu");
	CHECK_STR(got.diagnostics[0].text, c.diagnostics[0].text);
	CHECK(got.diagnostics[0].line == 3 && got.diagnostics[0].column == 7 && got.diagnostics[0].severity == DIAGNOSTIC_WARNING);
	CHECK(!got.diagnostics[1].file && !*got.diagnostics[1].text && got.diagnostics[1].severity == DIAGNOSTIC_NOTE);
	CHECK_EQ(got.n_kernels, 1);
	CHECK_STR(got.kernels->name, "_Z1kPf");
	CHECK(got.kernels->registers == 32 && got.kernels->shared == 4096 && got.kernels->stack == 8 && got.kernels->spill_store == 12 &&
	      got.kernels->spill_load == 16 && got.kernels->barriers == 1);
	CHECK_EQ(pread(got.guest_fd, guest, sizeof guest, 0), 10);
	CHECK(!memcmp(guest, "\177ELF\0guest", 10));
	CHECK_EQ(fcntl(got.guest_fd, F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	CHECK(stat(path_of(1), &st) == 0 && (st.st_mode & 07777) == 0600);
	compiled_close(&c);
	compiled_close(&got);
	end();
}

TEST(errors_and_parts)
{
	begin();
	struct diagnostic d = {"my.cu", 1, 2, DIAGNOSTIC_ERROR, "expected a \";\""};
	struct compiled bad = {.name = "my.cu", .why_not = "1 error", .diagnostics = &d, .n_diagnostics = 1, .log = "", .guest_fd = -1}, got = {0};
	struct compile_key k = key_of(1), other = key_of(2);
	compile_cache_put(&k, &bad);
	CHECK(compile_cache_get(&k, &plain, a, &got));
	CHECK(!got.ok && got.guest_fd == -1 && !got.ptx && !got.cubin && got.n_kernels == 0);
	CHECK_STR(got.why_not, "1 error");
	CHECK_STR(got.diagnostics[0].text, d.text);
	/* without a guest it serves who wants none, and nobody else */
	struct compile_request device = plain;
	device.parts = COMPILE_PTX;
	struct compiled ptx = {.ok = true, .name = "my.cu", .log = "", .ptx = "x", .ptx_size = 1, .guest_fd = -1};
	compile_cache_put(&other, &ptx);
	CHECK(compile_cache_get(&other, &device, a, &got));
	CHECK(got.ok && got.guest_fd == -1);
	CHECK(!compile_cache_get(&other, &plain, a, &got));
	end();
}

/* Cut at each length, and with each byte another: it is not taken, and is gone. */
TEST_WITHIN(torn_files, 60)
{
	begin();
	CHECK(keep(1, 10));
	CLEANUP_BUF struct buf whole = {0};
	struct err e = {0};
	CHECK_EQ(buf_read_file(&whole, path_of(1), 1 << 20, &e), 0);
	for (size_t i = 0; i < 2 * whole.size; i++) {
		bool cut = i < whole.size;
		size_t at = cut ? i : i - whole.size;
		int fd = open(path_of(1), O_WRONLY | O_CREAT | O_TRUNC, 0600);
		whole.data[at] ^= cut ? 0 : 0x10;
		CHECK_EQ(write(fd, whole.data, cut ? at : whole.size), cut ? at : whole.size);
		whole.data[at] ^= cut ? 0 : 0x10;
		close(fd);
		CHECK_MSG(!take(1) && access(path_of(1), F_OK) < 0, "%s at %zu", cut ? "cut" : "another byte", at);
	}
	CHECK(keep(1, 10) && take(1));
	end();
}

/* Another's file under this name: right in itself, and still not this one. */
TEST(renamed_file)
{
	begin();
	char from[200];
	CHECK(keep(1, 10));
	snprintf(from, sizeof from, "%s", path_of(1));
	CHECK_EQ(rename(from, path_of(2)), 0);
	CHECK(!take(2) && access(path_of(2), F_OK) < 0);
	end();
}

TEST(planted_files)
{
	begin();
	char copy[200];
	CHECK(keep(1, 10));
	CHECK_EQ(chmod(path_of(1), 0666), 0);
	CHECK_MSG(!take(1), "%s", "a file that others may write was taken");
	CHECK(keep(1, 10));
	snprintf(copy, sizeof copy, "%s/copy", cache);
	CHECK(rename(path_of(1), copy) == 0 && symlink(copy, path_of(1)) == 0);
	CHECK_MSG(!take(1), "%s", "a link was followed");
	CHECK_MSG(access(copy, F_OK) == 0, "%s", "what a link leads to was removed");
	CHECK_EQ(link(copy, path_of(1)), 0);
	CHECK_MSG(!take(1), "%s", "a file with another name was taken");
	CHECK_EQ(mkfifo(path_of(1), 0600), 0);
	CHECK(!take(1));
	CHECK_EQ(mkdir(path_of(1), 0700), 0);
	CHECK(!take(1));
	CHECK_EQ(rmdir(path_of(1)), 0);
	if (geteuid() == 0) {
		CHECK(keep(1, 10));
		CHECK_EQ(chown(path_of(1), 65534, 65534), 0);
		CHECK_MSG(!take(1) && access(path_of(1), F_OK) < 0, "%s", "another user's file was taken");
	}
	CHECK(keep(1, 10) && take(1));
	end();
}

/* A folder that others may write to is not used, nor is one that isn't ours. */
TEST(folders_of_others)
{
	begin();
	char folder[100], elsewhere[100];
	snprintf(folder, sizeof folder, "%s/compiled", cache);
	snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", cache);
	CHECK(keep(1, 10) && take(1));
	const char *const both[] = {folder, cache};
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(chmod(both[i], 0777), 0);
		CHECK(!take(1) && !keep(2, 10));
		CHECK_EQ(chmod(both[i], 0720), 0);
		CHECK(!take(1) && !keep(2, 10));
		CHECK_EQ(chmod(both[i], 0755), 0);
		CHECK(take(1));
		if (geteuid() != 0)
			continue;
		CHECK_EQ(chown(both[i], 65534, 65534), 0);
		CHECK(!take(1) && !keep(2, 10));
		CHECK_EQ(chown(both[i], 0, 0), 0);
	}
	CHECK(rename(folder, elsewhere) == 0 && symlink(elsewhere, folder) == 0);
	CHECK(!take(1) && !keep(2, 10));
	end();
}

TEST(no_cache)
{
	begin();
	struct err e = {0};
	const struct toolchain *t = toolchain_find(&e);
	struct compile_key k;
	setenv("JUDGE_CACHE", "", 1);
	CHECK(!keep(1, 10) && !take(1));
	if (t) {
		compile_cache_key(&plain, t, &k);
		CHECK(!k.usable);
	}
	setenv("JUDGE_CACHE", cache, 1);
	CHECK_EQ(count(), 0);
	end();
}

/* The least recently used go; a hit is a use; what is just kept stays. */
TEST(eviction)
{
	begin();
	enum { N = 11, SIZE = 100 << 10 };
	setenv("JUDGE_CACHE_MIB", "1", 1);
	for (unsigned i = 1; i < N; i++) {
		struct timespec then[2] = {{.tv_sec = 1000000 + i}, {.tv_sec = 1000000 + i}};
		CHECK(keep(i, SIZE));
		CHECK_EQ(utimensat(AT_FDCWD, path_of(i), then, 0), 0);
	}
	CHECK_EQ(count(), N - 1);
	CHECK(take(1));			/* the oldest is now the newest */
	CHECK(keep(N, SIZE));
	CHECK(take(1) && take(N) && take(N - 1));
	CHECK(!take(2) && !take(3));
	CHECK_MSG(count() == 8, "%zu files of 100 KiB are left of a MiB", count());
	setenv("JUDGE_CACHE_MIB", "0", 1);
	struct compiled c = result(N + 1, SIZE);
	struct compile_key k = key_of(N + 1);
	compile_cache_put(&k, &c);
	compiled_close(&c);
	CHECK_EQ(count(), 0);
	end();
}

/* Processes that write, take and evict the same files at once: what is taken is right, and nothing else is left behind. */
TEST_WITHIN(several_processes, 60)
{
	begin();
	enum { PROCESSES = 4, ROUNDS = 150, NAMES = 12 };
	pid_t child[PROCESSES];
	setenv("JUDGE_CACHE_MIB", "1", 1);
	for (unsigned p = 0; p < PROCESSES; p++) {
		child[p] = fork();
		CHECK(child[p] >= 0);
		if (child[p])
			continue;
		unsigned found = 0;
		for (unsigned i = 0; i < ROUNDS; i++) {
			unsigned n = 1 + (i * (p + 1) + p) % NAMES;
			struct compiled c = result(n, 150 << 10);
			struct compile_key k = key_of(n);
			if (!take(n))
				compile_cache_put(&k, &c);
			else
				found++;
			compiled_close(&c);
		}
		_exit(found > 0 ? 0 : 1);
	}
	for (unsigned p = 0; p < PROCESSES; p++) {
		int status;
		CHECK(waitpid(child[p], &status, 0) == child[p]);
		CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "process %u: %#x", p, status);
	}
	for (unsigned n = 1; n <= NAMES; n++)
		if (access(path_of(n), F_OK) == 0)
			CHECK(take(n) && unlink(path_of(n)) == 0);
	CHECK_EQ(count(), 0);
	end();
}

static bool same_key(const struct compile_request *x, const struct compile_request *y)
{
	struct err e = {0};
	const struct toolchain *t = toolchain_find(&e);
	struct compile_key k, l;
	compile_cache_key(x, t, &k);
	compile_cache_key(y, t, &l);
	CHECK(k.usable && l.usable);
	return !memcmp(k.hash, l.hash, sizeof k.hash);
}

TEST(keys)
{
	begin();
	struct err e = {0};
	if (!toolchain_find(&e) || !guest_library_path(&e)) {
		end();
		test_skip(e.text);
	}
	static const char *const options[] = {"-O1", NULL}, *const split[] = {"-O", "1", NULL};
	struct compile_request all = plain;
	all.prelude = "int y;";
	all.entry = "solve";
	all.options = options;
	struct compile_request others[] = {all, all, all, all, all, all, all, all, all, all, all, all}, same = all;
	others[0].source = "int z;";
	others[1].size = 5;
	others[2].name = "your.cu";
	others[3].prelude = "int z;";
	others[4].prelude = NULL;
	others[5].entry = NULL;
	others[6].arch = "90a";
	others[7].options = split;
	others[8].parts = COMPILE_DEVICE;
	others[9].parts = COMPILE_PTX;
	others[10].wall_ms = 1000;
	others[11].memory = 1 << 30;
	same.source = strdup("int x;");
	CHECK(same_key(&all, &same));
	free((char *)same.source);
	for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
		CHECK_MSG(!same_key(&all, &others[i]), "request %u has the same key", i);
	/* what one field ends with, and the next begins with */
	struct compile_request x = plain, y = plain;
	x.prelude = "ab";
	x.entry = "c";
	y.prelude = "a";
	y.entry = "bc";
	CHECK(!same_key(&x, &y));
	struct compile_key k;
	y = plain;
	y.source = "const char *t = __TIME__;";
	y.size = strlen(y.source);
	compile_cache_key(&y, toolchain_find(&e), &k);
	CHECK(!k.usable);
	y = plain;
	y.unsandboxed = true;
	compile_cache_key(&y, toolchain_find(&e), &k);
	CHECK(!k.usable);
	setenv("NVCC_CCBIN", "/usr/bin/g++", 1);
	compile_cache_key(&plain, toolchain_find(&e), &k);
	unsetenv("NVCC_CCBIN");
	struct compile_key without;
	compile_cache_key(&plain, toolchain_find(&e), &without);
	CHECK(memcmp(k.hash, without.hash, sizeof k.hash) != 0);
	end();
}

/* Another libguest.a makes another guest. */
TEST(key_of_library)
{
	begin();
	struct err e = {0};
	if (!toolchain_find(&e)) {
		end();
		test_skip(e.text);
	}
	struct compile_key k[2];
	for (int i = 0; i < 2; i++) {
		pid_t child = fork();		/* it is looked for once a process */
		CHECK(child >= 0);
		char lib[100], path[120];
		snprintf(lib, sizeof lib, "%s/lib%d", cache, i);
		snprintf(path, sizeof path, "%s/libguest.a", lib);
		if (!child) {
			FILE *f = mkdir(lib, 0700) == 0 ? fopen(path, "w") : NULL;
			if (!f || fprintf(f, "library %d", i) < 0 || fclose(f) != 0)
				_exit(1);
			setenv("JUDGE_LIB", lib, 1);
			compile_cache_key(&plain, toolchain_find(&e), &k[i]);
			snprintf(path, sizeof path, "%s/key%d", cache, i);
			f = fopen(path, "w");
			_exit(k[i].usable && f && fwrite(&k[i], sizeof k[i], 1, f) == 1 && fclose(f) == 0 ? 0 : 1);
		}
		int status;
		CHECK(waitpid(child, &status, 0) == child && status == 0);
		snprintf(path, sizeof path, "%s/key%d", cache, i);
		FILE *f = fopen(path, "r");
		CHECK(f && fread(&k[i], sizeof k[i], 1, f) == 1);
		fclose(f);
	}
	CHECK(memcmp(k[0].hash, k[1].hash, sizeof k[0].hash) != 0);
	end();
}

/* ---- with the compilers ---- */

static struct compiled compile_text(const char *source, unsigned wall_ms, uint64_t memory)
{
	struct compile_request rq = {.source = source, .size = strlen(source), .name = "my.cu", .arch = "90", .entry = "solve",
				     .wall_ms = wall_ms, .memory = memory};
	struct compiled c;
	struct err e = {0};
	CHECK_MSG(compile(&rq, a, &c, &e) == 0, "%s", e.text);
	return c;
}

static bool same_file(int x, int y)
{
	static char p[8 << 20], q[8 << 20];
	ssize_t n = pread(x, p, sizeof p, 0), m = pread(y, q, sizeof q, 0);
	return n > 0 && n == m && !memcmp(p, q, (size_t)n);
}

static void start(void)
{
	need_compiler();
	begin();
}

TEST_WITHIN(compiled_once, 120)
{
	static const char good[] = "__global__ void k(float *y) { y[0] = 1; }\nextern \"C\" void solve(float *y) { int unused; k<<<1, 1>>>(y); }\n";
	static const char bad[] = "extern \"C\" void solve(float *y)\n{\n\ty[0] = 1\n}\n";
	start();
	for (int i = 0; i < 2; i++) {
		struct compiled first = compile_text(i ? bad : good, 0, 0), again = compile_text(i ? bad : good, 0, 0);
		CHECK(!first.kept && again.kept && first.ok == !i && again.ok == !i);
		CHECK(again.wall_us < first.wall_us / 4);
		CHECK_EQ(first.n_diagnostics, again.n_diagnostics);
		for (size_t j = 0; j < first.n_diagnostics; j++) {
			CHECK_STR(first.diagnostics[j].text, again.diagnostics[j].text);
			CHECK_EQ(first.diagnostics[j].line, again.diagnostics[j].line);
		}
		CHECK_STR(first.log, again.log);
		if (first.ok) {
			CHECK_STR(first.ptx, again.ptx);
			CHECK(same_file(first.guest_fd, again.guest_fd));
		} else {
			CHECK_STR(first.why_not, again.why_not);
		}
		compiled_close(&first);
		compiled_close(&again);
	}
	end();
}

/* A limit says as much about the machine as about the source: the next time may be another. */
TEST_WITHIN(limits_are_not_kept, 120)
{
	static const char endless[] = "constexpr int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\nconstexpr int x = f(36);\n"
				      "extern \"C\" void solve(float *y) { y[0] = x; }\n";
	start();
	for (int i = 0; i < 2; i++) {
		struct compiled c = compile_text(i ? "extern \"C\" void solve(float *y) {}\n" : endless, i ? 0 : 300, i ? 48 << 20 : 0);
		CHECK(!c.ok && !c.kept);
		CHECK_MSG(strstr(c.why_not, i ? "memory" : "took longer"), "%s", c.why_not);
		compiled_close(&c);
	}
	CHECK_EQ(count(), 0);
	end();
}
