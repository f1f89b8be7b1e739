/* The device process's side of a guest: any sequence of packets, over the emulated device with a module loaded.
 *
 * The input is packets, each after its size in two bytes; the last byte chooses between a submission and a program.
 */
#include "fuzz.h"
#include "sandbox/device/serve.h"
#include "sandbox/ptx/profile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MEMORY = 4 << 20, BUDGET = 2000, TENSOR = 4096 };

/* Kernels that do what a submission's do: write, read anything, loop, print, wait, ask for more. */
static const char image[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".global .align 4 .u32 counter;\n.const .align 4 .b8 table[64];\n"
	".global .align 1 .b8 format[8] = {37, 100, 32, 37, 115, 10};\n"
	".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
	".extern .shared .align 16 .b8 dynamic[];\n"
	".visible .entry fill(.param .u64 y, .param .u32 n)\n{\n"
	"\t.reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
	"\tld.param.u64 %rd1, [y]; ld.param.u32 %r1, [n];\n"
	"\tmov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r5, %r3, %r4, %r2;\n"
	"\tsetp.ge.u32 %p1, %r5, %r1; @%p1 ret;\n"
	"\tmul.wide.u32 %rd2, %r5, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r5; ret;\n}\n"
	".visible .entry copy(.param .u64 y, .param .u64 x)\n{\n"
	"\t.reg .b32 %r<3>; .reg .b64 %rd<6>;\n"
	"\tld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [x]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;\n"
	"\tadd.u64 %rd4, %rd2, %rd3; add.u64 %rd5, %rd1, %rd3; ld.u32 %r2, [%rd4]; st.u32 [%rd5], %r2; ret;\n}\n"
	".visible .entry spin()\n{\nL: bra L;\n}\n"
	".visible .entry count()\n{\n\t.reg .b32 %r<2>; atom.global.add.u32 %r1, [counter], 1; bar.sync 0; ret;\n}\n"
	".visible .entry shared(.param .u32 at)\n{\n"
	"\t.reg .b32 %r<3>; .reg .b64 %rd<3>; mov.u64 %rd1, dynamic; ld.param.u32 %r1, [at]; cvt.u64.u32 %rd2, %r1;\n"
	"\tadd.u64 %rd1, %rd1, %rd2; st.shared.u32 [%rd1], %r1; bar.sync 0; ld.shared.u32 %r2, [%rd1]; ret;\n}\n"
	".visible .entry print(.param .u64 x)\n{\n"
	"\t.local .align 8 .b8 room[16]; .reg .b64 %rd<6>; .reg .b32 %r<2>;\n"
	"\tld.param.u64 %rd1, [x]; mov.u64 %rd2, room; st.local.u64 [%rd2], %rd1; st.local.u64 [%rd2+8], %rd1; cvta.local.u64 %rd3, %rd2;\n"
	"\tmov.u64 %rd4, format; cvta.global.u64 %rd5, %rd4;\n"
	"\t{\n\t.param .b64 a; st.param.b64 [a], %rd5; .param .b64 b; st.param.b64 [b], %rd3; .param .b32 r;\n"
	"\tcall.uni (r), vprintf, (a, b); ld.param.b32 %r1, [r];\n\t}\n\tret;\n}\n";

static struct server server;

static void print(void *user, const char *text, size_t size)
{
	struct server *s = user;
	guest_print(s->run, text, size);
}

static void set_up(void)
{
	struct profile p;
	struct err e = {0};
	if (server.ops)
		return;
	setenv("JUDGE_PROFILES", "sandbox/ptx/profiles", 0);
	if (profile_load("h200", &p, &e) < 0)
		BUG("%s", e.text);
	p.l2_bytes = 1 << 20;
	p.sms = 4;
	struct device_options o = {.profile = &p, .threads = 1, .memory = MEMORY, .budget = BUDGET, .checks = true, .print = print,
				   .user = &server};
	server.ops = &device_emulated;
	server.control = -1;
	server.memory = MEMORY;
	server.packet = malloc(WIRE_PACKET);
	if (server.ops->open(&o, &server.device, &e) < 0 ||
	    server.ops->load(server.device, image, sizeof image - 1, NULL, 0, &e) < 0)
		BUG("%s", e.text);
	server.ops->properties(server.device, &server.properties);
	server.n_kernels = server.ops->kernel_count(server.device);
	server.kernels = calloc(server.n_kernels, sizeof *server.kernels);
	for (uint32_t i = 0; i < server.n_kernels; i++)
		server.ops->kernel(server.device, i, &server.kernels[i]);
}

static void lay_tensor(enum session_role role)
{
	struct fault f = {0};
	char data[TENSOR] = {0};
	struct tensor *t = &server.tensors[server.n_tensors++];
	*t = (struct tensor){.size = TENSOR, .role = role, .name = "t"};
	if (server.ops->alloc(server.device, t->size, 0, t->name, &t->addr, &f) < 0 ||
	    (role == SESSION_INPUT && (server.ops->upload(server.device, t->addr, data, TENSOR, &f) < 0 ||
				       server.ops->protect(server.device, t->addr, DEVICE_READ_ONLY, &f) < 0)))
		BUG("no memory");
}

static void send_packets(int fd, const uint8_t *data, size_t size)
{
	while (size >= 2) {
		size_t n = data[0] | (size_t)data[1] << 8;
		data += 2;
		size -= 2;
		if (n > size)
			n = size;
		if (n && send(fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		data += n;
		size -= n;
	}
	shutdown(fd, SHUT_WR);
}

static void check(const struct run *r)
{
	static const char zero[TENSOR];
	char input[TENSOR];
	struct fault f = {0};
	if (r->failure.kind != ERR_NONE)
		BUG("a failure of our own: %s", r->failure.text);
	if (r->report.protocol_error && !r->report.protocol_text[0])
		BUG("a refusal without a reason");
	if (r->report.done && (r->report.protocol_error || r->report.fault.kind != FAULT_NONE) && !r->ask->program &&
	    r->report.fault.kind != FAULT_READ_ONLY && r->report.fault.kind != FAULT_BAD_LAUNCH)
		BUG("done in spite of a fault");
	if (r->state == WIRE_PROGRAM || r->ask->program)
		return;			/* its cudaDeviceReset takes the tensors too */
	if (server.ops->download(server.device, server.tensors[0].addr, input, TENSOR, &f) < 0 || memcmp(input, zero, TENSOR) != 0)
		BUG("an input was changed");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int pair[2];
	set_up();
	server.ops->reset(server.device);
	server.n_tensors = 0;
	server.tensor_bytes = 0;
	lay_tensor(SESSION_INPUT);
	lay_tensor(SESSION_OUTPUT);
	struct control_run ask = {.program = size && data[size - 1] & 1, .has_prepare = size && data[size - 1] & 2, .n_solve = 2,
				  .profile = size && data[size - 1] & 4,
				  .solve = {{.kind = ARGUMENT_TENSOR, .tensor = 0}, {.kind = ARGUMENT_F32, .f = 1}}};
	if (wire_pair(pair) < 0 || fcntl(pair[1], F_SETFL, O_NONBLOCK) < 0)
		BUG("no socket pair");
	send_packets(pair[0], data, size);
	struct run *r = calloc(1, sizeof *r);
	*r = (struct run){.server = &server, .ask = &ask, .fd = pair[1]};
	server.run = r;
	guest_serve(r);
	check(r);
	server.run = NULL;
	run_free(r);
	free(r);
	close(pair[0]);
	close(pair[1]);
	return 0;
}

#ifdef FUZZING
static uint64_t some_number(struct draws *d)
{
	static const uint64_t telling[] = {0, 1, 2, 4, 16, 4096, 65536, 1ull << 31, 1ull << 32, 1ull << 40, ~0ull, ~0ull - 7, 1ull << 63};
	uint32_t way = draw(d, 4);
	if (way == 0)
		return draw(d, 1 << 20);
	if (way == 1)		/* where tensors and allocations lie, and just beside */
		return MEM_GLOBAL_BASE + 256 * (uint64_t)draw(d, 256) + (draw(d, 4) ? 0 : (uint64_t)(int64_t)(int32_t)draw(d, 64) - 32);
	return telling[draw(d, sizeof telling / sizeof *telling)];
}

/* A packet of the protocol with drawn fields, behind its size. */
static size_t make_packet(uint8_t *out, struct draws *d)
{
	static const char *const names[] = {"fill", "copy", "spin", "counter", "table", "format", "x"};
	uint8_t packet[512] = {0};
	uint32_t kind = 1 + draw(d, WIRE_KINDS + (draw(d, 20) == 0));
	size_t size = wire_fixed_size(kind);
	for (size_t at = 4; at + 8 <= sizeof packet; at += 4) {
		uint64_t x = some_number(d);
		memcpy(packet + at, &x, draw(d, 2) ? 4 : 8);
	}
	memcpy(packet, &kind, sizeof kind);
	if (kind == WIRE_LAUNCH) {
		struct wire_launch *m = (struct wire_launch *)(void *)packet;
		*m = (struct wire_launch){kind, draw(d, 7), {1 + draw(d, 3), 1, 1}, {1 + draw(d, 64), 1, 1}, draw(d, 3) * 1000, 0, {0}, 0};
		size += m->kernel < server.n_kernels ? server.kernels[m->kernel].param_bytes : 0;
	} else if (kind == WIRE_KERNEL || kind == WIRE_SYMBOL) {
		const char *name = names[draw(d, 7)];
		memcpy(packet + size, name, strlen(name));
		size += strlen(name);
	} else if (kind == WIRE_UPLOAD) {
		size += draw(d, 256);
		packet[4] = (uint8_t)draw(d, 2);
	} else if (kind == WIRE_FILL) {
		packet[4] = (uint8_t)(1u << draw(d, 3));
	} else if (kind == WIRE_PHASE) {
		packet[4] = draw(d, 2) ? WIRE_SOLVE : WIRE_PREPARE;
		memset(packet + 5, 0, 3);
	}
	if (draw(d, 12) == 0)
		size += draw(d, 40);
	if (size > sizeof packet)
		size = sizeof packet;
	out[0] = (uint8_t)size;
	out[1] = (uint8_t)(size >> 8);
	memcpy(out + 2, packet, size);
	return size + 2;
}

/* Where packet i begins. */
static size_t place(const uint8_t *data, size_t size, uint32_t i)
{
	size_t at = 0;
	while (i-- && at + 2 < size)
		at += 2 + (data[at] | (size_t)data[at + 1] << 8);
	return at < size ? at : size;
}

static const struct wire_hello hello = {WIRE_HELLO, WIRE_VERSION};

static size_t begin(uint8_t *data)
{
	data[0] = sizeof hello;
	data[1] = 0;
	memcpy(data + 2, &hello, sizeof hello);
	return 2 + sizeof hello;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint8_t packet[600];
	struct draws d = {seed};
	set_up();
	if (draw(&d, 4) == 0)
		return LLVMFuzzerMutate(data, size, max);
	if (size < 12 && max > 64) {
		size = begin(data);
		data[size++] = (uint8_t)draw(&d, 8);
	}
	for (uint32_t n = 1 + draw(&d, 4); n; n--) {
		size_t length = make_packet(packet, &d), at = place(data, size, 1 + draw(&d, 12));
		if (size + length > max)
			break;
		memmove(data + at + length, data + at, size - at);
		memcpy(data + at, packet, length);
		size += length;
	}
	return size;
}
#endif
