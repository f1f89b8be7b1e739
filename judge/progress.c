/* What is going on: see progress.h.  A thread redraws the live line ten times a second, so that a long compile is seen
 * to be alive. */
#include "progress.h"

#include "../sandbox/base/clock.h"

#include "../sandbox/base/err.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct progress {
	struct term *term;
	enum progress_mode mode;
	struct progress_hook hook;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	char stage[40], detail[80];
	unsigned done, total, frame;
	double began;
};

static void draw(struct progress *p)
{
	static const char *const turning[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
	struct term *t = p->term;
	if (!*p->stage)
		return;
	fputs("\r\033[K", t->file);
	term_put(t, STYLE_NOTE, "%s", t->utf8 ? turning[p->frame % 10] : (const char *[]){"|", "/", "-", "\\"}[p->frame % 4]);
	fprintf(t->file, " %s ", p->stage);
	if (p->total) {
		term_bar(t, (double)p->done / p->total, 12);
		fprintf(t->file, " %u/%u ", p->done, p->total);
	}
	term_put(t, STYLE_DIM, "%s %.1f s", p->detail, clock_seconds() - p->began);
	fflush(t->file);
}

static void *redraw(void *arg)
{
	struct progress *p = arg;
	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		struct timespec until;
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += 100000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
		p->frame++;
		draw(p);
		pthread_cond_clockwait(&p->wake, &p->lock, CLOCK_MONOTONIC, &until);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

struct progress *progress_start(struct term *t, enum progress_mode mode)
{
	struct progress *p = calloc(1, sizeof *p);
	if (!p)
		BUG("out of memory");
	p->term = t;
	p->mode = mode;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	if (mode == PROGRESS_LIVE && pthread_create(&p->thread, NULL, redraw, p) != 0)
		p->mode = PROGRESS_PLAIN;
	return p;
}

struct progress *progress_to(struct progress_hook hook)
{
	struct progress *p = progress_start(NULL, PROGRESS_HOOK);
	p->hook = hook;
	return p;
}

/* With the lock held. */
static void tell(struct progress *p, enum progress_kind kind, const char *text)
{
	if (p->mode == PROGRESS_HOOK)
		p->hook.tell(p->hook.context, kind, p->stage, p->done, p->total, text);
}

void progress_stage(struct progress *p, const char *name, unsigned total)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	snprintf(p->stage, sizeof p->stage, "%s", name);
	*p->detail = 0;
	p->done = 0;
	p->total = total;
	p->began = clock_seconds();
	tell(p, PROGRESS_STAGE, NULL);
	pthread_mutex_unlock(&p->lock);
}

void progress_step(struct progress *p, const char *detail)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->done++;
	if (detail)
		snprintf(p->detail, sizeof p->detail, "%s", detail);
	tell(p, PROGRESS_STEP, detail);
	pthread_mutex_unlock(&p->lock);
}

void progress_result(struct progress *p, const char *fmt, ...)
{
	char text[200];
	va_list ap;
	if (!p || (p->mode != PROGRESS_PLAIN && p->mode != PROGRESS_HOOK))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (p->mode == PROGRESS_HOOK) {
		pthread_mutex_lock(&p->lock);
		tell(p, PROGRESS_RESULT, text);
		pthread_mutex_unlock(&p->lock);
		return;
	}
	fprintf(p->term->file, "%s: %s\n", p->stage, text);
	fflush(p->term->file);
}

void progress_end(struct progress *p)
{
	if (!p)
		return;
	if (p->mode == PROGRESS_LIVE) {
		pthread_mutex_lock(&p->lock);
		p->stop = true;
		pthread_cond_signal(&p->wake);
		pthread_mutex_unlock(&p->lock);
		pthread_join(p->thread, NULL);
		fputs("\r\033[K", p->term->file);
		fflush(p->term->file);
	}
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->wake);
	free(p);
}
