/* main() of a judged submission: gets the arguments from the device process and calls prepare() and solve().
 *
 * The linker takes this file from the library only if the program has no main of its own.
 */
#include "guest.h"

#include <stdio.h>
#include <string.h>

extern void solve(void);
extern void prepare(void) __attribute__((weak));

int main(void);

/* By the System V calling convention integers and pointers go to six registers and then the stack, floats to eight
 * vector registers, each in order; so one call serves any mix of up to 16 and 8, whatever the function's type. */
enum { INTEGERS = 16, REALS = 8 };
typedef void any(long, long, long, long, long, long, double, double, double, double, double, double, double, double, long,
		 long, long, long, long, long, long, long, long, long);

static void call(void (*function)(void), const struct wire_argument *a, size_t n)
{
	long i[INTEGERS] = {0};
	double f[REALS] = {0};
	size_t n_i = 0, n_f = 0;
	for (size_t k = 0; k < n; k++) {
		if (a[k].size)
			guest_know((uint64_t)a[k].i, a[k].size);
		if (a[k].real ? n_f == REALS : n_i == INTEGERS)
			guest_panic("more than 16 integer or 8 floating-point arguments");
		if (a[k].real)
			memcpy(&f[n_f++], &a[k].f, sizeof *f);
		else
			i[n_i++] = a[k].i;
	}
	((any *)(void *)function)(i[0], i[1], i[2], i[3], i[4], i[5], f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], i[6],
				  i[7], i[8], i[9], i[10], i[11], i[12], i[13], i[14], i[15]);
}

static void run(unsigned phase, void (*function)(void))
{
	struct wire_phase m = {WIRE_PHASE, phase, prepare != NULL, 0};
	struct wire_argument arguments[WIRE_ARGUMENTS];
	struct wire_reply r;
	size_t got;
	guest_ask(&m, sizeof m, NULL, 0, &r, arguments, sizeof arguments, &got);
	call(function, arguments, got / sizeof *arguments);
}

int main(void)
{
	struct wire_reply r;
	guest_ready();
	if (!guest.open)
		return 2;
	if (guest.device.program) {
		fputs("this program has no main(): grade it with `judge`, not `judge run`\n", stderr);
		return 2;
	}
	if (guest.device.prepare && prepare)
		run(WIRE_PREPARE, prepare);
	run(WIRE_SOLVE, solve);
	struct wire_done done = {WIRE_DONE, (int32_t)guest.last};
	guest_ask(&done, sizeof done, NULL, 0, &r, NULL, 0, NULL);
	guest.over = true;
	return 0;
}
