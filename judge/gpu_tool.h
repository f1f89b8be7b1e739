/* A GPU's device process under one of NVIDIA's tools: compute-sanitizer, ncu.
 *
 * The tool runs `judge __device` as it would any CUDA program; what it finds or counts it writes to files of a folder that is made
 * for the run and removed after it.  Such tools need much of the host, so the process is not jailed.
 */
#ifndef JUDGE_GPU_TOOL_H
#define JUDGE_GPU_TOOL_H

#include "../sandbox/base/scratch.h"
#include "grade_case.h"

struct gpu_tool {
	char path[300], log[260], home[260];	/* log: for the tool's --log-file */
	struct scratch folder;
	const char *argv[40];
	unsigned n;
};

/* e (ERR_INPUT): the CUDA toolkit here has no such tool. */
int gpu_tool_open(struct gpu_tool *t, const char *name, struct err *e);
void gpu_tool_add(struct gpu_tool *t, const char *word);	/* words stay the caller's */
/* Run these cases, whatever they come to, each with the oracle's inputs; then what the tool wrote. */
int gpu_tool_run(struct gpu_tool *t, const struct runner *like, const struct testcase *const *cases, unsigned n,
		 struct buf *log, struct err *e);
void gpu_tool_close(struct gpu_tool *t);	/* removes the folder */

#endif
