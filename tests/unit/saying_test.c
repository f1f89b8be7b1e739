/* What judge says, in both languages: the table, the sources that it must keep up with, and sentences as they come. */
#include "test.h"

#include "judge/saying.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"

#include <ctype.h>
#include <glob.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *en, *zh;
} rows[] = {
#define SAYING(en, zh) {en, zh},
#include "judge/sayings.def"
#undef SAYING
};
enum { ROWS = sizeof rows / sizeof *rows };

static const char *conversion(const char *s)
{
	while ((s = strchr(s, '%')) && (s[1] == '%' || s[1] == ' '))
		s += 1 + (s[1] == '%');
	return s;
}

static size_t conversion_size(const char *s)
{
	return 2 + strspn(s + 1, "0123456789.*+-#lz");
}

/* Both languages have the same arguments. */
TEST(table)
{
	for (unsigned i = 0; i < ROWS; i++) {
		unsigned n = 0, seen = 0, other = 0;
		for (const char *s = rows[i].en; (s = conversion(s)); s += conversion_size(s))
			n++;
		for (const char *s = rows[i].zh; (s = strchr(s, '{')); s++) {
			char c = s[1] == '=' ? s[2] : s[1];
			if (!isdigit((unsigned char)c))
				continue;
			CHECK_MSG(c - '0' >= 1 && c - '0' <= (int)n, "\"%s\": the Chinese has argument %c of %u", rows[i].en, c, n);
			seen |= 1u << (c - '0');
		}
		/* a plural's s has no counterpart */
		for (unsigned k = 1; k <= n; k++)
			CHECK_MSG(seen >> k & 1 || strstr(rows[i].en, "byte%s"), "\"%s\": the Chinese lacks argument %u", rows[i].en, k);
		for (const char *s = rows[i].zh; *s; s++)
			other += (unsigned char)*s >= 0x80;
		CHECK_MSG(other || strlen(rows[i].en) < 20, "\"%s\" is not in Chinese", rows[i].en);
		for (unsigned k = 0; k < i; k++)
			CHECK_MSG(strcmp(rows[i].en, rows[k].en), "\"%s\" is there twice", rows[i].en);
	}
}

/* ---- the sources ---- */

static struct buf literals;	/* each with a newline before and after it */

static const char *skip_comment(const char *s)
{
	const char *end = strstr(s, "*/");
	return end ? end + 2 : s + strlen(s);
}

/* A literal's characters, to its closing quote. */
static const char *copy_literal(const char *s, struct buf *out)
{
	for (; *s && *s != '"'; s++) {
		if (*s == '\\' && s[1]) {
			s++;
			buf_addc(out, *s == 'n' ? '\n' : *s);
		} else {
			buf_addc(out, *s);
		}
	}
	return *s ? s + 1 : s;
}

static const char *next_literal(const char *s, struct buf *out)
{
	buf_addc(out, '\n');
	for (bool more = true; more;) {
		s = copy_literal(s, out);
		const char *next = s + strspn(s, " \t\n");
		more = *next == '"';
		s = more ? next + 1 : s;
	}
	buf_addc(out, '\n');
	return s;
}

/* Adjacent literals of a source are one. */
static void read_source(const char *path, struct buf *out)
{
	CLEANUP_BUF struct buf text = {0};
	struct err e = {0};
	CHECK_MSG(buf_read_file(&text, path, 1 << 20, &e) == 0, "%s", e.text);
	for (const char *s = buf_str(&text); *s;) {
		if (!strncmp(s, "/*", 2))
			s = skip_comment(s + 2);
		else if (*s == '\'')
			s += s[1] == '\\' ? 4 : 3;
		else if (*s == '"')
			s = next_literal(s + 1, out);
		else
			s++;
	}
}

static void read_sources(const char *pattern, struct buf *out)
{
	glob_t g;
	CHECK_EQ(glob(pattern, 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++)
		read_source(g.gl_pathv[i], out);
	globfree(&g);
}

/* Piece by piece: what is put together of several has its punctuation between them. */
static bool said_somewhere(const char *run, size_t size)
{
	for (const char *end = run + size; run < end;) {
		size_t n = 0;
		while (run + n < end && !strchr("(),:;.", run[n]))
			n++;
		size_t piece = n && run[n - 1] == ' ' ? n - 1 : n;
		if (piece >= 4 && !memmem(buf_str(&literals), literals.size, run, piece))
			return false;
		run += n + 1;
	}
	return true;
}

/* A row whose words are nowhere in the sources any more says nothing to anybody. */
TEST(rows_have_sources)
{
	static const char *const patterns[] = {"judge/*.c", "judge/*.def", "judge/queue/grader.c", "sandbox/*.c", "sandbox/*.def", "sandbox/ptx/*.c",
					       "sandbox/device/*.c", "reference/design.h"};
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		glob_t g;
		CHECK_EQ(glob(patterns[i], 0, NULL, &g), 0);
		for (size_t k = 0; k < g.gl_pathc; k++)
			if (!strstr(g.gl_pathv[k], "sayings.def"))
				read_source(g.gl_pathv[k], &literals);
		globfree(&g);
	}
	for (unsigned i = 0; i < ROWS; i++)
		for (const char *s = rows[i].en; *s;) {
			const char *hole = conversion(s);
			size_t n = hole ? (size_t)(hole - s) : strlen(s);
			CHECK_MSG(n < 4 || said_somewhere(s, n), "\"%s\": \"%.*s\" is in no source any more", rows[i].en, (int)n, s);
			s += n + (hole ? conversion_size(hole) : 0);
		}
	buf_free(&literals);
}

static bool has_row(const char *literal)
{
	literal += strncmp(literal, "%s", 2) ? 0 : 2;
	for (unsigned i = 0; i < ROWS; i++)
		if (strstr(rows[i].en, literal))
			return true;
	return false;
}

static unsigned words(const char *s)
{
	unsigned n = 1;
	for (; *s; s++)
		n += *s == ' ' && isalpha((unsigned char)s[1]);
	return n;
}

/* Every sentence of these sources is one of the table: whoever adds one says it in both languages. */
TEST(sources_have_rows)
{
	static const char *const patterns[] = {"judge/advice.c", "judge/diagnosis.c", "judge/verdict.c", "judge/verdict.def", "judge/rules.c", "sandbox/fault.def",
					       "sandbox/ptx/mem_lines.c", "sandbox/ptx/mem_tags.c", "sandbox/ptx/mem_access.c", "sandbox/ptx/mem_fault.c"};
	CLEANUP_BUF struct buf all = {0};
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
		read_sources(patterns[i], &all);
	unsigned n = 0;
	for (char *line = strtok(all.data, "\n"); line; line = strtok(NULL, "\n")) {
		if (words(line) < 4 || strstr(line, ".h") || strstr(line, "out of memory"))
			continue;
		n++;
		CHECK_MSG(has_row(line), "judge/sayings.def has no row of \"%s\"", line);
	}
	CHECK(n > 120);
}

/* ---- sentences ---- */

static const char *zh(const char *text)
{
	static struct arena *a;
	if (!a)
		a = arena_new();
	return saying_in("zh", text, a);
}

TEST(sentences)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	const char *text = "host code used more than 30.0 s of processor time";
	CHECK(saying_in("en", text, a) == text);
	CHECK(!saying_in("zh", NULL, a));
	CHECK_STR(zh(text), "主机代码使用的处理器时间超过 30.0 秒");
	CHECK_STR(zh("out-of-bounds access: 4-byte read 4 bytes past the end of Wq (8192 bytes)"), "越界访问：4 字节的读：位于 Wq（8192 字节）末尾之后 4 字节");
	CHECK_STR(zh("use after free: 4-byte write at offset 8 of freed memory, once an allocation of 64 bytes"),
		  "释放后使用：4 字节的写：位于已释放的内存，原为一块 64 字节的分配的偏移 8 处");
	CHECK_STR(zh("global-memory race: warp 0 wrote byte 0 of y (32 bytes), warp 1 of the same block wrote it with no barrier between (a.cu:25)"),
		  "全局内存竞争：warp 0 写了 y（32 字节）的第 0 字节，同一 block 的 warp 1 也写了它，两者之间没有 barrier（a.cu:25）");
	CHECK_STR(zh("shared-memory race: warp 0 wrote byte 0x24, warp 1 read it with no barrier between (a.cu:25)"),
		  "共享内存竞争：warp 0 写了字节 0x24，warp 1 也读了它，两者之间没有 barrier（a.cu:25）");
	CHECK_STR(zh("shared-memory race: another warp read byte 0x24, warp 1 wrote it with no barrier between"),
		  "共享内存竞争：另一个 warp 读了字节 0x24，warp 1 也写了它，两者之间没有 barrier");
	CHECK_STR(zh("3 of 8 elements of y are out of bound; the worst is y[2]"), "y 的 8 个元素中有 3 个超出误差界；最差的是 y[2]");
	CHECK_STR(zh("a CUDA call failed (cudaErrorInvalidValue), and the program went on"), "有 CUDA 调用失败（cudaErrorInvalidValue），而程序继续运行");
	CHECK_STR(zh("host code crashed: Segmentation fault: it followed a null pointer"), "主机代码崩溃：Segmentation fault：它使用了空指针");
	CHECK_STR(zh("Occupancy is 12 %, limited by registers (128 registers a thread, 0 bytes of shared memory a block). More resident warps would hide "
		     "more of the memory's latency."),
		  "占用率为 12 %，受限于寄存器（每线程 128 个寄存器，每 block 0 字节共享内存）。驻留更多 warp 能掩盖更多内存延迟。");
	CHECK_STR(zh("3 launches, 1 allowed; Wq read 2.00 times, 1.5 allowed"), "启动了 3 次 kernel，允许 1 次；Wq 被读了 2.00 遍，允许 1.5 遍");
}

/* What students get of hidden cases has no numbers. */
TEST(untold_sentences)
{
	CHECK_STR(zh("… of … elements of y are out of bound; the worst is y[…]"), "y 的 … 个元素中有 … 个超出误差界；最差的是 y[…]");
	CHECK_STR(zh("…-byte read at offset … of shared memory (… bytes a block)"), "… 字节的读，位于共享内存的偏移 … 处（每个block有 … 字节）");
	CHECK_STR(zh("NaN or infinity where a scale is …: nothing may be divided by a scale."), "缩放为 0 处出现 NaN 或无穷：不能除以缩放。");
}

/* Names of cases stay, though they may be words; what is unknown stays as it is. */
TEST(names_stay)
{
	CHECK_STR(zh("case sample (N=8): "), "用例 sample（N=8）：");
	CHECK_STR(zh("somebody else's words: and more"), "somebody else's words: and more");
	CHECK_STR(zh(""), "");
}

/* A long sentence of a stranger's making costs a bounded time. */
TEST(hostile_sentences)
{
	CLEANUP_BUF struct buf text = {0};
	for (int i = 0; i < 400; i++)
		buf_adds(&text, "a, b; c: d (e) ");
	CHECK(zh(buf_str(&text)));
}
