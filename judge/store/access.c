/* Sessions and tokens: what a browser or a program shows instead of a password.
 *
 * A token is 256 random bits in base64 for URLs.  The database has its hash alone, so whoever reads the database (or a backup)
 * can't sign in with it; since it is looked up by that hash, the time it takes tells nothing of the token.
 */
#include "sql.h"

#include <sodium.h>
#include <string.h>

enum { TOKEN_BYTES = 32, MINUTE_MS = 60000, DAY_MS = 86400000, NAME_CHARACTERS = 80, MAX_DAYS = 3650, MAX_TOKENS = 100 };
_Static_assert(STORE_TOKEN == sodium_base64_ENCODED_LEN(TOKEN_BYTES, sodium_base64_VARIANT_URLSAFE_NO_PADDING), "a token's text");

static void hash_bytes(const unsigned char bytes[TOKEN_BYTES], unsigned char hash[TOKEN_HASH])
{
	crypto_generichash(hash, TOKEN_HASH, bytes, TOKEN_BYTES, (const unsigned char *)"judge token 1...", 16);
}

void access_draw(char token[STORE_TOKEN], unsigned char hash[TOKEN_HASH])
{
	unsigned char bytes[TOKEN_BYTES];
	randombytes_buf(bytes, sizeof bytes);
	sodium_bin2base64(token, STORE_TOKEN, bytes, sizeof bytes, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	hash_bytes(bytes, hash);
	sodium_memzero(bytes, sizeof bytes);
}

bool access_hash(const char *token, unsigned char hash[TOKEN_HASH])
{
	unsigned char bytes[TOKEN_BYTES];
	size_t n;
	if (strlen(token) != STORE_TOKEN - 1 ||
	    sodium_base642bin(bytes, sizeof bytes, token, STORE_TOKEN - 1, NULL, &n, NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
	    n != TOKEN_BYTES)
		return false;
	hash_bytes(bytes, hash);
	sodium_memzero(bytes, sizeof bytes);
	return true;
}

/* The user whom a hash stands for, by a query of user and hash, the latter compared again in constant time. */
static enum store_result owner(struct store *s, struct query *q, const unsigned char hash[TOKEN_HASH], struct arena *a, struct store_user *out,
			       struct err *e)
{
	int64_t id = 0;
	if (sql_row(q)) {
		size_t size;
		const void *kept = sql_get_blob(q, 1, &size);
		if (size == TOKEN_HASH && sodium_memcmp(kept, hash, TOKEN_HASH) == 0)
			id = sql_get_int(q, 0);
	}
	enum store_result rc = sql_done(q, e, "sessions");
	if (rc != STORE_OK)
		return rc;
	return id ? store_user_by_id(s, id, a, out, e) : tell_not_found(e, "not signed in, or no longer");
}

/* ---- sessions ---- */

enum store_result store_session_open(struct store *s, int64_t user, int64_t lifetime_ms, char token[STORE_TOKEN], struct err *e)
{
	struct query q;
	char drawn[STORE_TOKEN];
	unsigned char hash[TOKEN_HASH];
	access_draw(drawn, hash);
	sql_query(&q, s, "INSERT INTO sessions (hash, user_id, created, expires) VALUES ($1, $2, $3, $4)");
	sql_put_blob(&q, hash, sizeof hash);
	sql_put_int(&q, user);
	sql_put_int(&q, store_now());
	sql_put_int(&q, store_now() + lifetime_ms);
	enum store_result rc = sql_run(&q, NULL, e, "sessions");
	if (rc == STORE_OK)
		memcpy(token, drawn, STORE_TOKEN);
	return rc;
}

enum store_result store_session_user(struct store *s, const char *token, struct arena *a, struct store_user *out, struct err *e)
{
	struct query q;
	unsigned char hash[TOKEN_HASH];
	if (!access_hash(token, hash))
		return tell_not_found(e, "not signed in");
	sql_query(&q, s, "SELECT u.id, x.hash FROM sessions x JOIN users u ON u.id = x.user_id"
		     " WHERE x.hash = $1 AND x.expires > $2 AND u.disabled = 0");
	sql_put_blob(&q, hash, sizeof hash);
	sql_put_int(&q, store_now());
	return owner(s, &q, hash, a, out, e);
}

enum store_result store_session_close(struct store *s, const char *token, struct err *e)
{
	struct query q;
	unsigned char hash[TOKEN_HASH];
	if (!access_hash(token, hash))
		return STORE_OK;
	sql_query(&q, s, "DELETE FROM sessions WHERE hash = $1");
	sql_put_blob(&q, hash, sizeof hash);
	return sql_run(&q, NULL, e, "sessions");
}

/* ---- tokens ---- */

static enum store_result insert_token(struct store *s, int64_t user, struct store_token *t, const unsigned char hash[TOKEN_HASH],
				      struct err *e)
{
	struct query q;
	int64_t n = 0;
	sql_query(&q, s, "SELECT count(*) FROM tokens WHERE user_id = $1");
	sql_put_int(&q, user);
	enum store_result rc = sql_one(&q, &n, e, "tokens");
	if (rc == STORE_OK && n >= MAX_TOKENS)
		return tell_conflict(e, "%d tokens are the most: remove one first", MAX_TOKENS);
	if (rc != STORE_OK)
		return rc;
	sql_query(&q, s, "INSERT INTO tokens (user_id, name, hash, created, expires) VALUES ($1, $2, $3, $4, $5) RETURNING id");
	sql_put_int(&q, user);
	sql_put_text(&q, t->name);
	sql_put_blob(&q, hash, TOKEN_HASH);
	sql_put_int(&q, t->created);
	sql_put_int(&q, t->expires);
	return sql_one(&q, &t->id, e, "tokens");
}

enum store_result store_token_add(struct store *s, int64_t user, const char *name, unsigned days, char token[STORE_TOKEN], struct arena *a,
				  struct store_token *out, struct err *e)
{
	char drawn[STORE_TOKEN];
	unsigned char hash[TOKEN_HASH];
	if (!name || !store_plain_text(name, NAME_CHARACTERS))
		return tell_invalid(e, "the token's name: 1 to %d characters that say what it is for", NAME_CHARACTERS);
	if (days < 1 || days > MAX_DAYS)
		return tell_invalid(e, "days: 1 to %d", MAX_DAYS);
	struct store_token t = {.name = arena_strdup(a, name), .created = store_now()};
	t.expires = t.created + (int64_t)days * DAY_MS;
	access_draw(drawn, hash);
	enum store_result rc = sql_begin(s, e);
	if (rc != STORE_OK)
		return rc;
	rc = sql_end(s, insert_token(s, user, &t, hash, e), e);
	if (rc == STORE_OK) {
		*out = t;
		memcpy(token, drawn, STORE_TOKEN);
	}
	return rc;
}

/* Noted once a minute: a program that asks often must not write as often. */
static void note_use(struct store *s, const unsigned char hash[TOKEN_HASH])
{
	struct query q;
	int64_t last = 0, now = store_now();
	sql_query(&q, s, "SELECT last_used FROM tokens WHERE hash = $1");
	sql_put_blob(&q, hash, TOKEN_HASH);
	if (sql_one(&q, &last, NULL, "tokens") != STORE_OK || now - last < MINUTE_MS)
		return;
	sql_query(&q, s, "UPDATE tokens SET last_used = $2 WHERE hash = $1");
	sql_put_blob(&q, hash, TOKEN_HASH);
	sql_put_int(&q, now);
	sql_run(&q, NULL, NULL, "tokens");
}

enum store_result store_token_user(struct store *s, const char *token, struct arena *a, struct store_user *out, struct err *e)
{
	struct query q;
	unsigned char hash[TOKEN_HASH];
	if (!access_hash(token, hash))
		return tell_not_found(e, "this is no token");
	sql_query(&q, s, "SELECT u.id, t.hash FROM tokens t JOIN users u ON u.id = t.user_id"
		     " WHERE t.hash = $1 AND t.expires > $2 AND u.disabled = 0");
	sql_put_blob(&q, hash, sizeof hash);
	sql_put_int(&q, store_now());
	enum store_result rc = owner(s, &q, hash, a, out, e);
	if (rc == STORE_OK)
		note_use(s, hash);
	return rc;
}

enum store_result store_tokens(struct store *s, int64_t user, struct arena *a, struct store_tokens *out, struct err *e)
{
	struct query q;
	struct store_tokens list = {0};
	sql_query(&q, s, "SELECT id, name, created, expires, last_used FROM tokens WHERE user_id = $1 AND expires > $2 ORDER BY id");
	sql_put_int(&q, user);
	sql_put_int(&q, store_now());
	while (sql_row(&q))
		*LIST_ADD(&list, a) = (struct store_token){.id = sql_get_int(&q, 0), .name = sql_get_text(&q, 1, a), .created = sql_get_int(&q, 2),
							   .expires = sql_get_int(&q, 3), .last_used = sql_get_int(&q, 4)};
	enum store_result rc = sql_done(&q, e, "tokens");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}

enum store_result store_token_remove(struct store *s, int64_t user, int64_t id, struct err *e)
{
	struct query q;
	sql_query(&q, s, "DELETE FROM tokens WHERE user_id = $1 AND id = $2");
	sql_put_int(&q, user);
	sql_put_int(&q, id);
	return sql_must(&q, e, "tokens", "there is no such token");
}
