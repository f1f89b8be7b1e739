/* Addresses of those who connect, and the networks that they belong to. */
#ifndef SERVER_ADDRESS_H
#define SERVER_ADDRESS_H

#include "../../sandbox/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { ADDRESS_TEXT = 48 };

struct address {
	uint8_t bytes[16];		/* IPv4 as ::ffff:a.b.c.d */
};

struct network {
	struct address address;
	unsigned bits;			/* of the 128 */
};

struct networks {
	unsigned n;
	struct network at[32];
};

/* "127.0.0.1, 10.0.0.0/8, ::1"; an empty text is none. */
int networks_parse(const char *text, struct networks *out, struct err *e);
bool networks_have(const struct networks *n, const struct address *a);

int address_parse(const char *text, struct address *out);
void address_of(const struct sockaddr *s, struct address *out);
void address_text(const struct address *a, char out[ADDRESS_TEXT]);
/* What a limit for one address is kept by: of IPv6 the /64, which one subscriber has. */
void address_key(const struct address *a, char out[ADDRESS_TEXT]);
bool address_loopback(const struct address *a);

#endif
