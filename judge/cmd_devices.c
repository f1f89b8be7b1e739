/* judge devices: what there is to grade on. */
#include "command.h"

#include "device_choice.h"
#include "term.h"

#include <string.h>

/* GPUs: each is asked by a device process of its own. */
static unsigned print_gpus(const struct term *t)
{
	unsigned n = 0;
	for (;; n++) {
		char word[16];
		struct device_choice c;
		struct err e = {0};
		snprintf(word, sizeof word, "gpu:%u", n);
		if (device_choose(word, false, &c, &e) < 0) {
			if (e.kind != ERR_INPUT)
				fprintf(t->file, "%s does not work: %s\n", word, e.text);
			return n;
		}
		const struct device_properties *g = &c.properties;
		term_put(t, STYLE_BOLD, "%-19s", word);
		fprintf(t->file, " %-24s sm_%u%u   %4u SMs  driver %s  %6.1f GB  %4u MB L2%s\n", g->name, g->major, g->minor, g->sms,
			g->driver, (double)g->memory / 1e9, g->l2_bytes >> 20, n ? "" : "  (auto)");
		device_choice_close(&c);
	}
}

static void print_row(const struct profile *p, bool is_default, const struct term *t)
{
	term_put(t, STYLE_BOLD, "emulated:%-10s", p->id);
	fprintf(t->file, " %-24s sm_%-4s %4u SMs  %5.2f GHz  %6.0f GB/s  %5.1f GB  %4u MB L2%s\n", p->name, p->arch, p->sms, p->clock_ghz,
		p->dram_gbs, (double)p->dram_bytes / 1e9, p->l2_bytes >> 20, is_default ? "  (auto)" : "");
}

int cmd_devices(const struct options *o)
{
	struct err e = {0};
	struct term t;
	struct profile_ids known;
	const char *const *ids = profile_list(&known);
	if (options_want(o, COMMAND_devices, 0, &e) < 0)
		return complain(&e);
	term_of(&t, stdout);
	unsigned gpus = print_gpus(&t);
	for (const char *const *id = ids; *id; id++) {
		struct profile p;
		if (profile_load(*id, &p, &e) < 0)
			return complain(&e);
		print_row(&p, !gpus && !strcmp(*id, "h200"), &t);
	}
	fprintf(t.file, "Emulated devices run anywhere; their times are modelled.\n");
	return *ids ? 0 : complain(&(struct err){ERR_SYSTEM, "no device profiles: run make"});
}
