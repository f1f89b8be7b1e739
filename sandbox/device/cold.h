/* The time of a graph that starts with cold caches.
 *
 * Before it, the persisting part of L2 is given back and the whole of L2 is filled by reading other memory (reading, since
 * lines that were written would be written back in the timed region).  That reading also keeps the GPU busy while the host
 * enqueues the rest, so that between the two events there is the graph and nothing that waits for the host.
 *
 * Cold caches, but not a cold TLB: a change of a mapping's access, which every patch of a read-only input is, empties it, and a
 * launch that walks the page tables again takes 0.3 to 0.5 us longer on an H200 (measured: a 5.1 us kernel takes 5.6).  Where
 * kernels are used, weights stay where they are and their translations with them, so each pass begins by having them looked up.
 */
#ifndef DEVICE_COLD_H
#define DEVICE_COLD_H

#include "driver.h"

struct cold {				/* zeroes: not made yet */
	CUmodule module;
	CUfunction sweep;
	CUdeviceptr memory;
	uint64_t size;
	unsigned sms;
};

/* In the current context.  Made already: nothing happens. */
CUresult cold_make(struct cold *c, const struct driver *cu, CUdevice id, CUstream stream);
/* End the stream's capture, and make what it holds a graph that is ready to launch.  good false: what was captured is of no use,
 * and none is made. */
CUresult cold_graph(const struct driver *cu, CUstream stream, bool good, CUgraphExec *out);
/* Enqueue: every SM looks up every page of this memory.  at: aligned to 16 bytes, with 16 to read at the start of each page's
 * worth of size; page: bytes of the smallest page that the memory can have been mapped by. */
CUresult cold_translate(const struct cold *c, const struct driver *cu, CUstream stream, CUdeviceptr at, uint64_t size, uint64_t page);
/* Time of the graph alone, by the events; everything is waited for. */
CUresult cold_time(const struct cold *c, const struct driver *cu, CUstream stream, CUevent begin, CUevent end, CUgraphExec graph,
		   float *ms);
void cold_free(struct cold *c, const struct driver *cu);

#endif
