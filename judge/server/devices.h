/* Devices that submissions may ask for: GPUs that workers found, and every emulated one. */
#ifndef SERVER_DEVICES_H
#define SERVER_DEVICES_H

#include "request.h"

enum { DEVICES_MAX = 64 };

struct device_entry {
	const char *id, *name;		/* "emulated:h200", "NVIDIA H200" */
	bool gpu;
};

struct device_list {
	size_t n;
	struct device_entry at[DEVICES_MAX];	/* the first is the standard one: a GPU if there is one, else emulated:h200 */
};

/* Emulated ones are read from their files once, before any request. */
int devices_begin(struct err *e);
/* false: the refusal is in r->reply. */
bool devices_list(struct request *r, struct device_list *out);
/* The id for a word of a request; NULL: the standard one.  NULL: there is none, and the refusal is in r->reply. */
const char *devices_find(struct request *r, const char *word);
/* Peaks of the roofline: bytes and operations a second; of a GPU NaN, since they are kept where it is. */
void devices_roof(const char *id, const char *unit, double *gbs, double *flops);

#endif
