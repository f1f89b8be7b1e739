/* Errors as values.
 *
 * A function that can fail returns int (0 or -1) or a pointer (NULL on failure) and takes `struct err *`.
 * Success never touches it.  Each layer may add its context, in words a user understands:
 *
 *	if (read_file(path, &b, e) < 0)
 *		return err_wrap(e, "problem %s", id);	// "problem int4-gemv: cannot open ...: ..."
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum err_kind {
	ERR_NONE,
	ERR_INPUT,	/* what the user gave is wrong: message says where and how to mend it */
	ERR_SYSTEM	/* the judge or the machine failed; never blamed on a submission */
};

struct err {
	enum err_kind kind;
	char text[2000];
};

/* Set the message; returns -1, so that `return err_input(e, ...)` reads well.  e may be NULL. */
int err_input(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int err_system(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As err_system, with ": strerror(errno)" at its end. */
int err_errno(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Put "context: " before the message that is there; returns -1. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* An invariant of ours is broken: say where, abort. */
#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void bug_at(const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
