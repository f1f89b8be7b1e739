/* Which device a command means: --device auto, emulated, emulated:PROFILE, gpu, gpu:NUMBER. */
#ifndef JUDGE_DEVICE_CHOICE_H
#define JUDGE_DEVICE_CHOICE_H

#include "../sandbox/ptx/profile.h"
#include "../sandbox/session.h"

struct device_choice {
	bool gpu;
	char device[32];		/* for session_open: "emulated:h200", "gpu:0" */
	struct profile profile;		/* its figures; for a GPU those of its model, or of the nearest that is known */
	char arch[8];			/* to compile for: "90"; for a GPU with features of its own "90a" */
	struct session *session;	/* of a GPU: open, the caller's to close or to take; else NULL */
	struct device_properties properties;	/* of a GPU */
};

/* word: of --device, NULL: auto, which is the first GPU if there is one that works, else emulated:h200.  -1 and e: there is no
 * such device (ERR_INPUT), or it does not work. */
int device_choose(const char *word, bool unsandboxed, struct device_choice *out, struct err *e);
void device_choice_close(struct device_choice *c);

/* The open session's properties as a profile. */
int profile_of_gpu(const struct device_properties *g, struct profile *out, struct err *e);

#endif
