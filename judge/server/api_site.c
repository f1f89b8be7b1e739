/* What the site is, and what it can do: /site, /openapi.json, /queue, /devices. */
#include "devices.h"
#include "router.h"
#include "server.h"
#include "view.h"

#include <string.h>

__asm__(".section .rodata\n"
	".global openapi_begin, openapi_end\n"
	"openapi_begin: .incbin \"judge/server/openapi.json\"\n"
	"openapi_end: .byte 0\n"
	".previous\n");
extern const char openapi_begin[], openapi_end[];

void api_openapi(struct request *r)
{
	reply_text(r, 200, "application/json", openapi_begin);
	r->reply.cached = true;
	reply_header(r, "Cache-Control", "public, max-age=3600");
}

static void put_devices(struct json_writer *w, const struct device_list *l)
{
	json_open(w, "devices", '[');
	for (size_t i = 0; i < l->n; i++) {
		json_open(w, NULL, '{');
		json_write_string(w, "id", l->at[i].id);
		json_write_string(w, "name", l->at[i].name);
		json_write_string(w, "kind", l->at[i].gpu ? "gpu" : "emulated");
		json_close(w, '}');
	}
	json_close(w, ']');
}

void api_site(struct request *r)
{
	const struct conf *c = &r->server->conf;
	struct device_list devices;
	if (!devices_list(r, &devices))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_write_string(w, "name", c->name);
	json_write_string(w, "version", JUDGE_VERSION);
	json_write_string(w, "registration", c->registration);
	json_open(w, "languages", '[');
	json_write_string(w, NULL, "en");
	json_write_string(w, NULL, "zh");
	json_close(w, ']');
	put_devices(w, &devices);
	if (r->caller.id)
		view_user(w, "user", &r->caller.user, false);
	else
		json_write_null(w, "user");
	json_open(w, "limits", '{');
	json_write_unsigned(w, "source_bytes", (uint64_t)c->source_kib << 10);
	json_write_unsigned(w, "submissions_per_minute", c->submissions_per_minute);
	json_write_unsigned(w, "upload_bytes", (uint64_t)c->upload_mib << 20);
	json_close(w, '}');
	json_close(w, '}');
}

static void put_worker(struct json_writer *w, const struct store_worker *k)
{
	json_open(w, NULL, '{');
	json_write_string(w, "name", k->name);
	json_write_string(w, "state", k->state);
	if (k->judging)
		json_write_integer(w, "judging", k->judging);
	else
		json_write_null(w, "judging");
	write_time(w, "started", k->started);
	write_time(w, "seen", k->seen);
	json_write_integer(w, "graded", k->graded);
	json_write_integer(w, "failed", k->failed);
	json_write_bool(w, "alive", k->alive);
	json_close(w, '}');
}

void api_queue(struct request *r)
{
	struct store_submissions items;
	struct store_workers workers;
	struct store_counts counts;
	struct err e = {0};
	if (!reply_stored(r, store_queue(r->store, 200, r->arena, &items, &e), &e, MESSAGE_conflict, NULL) ||
	    !reply_stored(r, store_workers(r->store, r->arena, &workers, &e), &e, MESSAGE_conflict, NULL) ||
	    !reply_stored(r, store_count(r->store, &counts, &e), &e, MESSAGE_conflict, NULL))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_write_integer(w, "queued", counts.queued);
	json_write_integer(w, "running", counts.running);
	json_write_integer(w, "system_errors", counts.system_errors);
	json_open(w, "items", '[');
	for (size_t i = 0; i < items.n; i++)
		view_submission(w, NULL, &items.at[i], r->lang, true);
	json_close(w, ']');
	json_open(w, "workers", '[');
	for (size_t i = 0; i < workers.n; i++)
		put_worker(w, &workers.at[i]);
	json_close(w, ']');
	json_close(w, '}');
}

void api_devices(struct request *r)
{
	struct store_devices ds;
	struct err e = {0};
	struct device_list all;
	if (!devices_list(r, &all) || !reply_stored(r, store_devices(r->store, r->arena, &ds, &e), &e, MESSAGE_conflict, NULL))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_open(w, "items", '[');
	for (size_t i = 0; i < ds.n; i++) {
		json_open(w, NULL, '{');
		json_write_string(w, "id", ds.at[i].id);
		json_write_string(w, "name", ds.at[i].name);
		json_write_string(w, "kind", ds.at[i].gpu ? "gpu" : "emulated");
		json_write_bool(w, "in_service", ds.at[i].in_service);
		json_write_string(w, "note", ds.at[i].note);
		write_time(w, "since", ds.at[i].since);
		write_time(w, "checked", ds.at[i].checked);
		json_close(w, '}');
	}
	for (size_t i = 0; i < all.n; i++) {	/* emulated ones that no worker has told of: they need nothing */
		bool told = false;
		for (size_t k = 0; k < ds.n; k++)
			told |= !strcmp(ds.at[k].id, all.at[i].id);
		if (told)
			continue;
		json_open(w, NULL, '{');
		json_write_string(w, "id", all.at[i].id);
		json_write_string(w, "name", all.at[i].name);
		json_write_string(w, "kind", all.at[i].gpu ? "gpu" : "emulated");
		json_write_bool(w, "in_service", true);
		json_write_null(w, "note");
		json_write_null(w, "since");
		json_write_null(w, "checked");
		json_close(w, '}');
	}
	json_close(w, ']');
	json_close(w, '}');
}
