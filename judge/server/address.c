/* Addresses and networks: see address.h. */
#include "address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static bool is_v4(const struct address *a)
{
	return !memcmp(a->bytes, mapped, sizeof mapped);
}

int address_parse(const char *text, struct address *out)
{
	memcpy(out->bytes, mapped, sizeof mapped);
	if (inet_pton(AF_INET, text, out->bytes + 12) == 1 || inet_pton(AF_INET6, text, out->bytes) == 1)
		return 0;
	return -1;
}

void address_of(const struct sockaddr *s, struct address *out)
{
	memset(out, 0, sizeof *out);
	if (s->sa_family == AF_INET) {
		memcpy(out->bytes, mapped, sizeof mapped);
		memcpy(out->bytes + 12, &((const struct sockaddr_in *)(const void *)s)->sin_addr, 4);
	} else if (s->sa_family == AF_INET6) {
		memcpy(out->bytes, &((const struct sockaddr_in6 *)(const void *)s)->sin6_addr, 16);
	}
}

void address_text(const struct address *a, char out[ADDRESS_TEXT])
{
	if (is_v4(a))
		inet_ntop(AF_INET, a->bytes + 12, out, ADDRESS_TEXT);
	else
		inet_ntop(AF_INET6, a->bytes, out, ADDRESS_TEXT);
}

void address_key(const struct address *a, char out[ADDRESS_TEXT])
{
	struct address net = *a;
	if (!is_v4(a))
		memset(net.bytes + 8, 0, 8);
	address_text(&net, out);
}

bool address_loopback(const struct address *a)
{
	static const struct address v6 = {{[15] = 1}};
	return is_v4(a) ? a->bytes[12] == 127 : !memcmp(a, &v6, sizeof v6);
}

static int parse_one(char *text, struct network *out, struct err *e)
{
	char *slash = strchr(text, '/'), *end = NULL;
	if (slash)
		*slash = 0;
	if (address_parse(text, &out->address) < 0)
		return err_input(e, "\"%.60s\" is not an address: write e.g. 127.0.0.1, ::1 or 10.0.0.0/8", text);
	unsigned most = is_v4(&out->address) ? 32 : 128;
	unsigned long bits = slash ? strtoul(slash + 1, &end, 10) : most;
	if (slash && (*end || !isdigit((unsigned char)slash[1]) || bits > most))
		return err_input(e, "%.60s/%.10s: write 0 to %u after the slash", text, slash + 1, most);
	out->bits = (unsigned)bits + 128 - most;
	return 0;
}

int networks_parse(const char *text, struct networks *out, struct err *e)
{
	char copy[512];
	char *rest = copy, *word;
	out->n = 0;
	snprintf(copy, sizeof copy, "%s", text);
	while ((word = strsep(&rest, ", \t"))) {
		if (!*word)
			continue;
		if (out->n == sizeof out->at / sizeof *out->at)
			return err_input(e, "more than %u networks", out->n);
		if (parse_one(word, &out->at[out->n], e) < 0)
			return -1;
		out->n++;
	}
	return 0;
}

static bool within(const struct network *n, const struct address *a)
{
	unsigned whole = n->bits / 8, rest = n->bits % 8;
	if (memcmp(n->address.bytes, a->bytes, whole) != 0)
		return false;
	return !rest || !((n->address.bytes[whole] ^ a->bytes[whole]) >> (8 - rest));
}

bool networks_have(const struct networks *n, const struct address *a)
{
	for (unsigned i = 0; i < n->n; i++)
		if (within(&n->at[i], a))
			return true;
	return false;
}
