/* Seeds: see seed.h. */
#include "seed.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

static void need_sodium(void)
{
	if (sodium_init() < 0)
		BUG("libsodium cannot start");
}

static void stretch(struct secret *s, const void *seed, size_t size)
{
	crypto_generichash(s->bytes, SEED_BYTES, seed, size, (const unsigned char *)"judge local seed", 16);
}

void secret_draw(struct secret *s)
{
	unsigned char seed[8];
	need_sodium();
	randombytes_buf(seed, sizeof seed);
	sodium_bin2hex(s->hex, sizeof s->hex, seed, sizeof seed);
	stretch(s, s->hex, strlen(s->hex));
}

int secret_from_hex(struct secret *s, const char *hex, struct err *e)
{
	size_t n = strlen(hex);
	if (n < 1 || n > SEED_HEX || strspn(hex, "0123456789abcdefABCDEF") != n)
		return err_input(e, "--seed %.80s: write 1 to %d hexadecimal digits, as the report of a run gives them", hex, SEED_HEX);
	need_sodium();
	for (size_t i = 0; i <= n; i++)
		s->hex[i] = (char)tolower((unsigned char)hex[i]);
	stretch(s, s->hex, n);
	return 0;
}

void secret_of_samples(struct secret *s)
{
	need_sodium();
	memset(s, 0, sizeof *s);
}

/* Fields go in with their lengths, so that no two lists of fields are the same text. */
static void add(crypto_auth_hmacsha256_state *h, const char *field)
{
	uint64_t n = strlen(field);
	unsigned char length[8];
	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char)(n >> 8 * i);
	crypto_auth_hmacsha256_update(h, length, sizeof length);
	crypto_auth_hmacsha256_update(h, (const unsigned char *)field, n);
}

void seed_derive(const struct secret *s, const struct seed_scope *c, const char *purpose, unsigned char out[SEED_BYTES])
{
	crypto_auth_hmacsha256_state h;
	need_sodium();
	crypto_auth_hmacsha256_init(&h, s->bytes, SEED_BYTES);
	add(&h, c->problem);
	add(&h, c->version);
	add(&h, c->judging);
	add(&h, c->name);
	add(&h, purpose);
	crypto_auth_hmacsha256_final(&h, out);
	sodium_memzero(&h, sizeof h);
}

uint64_t seed_u64(const struct secret *s, const struct seed_scope *c, const char *purpose)
{
	unsigned char out[SEED_BYTES];
	uint64_t v = 0;
	seed_derive(s, c, purpose, out);
	for (int i = 0; i < 8; i++)
		v |= (uint64_t)out[i] << 8 * i;
	return v;
}
