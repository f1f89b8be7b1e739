/* Packets and their checks: see wire.h. */
#include "wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

struct shape {
	const char *name;
	size_t fixed, least, most;
	unsigned phases;
};

static const struct shape wire_shapes[WIRE_KINDS] = {
#define WIRE(id, type, least, most, phases) [WIRE_##id] = {#id, sizeof(struct wire_##type), least, most, phases},
#include "wire.def"
#undef WIRE
};

static const struct shape control_shapes[CONTROL_KINDS] = {
#define CONTROL(id, type, least, most) [CONTROL_##id] = {#id, sizeof(struct control_##type), least, most, ~0u},
#include "wire.def"
#undef CONTROL
};

int wire_pair(int pair[2])
{
	int room = 1 << 20;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	/* More than the system's limit takes a privilege; without it the limit is what there is. */
	for (int i = 0; i < 2; i++)
		if (setsockopt(pair[i], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) < 0)
			setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	return 0;
}

int wire_send(int fd, const void *head, size_t head_size, const void *tail, size_t tail_size, int pass)
{
	struct iovec parts[2] = {{(void *)head, head_size}, {(void *)tail, tail_size}};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} room = {0};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = tail_size ? 2 : 1};
	if (pass >= 0) {
		m.msg_control = room.bytes;
		m.msg_controllen = sizeof room.bytes;
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &pass, sizeof pass);
	}
	ssize_t n;
	do
		n = sendmsg(fd, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : 0;
}

/* Keep the first descriptor that came with the message if it is wanted; close all others. */
static void take_descriptors(struct msghdr *m, int *passed)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			if (passed && *passed < 0)
				*passed = fd;
			else
				close(fd);
		}
	}
}

int wire_recv(int fd, void *packet, size_t room, size_t *size, int *passed)
{
	struct iovec part = {packet, room};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} rights;
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = rights.bytes, .msg_controllen = sizeof rights.bytes};
	if (passed)
		*passed = -1;
	ssize_t n;
	do
		n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? 0 : -1;
	take_descriptors(&m, passed);
	if (m.msg_flags & MSG_TRUNC) {
		errno = EMSGSIZE;
		return -1;
	}
	*size = (size_t)n;
	return n > 0;
}

int wire_send_stream(int fd, const void *data, size_t size)
{
	for (size_t at = 0; at < size; at += WIRE_PIECE) {
		size_t n = size - at < WIRE_PIECE ? size - at : WIRE_PIECE;
		if (wire_send(fd, (const char *)data + at, n, NULL, 0, -1) < 0)
			return -1;
	}
	return 0;
}

int wire_recv_stream(int fd, void *data, size_t size)
{
	for (size_t at = 0; at < size; at += WIRE_PIECE) {
		size_t want = size - at < WIRE_PIECE ? size - at : WIRE_PIECE, n = 0;
		int rc = wire_recv(fd, (char *)data + at, want, &n, NULL);
		if (rc <= 0 || n != want) {
			if (rc >= 0)
				errno = rc ? EPROTO : ECONNRESET;
			return -1;
		}
	}
	return 0;
}

static const char *check(const struct shape *shapes, uint32_t kinds, const void *packet, size_t size, unsigned phase,
			 char *why, size_t room)
{
	uint32_t kind;
	if (size < sizeof kind) {
		snprintf(why, room, "a message of %zu bytes has no kind", size);
		return why;
	}
	memcpy(&kind, packet, sizeof kind);
	if (kind == 0 || kind >= kinds) {
		snprintf(why, room, "there is no message of kind %u", kind);
		return why;
	}
	const struct shape *s = &shapes[kind];
	if (size < s->fixed + s->least || size > s->fixed + s->most) {
		snprintf(why, room, "%s of %zu bytes: it has %zu to %zu", s->name, size, s->fixed + s->least, s->fixed + s->most);
		return why;
	}
	if (!(s->phases & phase)) {
		snprintf(why, room, "%s is out of order", s->name);
		return why;
	}
	return NULL;
}

const char *wire_check(const void *packet, size_t size, unsigned phase, char *why, size_t room)
{
	return check(wire_shapes, WIRE_KINDS, packet, size, phase, why, room);
}

const char *control_check(const void *packet, size_t size, char *why, size_t room)
{
	return check(control_shapes, CONTROL_KINDS, packet, size, ~0u, why, room);
}

size_t wire_fixed_size(uint32_t kind)
{
	return kind < WIRE_KINDS ? wire_shapes[kind].fixed : 0;
}

const char *wire_name(uint32_t kind)
{
	return kind && kind < WIRE_KINDS ? wire_shapes[kind].name : "unknown";
}

const char *cuda_error_name(uint32_t code)
{
	static const struct {
		uint32_t code;
		const char *name;
	} names[] = {
#define CUDA_ERROR(value, name, text) {value, #name},
#include "cuda_errors.def"
#undef CUDA_ERROR
	};
	for (size_t i = 0; code && i < sizeof names / sizeof *names; i++)
		if (names[i].code == code)
			return names[i].name;
	return code ? "unrecognized error code" : "";
}
