/* Packets: what passes the check, streams, descriptors that travel along. */
#include "tests/unit/test.h"

#include "sandbox/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char why[200];

static const char *checked(const void *packet, size_t size, unsigned phase)
{
	return wire_check(packet, size, phase, why, sizeof why);
}

TEST(every_kind_has_its_sizes)
{
	static uint32_t packet[WIRE_PACKET / 4];
	for (uint32_t kind = 1; kind < WIRE_KINDS; kind++) {
		size_t accepted = 0, least = 0;
		packet[0] = kind;
		for (size_t n = 0; n <= WIRE_PACKET; n++)
			if (!checked(packet, n, ~0u)) {
				least = accepted++ ? least : n;
			}
		CHECK_MSG(accepted, "%s is never accepted", wire_name(kind));
		CHECK(least >= wire_fixed_size(kind));
		CHECK_MSG(least + accepted - 1 < WIRE_PACKET, "%s may be larger than a packet", wire_name(kind));
	}
}

TEST(kinds_out_of_the_table)
{
	uint32_t packet[4] = {0};
	CHECK_STR(checked(packet, 16, ~0u), "there is no message of kind 0");
	packet[0] = WIRE_KINDS;
	CHECK(checked(packet, 16, ~0u));
	packet[0] = ~0u;
	CHECK(checked(packet, 16, ~0u));
	CHECK_STR(checked(packet, 3, ~0u), "a message of 3 bytes has no kind");
	CHECK_STR(checked(packet, 0, ~0u), "a message of 0 bytes has no kind");
	CHECK(control_check(packet, 16, why, sizeof why));
	packet[0] = CONTROL_CLEAR;
	CHECK(!control_check(packet, sizeof(struct control_bare), why, sizeof why));
	CHECK(control_check(packet, sizeof(struct control_bare) + 1, why, sizeof why));
}

TEST(phases)
{
	struct wire_plain done = {WIRE_DONE, 0}, sync = {WIRE_SYNC, 0};
	struct wire_hello hello = {WIRE_HELLO, WIRE_VERSION};
	CHECK(!checked(&hello, sizeof hello, WIRE_FRESH));
	CHECK(checked(&hello, sizeof hello, WIRE_READY));
	CHECK(checked(&sync, sizeof sync, WIRE_FRESH));
	CHECK(!checked(&sync, sizeof sync, WIRE_PROGRAM));
	CHECK(!checked(&done, sizeof done, WIRE_SOLVE));
	CHECK_STR(checked(&done, sizeof done, WIRE_PROGRAM), "DONE is out of order");
	CHECK(checked(&sync, sizeof sync, WIRE_OVER));
}

TEST(parts_make_one_packet)
{
	int pair[2];
	char room[64];
	size_t size;
	CHECK_EQ(wire_pair(pair), 0);
	CHECK_EQ(wire_send(pair[0], "head", 4, "tail", 4, -1), 0);
	CHECK_EQ(wire_recv(pair[1], room, sizeof room, &size, NULL), 1);
	CHECK_EQ(size, 8);
	CHECK(memcmp(room, "headtail", 8) == 0);
	CHECK_EQ(wire_send(pair[0], "too long", 8, NULL, 0, -1), 0);
	CHECK_EQ(wire_recv(pair[1], room, 4, &size, NULL), -1);
	CHECK_EQ(errno, EMSGSIZE);
	close(pair[0]);
	CHECK_EQ(wire_recv(pair[1], room, sizeof room, &size, NULL), 0);
	CHECK_EQ(wire_send(pair[1], "x", 1, NULL, 0, -1), -1);	/* and no SIGPIPE */
	close(pair[1]);
}

/* The runner fails a test that leaves a descriptor open. */
TEST(descriptors_travel_and_unwanted_ones_are_closed)
{
	int pair[2], got, null = open("/dev/null", O_RDONLY);
	char room[8];
	size_t size;
	CHECK_EQ(wire_pair(pair), 0);
	CHECK_EQ(wire_send(pair[0], "a", 1, NULL, 0, null), 0);
	CHECK_EQ(wire_recv(pair[1], room, sizeof room, &size, &got), 1);
	CHECK(got >= 0 && got != null);
	CHECK(fcntl(got, F_GETFD) & FD_CLOEXEC);
	close(got);
	CHECK_EQ(wire_send(pair[0], "b", 1, NULL, 0, null), 0);
	CHECK_EQ(wire_recv(pair[1], room, sizeof room, &size, NULL), 1);
	CHECK_EQ(wire_send(pair[0], "c", 1, NULL, 0, -1), 0);
	CHECK_EQ(wire_recv(pair[1], room, sizeof room, &size, &got), 1);
	CHECK_EQ(got, -1);
	close(null);
	close(pair[0]);
	close(pair[1]);
}

TEST(streams)
{
	enum { SIZE = 5 * WIRE_PIECE + 123 };
	int pair[2], status;
	char *data = malloc(SIZE), *got = calloc(1, SIZE);
	for (int i = 0; i < SIZE; i++)
		data[i] = (char)(i * 7 / 3);
	CHECK_EQ(wire_pair(pair), 0);
	pid_t child = fork();
	if (child == 0)
		_exit(wire_send_stream(pair[0], data, SIZE) != 0);
	close(pair[0]);
	CHECK_EQ(wire_recv_stream(pair[1], got, SIZE), 0);
	CHECK(memcmp(data, got, SIZE) == 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(wire_recv_stream(pair[1], got, 1), -1);	/* the sender is gone */
	close(pair[1]);
	free(data);
	free(got);
}

TEST(a_stream_of_wrong_pieces_is_refused)
{
	int pair[2];
	char room[100];
	CHECK_EQ(wire_pair(pair), 0);
	CHECK_EQ(wire_send(pair[0], room, 99, NULL, 0, -1), 0);
	CHECK_EQ(wire_recv_stream(pair[1], room, 100), -1);
	CHECK_EQ(errno, EPROTO);
	CHECK_EQ(wire_send(pair[0], room, 100, NULL, 0, -1), 0);
	CHECK_EQ(wire_recv_stream(pair[1], room, 99), -1);
	close(pair[0]);
	close(pair[1]);
}

TEST(error_names)
{
	CHECK_STR(cuda_error_name(0), "");
	CHECK_STR(cuda_error_name(700), "cudaErrorIllegalAddress");
	CHECK_STR(cuda_error_name(123456), "unrecognized error code");
}
