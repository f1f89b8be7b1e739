/* judge calibrate: measure the peaks of a GPU, and keep them. */
#include "command.h"

#include "../sandbox/jail.h"
#include "calibration.h"
#include "device_choice.h"
#include "janitor.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* What the profile of this model says of a figure, NAN if nothing: peaks as the emulated device takes them. */
static double modelled(const struct profile *p, const char *field)
{
	double tera = p->sms * p->clock_ghz * 1e9 / 1e12;	/* cycles of all SMs a second */
	const struct { const char *field; double value; } table[] = {
		{"read_gbs", p->dram_read_gbs},
		{"fp32_tflops", p->fp32_rate * p->warp_size * 2 * tera},
		{"fp16_tflops", p->fp16_rate * p->warp_size * 4 * tera},
		{"tensor_f16_tflops", p->tensor_f16_flops * tera},
		{"tensor_bf16_tflops", strcmp(p->arch, "80") < 0 ? NAN : p->tensor_f16_flops * tera},
		{"tensor_i8_tops", p->tensor_i8_flops * tera},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i].field, field))
			return table[i].value;
	return NAN;
}

/* The profile of the same model, if there is one. */
static bool find_model(const char *name, struct profile *p)
{
	struct profile_ids known;
	for (const char *const *id = profile_list(&known); *id; id++) {
		struct err e = {0};
		if (profile_load(*id, p, &e) == 0 && !strcmp(p->name, name))
			return true;
	}
	return false;
}

static void print_number(double v, const char *unit, FILE *f)
{
	if (v > 0)
		fprintf(f, "%10.*f %-8s", v < 99.95 ? 1 : 0, v, unit);
	else
		fprintf(f, "%10s %-8s", "-", "");
}

static void print(const struct calibration *c, const struct term *t)
{
	static const struct { const char *field, *unit, *text; size_t offset; } rows[] = {
#define CALIBRATION(field, unit, text, needed, most) {#field, unit, text, offsetof(struct calibration, field)},
#include "calibration.def"
#undef CALIBRATION
	};
	struct profile p;
	bool known = find_model(c->device, &p);
	char heading[64] = "";
	if (known)
		snprintf(heading, sizeof heading, "emulated:%s", p.id);
	term_put(t, STYLE_BOLD, "  %s", c->device);
	fprintf(t->file, ", %s, driver %s\n\n", c->uuid, c->driver);
	term_put(t, STYLE_DIM, "  %-34s%10s%*s\n", "", "measured", known ? 19 : 0, heading);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		double v;
		memcpy(&v, (const char *)c + rows[i].offset, sizeof v);
		fprintf(t->file, "  %-34s", rows[i].text);
		print_number(v, rows[i].unit, t->file);
		if (known)
			print_number(modelled(&p, rows[i].field), "", t->file);
		fputc('\n', t->file);
	}
	if (known)
		fprintf(t->file, "  data sheet of its memory: %.0f GB/s\n", p.dram_gbs);
}

static int measure(const struct options *o, struct device_choice *d, struct calibration *c, struct err *e)
{
	struct term t;
	if (device_choose(o->device ? o->device : "gpu", o->no_sandbox, d, e) < 0)
		return err_wrap(e, "nothing to calibrate");
	if (!d->gpu)
		return err_input(e, "%s is emulated, there is nothing to measure: write --device gpu:0", d->device);
	term_of(&t, stderr);
	struct progress *progress = progress_start(&t, t.is_terminal ? PROGRESS_LIVE : PROGRESS_QUIET);
	int rc = calibration_measure(d->session, d->arch, o->no_sandbox, progress, c, e);
	progress_end(progress);
	return rc;
}

int cmd_calibrate(const struct options *o)
{
	struct err e = {0};
	struct term t;
	struct device_choice d = {0};
	struct calibration c;
	char path[520];
	if (options_want(o, COMMAND_calibrate, 0, &e) < 0)
		return complain(&e);
	jail_sweep();
	janitor_start();
	int rc = measure(o, &d, &c, &e);
	device_choice_close(&d);
	if (rc < 0)
		return complain(&e);
	term_of(&t, stdout);
	print(&c, &t);
	if (calibration_store(&c, &e) < 0 || calibration_path(c.uuid, path, sizeof path, &e) < 0)
		return complain(&e);
	fprintf(t.file, "  kept in %s\n", path);
	return 0;
}
