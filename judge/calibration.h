/* The peaks of a GPU, measured on that very one and kept: what floors on it are made of.
 *
 * Measured by reference/peaks.cu, a CUDA program that runs in a session like any other.  What disturbs it only lowers its
 * figures, so it runs twice and the higher of each counts.  Kept in a file of the state folder (paths.h), one a GPU, by its
 * UUID; another version of the driver may mean other peaks, so the file is good for one.
 */
#ifndef JUDGE_CALIBRATION_H
#define JUDGE_CALIBRATION_H

#include "../sandbox/session.h"
#include "progress.h"

struct calibration {
	char device[64], uuid[48], driver[16];	/* as struct device_properties has them */
	char when[32];			/* "2026-11-30T01:40:00Z" */
	/* GB/s, 10^12 operations a second; 0: the hardware lacks it */
#define CALIBRATION(field, unit, text, needed, most) double field;
#include "calibration.def"
#undef CALIBRATION
};

/* What is kept for this GPU.  -1 and e (ERR_SYSTEM): nothing is, or it is not to be trusted, and `judge calibrate` mends it. */
int calibration_load(const struct device_properties *p, struct calibration *out, struct err *e);
int calibration_store(const struct calibration *c, struct err *e);
/* Where the one of this UUID is kept. */
int calibration_path(const char *uuid, char *out, size_t size, struct err *e);

/* Measure, on an open session of a GPU; arch: to compile for ("90a").  Takes the GPU's lock (gpu_lock.h) meanwhile.  The
 * session holds the program's image afterwards, and nothing else.  progress: NULL is fine. */
int calibration_measure(struct session *s, const char *arch, bool unsandboxed, struct progress *progress,
			struct calibration *out, struct err *e);

/* Least time for this work; unit: as problem.json has it.  NAN: the GPU lacks the unit, so nobody can say. */
double calibration_floor_us(const struct calibration *c, double bytes, double flops, const char *unit);

/* Parts of the above: what the program printed; are the figures possible on such a GPU?; the higher of each figure. */
int calibration_parse(const char *text, size_t size, struct calibration *out, struct err *e);
int calibration_check(const struct calibration *c, const struct device_properties *p, struct err *e);
void calibration_merge(struct calibration *into, const struct calibration *other);

#endif
