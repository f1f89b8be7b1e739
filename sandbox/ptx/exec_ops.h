/* The instructions of the executor that go on to the next one: lower*.c puts them into struct insn.
 *
 * exec_copy* are alu handlers; the others get the executor's state.  What each expects in `detail` is said by the
 * lowering function that emits it.
 */
#ifndef PTX_EXEC_OPS_H
#define PTX_EXEC_OPS_H

#include "lower.h"

alu_fn exec_copy1, exec_copy32, exec_copy64;

/* exec_mem.c: detail is a struct access */
exec_op exec_load, exec_store, exec_atomic, exec_param_load, exec_param_store;
exec_op exec_async_copy;
exec_op exec_async_commit;		/* no detail */
exec_op exec_async_wait;		/* imm: newest groups that may stay; aux: all */
/* exec_matrix.c: detail is a struct access */
exec_op exec_matrix_load, exec_matrix_store, exec_wmma_load, exec_wmma_store;
/* exec_misc.c */
exec_op exec_activemask;		/* d */
exec_op exec_clock;			/* d, aux: bits, imm: enum ptx_sreg */
exec_op exec_cvta;			/* d = a + detail as an integer, 64 bits */
exec_op exec_isspacep;			/* d, a, imm: enum ptx_space */
exec_op exec_alloca;			/* d, a: size, aux: bits of the size, imm: alignment */
exec_op exec_stacksave, exec_stackrestore;
exec_op exec_trap, exec_brkpt;
/* sync_mbarrier.c: detail is a struct access */
exec_op exec_mbarrier_init, exec_mbarrier_inval, exec_mbarrier_arrive, exec_mbarrier_expect, exec_mbarrier_wait;
exec_op exec_mbarrier_pending, exec_async_arrive, exec_bulk_copy;

#endif
