/* A GEMM in FP16 by cuBLAS, timed as tapes are: what a kernel that leaves the weights unquantized is worth.
 *
 * A process of the judge's own, `judge __cublas TOOLKIT [GPU M N K SETS]`; no submission has a part in it, so it is not jailed.
 * cuBLAS is opened at run time: as the loader finds it, else in TOOLKIT ("" for none).  What comes out is one line of JSON on
 * stdout and status 0, or one line of text on stderr and status 1.
 *
 * Without a GPU: {"cublas": "13.1.0", "library": PATH}.
 * With one (by UUID): further {"uuid", "driver", "sm_mhz": [LEAST, MOST], "throttle": BITS, "us": [...]}, a time for each pass, of
 * one C[M, N] = A[M, K] W[N, K]^T: row-major, FP16 in and out, sums in FP32.
 */
#ifndef DEVICE_GEMM_H
#define DEVICE_GEMM_H

enum { GEMM_PASSES = 200, GEMM_PASSES_MIN = 10, GEMM_SETS_MAX = 32 };

int gemm_main(int argc, char **argv);

#endif
