/* What went wrong on a device: one table of kinds, one struct that carries the place.
 *
 * A fault is born where it is detected (memory, executor, device process), crosses the wire as plain data, and
 * becomes a verdict in the judge.  The first fault of a launch in canonical order (lowest linear block id, then the
 * order of execution inside that block) is the one reported, whatever the number of host threads.
 */
#ifndef SANDBOX_FAULT_H
#define SANDBOX_FAULT_H

#include <stdint.h>

enum fault_kind {
#define FAULT(id, verdict, text) FAULT_##id,
#include "fault.def"
#undef FAULT
	FAULT_KINDS
};

struct fault {
	uint32_t kind;			/* enum fault_kind; FAULT_NONE: no fault */
	uint32_t block[3], thread[3];	/* of the first offending thread; meaningful if has_thread */
	uint8_t has_thread, has_address, pad[2];
	uint32_t line;			/* source line, 0 if not known */
	uint64_t address;		/* as the kernel sees it */
	uint32_t bytes;			/* size of the access, or 0 */
	char kernel[128];		/* demangled if possible, cut */
	char file[64];			/* base name */
	char detail[400];		/* one sentence: "4-byte read 4 bytes past the end of Wq (8192 bytes)" */
};

const char *fault_name(uint32_t kind);		/* "out-of-bounds access" */
const char *fault_verdict(uint32_t kind);	/* "IMA" */

#endif
