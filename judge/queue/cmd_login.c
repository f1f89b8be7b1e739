/* judge login: sign in to a judge on the web, once; what is kept is a token, which can be taken back there, and no password. */
#include "../command.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/json_write.h"
#include "../../sandbox/base/tame.h"
#include "prompt.h"
#include "remote.h"

#include <string.h>
#include <unistd.h>

enum { DAYS = 180 };

static int sign_in(struct remote *r, struct err *e)
{
	char name[100], password[300];
	CLEANUP_BUF struct buf body = {0};
	CLEANUP(json_freep) struct json *answer = NULL;
	struct json_writer w = {.out = &body};
	if (prompt_line("name", false, name, sizeof name, e) < 0 || prompt_line("password", true, password, sizeof password, e) < 0)
		return -1;
	json_open(&w, NULL, '{');
	json_write_string(&w, "name", name);
	json_write_string(&w, "password", password);
	json_close(&w, '}');
	explicit_bzero(password, sizeof password);
	int rc = remote_call(r, "POST", "/session", &body, &answer, e);
	explicit_bzero(body.data, body.size);
	if (rc < 0 && e->kind == ERR_INPUT && strstr(e->text, "does not know you"))
		err_input(e, "%s: the name or the password is wrong", r->url);
	return rc;
}

static int take_token(struct remote *r, struct err *e)
{
	char name[200], host[100] = "";
	const char *token;
	CLEANUP_BUF struct buf body = {0};
	CLEANUP(json_freep) struct json *answer = NULL, *over = NULL;
	struct json_writer w = {.out = &body};
	gethostname(host, sizeof host - 1);
	tame(host);
	snprintf(name, sizeof name, "judge login on %.60s", *host ? host : "a shell");
	json_open(&w, NULL, '{');
	json_write_string(&w, "name", name);
	json_write_integer(&w, "days", DAYS);
	json_close(&w, '}');
	if (remote_call(r, "POST", "/tokens", &body, &answer, e) < 0)
		return -1;
	if (!answer || json_string(answer, json_root(answer), "token", "a token", &token, e) < 0 || strlen(token) >= sizeof r->token)
		return err_system(e, "%s gave no token", r->url);
	remote_call(r, "DELETE", "/session", NULL, &over, &(struct err){0});	/* it would end by itself, later */
	snprintf(r->token, sizeof r->token, "%s", token);
	*r->cookie = 0;
	return 0;
}

/* Passwords do not travel in the clear but to this very machine. */
static bool in_the_clear(const char *url)
{
	static const char *const here[] = {"http://127.0.0.1", "http://localhost", "http://[::1]"};
	for (unsigned i = 0; i < sizeof here / sizeof *here; i++)
		if (!strncmp(url, here[i], strlen(here[i])) && strchr(":/", url[strlen(here[i])]))
			return false;
	return !strncmp(url, "http://", 7);
}

int cmd_login(const struct options *o)
{
	struct err e = {0};
	struct remote r = {0};
	if (options_want(o, COMMAND_login, 1, &e) < 0 || remote_url(&r, o->arguments[0], &e) < 0)
		return complain(&e);
	if (in_the_clear(r.url))
		fprintf(stderr, "judge: %s is not encrypted: whoever is between can read the password\n", r.url);
	if (sign_in(&r, &e) < 0 || take_token(&r, &e) < 0 || remote_keep(&r, &e) < 0)
		return complain(&e);
	printf("signed in to %s for %d days; judge submit FILE.cu hands in there\n", r.url, DAYS);
	return 0;
}
