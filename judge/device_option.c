/* --device: which device is meant. */
#include "command.h"

#include "../sandbox/base/nearest.h"
#include "../sandbox/ptx/profile.h"

#include <string.h>

static const char default_profile[] = "h200";

int option_profile(const struct options *o, char *out, size_t size, struct err *e)
{
	const char *d = o->device ? o->device : "auto";
	static const char prefix[] = "emulated:";
	if (!strcmp(d, "auto") || !strcmp(d, "emulated")) {
		snprintf(out, size, "%s", default_profile);
		return 0;
	}
	const char *const *known = profile_list();
	if (strncmp(d, prefix, sizeof prefix - 1)) {
		const char *near = nearest_name(d, known, 0);
		return err_input(e, "no device \"%s\": write auto, emulated, or emulated:PROFILE%s%s%s", d, near ? ", e.g. emulated:" : "",
				 near ? near : "", near ? "" : " (judge devices lists them)");
	}
	d += sizeof prefix - 1;
	for (; *known; known++)
		if (!strcmp(*known, d)) {
			snprintf(out, size, "%s", d);
			return 0;
		}
	const char *near = nearest_name(d, profile_list(), 0);
	if (near)
		return err_input(e, "no profile \"%s\": did you mean emulated:%s?", d, near);
	return err_input(e, "no profile \"%s\": judge devices lists them", d);
}
