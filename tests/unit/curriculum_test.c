/* Paths through the problems: every fault of paths.json has its place and mend; the judge's own paths keep to what problems need. */
#include "test.h"

#include "judge/curriculum.h"
#include "sandbox/base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TITLES "\"title\": {\"en\": \"First\", \"zh\": \"\xe4\xb8\x80\"}, \"about\": {\"en\": \"All.\", \"zh\": \"\xe4\xba\x8c\"}"
#define PATH(id, problems) "{\"id\": \"" id "\", " TITLES ", \"problems\": [" problems "]}"
#define FILE_OF(paths) "{\"format\": 1, \"paths\": [" paths "]}"

static struct curriculum *read_text(const char *text, struct err *e)
{
	char file[] = "/tmp/judge-paths-XXXXXX";
	int fd = mkstemp(file);
	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	struct curriculum *c = curriculum_read(file, e);
	unlink(file);
	return c;
}

#define WRONG(file, message)                              \
	do {                                              \
		struct err e = {0};                       \
		CHECK(!read_text(file, &e));              \
		CHECK_STR(e.text, message);               \
		CHECK_EQ(e.kind, ERR_INPUT);              \
	} while (0)

TEST(good_paths)
{
	struct err e = {0};
	CLEANUP(curriculum_freep) struct curriculum *c = read_text(FILE_OF(PATH("a", "\"x\", \"y\"") ", " PATH("b", "\"z\"")), &e);
	CHECK_MSG(c, "%s", e.text);
	CHECK_EQ(c->n, 2);
	CHECK_STR(text_in(c->paths[0].title, "en"), "First");
	CHECK_STR(text_in(c->paths[0].title, "zh"), "\xe4\xb8\x80");
	unsigned place = 9;
	CHECK_STR(curriculum_find(c, "y", &place)->id, "a");
	CHECK_EQ(place, 1);
	CHECK_STR(curriculum_find(c, "z", &place)->id, "b");
	CHECK_EQ(place, 0);
	CHECK(!curriculum_find(c, "w", &place));
}

TEST(wrong_paths)
{
	WRONG("[]", "paths.json: the file must hold an object: {\"format\": 1, \"paths\": [...]}");
	WRONG("{\"format\": 1}", "paths.json: field paths is missing: write a list of paths");
	WRONG("{\"format\": 2, \"paths\": []}", "paths.json: format: 2 is not right: write 1");
	WRONG("{\"format\": 1, \"path\": []}", "paths.json: path: no such field: did you mean \"paths\"?");
	WRONG(FILE_OF("7"), "paths.json: paths[0]: is no path: write an object with id, title, about and problems");
	WRONG(FILE_OF(PATH("A", "\"x\"")), "paths.json: paths[0].id: is \"A\": write a name of small letters, digits and \"-\"");
	WRONG(FILE_OF(PATH("a", "\"x\"") "," PATH("a", "\"y\"")), "paths.json: paths[1].id: is \"a\", which an earlier path has: write another");
	WRONG(FILE_OF(PATH("a", "")), "paths.json: paths[0].problems: has 0 problems: name 1 to 64");
	WRONG(FILE_OF(PATH("a", "\"X\"")),
	      "paths.json: paths[0].problems[0]: is no problem's id: write one of small letters, digits and \"-\" in quotes");
	WRONG(FILE_OF(PATH("a", "\"x\", \"x\"")), "paths.json: paths[0].problems[1]: is \"x\", which is number 1 of path a already: remove one of them");
	WRONG(FILE_OF(PATH("a", "\"w\", \"x\"") "," PATH("b", "\"x\"")),
	      "paths.json: paths[1].problems[0]: is \"x\", which is number 2 of path a already: remove one of them");
	WRONG(FILE_OF("{\"id\": \"a\", \"title\": {\"en\": \"x\"}, \"about\": {}, \"problems\": [\"x\"]}"),
	      "paths.json: field paths[0].title.zh is missing: write a line of text");
	WRONG(FILE_OF("{\"id\": \"a\", \"title\": {\"en\": \"x\", \"zh\": \"\\u0007\"}, \"about\": {}, \"problems\": [\"x\"]}"),
	      "paths.json: paths[0].title.zh: is no line of text: write 1 to 300 bytes, without control characters");
}

static const char *check(const char *paths, struct problem *const *problems, size_t n)
{
	static struct err e;
	memset(&e, 0, sizeof e);
	CLEANUP(curriculum_freep) struct curriculum *c = read_text(paths, &e);
	CHECK_MSG(c, "%s", e.text);
	return curriculum_check(c, problems, n, &e) < 0 ? e.text : "fine";
}

TEST(order)
{
	const char *needs_x[] = {"x"}, *needs_y[] = {"y", "nowhere"}, *needs_z[] = {"z"};
	struct problem x = {.id = "x"}, y = {.id = "y", .needs = needs_x, .n_needs = 1}, z = {.id = "z", .needs = needs_y, .n_needs = 2};
	struct problem *all[] = {&z, &y, &x};
	CHECK_STR(check(FILE_OF(""), all, 3), "fine");
	CHECK_STR(check(FILE_OF(PATH("a", "\"x\", \"y\", \"z\"")), all, 3), "fine");
	CHECK_STR(check(FILE_OF(PATH("a", "\"x\"") "," PATH("b", "\"y\", \"z\"")), all, 3), "fine");
	CHECK_STR(check(FILE_OF(PATH("a", "\"y\"") "," PATH("b", "\"z\"")), all, 3), "fine");
	CHECK_STR(check(FILE_OF(PATH("a", "\"y\", \"x\"")), all, 3),
		  "paths.json: paths[0].problems[0]: is \"y\", which needs \"x\" first: put that before it");
	CHECK_STR(check(FILE_OF(PATH("a", "\"z\"") "," PATH("b", "\"x\", \"y\"")), all, 3),
		  "paths.json: paths[0].problems[0]: is \"z\", which needs \"y\" first: put that before it");
	x.needs = needs_z;	/* z needs y needs x needs z */
	x.n_needs = 1;
	CHECK_STR(check(FILE_OF(""), all, 3),
		  "x/problem.json: needs[0]: is \"z\", which itself needs x, if by way of others: neither could come first; remove one of these needs");
}

/* The judge's own paths and packages. */
TEST(own_paths)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	const char *const *ids;
	size_t n;
	struct err e = {0};
	setenv("JUDGE_HOME", ".", 0);
	CLEANUP(curriculum_freep) struct curriculum *c = curriculum_open(&e);
	CHECK_MSG(c && c->n >= 2, "%s", e.text);
	CHECK_EQ(problem_ids(a, &ids, &n, &e), 0);
	struct problem **all = arena_new_array(a, struct problem *, n);
	unsigned placed = 0, place;
	for (size_t i = 0; i < n; i++) {
		all[i] = problem_find(ids[i], &e);
		CHECK_MSG(all[i], "%s", e.text);
		CHECK_MSG(all[i]->teaches && all[i]->teaches_zh, "%s/problem.json: says not what it teaches, in both languages", ids[i]);
		placed += curriculum_find(c, ids[i], &place) != NULL;
	}
	CHECK(placed >= 3);
	CHECK_MSG(curriculum_check(c, all, n, &e) == 0, "%s", e.text);
	for (size_t i = 0; i < n; i++)
		problem_close(all[i]);
}
