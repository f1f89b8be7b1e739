/* libFuzzer target of the device process's side of a guest: any sequence of packets, over the null device.
 *
 * The input is packets, each after its size in two bytes.
 *
 *	clang -g -O1 -D_GNU_SOURCE -I. -fsanitize=fuzzer,address,undefined tests/fuzz/wire_fuzz.c sandbox/device/guest.c \
 *		sandbox/{wire,fault,counters}.c sandbox/base/{buf,err}.c -o wire_fuzz
 *	mkdir -p found && ./wire_fuzz found
 *
 * With -DSTANDALONE and without "fuzzer" it makes its own inputs, from messages of the protocol with some bytes changed:
 * ./wire_fuzz ROUNDS SEED
 */
#include "sandbox/device/serve.h"
#include "tests/null_device.h"

#include <fcntl.h>
#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Kernels that end, and that check what they touch. */
static int tame_launch(struct device *d, const struct device_launch *l, struct device_report *out, struct err *e)
{
	bool tame = l->kernel == 0 || l->kernel == 1 || l->kernel == 4;
	return tame ? null_launch(d, l, out, e) : 0;
}

void device_report_free(struct device_report *r)
{
	free(r->lines);
}

static void print(void *user, const char *text, size_t size)
{
	struct server *s = user;
	guest_print(s->run, text, size);
}

static struct server server;
static struct device_ops ops;

static void set_up(void)
{
	struct device_options o = {.memory = 64 << 20, .print = print, .user = &server};
	struct err e = {0};
	if (server.ops)
		return;
	ops = null_device;
	ops.launch = tame_launch;
	server.ops = &ops;
	server.control = -1;
	server.memory = 64 << 20;
	server.packet = malloc(WIRE_PACKET);
	if (ops.open(&o, &server.device, &e) < 0)
		BUG("%s", e.text);
	ops.properties(server.device, &server.properties);
	server.n_kernels = ops.kernel_count(server.device);
	server.kernels = calloc(server.n_kernels, sizeof *server.kernels);
	for (uint32_t i = 0; i < server.n_kernels; i++)
		ops.kernel(server.device, i, &server.kernels[i]);
}

static void lay_tensor(enum session_role role)
{
	struct fault f;
	struct tensor *t = &server.tensors[server.n_tensors++];
	*t = (struct tensor){.size = 4096, .role = role, .name = "t"};
	if (ops.alloc(server.device, t->size, 0, t->name, &t->addr, &f) < 0)
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int pair[2];
	set_up();
	ops.reset(server.device);
	server.n_tensors = 0;
	lay_tensor(SESSION_INPUT);
	lay_tensor(SESSION_OUTPUT);
	struct control_run ask = {.program = size && data[size - 1] & 1, .has_prepare = size && data[size - 1] & 2, .n_solve = 2,
				  .solve = {{.kind = ARGUMENT_TENSOR, .tensor = 0}, {.kind = ARGUMENT_F32, .f = 1}}};
	if (wire_pair(pair) < 0 || fcntl(pair[1], F_SETFL, O_NONBLOCK) < 0)
		BUG("no socket pair");
	send_packets(pair[0], data, size);
	struct run *r = calloc(1, sizeof *r);
	*r = (struct run){.server = &server, .ask = &ask, .fd = pair[1]};
	server.run = r;
	guest_serve(r);
	if (r->report.protocol_error && !r->report.protocol_text[0])
		BUG("a refusal without a reason");
	if (r->report.done && (r->report.protocol_error || r->report.fault.kind != FAULT_NONE) && !r->ask->program &&
	    r->report.fault.kind != FAULT_READ_ONLY)
		BUG("done in spite of a fault");
	run_free(r);
	free(r);
	close(pair[0]);
	close(pair[1]);
	return 0;
}

#ifdef STANDALONE
static uint64_t state;

static uint32_t next(uint32_t n)	/* 0 .. n-1 */
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

static uint64_t some_number(void)
{
	static const uint64_t telling[] = {0, 1, 4, 16, 4096, 65536, 0x7f0000001000, 0x7f0000001100, 0x7f0000003000, 1ull << 31,
					   1ull << 32, 1ull << 40, ~0ull, ~0ull - 7, 1ull << 63};
	return next(4) ? telling[next(sizeof telling / sizeof *telling)] : next(1 << 20);
}

static size_t make_input(uint8_t *out, size_t room)
{
	struct wire_hello hello = {WIRE_HELLO, WIRE_VERSION};
	size_t at = 0;
	uint32_t n = 1 + next(20);
	for (uint32_t i = 0; i < n && at + 600 < room; i++) {
		uint8_t packet[512] = {0};
		uint32_t kind = i ? 1 + next(WIRE_KINDS) : WIRE_HELLO;
		size_t size = wire_fixed_size(kind) + (next(3) ? next(2) * 32 : next(200));
		for (size_t j = 8; j + 8 <= sizeof packet; j += 8) {
			uint64_t x = some_number();
			memcpy(packet + j, &x, sizeof x);
		}
		memcpy(packet, &kind, sizeof kind);
		packet[4] = (uint8_t)next(9);
		if (i == 0 && next(50)) {
			size = sizeof hello;
			memcpy(packet, &hello, size);
		}
		out[at] = (uint8_t)size;
		out[at + 1] = (uint8_t)(size >> 8);
		memcpy(out + at + 2, packet, size);
		at += 2 + size;
	}
	out[at++] = (uint8_t)next(4);
	return at;
}

int main(int argc, char **argv)
{
	static uint8_t input[16384];
	long rounds = argc > 1 ? atol(argv[1]) : 10000;
	state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	for (long i = 0; i < rounds; i++)
		LLVMFuzzerTestOneInput(input, make_input(input, sizeof input));
	return 0;
}
#endif
