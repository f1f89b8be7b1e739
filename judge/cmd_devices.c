/* judge devices: what there is to grade on. */
#include "command.h"

#include "../sandbox/ptx/profile.h"
#include "term.h"

#include <string.h>

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
	char dflt[32];
	const char *ids[64];
	int n = 0;
	if (options_want(o, COMMAND_devices, 0, &e) < 0 || option_profile(o, dflt, sizeof dflt, &e) < 0)
		return complain(&e);
	term_of(&t, stdout);
	for (const char *const *id = profile_list(); *id && n < 64; id++)
		ids[n++] = *id;
	for (int i = 0; i < n; i++) {
		struct profile p;
		if (profile_load(ids[i], &p, &e) < 0)
			return complain(&e);
		print_row(&p, !strcmp(ids[i], dflt), &t);
	}
	fprintf(t.file, "Emulated devices run anywhere; their times are modelled.\n");
	return n ? 0 : complain(&(struct err){ERR_SYSTEM, "no device profiles: run make"});
}
