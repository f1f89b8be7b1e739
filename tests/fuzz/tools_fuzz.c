/* What programs beside the compiler print: ncu's CSV, compute-sanitizer's log, the peaks of a GPU. */
#include "fuzz.h"
#include "judge/calibration.h"
#include "judge/ncu.h"
#include "judge/sanitize.h"

#include <stdlib.h>
#include <string.h>

static void check_text(const char *s, size_t room)
{
	if (!memchr(s, 0, room))
		BUG("a text without an end");
	for (; *s; s++)
		if ((unsigned char)*s < ' ')
			BUG("a control character for the terminal: 0x%02x", (unsigned char)*s);
}

static void sanitizer(const char *text)
{
	static const char *const tools[] = {"memcheck", "racecheck", "initcheck", "synccheck"};
	struct sanitizer_report r = {0};
	for (int i = 0; i < 4; i++)
		sanitize_parse(text, tools[i], "a.cu", &r);
	if (r.n > SANITIZE_FINDINGS)
		BUG("more findings than there is room for");
	for (unsigned i = 0; i < r.n; i++) {
		const struct fault *f = &r.findings[i].fault;
		check_text(f->kernel, sizeof f->kernel);
		check_text(f->file, sizeof f->file);
		check_text(f->detail, sizeof f->detail);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ncu_counts counts = {0};
	struct calibration c = {0};
	struct err e = {0};
	char *text = strndup((const char *)data, size);
	ncu_parse(text, 0, &counts);
	ncu_parse(text, 1, &counts);
	sanitizer(text);
	if (calibration_parse(text, strlen(text), &c, &e) < 0 && !e.text[0])
		BUG("a refusal without a reason");
	free(text);
	return 0;
}
