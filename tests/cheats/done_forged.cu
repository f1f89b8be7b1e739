// Says by itself, on the socket to the device process, that all is done, and ends.
// judge: int4-gemv
// expect: NW
#include <cstdint>
#include <sys/socket.h>
#include <unistd.h>

extern "C" void solve(const uint32_t *, const float *, const float *, const float *, float *, int, int)
{
	enum { DONE = 20 };		/* the last of a guest's messages in sandbox/wire.def */
	uint32_t done[2] = {DONE, 0};
	char reply[256];
	send(3, done, sizeof done, MSG_NOSIGNAL);
	recv(3, reply, sizeof reply, 0);
	_exit(0);
}
