/* Peaks of a GPU: see calibration.h. */
#include "calibration.h"

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/json.h"
#include "../sandbox/base/json_write.h"
#include "../sandbox/compile.h"
#include "gpu_lock.h"
#include "kept.h"
#include "paths.h"
#include "verdict.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* FORMAT: to be raised when peaks.cu measures something else under the same name. */
enum { FORMAT = 1, RUNS = 2, SECONDS = 120, MAX_SOURCE = 1 << 20, MEMORY_MIB = 1024, OUTPUT = 16 << 10 };

static const struct figure_kind {
	const char *name, *unit;
	size_t offset;
	bool needed;
	double most;
} kinds[] = {
#define CALIBRATION(field, unit, text, needed, most) {#field, unit, offsetof(struct calibration, field), needed, most},
#include "calibration.def"
#undef CALIBRATION
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static double *figure_of(struct calibration *c, const struct figure_kind *k)
{
	return (double *)(void *)((char *)c + k->offset);
}

static double value_of(const struct calibration *c, const struct figure_kind *k)
{
	return *(const double *)(const void *)((const char *)c + k->offset);
}

/* ---- what is believed ---- */

/* No more than the memory's pins and the multiprocessors' pipes can do, with room for clocks that are told wrongly. */
static int check_hardware(const struct calibration *c, const struct device_properties *p, struct err *e)
{
	static const double room = 1.25, flops_per_cycle = 256;	/* of an SM: 128 multiply-adds are the most there are */
	double pins = 2.0 * p->memory_clock_khz * p->bus_bits / 8 / 1e6, pipes = flops_per_cycle * p->sms * p->clock_khz / 1e9;
	if (pins > 0 && fmax(c->read_gbs, c->copy_gbs) > room * pins)
		return err_system(e, "a bandwidth of %.0f GB/s is more than this GPU's memory can do (%.0f)",
				  fmax(c->read_gbs, c->copy_gbs), pins);
	if (pipes > 0 && c->fp32_tflops > room * pipes)
		return err_system(e, "%.1f TFLOP/s of FP32 are more than this GPU can do (%.1f)", c->fp32_tflops, pipes);
	return 0;
}

int calibration_check(const struct calibration *c, const struct device_properties *p, struct err *e)
{
	for (const struct figure_kind *k = kinds; k < kinds + N_KINDS; k++) {
		double v = value_of(c, k);
		if (!(v >= 0 && v <= k->most) || (k->needed && v == 0))
			return err_system(e, "%s is %g %s, which no GPU does", k->name, v, k->unit);
	}
	return check_hardware(c, p, e);
}

/* ---- what the program prints ---- */

/* A line "name number"; *at moves behind it. */
static int parse_line(const char **at, const char *end, const struct figure_kind *k, double *out)
{
	size_t n = strlen(k->name), digits;
	char number[32], *stop;
	const char *newline = memchr(*at, '\n', (size_t)(end - *at));
	if (!newline || (size_t)(newline - *at) < n + 2 || memcmp(*at, k->name, n) != 0 || (*at)[n] != ' ')
		return -1;
	digits = (size_t)(newline - *at) - n - 1;
	if (digits >= sizeof number)
		return -1;
	memcpy(number, *at + n + 1, digits);
	number[digits] = 0;
	if (strspn(number, "0123456789.") != digits)
		return -1;
	*out = strtod(number, &stop);
	*at = newline + 1;
	return *stop || !(*out <= k->most) ? -1 : 0;
}

int calibration_parse(const char *text, size_t size, struct calibration *out, struct err *e)
{
	const char *at = text, *end = text + size;
	for (const struct figure_kind *k = kinds; k < kinds + N_KINDS; k++)
		if (parse_line(&at, end, k, figure_of(out, k)) < 0)
			return err_system(e, "peaks.cu should have printed \"%s NUMBER\", but printed \"%.*s\"", k->name,
					  (int)strcspn(at < end ? at : "", "\n"), at < end ? at : "");
	if (at != end)
		return err_system(e, "peaks.cu printed more than its figures");
	return 0;
}

void calibration_merge(struct calibration *into, const struct calibration *other)
{
	for (const struct figure_kind *k = kinds; k < kinds + N_KINDS; k++)
		*figure_of(into, k) = fmax(value_of(into, k), value_of(other, k));
}

/* ---- the file ---- */

int calibration_path(const char *uuid, char *out, size_t size, struct err *e)
{
	static const char prefix[] = "GPU-";
	if (!strncmp(uuid, prefix, sizeof prefix - 1))
		uuid += sizeof prefix - 1;
	if (!*uuid || strspn(uuid, "0123456789abcdefABCDEF-") != strlen(uuid))
		return err_system(e, "the GPU has no UUID to keep its peaks by: \"%.47s\"", uuid);
	if (!*paths()->state)
		return err_system(e, "nowhere to keep the GPU's peaks: set HOME or XDG_STATE_HOME");
	snprintf(out, size, "%s/gpu-%s.json", paths()->state, uuid);
	return 0;
}

static int text_field(const struct json *j, const char *name, char *out, size_t size, struct err *e)
{
	const char *s;
	if (json_string(j, json_root(j), name, "a string", &s, e) < 0)
		return -1;
	if (strlen(s) >= size)
		return json_fail(j, json_get(json_root(j), name), e, "at most %zu characters", size - 1);
	for (const char *p = s; *p; p++)
		if (*p < ' ' || *p > '~')
			return json_fail(j, json_get(json_root(j), name), e, "only printable characters");
	snprintf(out, size, "%s", s);
	return 0;
}

static int read_fields(const struct json *j, struct calibration *c, struct err *e)
{
	static const char *const names[] = {
		"format", "device", "uuid", "driver", "when",
#define CALIBRATION(field, unit, text, needed, most) #field,
#include "calibration.def"
#undef CALIBRATION
		NULL};
	int64_t format;
	if (!json_is_object(json_root(j)))
		return json_fail(j, json_root(j), e, "an object is expected");
	if (json_only(j, json_root(j), names, e) < 0 || json_integer(j, json_root(j), "format", FORMAT, FORMAT, &format, e) < 0 ||
	    text_field(j, "device", c->device, sizeof c->device, e) < 0 || text_field(j, "uuid", c->uuid, sizeof c->uuid, e) < 0 ||
	    text_field(j, "driver", c->driver, sizeof c->driver, e) < 0 || text_field(j, "when", c->when, sizeof c->when, e) < 0)
		return -1;
	for (const struct figure_kind *k = kinds; k < kinds + N_KINDS; k++)
		if (json_number(j, json_root(j), k->name, 0, k->most, figure_of(c, k), e) < 0)
			return -1;
	return 0;
}

/* It is this GPU's, with this driver, and possible. */
static int check_kept(const struct calibration *c, const struct device_properties *p, struct err *e)
{
	if (strcmp(c->uuid, p->uuid))
		return err_system(e, "it is of another GPU, %s", c->uuid);
	if (strcmp(c->driver, p->driver))
		return err_system(e, "the driver was %s then and is %s now", c->driver, p->driver);
	return calibration_check(c, p, e);
}

int calibration_load(const struct device_properties *p, struct calibration *out, struct err *e)
{
	char path[520];
	struct calibration c = {0};
	struct err why = {0};
	if (calibration_path(p->uuid, path, sizeof path, e) < 0)
		return -1;
	if (access(path, F_OK) < 0)
		return err_system(e, "the peaks of this GPU are not known: judge calibrate measures them");
	CLEANUP(json_freep) struct json *j = json_read_file(path, path, &why);
	if (!j || read_fields(j, &c, &why) < 0 || check_kept(&c, p, &why) < 0)
		return err_system(e, "the peaks that are kept for this GPU are of no use, judge calibrate measures them anew: %s",
				  why.text);
	*out = c;
	return 0;
}

static void write_fields(const struct calibration *c, struct buf *out)
{
	struct json_writer w = {.out = out, .indent = true};
	json_open(&w, NULL, '{');
	json_write_integer(&w, "format", FORMAT);
	json_write_string(&w, "device", c->device);
	json_write_string(&w, "uuid", c->uuid);
	json_write_string(&w, "driver", c->driver);
	json_write_string(&w, "when", c->when);
	for (const struct figure_kind *k = kinds; k < kinds + N_KINDS; k++)
		json_write_number(&w, k->name, value_of(c, k));
	json_close(&w, '}');
	buf_addc(out, '\n');
}

int calibration_store(const struct calibration *c, struct err *e)
{
	char path[520];
	CLEANUP_BUF struct buf text = {0};
	if (calibration_path(c->uuid, path, sizeof path, e) < 0)
		return -1;
	write_fields(c, &text);
	return kept_write(path, &text, e);
}

/* ---- measuring ---- */

static int compile_peaks(const char *arch, bool unsandboxed, struct arena *a, struct compiled *out, struct err *e)
{
	CLEANUP_BUF struct buf source = {0};
	char path[480];
	snprintf(path, sizeof path, "%s/peaks.cu", paths()->reference);
	if (buf_read_file(&source, path, MAX_SOURCE, e) < 0)
		return -1;
	struct compile_request rq = {.source = buf_str(&source), .size = source.size, .name = "peaks.cu", .arch = arch,
				     .unsandboxed = unsandboxed};
	if (compile(&rq, a, out, e) < 0)
		return -1;
	if (out->ok)
		return 0;
	return err_system(e, "peaks.cu does not compile for compute capability %s: %s%s%s", arch, out->why_not ? out->why_not : "?",
			  out->n_diagnostics ? ": " : "", out->n_diagnostics ? out->diagnostics[0].text : "");
}

static int run_peaks(struct session *s, int guest, struct calibration *out, struct err *e)
{
	static const char *const argv[] = {"peaks", NULL};
	struct session_run r = {
		.guest_fd = guest, .program = true, .argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1,
		.limits = {.cpu_ms = SECONDS * 1000, .wall_ms = SECONDS * 1000, .memory = (uint64_t)MEMORY_MIB << 20, .processes = 1,
			   .output = OUTPUT},
	};
	char why[700];
	if (session_reset(s, e) < 0)
		return -1;
	int rc = session_run(s, &r, e);
	if (rc == 0 && verdict_of_run(&r, why, sizeof why) != VERDICT_AC)
		rc = err_system(e, "peaks.cu failed: %s%s%.300s", why, r.guest.err.size ? ": " : "", buf_str(&r.guest.err));
	if (rc == 0)
		rc = calibration_parse(buf_str(&r.guest.out), r.guest.out.size, out, e);
	session_run_free(&r);
	return rc;
}

static int run_all(struct session *s, int guest, struct progress *progress, struct calibration *c, struct err *e)
{
	CLEANUP_FD int lock = gpu_lock(c->uuid, GPU_ALONE, e);
	if (lock < 0)
		return -1;
	progress_stage(progress, "peaks of the GPU", RUNS);
	for (int i = 0; i < RUNS; i++) {
		struct calibration one = {0};
		progress_step(progress, NULL);
		if (run_peaks(s, guest, &one, e) < 0)
			return -1;
		calibration_merge(c, &one);
	}
	return session_reset(s, e);
}

int calibration_measure(struct session *s, const char *arch, bool unsandboxed, struct progress *progress,
			struct calibration *out, struct err *e)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	struct compiled compiled = {.guest_fd = -1};
	struct device_properties p;
	struct calibration c = {0};
	if (session_properties(s, &p, e) < 0)
		return -1;
	if (p.emulated)
		return err_input(e, "%s is emulated: its peaks are those of its profile", p.name);
	snprintf(c.device, sizeof c.device, "%s", p.name);
	snprintf(c.uuid, sizeof c.uuid, "%s", p.uuid);
	snprintf(c.driver, sizeof c.driver, "%s", p.driver);
	kept_now(c.when, sizeof c.when);
	progress_stage(progress, "compile", 0);
	int rc = compile_peaks(arch, unsandboxed, a, &compiled, e);
	if (rc == 0)
		rc = session_load(s, &compiled, e);
	if (rc == 0)
		rc = run_all(s, compiled.guest_fd, progress, &c, e);
	if (rc == 0)
		rc = calibration_check(&c, &p, e);
	compiled_close(&compiled);
	if (rc < 0)
		return err_wrap(e, "measuring the peaks of %s", p.name);
	*out = c;
	return 0;
}

/* ---- floors ---- */

double calibration_floor_us(const struct calibration *c, double bytes, double flops, const char *unit)
{
	const struct { const char *unit; double tera; } rates[] = {
		{"fp32", c->fp32_tflops},
		{"fp16", c->fp16_tflops},
		{"tensor_f16", fmax(c->tensor_f16_tflops, c->tensor_bf16_tflops)},
		{"tensor_i8", c->tensor_i8_tops},
	};

	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
		if (strcmp(rates[i].unit, unit))
			continue;
		if (flops > 0 && !(rates[i].tera > 0))
			return NAN;
		return fmax(bytes / (c->read_gbs * 1e3), flops > 0 ? flops / (rates[i].tera * 1e6) : 0);
	}
	BUG("unit of work '%s'", unit);
}
