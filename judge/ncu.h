/* Counters of a real GPU, by ncu (Nsight Compute), beside what the emulated device counts. */
#ifndef JUDGE_NCU_H
#define JUDGE_NCU_H

#include "gpu_tool.h"

enum {
#define NCU(metric, field, text) NCU_##field,
#include "ncu.def"
#undef NCU
	NCU_METRICS
};

struct ncu_counts {
	bool ran;
	char note[300];			/* why not, for a person */
	unsigned launches;		/* of kernels that were counted */
	double us;			/* time of the case on the GPU, as timing.h measures it; 0: not measured */
	bool counted[NCU_METRICS];
	double value[NCU_METRICS];	/* sums over these */
};

const char *ncu_name(unsigned metric);	/* of the emulated device's counter: "global_load_sectors" */
const char *ncu_text(unsigned metric);
double ncu_emulated(const struct counters *c, unsigned metric);

/* Count one case's launches by solve(), of which there are so many; those of prepare() come before them.  -1 and e: our own failure;
 * what ncu can't do here goes to out->note. */
int ncu_count(const struct runner *gpu, const struct testcase *t, unsigned launches, struct ncu_counts *out, struct err *e);
/* Take ncu's CSV (--page details --print-units base) apart, and add up its last launches; last 0: all. */
void ncu_parse(const char *csv, unsigned last, struct ncu_counts *out);

#endif
