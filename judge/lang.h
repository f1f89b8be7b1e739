/* Which language a person reads: --lang, else the locale. */
#ifndef JUDGE_LANG_H
#define JUDGE_LANG_H

#include <stdlib.h>
#include <string.h>

/* What is said in both. */
struct text {
	const char *en, *zh;
};

static inline const char *lang_of(const char *option)
{
	const char *names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
	if (option)
		return option;
	for (int i = 0; i < 3; i++) {
		const char *v = getenv(names[i]);
		if (v && *v)
			return !strncmp(v, "zh", 2) ? "zh" : "en";
	}
	return "en";
}

static inline const char *text_in(struct text t, const char *lang)
{
	return t.zh && lang && !strcmp(lang, "zh") ? t.zh : t.en;
}

#endif
