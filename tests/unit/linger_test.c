/* Lingering close: what still comes is read, for a while, and no connection keeps the place of others. */
#include "test.h"

#include "../../judge/server/linger.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* The client's end of a connection whose other end was taken, and closed by its owner. */
static int taken(struct lingering *l)
{
	int pair[2];
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	linger_take(l, pair[0]);
	close(pair[0]);
	return pair[1];
}

TEST(a_client_can_go_on_sending_and_then_reads_the_end)
{
	static char megabyte[1 << 20];
	struct lingering *l = linger_start();
	int client = taken(l);
	for (size_t sent = 0; sent < sizeof megabyte;) {
		ssize_t n = send(client, megabyte + sent, sizeof megabyte - sent, MSG_NOSIGNAL);
		CHECK(n > 0);
		sent += (size_t)n;
	}
	char byte;
	CHECK_EQ(read(client, &byte, 1), 0);
	close(client);
	linger_stop(l);
}

TEST(the_oldest_goes_when_there_are_too_many)
{
	struct rlimit files = {2048, 4096};
	setrlimit(RLIMIT_NOFILE, &files);
	struct lingering *l = linger_start();
	int clients[LINGER_MANY + 8];
	for (unsigned i = 0; i < LINGER_MANY + 8; i++) {
		clients[i] = taken(l);
		usleep(200);		/* each is seen by the thread before the next */
	}
	ssize_t first = 1;
	for (int i = 0; i < 1000 && first > 0; i++) {
		first = send(clients[0], "x", 1, MSG_NOSIGNAL);
		usleep(1000);
	}
	CHECK_EQ(first, -1);
	CHECK_EQ(errno == EPIPE || errno == ECONNRESET, 1);
	CHECK_EQ(send(clients[LINGER_MANY + 7], "x", 1, MSG_NOSIGNAL), 1);
	for (unsigned i = 0; i < LINGER_MANY + 8; i++)
		close(clients[i]);
	linger_stop(l);
}

TEST(stopping_lets_go_of_all)
{
	struct lingering *l = linger_start();
	int client = taken(l);
	linger_stop(l);
	CHECK_EQ(send(client, "x", 1, MSG_NOSIGNAL), -1);
	close(client);
	linger_stop(NULL);
}
