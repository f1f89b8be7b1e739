/* Which device a command means: see device_choice.h. */
#include "device_choice.h"

#include "../sandbox/base/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char default_profile[] = "h200";
static const char emulated[] = "emulated:";

/* ---- emulated ---- */

static int choose_emulated(const char *id, struct device_choice *c, struct err *e)
{
	struct profile_ids all;
	const char *const *known = profile_list(&all);
	while (*known && strcmp(*known, id))
		known++;
	if (!*known) {
		const char *near = nearest_name(id, all.ids, 0);
		return near ? err_input(e, "no profile \"%s\": did you mean emulated:%s?", id, near)
			    : err_input(e, "no profile \"%s\": judge devices lists them", id);
	}
	if (profile_load(id, &c->profile, e) < 0)
		return -1;
	snprintf(c->device, sizeof c->device, "%s%.20s", emulated, id);
	snprintf(c->arch, sizeof c->arch, "%s", c->profile.arch);
	return 0;
}

/* ---- a GPU ---- */

/* The id of the profile nearest to this GPU: it lies in `known`, or is the default. */
static const char *model_for(const struct device_properties *g, struct profile_ids *known)
{
	const char *best = default_profile;
	unsigned score = 0, arch = g->major * 10 + g->minor;
	for (const char *const *id = profile_list(known); *id; id++) {
		struct profile p;
		struct err e = {0};
		if (profile_load(*id, &p, &e) < 0)
			continue;
		unsigned s = !strcmp(p.name, g->name) ? 3 : strtoul(p.arch, NULL, 10) == arch ? 2 : strtoul(p.arch, NULL, 10) / 10 == g->major;
		if (s > score) {
			score = s;
			best = *id;
		}
	}
	return best;
}

int profile_of_gpu(const struct device_properties *g, struct profile *out, struct err *e)
{
	struct profile_ids known;
	if (profile_load(model_for(g, &known), out, e) < 0)
		return -1;
	snprintf(out->name, sizeof out->name, "%.63s", g->name);
	snprintf(out->arch, sizeof out->arch, "%u%u", g->major % 100, g->minor % 10);
	out->sms = g->sms;
	out->dram_bytes = g->memory;
	out->l2_bytes = g->l2_bytes;
	return 0;
}

static int choose_gpu(const char *number, bool unsandboxed, struct device_choice *c, struct err *e)
{
	snprintf(c->device, sizeof c->device, "gpu:%.10s", number);
	struct session_options o = {.device = c->device, .unsandboxed = unsandboxed};
	c->gpu = true;
	c->session = session_open(&o, e);
	if (!c->session)
		return -1;
	if (session_properties(c->session, &c->properties, e) < 0 || profile_of_gpu(&c->properties, &c->profile, e) < 0) {
		device_choice_close(c);
		return -1;
	}
	/* From Hopper on an architecture's own instructions (wgmma, tensor memory) need the "a" */
	snprintf(c->arch, sizeof c->arch, "%u%u%s", c->properties.major % 100, c->properties.minor % 10,
		 c->properties.major >= 9 ? "a" : "");
	return 0;
}

/* ---- device_choice.h ---- */

/* Is there any sign of a GPU?  Asking the driver takes time, and a device process. */
static bool gpu_may_be_there(void)
{
	char path[256];
	return access("/dev/nvidiactl", F_OK) == 0 && device_gpu_find(path, sizeof path);
}

int device_choose(const char *word, bool unsandboxed, struct device_choice *c, struct err *e)
{
	const char *d = word ? word : "auto";
	memset(c, 0, sizeof *c);
	if (!strcmp(d, "auto")) {
		if (gpu_may_be_there() && choose_gpu("0", unsandboxed, c, e) == 0)
			return 0;
		if (gpu_may_be_there())
			fprintf(stderr, "judge: the GPU can't be used (%s): emulated:%s is\n", e->text, default_profile);
		memset(c, 0, sizeof *c);
		*e = (struct err){0};
		return choose_emulated(default_profile, c, e);
	}
	if (!strcmp(d, "emulated"))
		return choose_emulated(default_profile, c, e);
	if (!strncmp(d, emulated, sizeof emulated - 1))
		return choose_emulated(d + sizeof emulated - 1, c, e);
	if (!strcmp(d, "gpu") || !strncmp(d, "gpu:", 4))
		return choose_gpu(d[3] ? d + 4 : "0", unsandboxed, c, e);
	struct profile_ids known;
	const char *near = nearest_name(d, profile_list(&known), 0);
	return err_input(e, "no device \"%s\": write auto, gpu, gpu:NUMBER, emulated, or emulated:PROFILE%s%s%s", d,
			 near ? ", e.g. emulated:" : "", near ? near : "", near ? "" : " (judge devices lists them)");
}

void device_choice_close(struct device_choice *c)
{
	session_close(c->session);
	c->session = NULL;
}
