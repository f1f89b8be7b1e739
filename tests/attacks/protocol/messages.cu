// Speaks to the device process itself: malformed, truncated, oversized messages, out of order, with wrong ids and sizes.  What a right
// runtime never sends ends the run; what a program can get wrong is answered, and the program may still compute.
// try 2: RE outside of the CUDA runtime
// try 3: RE outside of the CUDA runtime
// try 4: RE outside of the CUDA runtime
// try 5: RE outside of the CUDA runtime
// try 6: RE did not return
// try 7: RE outside of the CUDA runtime
// try 8: RE outside of the CUDA runtime
// try 9: RE outside of the CUDA runtime
// try 10: RE outside of the CUDA runtime
// try 11: RE outside of the CUDA runtime
// try 12: RE outside of the CUDA runtime
// try 13: RE outside of the CUDA runtime
// try 14: RE outside of the CUDA runtime
// try 15: RE outside of the CUDA runtime
// try 16: RE outside of the CUDA runtime
// try 17: RE outside of the CUDA runtime
// try 18: RE outside of the CUDA runtime
// try 19: RE outside of the CUDA runtime
// try 20: RE
// try 21: IMA
// try 22: AC
// try 23: RE outside of the CUDA runtime
// try 24: RE outside of the CUDA runtime
// try 25: AC
// try 26: AC
// try 27: AC
// try 28: AC
// try 29: AC
// try 30: AC
// try 31: AC
// try 32: IM
// try 33: IM
// try 34: IM
// try 35: AC
// try 36: AC
// try 37: AC
// try 38: AC
// try 39: NW
// try 40: NW
// try 41: RE
// try 42: RE
// try 43: RE
// try 44: RE
// try 45: AC
// try 46: AC
// try 47: AC
// try 48: RE
// try 49: AC
#include <cstdint>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

/* The messages of a guest to the device process, as sandbox/wire.def numbers them; 3 is their socket. */
enum { HELLO = 1, KERNEL, SYMBOL, ALLOC, RELEASE, UPLOAD, DOWNLOAD, COPY, FILL, LAUNCH, SYNC, CLOCK, MEMORY, TENSOR_MAP, OCCUPANCY, RESET, NOTE,
       CRASH, PHASE, DONE, KINDS };

static uint32_t reply[20000];
__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

static void put(const void *message, size_t size)
{
	send(3, message, size, MSG_NOSIGNAL);
}

/* Send words, and wait for the answer if there is one. */
template <typename... Words> static uint32_t ask(Words... words)
{
	uint32_t message[] = {(uint32_t)words...};
	put(message, sizeof message);
	reply[1] = 0;
	recv(3, reply, sizeof reply, 0);
	return reply[1];
}

template <typename... Words> static void tell(Words... words)
{
	uint32_t message[] = {(uint32_t)words...};
	put(message, sizeof message);
}

static uint32_t low(uint64_t v) { return (uint32_t)v; }
static uint32_t high(uint64_t v) { return (uint32_t)(v >> 32); }
static uint32_t low(const void *p) { return low((uint64_t)p); }
static uint32_t high(const void *p) { return high((uint64_t)p); }

/* Descriptors, the socket itself among them, sent along with a message. */
static void pass(int fd, int other, int n)
{
	uint32_t note[2] = {NOTE, 0};
	iovec part = {note, sizeof note};
	char room[CMSG_SPACE(64 * sizeof(int))] = {};
	msghdr m = {};
	m.msg_iov = &part;
	m.msg_iovlen = 1;
	m.msg_control = room;
	m.msg_controllen = CMSG_SPACE(n * sizeof(int));
	cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	for (int i = 0; i < n; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(int), i % 2 ? &fd : &other, sizeof(int));
	sendmsg(3, &m, MSG_NOSIGNAL);
}

extern "C" void solve(const float *x, float *y, int n, int which)
{
	switch (which) {
	case 2:
		ask(99, 0);
		break;
	case 3:
		ask(0, 0);
		break;
	case 4:
		ask(-1, -1, -1, -1);
		break;
	case 5: {
		put("ab", 2);
		recv(3, reply, sizeof reply, 0);
		break;
	}
	case 6: {
		put("", 0);
		_exit(0);
		break;
	}
	case 7:
		ask(ALLOC);
		break;
	case 8:
		ask(LAUNCH, 0);
		break;
	case 9:
		ask(KERNEL, 0);
		break;
	case 10: {
		static char large[200000];
		put(large, sizeof large);
		recv(3, reply, sizeof reply, 0);
		break;
	}
	case 11: {
		static uint32_t large[16400] = {UPLOAD, 1};
		put(large, 65632);
		recv(3, reply, sizeof reply, 0);
		break;
	}
	case 12:
		ask(HELLO, 1);
		break;
	case 13:
		ask(PHASE, 8, 0, 0);
		break;
	case 14:
		ask(PHASE, 4, 1, 0);
		break;
	case 15:
		ask(LAUNCH, 77, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0);
		break;
	case 16:
		ask(LAUNCH, -1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0);
		break;
	case 17:
		ask(LAUNCH, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 2);
		break;
	case 18:
		ask(LAUNCH, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5);
		break;
	case 19:
		ask(LAUNCH, 0, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5);
		break;
	case 20:
		tell(LAUNCH, 0, 1, 1, 1, 64, 1, 1, -1, 0, 0, 0, 0, 0, low(x), high(x), low(y), high(y), n);
		break;
	case 21:
		tell(LAUNCH, 0, 1, 1, 1, 64, 1, 1, 0, 0, 0, 0, 0, 0, 8, 0xdead, low(y), high(y), n);
		break;
	case 22:
		tell(LAUNCH, 0, 1, 1, 1, 64, 1, 1, 0, 1, 0, 0, 0, 0, low(x), high(x), low(y), high(y), n);
		break;
	case 23:
		ask(FILL, 3, 0, 0, low(y), high(y), 3, 0, 3, 0, 1, 0);
		break;
	case 24:
		ask(OCCUPANCY, 9, 64, 0);
		break;
	case 25: {
		if (ask(ALLOC, 0, -1, -1) == 0 || ask(ALLOC, 0, 0, 0) == 0 || ask(ALLOC, 0, 0, 1 << 31) == 0)
			return;
		break;
	}
	case 26: {
		if (ask(RELEASE, 0, low(y), high(y)) == 0 || ask(RELEASE, 0, 8, 0) == 0 || ask(RELEASE, 0, -1, -1) == 0)
			return;
		break;
	}
	case 27: {
		if (ask(DOWNLOAD, 0, -1, -1, 100, 0, 8, 0, 5, 0) == 0 || ask(DOWNLOAD, 0, low(x), high(x), 0, 1, 0, 1, 0, 1) == 0 ||
		    ask(DOWNLOAD, 0, low(x), high(x), 1, 0, 256, 0, 2, 0) == 0 || ask(DOWNLOAD, 0, low(x), high(x), 0, 0, -1, -1, 1, 0) == 0 ||
		    ask(DOWNLOAD, 0, low(x), high(x), 0, 0, 257, 0, 1, 0) == 0 || ask(DOWNLOAD, 0, low(x - 1), high(x - 1), 0, 0, 4, 0, 1, 0) == 0)
			return;
		break;
	}
	case 28: {
		if (ask(DOWNLOAD, 0, low(x), high(x), -1, -1, 0, 0, -1, -1) == 0 && reply[2])	/* rows of no bytes, without end */
			return;
		break;
	}
	case 29: {
		if (ask(COPY, 0, -8, -1, 16, 0, low(x), high(x), 16, 0, 16, 0, 0, 1 << 28) == 0 ||
		    ask(COPY, 0, low(y), high(y), 1, 0, low(x), high(x), 256, 0, 256, 0, 2, 0) == 0 ||
		    ask(COPY, 0, low(y), high(y), 0, 0, low(x), high(x), 0, 0, -1, -1, 1, 0) == 0)
			return;
		break;
	}
	case 30: {
		ask(FILL, 4, 0x3f800000, 0, low(y), high(y), 0, 0, 64, 0, 1, 0);		/* ranges that overlap are moved as memmove does */
		ask(COPY, 0, low(y + 1), high(y + 1), 0, 0, low(y), high(y), 0, 0, 252, 0, 1, 0);
		break;
	}
	case 31: {
		if (ask(FILL, 1, 0, 0, low(y), high(y), 0, 0, 0, 1 << 30, 1, 0) == 0 || ask(FILL, 4, 0, 0, low(y), high(y), -1, -1, 0, 0x40000000, 1, 0) == 0 ||
		    ask(FILL, 4, 0, 0, low(y) + 1, high(y), 0, 0, 1, 0, 1, 0) == 0 || ask(FILL, 1, 0, 0, low(y), high(y), 0, 0, 257, 0, 1, 0) == 0)
			return;
		break;
	}
	case 32:
		ask(UPLOAD, 1, low(x), high(x), 0, 0, 0, 0);
		break;
	case 33:
		ask(FILL, 4, 0, 0, low(x), high(x), 0, 0, 64, 0, 1, 0);
		break;
	case 34:
		ask(COPY, 0, low(x), high(x), 0, 0, low(y), high(y), 0, 0, 256, 0, 1, 0);
		break;
	case 35: {
		if (ask(UPLOAD, 1, 8, 0, 1, 2, 3) == 0 || ask(UPLOAD, 1, -4, -1, 1, 2, 3) == 0 || ask(UPLOAD, 1, low(y + 63), high(y), 1, 2, 3) == 0)
			return;
		break;
	}
	case 36: {
		for (int i = 0; i < 3000; i++)		/* pieces of an upload that has no end */
			tell(UPLOAD, 0, low(y), high(y), i);
		ask(UPLOAD, 1, low(y), high(y));
		break;
	}
	case 37: {
		static uint32_t name[300] = {SYMBOL, 0};
		memset(name + 2, 0xff, 1023);
		put(name, 8 + 1023);
		recv(3, reply, sizeof reply, 0);
		name[0] = KERNEL;
		put(name, 8 + 1023);
		recv(3, reply, sizeof reply, 0);
		break;
	}
	case 38: {
		static uint32_t note[52] = {NOTE, 0x7fffffff};
		memcpy(note + 2, "\x1b[2J\xff<script>", 13);
		put(note, 8 + 199);
		tell(NOTE, -1);
		tell(CRASH, 0, -1, -1);
		tell(CRASH, 0, low(y), high(y));
		break;
	}
	case 39: {
		ask(DONE, 0);
		_exit(0);
		break;
	}
	case 40: {
		for (int i = 0; i < 1000; i++)
			tell(DONE, 0);
		_exit(0);
		break;
	}
	case 41:
		shutdown(3, SHUT_RDWR);
		break;
	case 42:
		shutdown(3, SHUT_RD);
		break;
	case 43:
		shutdown(3, SHUT_WR);
		break;
	case 44:
		close(3);
		break;
	case 45: {
		for (int i = 0; i < 20000; i++)
			tell(NOTE, 0);
		break;
	}
	case 46: {
		for (int i = 0; i < 1000; i++)
			if (ask(CLOCK, 0) || ask(MEMORY, 0) || ask(SYNC, 0))
				return;
		break;
	}
	case 47: {
		for (int i = 0; i < 1000; i++)
			pass(3, i % 4, i % 60);
		break;
	}
	case 48: {
		uint32_t seed = 1, junk[64];
		for (int i = 0; i < 10000; i++) {
			for (uint32_t &word : junk)
				word = (seed = seed * 1664525 + 1013904223) >> (seed >> 27);
			junk[0] %= KINDS + 1;
			put(junk, seed % sizeof junk);
		}
		break;
	}
	case 49: {
		for (int i = 0; i < 3000 && ask(ALLOC, 0, 1, 0) == 0; i++)
			;
		ask(RESET, 0);
		ask(RESET, 0);
		break;
	}
	}
	twice<<<1, 64>>>(x, y, n);
}
