/* The device process's side of the judge: see serve.h.
 *
 * The judge is trusted; its requests are checked all the same, so that a mistake there is told instead of obeyed.
 * Each request has one reply, with the error's kind and text if it failed; data follows as a stream.
 */
#include "serve.h"

#include "../base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reply(struct server *s, uint32_t kind, uint64_t a, uint64_t b, const void *data, size_t size)
{
	struct wire_reply r = {kind, ERR_NONE, a, b};
	if (wire_send(s->control, &r, sizeof r, data, size, -1) < 0)
		exit(0);
}

static void reply_error(struct server *s, uint32_t kind, const struct err *e)
{
	struct wire_reply r = {kind, (int32_t)e->kind, 0, 0};
	if (wire_send(s->control, &r, sizeof r, e->text, strlen(e->text), -1) < 0)
		exit(0);
}

static void stream(struct server *s, const void *data, size_t size)
{
	if (size && wire_send_stream(s->control, data, size) < 0)
		exit(0);
}

static void *take_stream(struct server *s, size_t size)
{
	char *data = malloc(size + 1);
	if (!data)
		BUG("out of memory");
	if (size && wire_recv_stream(s->control, data, size) < 0)
		exit(0);
	data[size] = 0;
	return data;
}

static int fault_err(const struct fault *f, const char *what, struct err *e)
{
	return err_system(e, "%s: %s%s%s", what, fault_name(f->kind), f->detail[0] ? ": " : "", f->detail);
}

static void print(void *user, const char *text, size_t size)
{
	struct server *s = user;
	if (s->run)
		guest_print(s->run, text, size);
}

static int do_open(struct server *s, const struct control_open *m, const struct device_ops *const *devices, struct err *e)
{
	if (s->device)
		return err_system(e, "the device is open");
	for (; *devices && strncmp((*devices)->name, m->device, sizeof m->device) != 0; devices++)
		;
	if (!*devices)
		return err_input(e, "there is no device \"%.*s\"", (int)sizeof m->device, m->device);
	struct device_options o = {.profile = &m->profile, .threads = m->threads, .memory = m->memory, .budget = m->budget,
				   .checks = m->checks != 0, .ordinal = m->ordinal, .library = m->library, .print = print, .user = s};
	if (!memchr(m->library, 0, sizeof m->library))
		return err_system(e, "the path of the driver does not end");
	if ((*devices)->open(&o, &s->device, e) < 0)
		return -1;
	s->ops = *devices;
	s->memory = m->memory;
	s->ops->properties(s->device, &s->properties);
	if (s->properties.memory < s->memory)
		s->memory = s->properties.memory;
	reply(s, CONTROL_OPEN, 0, 0, &s->properties, sizeof s->properties);
	return 0;
}

static int do_load(struct server *s, const struct control_load *m, struct err *e)
{
	if (m->size > CONTROL_IMAGE_MAX || m->n_resources > CONTROL_RESOURCES_MAX)
		return err_input(e, "the device image is too large: %llu bytes (limit %d)", (unsigned long long)m->size,
				 CONTROL_IMAGE_MAX);
	CLEANUP_FREE char *image = take_stream(s, m->size);
	CLEANUP_FREE struct device_resources *res = take_stream(s, m->n_resources * sizeof *res);
	free(s->kernels);
	s->kernels = NULL;
	s->n_kernels = 0;
	if (s->ops->load(s->device, image, m->size, res, m->n_resources, e) < 0)
		return -1;
	uint32_t n = s->ops->kernel_count(s->device);
	s->kernels = calloc(n ? n : 1, sizeof *s->kernels);
	if (!s->kernels)
		BUG("out of memory");
	for (uint32_t i = 0; i < n; i++)
		if (s->ops->kernel(s->device, i, &s->kernels[i]) < 0)
			return err_input(e, "kernel %u of the device image has more than %d parameters or a name of more than %d "
					 "bytes", i, 64, DEVICE_NAME - 1);
	s->n_kernels = n;
	reply(s, CONTROL_LOAD, n, 0, NULL, 0);
	return 0;
}

static int do_clear(struct server *s)
{
	s->ops->reset(s->device);
	s->n_tensors = 0;
	s->tensor_bytes = s->taped = 0;
	reply(s, CONTROL_CLEAR, 0, 0, NULL, 0);
	return 0;
}

static int do_tensor(struct server *s, const struct control_tensor *m, struct err *e)
{
	struct fault f = {0};
	if (s->n_tensors == CONTROL_TENSORS_MAX)
		return err_system(e, "more than %d tensors", CONTROL_TENSORS_MAX);
	if (m->role > SESSION_WORKSPACE)
		return err_system(e, "tensor of unknown role %u", m->role);
	struct tensor t = {.size = m->size, .role = m->role};
	memcpy(t.name, m->name, sizeof t.name);
	t.name[sizeof t.name - 1] = 0;
	/* A tensor of no bytes still has an address of its own. */
	int rc = s->ops->alloc(s->device, t.size ? t.size : 1, t.role == SESSION_OUTPUT ? DEVICE_POISON : 0, t.name, &t.addr, &f);
	for (uint64_t at = 0; t.role == SESSION_INPUT && at < t.size; at += WIRE_PIECE) {
		size_t n = t.size - at < WIRE_PIECE ? t.size - at : WIRE_PIECE;
		if (wire_recv_stream(s->control, s->packet, n) < 0)
			exit(0);
		if (rc == 0)
			rc = s->ops->upload(s->device, t.addr + at, s->packet, n, &f);
	}
	if (rc == 0 && t.role == SESSION_INPUT)
		rc = s->ops->protect(s->device, t.addr, DEVICE_READ_ONLY, &f);
	if (rc < 0)
		return fault_err(&f, t.name, e);
	s->tensors[s->n_tensors] = t;
	s->tensor_bytes += t.size;
	reply(s, CONTROL_TENSOR, s->n_tensors++, 0, NULL, 0);
	return 0;
}

static const struct tensor *find_tensor(const struct server *s, uint32_t id, struct err *e)
{
	if (id < s->n_tensors)
		return &s->tensors[id];
	err_system(e, "there is no tensor %u", id);
	return NULL;
}

static int do_fetch(struct server *s, const struct control_id *m, struct err *e)
{
	struct fault f = {0};
	const struct tensor *t = find_tensor(s, m->id, e);
	if (!t)
		return -1;
	uint64_t size = t->size;	/* the packet is reused for data */
	reply(s, CONTROL_FETCH, size, 0, NULL, 0);
	for (uint64_t at = 0; at < size; at += WIRE_PIECE) {
		size_t n = size - at < WIRE_PIECE ? size - at : WIRE_PIECE;
		if (s->ops->download(s->device, t->addr + at, s->packet, n, &f) < 0)
			BUG("tensor %s cannot be read", t->name);
		stream(s, s->packet, n);
	}
	return 0;
}

static int do_written(struct server *s, const struct control_id *m, struct err *e)
{
	uint64_t first = 0;
	const struct tensor *t = find_tensor(s, m->id, e);
	if (!t)
		return -1;
	bool whole = !t->size || s->ops->written(s->device, t->addr, t->size, &first);
	reply(s, CONTROL_WRITTEN, whole, first, NULL, 0);
	return 0;
}

static int patch(struct server *s, const struct tensor *t, uint64_t offset, const void *data, uint64_t size, struct err *e)
{
	struct fault f = {0};
	if (s->ops->protect(s->device, t->addr, 0, &f) < 0 || s->ops->upload(s->device, t->addr + offset, data, size, &f) < 0 ||
	    s->ops->protect(s->device, t->addr, DEVICE_READ_ONLY, &f) < 0)
		return fault_err(&f, t->name, e);
	return 0;
}

static int do_patch(struct server *s, const struct control_patch *m, struct err *e)
{
	struct control_patch ask = *m;
	if (ask.size > CONTROL_PATCH_MAX)
		return err_system(e, "a patch of %llu bytes: the limit is %d", (unsigned long long)ask.size, CONTROL_PATCH_MAX);
	CLEANUP_FREE char *data = take_stream(s, ask.size);
	const struct tensor *t = find_tensor(s, ask.id, e);
	if (!t)
		return -1;
	if (t->role != SESSION_INPUT || ask.offset > t->size || ask.size > t->size - ask.offset)
		return err_system(e, "a patch of %s that is not inside an input", t->name);
	if (patch(s, t, ask.offset, data, ask.size, e) < 0)
		return -1;
	reply(s, CONTROL_PATCH, 0, 0, NULL, 0);
	return 0;
}

/* ---- inputs that prepare() is not given ----
 *
 * What prepare() does is not timed, and addresses can be guessed: until solve() begins, other bytes are there. */

static void find_late(struct server *s, const struct control_run *ask)
{
	for (unsigned i = 0; i < ask->n_solve && ask->has_prepare; i++) {
		const struct control_argument *a = &ask->solve[i];
		bool given = false;
		for (unsigned k = 0; k < ask->n_prepare; k++)
			given |= ask->prepare[k].kind == ARGUMENT_TENSOR && ask->prepare[k].tensor == a->tensor;
		if (a->kind == ARGUMENT_TENSOR && !given && s->tensors[a->tensor].role == SESSION_INPUT)
			s->tensors[a->tensor].late = true;
	}
}

static void forget_kept(struct server *s)
{
	for (uint32_t i = 0; i < s->n_tensors; i++) {
		free(s->tensors[i].kept);
		s->tensors[i].kept = NULL;
	}
}

static int hide(struct server *s, struct tensor *t, struct err *e)
{
	struct fault f = {0};
	CLEANUP_FREE char *other = malloc(t->size);
	t->kept = malloc(t->size);
	if (!other || !t->kept)
		BUG("out of memory");
	memset(other, 0xff, t->size);		/* NaN */
	if (s->ops->download(s->device, t->addr, t->kept, t->size, &f) < 0)
		return fault_err(&f, t->name, e);
	return patch(s, t, 0, other, t->size, e);
}

static int tensors_hide(struct server *s, struct err *e)
{
	for (uint32_t i = 0; i < s->n_tensors; i++)
		if (s->tensors[i].late && s->tensors[i].size && hide(s, &s->tensors[i], e) < 0)
			return -1;
	return 0;
}

int tensors_show(struct server *s, struct err *e)
{
	for (uint32_t i = 0; i < s->n_tensors; i++) {
		struct tensor *t = &s->tensors[i];
		if (t->kept && patch(s, t, 0, t->kept, t->size, e) < 0)
			return -1;
		free(t->kept);
		t->kept = NULL;
	}
	return 0;
}

/* A kernel that fails here leaves a device of no use: f says so. */
static int replay_prepare(struct server *s, int tape, struct fault *f, struct err *e)
{
	if (!s->ops->replay_prepare)
		return 0;
	if (tensors_hide(s, e) < 0 || s->ops->replay_prepare(s->device, tape, f, e) < 0)
		return -1;
	return f->kind == FAULT_NONE ? tensors_show(s, e) : 0;
}

/* As they were when they were laid out: nobody has written them. */
static int poison(struct server *s, bool workspaces, struct err *e)
{
	for (uint32_t i = 0; i < s->n_tensors; i++) {
		const struct tensor *t = &s->tensors[i];
		struct fault f = {0};
		if ((t->role == SESSION_OUTPUT || (workspaces && t->role == SESSION_WORKSPACE)) && t->size &&
		    s->ops->poison(s->device, t->addr, t->size, &f) < 0)
			return fault_err(&f, t->name, e);
	}
	return 0;
}

static int do_replay(struct server *s, const struct control_id *m, struct err *e)
{
	struct control_replayed out = {0};
	if (!s->ops->replay)
		return err_system(e, "the %s device has no tapes", s->ops->name);
	if (poison(s, false, e) < 0)
		return -1;
	int tape = (int)m->id, rc = replay_prepare(s, tape, &out.fault, e);
	forget_kept(s);
	if (rc < 0 || (out.fault.kind == FAULT_NONE && s->ops->replay(s->device, tape, &out.replay, &out.fault, e) < 0))
		return -1;
	reply(s, CONTROL_REPLAY, 0, 0, &out, sizeof out);
	return 0;
}

static int do_describe(struct server *s, const struct control_id *m, struct err *e)
{
	if (m->id >= s->n_kernels)
		return err_system(e, "there is no kernel %u: the image has %u", m->id, s->n_kernels);
	reply(s, CONTROL_DESCRIBE, 0, 0, &s->kernels[m->id], sizeof s->kernels[m->id]);
	return 0;
}

static int check_arguments(const struct server *s, const struct control_argument *a, unsigned n, struct err *e)
{
	if (n > WIRE_ARGUMENTS)
		return err_system(e, "%u arguments: the limit is %d", n, WIRE_ARGUMENTS);
	for (unsigned i = 0; i < n; i++)
		if (a[i].kind > ARGUMENT_F64 || (a[i].kind == ARGUMENT_TENSOR && a[i].tensor >= s->n_tensors))
			return err_system(e, "argument %u is of no known kind or tensor", i);
	return 0;
}

static int do_run(struct server *s, const struct control_run *m, int fd, struct err *e)
{
	struct control_run ask = *m;	/* the packet is reused by the guest's messages */
	CLEANUP_FD int guest = fd;
	if (fd < 0)
		return err_system(e, "a run without a socket");
	if (ask.tape && !s->ops->tape_add)
		return err_system(e, "the %s device has no tapes", s->ops->name);
	if (check_arguments(s, ask.solve, ask.n_solve, e) < 0 || check_arguments(s, ask.prepare, ask.n_prepare, e) < 0)
		return -1;
	if (ask.again && poison(s, true, e) < 0)
		return -1;
	find_late(s, &ask);
	if (tensors_hide(s, e) < 0)
		return -1;
	struct run *r = calloc(1, sizeof *r);
	if (!r)
		BUG("out of memory");
	*r = (struct run){.server = s, .ask = &ask, .fd = fd};
	s->run = r;
	guest_serve(r);
	s->run = NULL;
	forget_kept(s);			/* of a guest that did not come to solve() */
	int rc = 0;
	if (ask.tape && r->report.done && r->failure.kind == ERR_NONE) {
		s->ops->tape_add(s->device, r->tape.steps, r->tape.n, &r->failure);
		r->tape = (struct tape){0};
	}
	if (r->failure.kind != ERR_NONE) {
		*e = r->failure;
		rc = -1;
	} else {
		r->report.text_size = (uint32_t)r->text.size;
		reply(s, CONTROL_RUN, 0, 0, &r->report, sizeof r->report);
		stream(s, r->launches, r->report.n_launches * sizeof *r->launches);
		stream(s, r->text.data, r->text.size);
		stream(s, r->lines, r->report.n_lines * sizeof *r->lines);
		stream(s, r->traffic, r->report.n_traffic * sizeof *r->traffic);
	}
	run_free(r);
	free(r);
	return rc;
}

static void handle(struct server *s, const struct device_ops *const *devices, const void *packet, int fd)
{
	struct err e = {0};
	uint32_t kind = *(const uint32_t *)packet;
	int rc = -1;
	if (kind != CONTROL_OPEN && !s->device) {
		err_system(&e, "the device is not open");
	} else {
		switch (kind) {
		case CONTROL_OPEN: rc = do_open(s, packet, devices, &e); break;
		case CONTROL_LOAD: rc = do_load(s, packet, &e); break;
		case CONTROL_CLEAR: rc = do_clear(s); break;
		case CONTROL_TENSOR: rc = do_tensor(s, packet, &e); break;
		case CONTROL_FETCH: rc = do_fetch(s, packet, &e); break;
		case CONTROL_WRITTEN: rc = do_written(s, packet, &e); break;
		case CONTROL_DESCRIBE: rc = do_describe(s, packet, &e); break;
		case CONTROL_PATCH: rc = do_patch(s, packet, &e); break;
		case CONTROL_REPLAY: rc = do_replay(s, packet, &e); break;
		case CONTROL_RUN:
			rc = do_run(s, packet, fd, &e);
			fd = -1;
			break;
		default: BUG("message %u passed the check", kind);
		}
	}
	if (fd >= 0)
		close(fd);
	if (rc < 0)
		reply_error(s, kind, &e);
}

int serve(int control, const struct device_ops *const *devices)
{
	struct server s = {.control = control};
	char why[200];
	size_t size;
	int fd;
	CLEANUP_FREE char *packet = malloc(WIRE_PACKET);
	if (!packet)
		BUG("out of memory");
	s.packet = packet;
	while (wire_recv(control, packet, WIRE_PACKET, &size, &fd) > 0) {
		const char *wrong = control_check(packet, size, why, sizeof why);
		if (wrong) {
			struct err e = {0};
			err_system(&e, "%s", wrong);
			if (fd >= 0)
				close(fd);
			reply_error(&s, 0, &e);
			continue;
		}
		handle(&s, devices, packet, fd);
	}
	if (s.device)
		s.ops->close(s.device);
	free(s.kernels);
	return 0;
}

int device_main(int argc, char **argv)
{
	static const struct device_ops *const devices[] = {&device_emulated, &device_gpu, NULL};
	(void)argv;
	if (argc != 2) {
		fputs("judge __device is started by judge itself\n", stderr);
		return 2;
	}
	return serve(WIRE_FD, devices);
}
