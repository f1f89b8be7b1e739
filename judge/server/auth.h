/* Who sends a request, and from where. */
#ifndef SERVER_AUTH_H
#define SERVER_AUTH_H

#include "request.h"

/* Behind proxies that are trusted, the client's address and whether it uses TLS are what they say. */
void auth_beyond_proxies(struct request *r);
/* Sets r->caller and r->lang.  By token, by a proxy's header, or by cookie; a bad token is refused, a bad cookie is nobody. */
bool auth_identify(struct request *r);
/* A request that changes something, and whose right to do so a browser adds by itself, must come from a page of ours. */
bool auth_same_site(struct request *r);

/* A new session for the user, with its cookie; the one that the request came with ends. */
bool auth_open(struct request *r, const struct store_user *u);
void auth_close(struct request *r);

#endif
