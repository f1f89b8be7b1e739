/* Parts of a work on several threads. */
#include "sandbox/base/crew.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { PARTS = 1000 };

struct sums {
	atomic_uint done[PARTS], begun, ended;
	unsigned fails_at;
};

static void *begin(void *context)
{
	struct sums *s = context;
	atomic_fetch_add(&s->begun, 1);
	return s;
}

static void end(void *own)
{
	struct sums *s = own;
	atomic_fetch_add(&s->ended, 1);
}

static int part(void *context, void *own, unsigned i, struct err *e)
{
	struct sums *s = context;
	CHECK(own == NULL || own == context);
	atomic_fetch_add(&s->done[i], 1);
	return i == s->fails_at ? err_system(e, "part %u", i) : 0;
}

static unsigned total(struct sums *s)
{
	unsigned n = 0;
	for (unsigned i = 0; i < PARTS; i++) {
		CHECK(s->done[i] <= 1);
		n += s->done[i];
	}
	return n;
}

TEST(each_part_is_done_once)
{
	static const unsigned threads[] = {0, 1, 2, 7, 1000};
	for (unsigned i = 0; i < sizeof threads / sizeof *threads; i++) {
		struct sums s = {.fails_at = PARTS};
		struct err e = {0};
		CHECK_EQ(crew_run(&(struct crew_work){.n = PARTS, .threads = threads[i], .part = part, .begin = begin, .end = end, .context = &s}, &e), 0);
		CHECK_EQ(total(&s), PARTS);
		CHECK(s.begun >= 1 && s.begun <= CREW_MAX);
		CHECK_EQ(s.begun, s.ended);
	}
}

TEST(no_part_no_work)
{
	struct sums s = {.fails_at = PARTS};
	CHECK_EQ(crew_run(&(struct crew_work){.threads = 4, .part = part, .context = &s}, NULL), 0);
	CHECK_EQ(total(&s), 0);
}

TEST(a_failure_ends_it)
{
	struct sums one = {.fails_at = 5}, many = {.fails_at = 5};
	struct err e = {0};
	CHECK_EQ(crew_run(&(struct crew_work){.n = PARTS, .threads = 1, .part = part, .context = &one}, &e), -1);
	CHECK_STR(e.text, "part 5");
	CHECK_EQ(total(&one), 6);
	CHECK_EQ(crew_run(&(struct crew_work){.n = PARTS, .threads = 4, .part = part, .context = &many}, &e), -1);
	CHECK(total(&many) >= 6);
}
