/* The judge's handle on a device process: see session.h.
 *
 * Theory of operation.  The device process is this very program, executed again in a jail as `judge __device`, with one
 * end of a socket pair as descriptor 3.  Requests go one at a time; each waits for its reply, for a bounded time.  A
 * process that closes its socket or keeps silent is dead, and the session with it.  Whatever comes back is of a size
 * that the judge, not the device, decides; strings are terminated and numbers checked here before anyone sees them.
 */
#include "session.h"

#include "base/cleanup.h"
#include "base/tame.h"
#include "session_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/time.h>

_Static_assert((int)SESSION_TENSORS_MAX == (int)CONTROL_TENSORS_MAX, "session.h and wire.h agree");
enum { REPLAY_MS = 30000, TOOL_MS = 60000 };
static const uint64_t HOST_MEMORY = 16ull << 30;	/* of a GPU's device process */

/* ---- the process ---- */

static bool is_gpu(const struct session *s)
{
	return strcmp(s->device, "gpu") == 0;
}

static void add_folder(struct session *s, const char *path, size_t n)
{
	char *name = s->folder_names[s->n_folders];
	/* not "/", which would bring the host's files into the jail */
	if (s->n_folders == sizeof s->folders / sizeof *s->folders || *path != '/' || strspn(path, "/") >= n ||
	    n >= sizeof s->folder_names[0])
		return;
	snprintf(name, sizeof s->folder_names[0], "%.*s", (int)n, path);
	s->folders[s->n_folders++] = (struct jail_mount){name, name};
	size_t used = strlen(s->search);
	snprintf(s->search + used, sizeof s->search - used, "%s%s", used ? ":" : "LD_LIBRARY_PATH=", name);
}

/* The process is this program: it finds its libraries where this one did, and a GPU's driver beside libcuda. */
static void find_libraries(struct session *s, struct jail_spec *spec)
{
	const char *more = getenv("LD_LIBRARY_PATH"), *slash = strrchr(s->library, '/');
	s->n_folders = 0;
	*s->search = 0;
	if (slash)
		add_folder(s, s->library, (size_t)(slash - s->library));
	for (size_t n; more && *more; more += n + (more[n] == ':'))
		if ((n = strcspn(more, ":")))
			add_folder(s, more, n);
	snprintf(s->home, sizeof s->home, "HOME=%s", s->options.tool_home ? s->options.tool_home : "/tmp");
	const char *const environment[] = {"CUDA_CACHE_DISABLE=1", *s->search ? s->search : "JUDGE=1", s->home, NULL};
	memcpy(s->environment, environment, sizeof environment);
	spec->envp = s->environment;
	spec->mounts = s->folders;
	spec->n_mounts = s->n_folders;
}

/* argv: the tool's words, then ours. */
static int under_tool(struct session *s, struct jail_spec *spec, struct err *e)
{
	unsigned n = 0, most = sizeof s->tool / sizeof *s->tool - 3;
	ssize_t length = readlink("/proc/self/exe", s->executable, sizeof s->executable - 1);
	if (length <= 0)
		return err_errno(e, "cannot read /proc/self/exe");
	s->executable[length] = 0;
	for (const char *const *word = s->options.tool; *word && n < most; word++)
		s->tool[n++] = *word;
	s->tool[n++] = s->executable;
	s->tool[n++] = "__device";
	s->tool[n] = NULL;
	spec->argv = s->tool;
	spec->exe_fd = -1;
	spec->bare = true;
	return 0;
}

/* Neither a packet that it does not take nor a stream that it does not end is waited for without end. */
static void bound_waits(int control)
{
	const struct timeval patience = {SESSION_PATIENCE_MS / 1000, 0};
	setsockopt(control, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	setsockopt(control, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

/* What an emulated device may take: its memory, the shadow of it, the image, traces; but two of them must leave the machine a
 * quarter of its own, whatever a program writes to. */
static uint64_t host_memory(const struct session *s)
{
	const uint64_t most = 3 * s->options.memory + (2ull << 30);
	struct sysinfo machine;
	uint64_t share = sysinfo(&machine) == 0 ? (uint64_t)machine.totalram * machine.mem_unit / 8 * 3 : most;
	return share < most ? share : most;
}

static int start(struct session *s, struct err *e)
{
	static const char *const argv[] = {"judge", "__device", NULL};
	int pair[2];
	if (wire_pair(pair) < 0)
		return err_errno(e, "cannot make a socket pair");
	CLEANUP_FD int ours = pair[0];
	CLEANUP_FD int theirs = pair[1];
	CLEANUP_FD int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (exe < 0)
		return err_errno(e, "cannot open /proc/self/exe");
	struct jail_fd fd = {theirs, WIRE_FD};
	struct jail_spec spec = {
		.policy = JAIL_DEVICE, .name = "device", .argv = argv, .exe_fd = exe, .fds = &fd, .n_fds = 1,
		.stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .unsandboxed = s->options.unsandboxed,
		.limits = {.memory = host_memory(s), .processes = 512, .output = 4096},
	};
	find_libraries(s, &spec);
	if (is_gpu(s)) {
		spec.policy = JAIL_GPU;
		spec.limits.memory = HOST_MEMORY;
		spec.limits.tmpfs = 16 << 20;	/* the driver's sockets */
	}
	if (s->options.tool && under_tool(s, &spec, e) < 0)
		return -1;
#ifdef __SANITIZE_ADDRESS__
	/* A sanitizer needs files, system calls and address space of its own; such a build is for tests alone. */
	spec.bare = true;
	spec.limits.memory = 0;
#endif
	s->jail = jail_start(&spec, e);
	if (!s->jail)
		return err_wrap(e, "cannot start the device process");
	s->control = take_fd(&ours);
	bound_waits(s->control);
	return 0;
}

static int tell_open(struct session *s, struct err *e)
{
	struct control_open m = {.kind = CONTROL_OPEN, .threads = s->options.threads, .memory = s->options.memory,
				 .budget = s->options.budget, .checks = !s->options.no_checks, .ordinal = s->ordinal,
				 .profile = s->profile};
	struct wire_reply r;
	memcpy(m.device, s->device, sizeof m.device);
	memcpy(m.library, s->library, sizeof m.library);
	if (session_send(s, &m, sizeof m, -1, e) < 0 ||
	    session_reply(s, CONTROL_OPEN, &r, &s->properties, sizeof s->properties, SESSION_PATIENCE_MS, e) < 0)
		return -1;
	s->properties.name[sizeof s->properties.name - 1] = 0;
	s->properties.uuid[sizeof s->properties.uuid - 1] = 0;
	s->properties.driver[sizeof s->properties.driver - 1] = 0;
	return 0;
}

/* The process's end, for a message: "killed by signal 11 (Segmentation fault)", and its last words. */
static void last_words(struct session *s, char *text, size_t size)
{
	struct jail_result r;
	struct err e = {0};
	int n;
	if (jail_wait(s->jail, &r, &e) < 0) {		/* its only failure */
		s->killed = true;
		snprintf(text, size, "%.200s", e.text);
	} else {
		s->exhausted = r.end == JAIL_MEMORY;
		s->killed = r.end == JAIL_SIGNALED && r.status == SIGKILL;
		if (r.end == JAIL_EXITED)
			n = snprintf(text, size, "exit status %d", r.status);
		else if (r.end == JAIL_SIGNALED)
			n = snprintf(text, size, "signal %d, %s", r.status, strsignal(r.status));
		else
			n = snprintf(text, size, "%s", jail_end_name(r.end));
		if (r.end == JAIL_SYSCALL)
			n += snprintf(text + n, size - (size_t)n, " %d", r.status);
		if (r.err.size)
			snprintf(text + n, size - (size_t)n, "; it said: %.*s", (int)strcspn(buf_str(&r.err), "\n"), buf_str(&r.err));
	}
	tame(text);			/* a tool's words hold names of kernels */
	jail_result_free(&r);
	s->jail = NULL;
}

void session_stop(struct session *s)
{
	char words[400];
	if (s->control >= 0)
		close(s->control);
	s->control = -1;
	if (s->jail) {
		/* a tool has its findings to write once the process it watches is gone */
		if (!s->options.tool || !session_ready(jail_pidfd(s->jail), TOOL_MS))
			jail_kill(s->jail);
		last_words(s, words, sizeof words);
	}
	s->n_tensors = 0;
}

int session_lost(struct session *s, const char *how, struct err *e)
{
	char words[400] = "";
	if (s->control >= 0)
		close(s->control);
	s->control = -1;
	if (s->jail) {
		/* It may be on its way out; else it is told to go. */
		if (!session_ready(jail_pidfd(s->jail), 500))
			jail_kill(s->jail);
		last_words(s, words, sizeof words);
	}
	s->dead = true;
	return err_system(e, "the device process %s (%s)", how, words);
}

static int tell_load(struct session *s, struct err *e)
{
	struct control_load m = {CONTROL_LOAD, s->n_resources, s->image_size};
	struct wire_reply r;
	if (session_send(s, &m, sizeof m, -1, e) < 0)
		return -1;
	if (wire_send_stream(s->control, s->image, s->image_size) < 0 ||
	    wire_send_stream(s->control, s->resources, s->n_resources * sizeof *s->resources) < 0)
		return session_lost(s, "broke off while it was given the device image", e);
	if (session_reply(s, CONTROL_LOAD, &r, NULL, 0, SESSION_PATIENCE_MS, e) < 0)
		return -1;
	s->n_kernels = (uint32_t)r.a;
	return 0;
}

int session_restart(struct session *s, struct err *e)
{
	session_stop(s);
	if (start(s, e) < 0 || tell_open(s, e) < 0 || (s->image && tell_load(s, e) < 0)) {
		s->dead = true;
		return err_wrap(e, "cannot start the device process again");
	}
	return 0;
}

/* ---- requests and replies ---- */

int session_send(struct session *s, const void *message, size_t size, int fd, struct err *e)
{
	if (s->dead)
		return err_system(e, "the device process is dead");
	if (s->control < 0 && session_restart(s, e) < 0)
		return -1;
	if (wire_send(s->control, message, size, NULL, 0, fd) < 0)
		return session_lost(s, "broke off", e);
	return 0;
}

bool session_ready(int fd, int patience_ms)
{
	struct pollfd p = {fd, POLLIN, 0};
	int n;
	do
		n = poll(&p, 1, patience_ms);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static int await(struct session *s, int patience_ms, struct err *e)
{
	return session_ready(s->control, patience_ms) ? 0 : session_lost(s, "does not answer", e);
}

int session_reply(struct session *s, uint32_t kind, struct wire_reply *r, void *data, size_t want, int patience_ms,
		  struct err *e)
{
	CLEANUP_FREE char *packet = malloc(WIRE_PACKET + 1);
	size_t size = 0;
	if (!packet)
		BUG("out of memory");
	if (await(s, patience_ms, e) < 0)
		return -1;
	if (wire_recv(s->control, packet, WIRE_PACKET, &size, NULL) <= 0)
		return session_lost(s, "crashed", e);
	if (size < sizeof *r)
		return session_lost(s, "sent a short reply", e);
	memcpy(r, packet, sizeof *r);
	const char *text = packet + sizeof *r;
	size_t extra = size - sizeof *r;
	if (r->error) {
		packet[size] = 0;
		if (!*text)
			return session_lost(s, "sent an error without its text", e);
		tame(packet + sizeof *r);
		return r->error == ERR_INPUT ? err_input(e, "%s", text) : err_system(e, "device process: %s", text);
	}
	if (r->kind != kind || extra != want)
		return session_lost(s, "sent a reply of another kind or size", e);
	if (want)
		memcpy(data, text, want);
	return 0;
}

int session_take(struct session *s, void *data, size_t size, struct err *e)
{
	if (size && wire_recv_stream(s->control, data, size) < 0)
		return session_lost(s, "broke off while it sent data", e);
	return 0;
}

/* ---- session.h ---- */

static int parse_gpu(struct session *s, const char *number, struct err *e)
{
	char *end;
	unsigned long n = strtoul(number, &end, 10);
	if (*number < '0' || *number > '9' || *end || n > 255)
		return err_input(e, "gpu:%s is no device: write gpu:0 for the first GPU", number);
	s->ordinal = (unsigned)n;
	if (!device_gpu_find(s->library, sizeof s->library))
		return err_input(e, "there is no CUDA driver on this machine (libcuda.so.1): --device emulated works without");
	return 0;
}

static int parse_device(struct session *s, const char *text, struct err *e)
{
	const char *colon = strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);
	if (n == 0 || n >= sizeof s->device || (colon && strlen(colon + 1) >= sizeof s->profile_id))
		return err_input(e, "\"%s\" is no device: write emulated:PROFILE, e.g. emulated:h200, or gpu:NUMBER", text);
	memcpy(s->device, text, n);
	if (is_gpu(s))
		return parse_gpu(s, colon ? colon + 1 : "0", e);
	snprintf(s->profile_id, sizeof s->profile_id, "%s", colon ? colon + 1 : "h200");
	if (strcmp(s->device, "emulated") == 0)
		return profile_load(s->profile_id, &s->profile, e);
	return 0;
}

struct session *session_open(const struct session_options *o, struct err *e)
{
	struct session *s = calloc(1, sizeof *s);
	if (!s)
		BUG("out of memory");
	s->options = *o;
	s->options.device = NULL;
	s->control = -1;
	if (parse_device(s, o->device, e) == 0 && !s->options.memory)
		s->options.memory = is_gpu(s) ? 1ull << 40 : 8ull << 30;	/* a GPU: all that it has */
	if (!s->options.memory || start(s, e) < 0 || tell_open(s, e) < 0) {
		session_close(s);
		return NULL;
	}
	return s;
}

void session_close(struct session *s)
{
	if (!s)
		return;
	session_stop(s);
	free(s->image);
	free(s->resources);
	free(s);
}

int session_properties(struct session *s, struct device_properties *out, struct err *e)
{
	if (s->dead)
		return err_system(e, "the device process is dead");
	*out = s->properties;
	return 0;
}

bool session_exhausted(const struct session *s)
{
	return s->exhausted;
}

bool session_killed(const struct session *s)
{
	return s->killed;
}

bool session_dead(const struct session *s)
{
	return s->dead;
}

int session_load(struct session *s, const struct compiled *c, struct err *e)
{
	const void *image = is_gpu(s) ? c->cubin : c->ptx;
	size_t image_size = is_gpu(s) ? c->cubin_size : c->ptx_size;
	if (image_size > CONTROL_IMAGE_MAX || c->n_kernels > CONTROL_RESOURCES_MAX)
		return err_input(e, "the device image is too large: %zu bytes and %zu kernels (limits: %d, %d)", image_size,
				 c->n_kernels, CONTROL_IMAGE_MAX, CONTROL_RESOURCES_MAX);
	free(s->image);
	free(s->resources);
	s->image = malloc(image_size + 1);
	s->resources = calloc(c->n_kernels + 1, sizeof *s->resources);
	if (!s->image || !s->resources)
		BUG("out of memory");
	memcpy(s->image, image, image_size);
	snprintf(s->source, sizeof s->source, "%s", c->name ? c->name : "");
	s->image_size = image_size;
	s->n_resources = 0;
	for (size_t i = 0; i < c->n_kernels; i++) {
		const struct kernel_resources *k = &c->kernels[i];
		struct device_resources *r = &s->resources[s->n_resources];
		if (strlen(k->name) >= sizeof r->name)
			continue;	/* refused by the device, with the reason, if it is there */
		snprintf(r->name, sizeof r->name, "%s", k->name);
		r->registers = k->registers;
		r->shared = k->shared;
		r->stack = k->stack;
		r->spill_store = k->spill_store;
		r->spill_load = k->spill_load;
		s->n_resources++;
	}
	if (tell_load(s, e) < 0) {
		free(s->image);
		s->image = NULL;
		return -1;
	}
	return 0;
}

int session_reset(struct session *s, struct err *e)
{
	struct control_bare m = {CONTROL_CLEAR, 0};
	struct wire_reply r;
	if (session_send(s, &m, sizeof m, -1, e) < 0)
		return -1;
	s->n_tensors = 0;
	return session_reply(s, CONTROL_CLEAR, &r, NULL, 0, SESSION_PATIENCE_MS, e);
}

int session_tensor(struct session *s, const char *name, enum session_role role, const void *data, uint64_t size,
		   uint32_t *id, struct err *e)
{
	struct control_tensor m = {CONTROL_TENSOR, role, size, ""};
	struct wire_reply r;
	snprintf(m.name, sizeof m.name, "%s", name);
	if (session_send(s, &m, sizeof m, -1, e) < 0)
		return -1;
	if (role == SESSION_INPUT && size && wire_send_stream(s->control, data, size) < 0)
		return session_lost(s, "broke off while it was given a tensor", e);
	if (session_reply(s, CONTROL_TENSOR, &r, NULL, 0, SESSION_PATIENCE_MS, e) < 0)
		return err_wrap(e, "tensor %s", name);
	if (r.a != s->n_tensors || s->n_tensors == CONTROL_TENSORS_MAX)
		return session_lost(s, "miscounts its tensors", e);
	s->tensors[s->n_tensors] = size;
	*id = s->n_tensors++;
	return 0;
}

static int ask_tensor(struct session *s, uint32_t kind, uint32_t id, struct wire_reply *r, struct err *e)
{
	struct control_id m = {kind, id};
	if (id >= s->n_tensors)
		return err_system(e, "there is no tensor %u", id);
	if (session_send(s, &m, sizeof m, -1, e) < 0)
		return -1;
	return session_reply(s, kind, r, NULL, 0, SESSION_PATIENCE_MS, e);
}

int session_download(struct session *s, uint32_t id, void *data, struct err *e)
{
	struct wire_reply r;
	if (ask_tensor(s, CONTROL_FETCH, id, &r, e) < 0)
		return -1;
	if (r.a != s->tensors[id])
		return session_lost(s, "sent a tensor of another size", e);
	return session_take(s, data, s->tensors[id], e);
}

int session_written(struct session *s, uint32_t id, bool *whole, uint64_t *first, struct err *e)
{
	struct wire_reply r;
	if (ask_tensor(s, CONTROL_WRITTEN, id, &r, e) < 0)
		return -1;
	*whole = r.a != 0;
	*first = r.b;
	return 0;
}

/* ---- tapes ---- */

int session_patch(struct session *s, uint32_t id, uint64_t offset, const void *data, uint64_t size, struct err *e)
{
	while (size) {
		uint64_t n = size < CONTROL_PATCH_MAX ? size : CONTROL_PATCH_MAX;
		struct control_patch m = {CONTROL_PATCH, id, offset, n};
		struct wire_reply r;
		if (session_send(s, &m, sizeof m, -1, e) < 0)
			return -1;
		if (wire_send_stream(s->control, data, n) < 0)
			return session_lost(s, "broke off while it was given part of a tensor", e);
		if (session_reply(s, CONTROL_PATCH, &r, NULL, 0, SESSION_PATIENCE_MS, e) < 0)
			return -1;
		data = (const char *)data + n;
		offset += n;
		size -= n;
	}
	return 0;
}

int session_replay(struct session *s, int tape, struct device_replay *out, struct fault *f, struct err *e)
{
	struct control_id m = {CONTROL_REPLAY, (uint32_t)tape};
	struct control_replayed c;
	struct wire_reply r;
	if (session_send(s, &m, sizeof m, -1, e) < 0)
		return -1;
	if (!session_ready(s->control, REPLAY_MS)) {
		*f = (struct fault){.kind = FAULT_BUDGET};
		snprintf(f->detail, sizeof f->detail, "the kernels did not end within %d s when they were launched again", REPLAY_MS / 1000);
		session_stop(s);
		return 0;
	}
	if (session_reply(s, CONTROL_REPLAY, &r, &c, sizeof c, SESSION_PATIENCE_MS, e) < 0)
		return -1;
	if (c.fault.kind >= FAULT_KINDS)
		return session_lost(s, "sent a fault of no kind", e);
	session_tame_fault(&c.fault);
	*out = c.replay;
	*f = c.fault;
	if (f->kind != FAULT_NONE)
		session_stop(s);
	return 0;
}

int session_kernel(struct session *s, uint32_t index, struct device_kernel *out, struct err *e)
{
	struct control_id m = {CONTROL_DESCRIBE, index};
	struct wire_reply r;
	if (session_send(s, &m, sizeof m, -1, e) < 0 ||
	    session_reply(s, CONTROL_DESCRIBE, &r, out, sizeof *out, SESSION_PATIENCE_MS, e) < 0)
		return -1;
	out->name[sizeof out->name - 1] = 0;
	out->pretty[sizeof out->pretty - 1] = 0;
	tame(out->pretty);
	if (out->n_params > sizeof out->params / sizeof *out->params)
		return session_lost(s, "described a kernel of impossible shape", e);
	return 0;
}
