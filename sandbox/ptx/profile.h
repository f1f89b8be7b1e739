/* A device profile: the figures of one GPU model, read from a data file sandbox/ptx/profiles/NAME.json. */
#ifndef PTX_PROFILE_H
#define PTX_PROFILE_H

#include "../base/err.h"

#include <stdint.h>

struct profile {
	char id[32], name[64];			/* "h200", "NVIDIA H200" */
	char arch[8];				/* "90": compute capability times ten */
	uint32_t sms, schedulers_per_sm;
	double clock_ghz;			/* sustained */
	double dram_gbs, dram_read_gbs;		/* peak of the data sheet; read bandwidth that a kernel can reach */
	double l2_gbs;
	uint64_t dram_bytes;
	uint32_t l2_bytes, l2_ways, l1_bytes;	/* l1_bytes: L1 and shared memory together, per SM */
	uint32_t shared_per_sm, shared_per_block, shared_reserved;	/* shared_reserved: driver's part of each block */
	uint32_t registers_per_sm, max_registers_per_thread, register_unit;
	uint32_t max_threads_per_sm, max_blocks_per_sm, max_threads_per_block, warp_size;
	double launch_us, dram_latency_ns, l2_latency_ns, l1_latency_cycles, shared_latency_cycles;
	/* warp instructions per cycle and SM */
	double fp32_rate, fp16_rate, fp64_rate, int_rate, convert_rate, sfu_rate, issue_rate;
	double l1_wavefronts, shared_wavefronts;	/* per cycle and SM */
	double tensor_f16_flops, tensor_i8_flops;	/* dense flop (op) per cycle and SM */
};

/* Look up id in $JUDGE_PROFILES, then next to the program (build/profiles, ../share/judge/profiles).  Unknown id: e
 * lists the known ones. */
int profile_load(const char *id, struct profile *out, struct err *e);
/* From JSON text; `what` names it in messages ("h200.json: field clock_ghz is missing"). */
int profile_parse(const char *text, const char *what, struct profile *out, struct err *e);
/* Known ids, sorted, the last followed by NULL; they lie in `out`, whose ids are returned. */
enum { PROFILES_MAX = 64 };
struct profile_ids {
	const char *ids[PROFILES_MAX + 1];
	char texts[PROFILES_MAX][32];
};
const char *const *profile_list(struct profile_ids *out);

#endif
