/* Images that no compiler made, given to a device process in its jail: cut short, bits flipped, pieces moved, very large.
 *
 * A guest can't choose an image, there is no message for it.  A source that took over a compiler in its jail can: what comes out of there
 * is PTX, and a cubin, of its making.  Each is loaded or refused by a process that goes on; at the worst it dies of its memory limit.
 * This program plays the device process, as session_test does.  On a machine with a GPU the driver is given cubins.
 */
#include "test.h"

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/session.h"

#include <stdlib.h>
#include <string.h>

enum { CUTS = 24, FLIPS = 60 };

__attribute__((constructor)) static void play_device(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "__device") == 0)
		_exit(device_main(argc, argv));
}

static struct session *open_on(const char *device)
{
	struct session_options o = {.device = device, .threads = 1, .memory = 256 << 20};
	struct err e = {0};
	struct jail_host host;
	jail_host(&host);
	o.unsandboxed = !host.usable;
	setenv("JUDGE_PROFILES", "sandbox/ptx/profiles", 0);
	struct session *s = session_open(&o, &e);
	CHECK_MSG(s, "%s", e.text);
	return s;
}

static struct compiled image_of(const void *data, size_t size, bool cubin)
{
	return cubin ? (struct compiled){.ok = true, .cubin = data, .cubin_size = size, .ptx = "", .guest_fd = -1}
		     : (struct compiled){.ok = true, .ptx = data, .ptx_size = size, .guest_fd = -1};
}

/* Loaded or refused, with a reason; and the process lives.  On a GPU the driver may die, and is begun again. */
static void load(struct session **s, const char *device, const void *data, size_t size, const char *what)
{
	bool cubin = !strncmp(device, "gpu", 3);
	struct compiled c = image_of(data, size, cubin);
	struct err e = {0};
	if (session_load(*s, &c, &e) == 0)
		return;
	CHECK_MSG(*e.text, "%s: refused without a word", what);
	if (!session_dead(*s))
		return;
	CHECK_MSG(cubin || session_exhausted(*s), "%s: %s", what, e.text);
	session_close(*s);
	*s = open_on(device);
}

static uint64_t random_state = 88172645463325252;
static size_t random_below(size_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % n;
}

/* What is left of a whole one, and what is changed in it. */
static void maul(struct session **s, const char *device, const char *name, const char *data, size_t size)
{
	CLEANUP_FREE char *copy = malloc(size + 1);
	CHECK(copy);
	for (unsigned i = 0; i < CUTS; i++)
		load(s, device, data, size * i / CUTS, name);
	for (unsigned i = 0; i < FLIPS; i++) {
		memcpy(copy, data, size);
		for (unsigned k = 0; k <= i % 4; k++)
			copy[random_below(size)] ^= (char)(1 << random_below(8));
		if (i % 3 == 0) {
			size_t n = random_below(size < 400 ? size : 400), from = random_below(size - n + 1), to = random_below(size - n + 1);
			memmove(copy + to, copy + from, n);
		}
		load(s, device, copy, size, name);
	}
}

static void check_good(struct session *s, const void *data, size_t size, bool cubin)
{
	struct compiled c = image_of(data, size, cubin);
	struct device_kernel k;
	struct err e = {0};
	CHECK_MSG(session_load(s, &c, &e) == 0, "%s", e.text);
	CHECK_MSG(session_kernel(s, 0, &k, &e) == 0 && *k.name, "%s", e.text);
}

TEST_WITHIN(ptx_that_is_cut_and_changed, 120)
{
	static const char *const files[] = {"tests/ptx/half_gemv.ptx", "tests/ptx/dequant_mma.ptx", "tests/ptx/local_memory.ptx", "tests/ptx/cg_tiles.ptx"};
	struct session *s = open_on("emulated:h200");
	for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
		CLEANUP_BUF struct buf b = {0};
		CHECK_EQ(buf_read_file(&b, files[i], 1 << 20, NULL), 0);
		check_good(s, b.data, b.size, false);
		maul(&s, "emulated:h200", files[i], b.data, b.size);
		check_good(s, b.data, b.size, false);
	}
	session_close(s);
}

static void repeat(struct buf *b, const char *text, size_t size)
{
	size_t n = strlen(text);
	while (b->size + n <= size)
		buf_add(b, text, n);
}

TEST_WITHIN(very_large_ptx, 240)
{
	enum { MIB = 1 << 20 };
	static const struct { const char *before, *again; size_t size; } images[] = {
		{"", "\n", 64 * MIB},
		{"", "{", 16 * MIB},
		{"", "/*", 16 * MIB},
		{".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n", "{", 8 * MIB},
		{".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n", "add.u32 %r1, (((", 8 * MIB},
		{".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<4>;\n", "add.u32 %r1, %r2, %r3;\n", 16 * MIB},
		{".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n", "L: ", 8 * MIB},
		{".version 8.0\n.target sm_90\n.address_size 64\n", ".visible .entry k() { ret; }\n", 8 * MIB},
		{".version 8.0\n.target sm_90\n.address_size 64\n", ".global .align 8 .b8 g[1073741824];\n", 4 * MIB},
		{".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n", ".reg .b64 %rd<1000000>;\n", 4 * MIB},
		{".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n", ".shared .b8 s[232448];\n", 4 * MIB},
	};
	static const char good[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
	struct session *s = open_on("emulated:h200");
	struct err e = {0};
	for (unsigned i = 0; i < sizeof images / sizeof *images; i++) {
		CLEANUP_BUF struct buf b = {0};
		char what[40];
		buf_adds(&b, images[i].before);
		repeat(&b, images[i].again, images[i].size);
		snprintf(what, sizeof what, "large image %u", i);
		load(&s, "emulated:h200", b.data, b.size, what);
		check_good(s, good, sizeof good - 1, false);
	}
	CLEANUP_FREE char *huge = calloc(1, ((size_t)256 << 20) + 1);
	struct compiled c = image_of(huge, ((size_t)256 << 20) + 1, false);
	CHECK(session_load(s, &c, &e) < 0 && e.kind == ERR_INPUT && strstr(e.text, "too large"));
	check_good(s, good, sizeof good - 1, false);
	session_close(s);
}

TEST_WITHIN(cubins_that_are_cut_and_changed, 240)
{
	char library[256], folder[] = "/tmp/image_test.XXXXXX", command[400], path[64];
	struct device_properties p;
	struct err e = {0};
	CLEANUP_BUF struct buf b = {0};
	if (!device_gpu_find(library, sizeof library))
		test_skip("no GPU");
	const struct toolchain *t = toolchain_find(&e);
	if (!t)
		test_skip(e.text);
	struct session *s = open_on("gpu:0");
	CHECK_EQ(session_properties(s, &p, &e), 0);
	CHECK(mkdtemp(folder));
	snprintf(command, sizeof command, "%s/bin/ptxas -arch=sm_%u%u -o %s/cubin tests/ptx/half_gemv.ptx", t->root, p.major, p.minor, folder);
	int status = system(command);
	snprintf(path, sizeof path, "%s/cubin", folder);
	int rc = buf_read_file(&b, path, 1 << 20, &e);
	snprintf(command, sizeof command, "rm -r %s", folder);
	CHECK_EQ(system(command), 0);
	CHECK_MSG(status == 0 && rc == 0, "%s", e.text);
	check_good(s, b.data, b.size, true);
	maul(&s, "gpu:0", "cubin", b.data, b.size);
	CLEANUP_FREE char *none = calloc(1, 64 << 20);
	load(&s, "gpu:0", none, 64 << 20, "zeros");
	memcpy(none, b.data, b.size);
	load(&s, "gpu:0", none, 64 << 20, "zeros after a cubin");
	check_good(s, b.data, b.size, true);
	session_close(s);
}
