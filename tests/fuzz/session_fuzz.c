/* The judge's side of a device process that has been taken over: whatever it answers, the judge lives and believes nothing
 * impossible.
 *
 * The first byte chooses the request, the second how long the report's lists are; then come the report (or packets, each after its
 * size in two bytes).
 */
#include "fuzz.h"
#include "sandbox/session_run.c"

#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 1 << 19 };

static void check_text(const char *s, size_t room)
{
	if (!memchr(s, 0, room))
		BUG("a text without an end");
	for (; *s; s++)
		if ((unsigned char)*s < ' ')
			BUG("a control character for the terminal: 0x%02x", (unsigned char)*s);
}

static void check_run(const struct session_run *r)
{
	check_text(r->fault.kernel, sizeof r->fault.kernel);
	check_text(r->fault.file, sizeof r->fault.file);
	check_text(r->fault.detail, sizeof r->fault.detail);
	check_text(r->protocol_text, sizeof r->protocol_text);
	check_text(r->cuda_error, sizeof r->cuda_error);
	check_text(r->cuda_detail, sizeof r->cuda_detail);
	check_text(r->crash_tensor, sizeof r->crash_tensor);
	if (r->fault.kind >= FAULT_KINDS || r->crash > CRASH_OTHER || !(r->copies_us >= 0))
		BUG("a report that cannot be");
	for (unsigned i = 0; i < r->n_launches; i++)
		if (!r->launches[i].occupancy.limit || r->launches[i].modelled.limiter > LIMIT_LATENCY)
			BUG("a launch that cannot be");
	for (unsigned i = 0; i < r->n_lines; i++)
		check_text(r->lines[i].file, sizeof r->lines[i].file);
}

static void put_packet(int fd, const void *head, size_t n, const void *tail, size_t m)
{
	struct iovec parts[2] = {{(void *)head, n}, {(void *)tail, m}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	if (n + m)
		sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void put_stream(int fd, const char *data, size_t size)
{
	for (size_t at = 0; at < size; at += WIRE_PIECE)
		put_packet(fd, data + at, size - at < WIRE_PIECE ? size - at : WIRE_PIECE, NULL, 0);
}

/* A report of the input's bytes with lists of the lengths it names, unless these are too long to send. */
static void answer_run(int fd, unsigned lists, const uint8_t *data, size_t size)
{
	static char stream[ROOM];
	struct wire_reply reply = {CONTROL_RUN, 0, 0, 0};
	struct control_report c = {0};
	memcpy(&c, data, size < sizeof c ? size : sizeof c);
	if (lists & 1) {
		c.n_launches = lists >> 1 & 3;
		c.text_size = lists >> 3 & 7;
		c.n_lines = lists >> 6 & 1;
		c.n_traffic = lists >> 7 & 1;
		c.fault.kind %= FAULT_KINDS;
	}
	for (size_t i = 0; i < 4096; i++)
		stream[i] = (char)(size ? data[i % size] : 0xff);
	put_packet(fd, &reply, sizeof reply, &c, sizeof c);
	size_t sizes[] = {c.n_launches * sizeof(struct control_launch), c.text_size, c.n_lines * sizeof(struct device_line),
			  c.n_traffic * sizeof(struct mem_traffic)};
	for (int i = 0; i < 4; i++)
		put_stream(fd, stream, sizes[i] < ROOM ? sizes[i] : ROOM);
}

static void answer_packets(int fd, const uint8_t *data, size_t size)
{
	while (size >= 2) {
		size_t n = data[0] | (size_t)data[1] << 8;
		data += 2;
		size -= 2;
		n = n < size ? n : size;
		put_packet(fd, data, n, NULL, 0);
		data += n;
		size -= n;
	}
}

static void ask(struct session *s, unsigned what)
{
	struct err e = {0};
	struct device_kernel k;
	struct device_replay replay;
	struct fault f;
	uint64_t first;
	bool whole;
	char data[100];
	int rc = 0;
	uint32_t id;
	if (what == 1) {
		rc = session_kernel(s, 0, &k, &e);
		if (rc == 0)
			check_text(k.pretty, sizeof k.pretty);
	} else if (what == 2) {
		rc = session_download(s, 0, data, &e);
	} else if (what == 3) {
		rc = session_written(s, 0, &whole, &first, &e);
	} else if (what == 4) {
		rc = session_replay(s, -1, &replay, &f, &e);
		if (rc == 0)
			check_text(f.detail, sizeof f.detail);
	} else if (what == 5) {
		rc = session_tensor(s, "t", SESSION_OUTPUT, NULL, 64, &id, &e);
	} else {
		rc = session_reset(s, &e);
	}
	if (rc < 0 && (e.kind == ERR_NONE || !e.text[0]))
		BUG("a failure without a reason");
	check_text(e.text, sizeof e.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int pair[2];
	if (size < 2)
		return 0;
	if (wire_pair(pair) < 0)
		BUG("no socket pair");
	struct session *s = calloc(1, sizeof *s);
	s->control = pair[0];
	s->n_tensors = 1;
	s->tensors[0] = 100;
	unsigned what = data[0] % 8;
	if (what == 0 || what == 7)
		answer_run(pair[1], data[1], data + 2, size - 2);
	else
		answer_packets(pair[1], data + 2, size - 2);
	shutdown(pair[1], SHUT_WR);
	if (what == 0 || what == 7) {
		struct session_run r = {0};
		struct err e = {0};
		if (take_report(s, &r, &e) == 0)
			check_run(&r);
		session_run_free(&r);
	} else {
		ask(s, what);
	}
	session_close(s);
	close(pair[1]);
	return 0;
}
