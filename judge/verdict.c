/* Verdicts: see verdict.h. */
#include "verdict.h"

#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *code, *name, *text;
} table[] = {
#define VERDICT(code, name, text) {#code, name, text},
#include "verdict.def"
#undef VERDICT
	{"--", "not run", "an earlier case decided"},
};

const char *verdict_code(enum verdict v) { return table[v].code; }
const char *verdict_name(enum verdict v) { return table[v].name; }
const char *verdict_text(enum verdict v) { return table[v].text; }

enum verdict verdict_find(const char *code)
{
	for (int v = 0; v < VERDICT_COUNT; v++)
		if (!strcmp(table[v].code, code))
			return (enum verdict)v;
	return VERDICT_NONE;
}

static enum verdict of_fault(const struct fault *f, char *why, size_t size)
{
	enum verdict v = verdict_find(fault_verdict(f->kind));
	snprintf(why, size, "%s%s%s", fault_name(f->kind), *f->detail ? ": " : "", f->detail);
	return v == VERDICT_NONE || v == VERDICT_AC ? VERDICT_SE : v;
}

static enum verdict of_syscall(int number, char *why, size_t size)
{
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
	snprintf(why, size, "host code made %s%s, which the sandbox forbids",
		 name ? "the system call " : "a system call of another ABI (32-bit, or x32)", name ? name : "");
	free(name);
	return VERDICT_RE;
}

static const char *crash_text(const struct session_run *r)
{
	static const char *const texts[] = {
		[CRASH_UNKNOWN] = "", [CRASH_NULL] = ": it followed a null pointer",
		[CRASH_DEVICE] = ": it used a device pointer as if it were host memory (copy with cudaMemcpy)",
		[CRASH_OTHER] = ": it touched an address where there is no memory",
	};
	return r->guest.status == SIGSEGV ? texts[r->crash] : "";
}

/* How the guest's process ended; AC if it ended well. */
static enum verdict of_guest(const struct session_run *r, char *why, size_t size)
{
	const struct jail_result *g = &r->guest;
	switch (g->end) {
	case JAIL_CPU:
		snprintf(why, size, "host code used more than %.1f s of processor time", r->limits.cpu_ms / 1e3);
		return VERDICT_TLE;
	case JAIL_WALL:
		snprintf(why, size, "not done after %.1f s: %s", r->limits.wall_ms / 1e3,
			 r->device_busy ? "the device was still at work" : "host code was running, and no kernel");
		return VERDICT_TLE;
	case JAIL_MEMORY:
		snprintf(why, size, "host code used more than %llu MiB of memory",
			 (unsigned long long)(r->limits.memory >> 20));
		return VERDICT_MLE;
	case JAIL_OUTPUT:
		snprintf(why, size, "host code printed more than %llu KiB", (unsigned long long)(r->limits.output >> 10));
		return VERDICT_OLE;
	case JAIL_SYSCALL:
		return of_syscall(g->status, why, size);
	case JAIL_SIGNALED:
		if (g->status == SIGXFSZ) {
			snprintf(why, size, "host code wrote a file of more than %llu MiB", (unsigned long long)(r->limits.file_size >> 20));
			return VERDICT_OLE;
		}
		snprintf(why, size, "host code crashed: %s%s", strsignal(g->status), crash_text(r));
		return VERDICT_RE;
	case JAIL_KILLED:
		snprintf(why, size, "the run was cancelled");
		return VERDICT_SE;
	case JAIL_EXITED:
		break;
	}
	return VERDICT_AC;
}

enum verdict verdict_of_run(const struct session_run *r, char *why, size_t size)
{
	*why = 0;
	if (r->fault.kind != FAULT_NONE)
		return of_fault(&r->fault, why, size);
	enum verdict v = of_guest(r, why, size);
	if (v != VERDICT_AC)
		return v;
	if (r->protocol_error) {
		snprintf(why, size, "host code spoke to the device outside of the CUDA runtime: %s", r->protocol_text);
		return VERDICT_RE;
	}
	if (r->guest.status != 0) {
		snprintf(why, size, "%s ended the process with exit status %d", r->program ? "main()" : "solve()", r->guest.status);
		return VERDICT_RE;
	}
	if (r->done || r->program)
		return VERDICT_AC;
	if (*r->cuda_error)
		snprintf(why, size, "a CUDA call failed (%s)", r->cuda_error);
	else
		snprintf(why, size, "solve() did not return: the process ended inside it");
	return VERDICT_RE;
}
