/* Results of the compile step, kept: the same source with the same options is compiled once.
 *
 * What a result depends on is its name: a hash of source, prelude, options and limits, of the compilers and their headers, of
 * libguest.a and of this very program.  Only results that would come out again are kept: a compile error is one, and a compiler
 * that met a limit, a signal or a failure of the machine gave none.  Nor is a source that asks for the time.
 *
 * They lie in compiled/ in the cache folder (compile_prefix.h), which jails never see: one file each, with a checksum over name and
 * content, readable by its owner alone.  A file that is torn, of another version, or not ours is removed and was not there; a
 * folder that is neither ours nor root's, or that others may write to, is not used.  Any number of processes share it.  Together they take
 * $JUDGE_CACHE_MIB (512): those not used for longest go.
 *
 * Nothing here fails: without it all works, slower.
 */
#ifndef SANDBOX_COMPILE_CACHE_H
#define SANDBOX_COMPILE_CACHE_H

#include "compile.h"

#include <limits.h>

struct compile_key {
	unsigned char hash[32];		/* BLAKE2b-256 */
	bool usable;			/* false: there is no cache, or none for this request */
};

void compile_cache_key(const struct compile_request *rq, const struct toolchain *t, struct compile_key *key);
/* The result, as compile() gave it but for wall_us, in `a`, with a guest of its own.  False: it isn't there. */
bool compile_cache_get(const struct compile_key *key, const struct compile_request *rq, struct arena *a, struct compiled *out);
void compile_cache_put(const struct compile_key *key, const struct compiled *c);

/* What there is, for a person. */
struct compile_cache_state {
	char folder[PATH_MAX];		/* empty: JUDGE_CACHE is, or no home is known */
	bool usable;			/* it is nobody's yet, or ours alone */
	size_t results;
	uint64_t bytes, most;
};
void compile_cache_look(struct compile_cache_state *out);

#endif
