// Messages as the judge sends them, and as the device answers: a run that went well, a patch of an input.  On the guest's socket
// they break the protocol.
// judge: int4-gemv
// expect: RE
#include <cstdint>
#include <sys/socket.h>
#include <unistd.h>

extern "C" void solve(const uint32_t *, const float *, const float *, const float *, float *, int, int)
{
	for (uint32_t kind = 0; kind < 64; kind++) {
		uint32_t message[64] = {kind, 0, 1, 0, 1};
		send(3, message, sizeof message, MSG_NOSIGNAL);
	}
}
