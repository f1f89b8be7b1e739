/* The socket to the device process, errors, and synchronisation: see guest.h. */
#include "guest.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

struct guest guest;

_Noreturn void guest_panic(const char *why)
{
	struct iovec parts[] = {{"guest runtime: ", 15}, {(void *)why, strlen(why)}, {"\n", 1}};
	fflush(stdout);
	if (writev(2, parts, 3) < 0)
		_exit(71);
	_exit(70);
}

void *guest_alloc(size_t size)
{
	void *p = calloc(1, size);
	if (!p)
		guest_panic("out of host memory");
	return p;
}

bool guest_send(const void *m, size_t size, const void *tail, size_t tail_size)
{
	struct iovec parts[2] = {{(void *)m, size}, {(void *)tail, tail_size}};
	struct msghdr h = {.msg_iov = parts, .msg_iovlen = tail_size ? 2 : 1};
	while (sendmsg(WIRE_FD, &h, MSG_NOSIGNAL) < 0) {
		if (errno == EFAULT)
			return false;
		if (errno != EINTR)
			guest_panic("the device process is gone");
	}
	return true;
}

void guest_tell(const void *m, size_t size, const void *tail, size_t tail_size)
{
	if (!guest_send(m, size, tail, tail_size))
		guest_panic("message outside the address space");
}

cudaError_t guest_reply(uint32_t kind, struct wire_reply *r, void *data, size_t room, size_t *got)
{
	struct iovec parts[2] = {{r, sizeof *r}, {data, room}};
	struct msghdr h = {.msg_iov = parts, .msg_iovlen = room ? 2 : 1};
	ssize_t n;
	while ((n = recvmsg(WIRE_FD, &h, 0)) < 0)
		if (errno == EFAULT)
			return guest_local(cudaErrorInvalidValue);
		else if (errno != EINTR)
			guest_panic("the device process is gone");
	if (n == 0)
		guest_panic("the device process ended this run");
	if ((size_t)n < sizeof *r || r->kind != kind || (h.msg_flags & MSG_TRUNC))
		guest_panic("the device process gave an unexpected answer");
	if (got)
		*got = (size_t)n - sizeof *r;
	return guest_remote((cudaError_t)r->error);
}

cudaError_t guest_ask(const void *m, size_t size, const void *tail, size_t tail_size, struct wire_reply *r, void *data,
		      size_t room, size_t *got)
{
	guest_tell(m, size, tail, tail_size);
	return guest_reply(*(const uint32_t *)m, r, data, room, got);
}

/* ---- errors ---- */

static bool is_sticky(cudaError_t e)
{
	switch (e) {
	case cudaErrorIllegalAddress:
	case cudaErrorLaunchTimeout:
	case cudaErrorAssert:
	case cudaErrorHardwareStackError:
	case cudaErrorIllegalInstruction:
	case cudaErrorMisalignedAddress:
	case cudaErrorInvalidAddressSpace:
	case cudaErrorInvalidPc:
	case cudaErrorLaunchFailure:
		return true;
	default:
		return false;
	}
}

cudaError_t guest_remote(cudaError_t e)
{
	if (e == cudaSuccess)
		return e;
	guest.last = e;
	if (is_sticky(e))
		guest.sticky = e;
	return e;
}

static cudaError_t note(cudaError_t e, const char *text, size_t size)
{
	struct wire_note m = {WIRE_NOTE, (int32_t)e};
	if (e == cudaSuccess)
		return e;
	guest.last = e;
	if (guest.open && !guest.over)
		guest_tell(&m, sizeof m, text, size);
	return e;
}

cudaError_t guest_failed(cudaError_t e, const char *function)
{
	bool known = !strncmp(function, "cuda", 4);
	return note(e, known ? function : NULL, known ? strlen(function) : 0);
}

cudaError_t guest_explain(cudaError_t e, const char *fmt, ...)
{
	char text[WIRE_TEXT + 1];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return note(e, text, strlen(text));
}

/* ---- the connection ---- */

/* Device addresses are kept free of host memory, so that a pointer tells by itself what it points to, and a host access
 * to device memory ends where it happens.  What is taken already (the kernel's own pages) is left out. */
static void reserve(uint64_t base, uint64_t size)
{
	const uint64_t piece = 1ull << 30;
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
	if (!size || mmap((void *)base, size, PROT_NONE, flags, -1, 0) == (void *)base)
		return;
	for (uint64_t at = 0; at < size; at += piece)
		mmap((void *)(base + at), size - at < piece ? size - at : piece, PROT_NONE, flags, -1, 0);
}

/* A host access to device memory is the commonest crash: the device process knows what lies there. */
static void tell_crash(int number, siginfo_t *info, void *context)
{
	struct wire_crash m = {WIRE_CRASH, 0, (uint64_t)info->si_addr};
	(void)number, (void)context;
	if (!guest.over && send(WIRE_FD, &m, sizeof m, MSG_NOSIGNAL) < 0)
		_exit(71);
	/* The handler is gone (SA_RESETHAND): the same access, tried again, ends the program. */
}

static bool connect_device(void)
{
	struct wire_hello m = {WIRE_HELLO, WIRE_VERSION};
	struct wire_reply r;
	if (send(WIRE_FD, &m, sizeof m, MSG_NOSIGNAL) < 0 && (errno == EBADF || errno == ENOTSOCK)) {
		fputs("this program runs under `judge run` only: there is no device here\n", stderr);
		return false;
	}
	guest.open = true;
	if (guest_reply(WIRE_HELLO, &r, &guest.device, sizeof guest.device, NULL) != cudaSuccess)
		guest_panic("the device process refuses this run");
	reserve(guest.device.base, guest.device.size);
	struct sigaction crash = {.sa_sigaction = tell_crash, .sa_flags = SA_SIGINFO | SA_RESETHAND}, old;
	if (sigaction(SIGSEGV, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		sigaction(SIGSEGV, &crash, NULL);
	return true;
}

cudaError_t guest_connect(void)
{
	if (guest.over)
		return cudaErrorCudartUnloading;
	if (guest.open || connect_device())
		return cudaSuccess;
	guest.last = cudaErrorNoDevice;
	return cudaErrorNoDevice;
}

cudaError_t guest_ready(void)
{
	cudaError_t e = guest_connect();
	if (e)
		return e;
	if (guest.sticky)
		guest.last = guest.sticky;
	return guest.sticky;
}

cudaError_t guest_sync(void)
{
	struct wire_plain m = {WIRE_SYNC, 0};
	struct wire_reply r;
	size_t got;
	cudaError_t e = guest_ready();
	if (e)
		return e;
	char *text = guest.device.program ? guest_alloc(WIRE_PIECE) : NULL;
	do {
		e = guest_ask(&m, sizeof m, NULL, 0, &r, text, text ? WIRE_PIECE : 0, &got);
		if (got)
			fwrite(text, 1, got, stdout);
	} while (r.a);
	free(text);
	bool busy = guest.busy;
	guest.busy = false;
	if (!e && busy)
		guest_pull();
	return e;
}
