/* Devices that submissions may ask for: see devices.h. */
#include "devices.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/ptx/model.h"
#include "../../sandbox/ptx/profile.h"

#include <math.h>
#include <string.h>

static struct profile profiles[DEVICES_MAX / 2];
static char ids[DEVICES_MAX / 2][48];
static size_t n_profiles;

static const char standard[] = "emulated:h200";

static int add(const char *id, struct err *e)
{
	if (n_profiles == DEVICES_MAX / 2)
		return 0;
	if (profile_load(id, &profiles[n_profiles], e) < 0)
		return -1;
	snprintf(ids[n_profiles++], sizeof ids[0], "emulated:%.32s", id);
	return 0;
}

int devices_begin(struct err *e)
{
	struct profile_ids known;
	const char *const *found = profile_list(&known);
	n_profiles = 0;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; found[i] && i < DEVICES_MAX; i++)
			if (!strcmp(found[i], standard + strlen("emulated:")) == !pass && add(found[i], e) < 0)
				return -1;
	return n_profiles ? 0 : err_system(e, "no device profiles: run make");
}

bool devices_list(struct request *r, struct device_list *out)
{
	struct store_devices ds;
	struct err e = {0};
	out->n = 0;
	if (!reply_stored(r, store_devices(r->store, r->arena, &ds, &e), &e, MESSAGE_conflict, NULL))
		return false;
	for (size_t i = 0; i < ds.n && out->n < DEVICES_MAX / 2; i++)
		if (ds.at[i].gpu && ds.at[i].in_service)
			out->at[out->n++] = (struct device_entry){ds.at[i].id, ds.at[i].name, true};
	for (size_t i = 0; i < n_profiles; i++)
		out->at[out->n++] = (struct device_entry){ids[i], profiles[i].name, false};
	return true;
}

const char *devices_find(struct request *r, const char *word)
{
	struct device_list l;
	CLEANUP_BUF struct buf all = {0};
	if (!devices_list(r, &l))
		return NULL;
	if (!word || !*word || !strcmp(word, "auto"))
		return l.at[0].id;
	for (size_t i = 0; i < l.n; i++) {
		if (!strcmp(l.at[i].id, word))
			return l.at[i].id;
		buf_printf(&all, "%s%s", i ? ", " : "", l.at[i].id);
	}
	reply_refuse(r, MESSAGE_no_device, "device", word, buf_str(&all), NULL);
	return NULL;
}

void devices_roof(const char *id, const char *unit, double *gbs, double *flops)
{
	*gbs = *flops = NAN;
	for (size_t i = 0; i < n_profiles; i++)
		if (!strcmp(ids[i], id)) {
			*gbs = 1e9 / model_floor_us(&profiles[i], 1e9, 0, unit) / 1e3;
			*flops = 1e12 / model_floor_us(&profiles[i], 0, 1e12, unit) * 1e6;
		}
}
