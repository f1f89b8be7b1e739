/* The oracle's executable: prebuilt, cached, or built now. */
#ifndef JUDGE_ORACLE_BUILD_H
#define JUDGE_ORACLE_BUILD_H

#include "problem.h"

/* Compile the package's oracle.c in a jail.  A descriptor of the static executable, or -1. */
int oracle_build(const struct problem *p, bool unsandboxed, struct err *e);

#endif
