/* The session, the protocol and the guest runtime, over a device whose kernels are host functions (null_device.h).
 *
 * The tests' own executable plays the device process: session_open executes /proc/self/exe with "__device".  Guests are
 * small C programs, compiled here with gcc and linked with libguest.a as submissions are.
 */
#include "tests/unit/test.h"

#include "sandbox/session.h"
#include "sandbox/wire.h"
#include "sandbox/device/serve.h"
#include "tests/null_device.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>

__attribute__((constructor)) static void play_device(int argc, char **argv)
{
	static const struct device_ops *const devices[] = {&null_device, NULL};
	if (argc == 2 && strcmp(argv[1], "__device") == 0)
		_exit(serve(WIRE_FD, devices));
}

/* ---- guests ---- */

#define SOLVE "void solve(float *a, float *b, float *c, int n, float scale) "
#define ADD "void *args[] = {&a, &b, &c, &n, &scale}; launch(&add, args);"

/* A guest's executable, from a file of tests/unit/guests or from source text. */
static int build_guest(const char *source)
{
	char dir[] = "/tmp/session_test.XXXXXX", path[64], command[1000];
	const char *b = getenv("B") ? getenv("B") : "build", *cuda = getenv("CUDA_HOME") ? getenv("CUDA_HOME") : "/usr/local/cuda";
	snprintf(command, sizeof command, "%s/libguest.a", b);
	if (access(command, R_OK) < 0)
		test_skip("no libguest.a: make it first");
	CHECK(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/guest.c", dir);
	FILE *f = fopen(path, "w");
	CHECK(f);
	size_t n = strlen(source);
	if (strcmp(source + n - 2, ".c") == 0)
		fprintf(f, "#include \"%s\"\n", source);
	else
		fprintf(f, "#include \"guest.h\"\n%s\n", source);
	fclose(f);
	snprintf(command, sizeof command, "gcc -w -O1 -static -no-pie -isystem %s/include -I. -Itests/unit/guests -o %s/guest %s/guest.c "
		 "%s/libguest.a", cuda, dir, dir, b);
	int status = system(command);
	snprintf(path, sizeof path, "%s/guest", dir);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(command, sizeof command, "rm -r %s", dir);
	CHECK_EQ(system(command), 0);		/* before anything can fail the test */
	CHECK_EQ(status, 0);
	CHECK(fd >= 0);
	return fd;
}

struct fixture {
	struct session *s;
	uint32_t a, b, c;
	struct session_argument arguments[5];
	struct session_run run;
	struct err e;
};
enum { N = 50000 };

static struct session *open_session(void)
{
	struct session_options o = {.device = "null:x", .memory = 64 << 20};
	struct compiled image = {.ok = true, .ptx = "ok", .ptx_size = 2, .guest_fd = -1};
	struct err e = {0};
	struct jail_host host;
	jail_host(&host);
	o.unsandboxed = !host.usable;
	struct session *s = session_open(&o, &e);
	CHECK_MSG(s, "%s", e.text);
	CHECK_MSG(session_load(s, &image, &e) == 0, "%s", e.text);
	return s;
}

static void fresh_run(struct fixture *x)
{
	x->run = (struct session_run){.solve = x->arguments, .n_solve = 5, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1,
				      .limits = {.wall_ms = 5000, .memory = 256 << 20, .output = 65536}};
}

static void lay_out(struct fixture *x)
{
	static float a[N], b[N];
	for (int i = 0; i < N; i++) {
		a[i] = (float)i;
		b[i] = 1;
	}
	CHECK_MSG(session_reset(x->s, &x->e) == 0, "%s", x->e.text);
	CHECK_MSG(session_tensor(x->s, "a", SESSION_INPUT, a, sizeof a, &x->a, &x->e) == 0, "%s", x->e.text);
	CHECK(session_tensor(x->s, "b", SESSION_INPUT, b, sizeof b, &x->b, &x->e) == 0);
	CHECK(session_tensor(x->s, "c", SESSION_OUTPUT, NULL, sizeof a, &x->c, &x->e) == 0);
	x->arguments[0] = (struct session_argument){.kind = ARGUMENT_TENSOR, .tensor = x->a};
	x->arguments[1] = (struct session_argument){.kind = ARGUMENT_TENSOR, .tensor = x->b};
	x->arguments[2] = (struct session_argument){.kind = ARGUMENT_TENSOR, .tensor = x->c};
	x->arguments[3] = (struct session_argument){.kind = ARGUMENT_I32, .i = N};
	x->arguments[4] = (struct session_argument){.kind = ARGUMENT_F32, .f = 0.5};
	fresh_run(x);
}

static void solve_with(struct fixture *x, const char *source)
{
	*x = (struct fixture){.s = open_session()};
	int guest = build_guest(source);
	lay_out(x);
	x->run.guest_fd = guest;
	int rc = session_run(x->s, &x->run, &x->e);
	close(guest);
	CHECK_MSG(rc == 0 || session_dead(x->s), "%s", x->e.text);
}

static void finish(struct fixture *x)
{
	session_run_free(&x->run);
	session_close(x->s);
}

TEST(solves)
{
	struct fixture x;
	static float c[N];
	bool whole;
	uint64_t first;
	solve_with(&x, SOLVE "{" ADD "}");
	CHECK_MSG(x.run.done, "%s %s %s", x.run.protocol_text, x.run.cuda_error, buf_str(&x.run.guest.err));
	CHECK_EQ(x.run.n_launches, 1);
	CHECK_EQ(x.run.launches[0].block[0], 32);
	CHECK(!x.run.launches[0].prepare);
	CHECK_EQ(session_download(x.s, x.c, c, &x.e), 0);
	for (int i = 0; i < N; i++)
		CHECK(c[i] == (float)i + 0.5f);
	CHECK_EQ(session_written(x.s, x.c, &whole, &first, &x.e), 0);
	CHECK(whole);
	struct device_kernel k;
	CHECK_EQ(session_kernel(x.s, x.run.launches[0].kernel, &k, &x.e), 0);
	CHECK_STR(k.name, "add");
	finish(&x);
}

TEST(tells_what_was_not_written)
{
	struct fixture x;
	bool whole;
	uint64_t first;
	solve_with(&x, SOLVE "{ n -= 10; " ADD "}");
	CHECK(x.run.done);
	CHECK_EQ(session_written(x.s, x.c, &whole, &first, &x.e), 0);
	CHECK(!whole);
	CHECK_EQ(first, (N - 10) * 4);
	finish(&x);
}

/* A further run begins with outputs that nobody wrote. */
TEST(a_further_run_owes_its_outputs_anew)
{
	struct fixture x;
	bool whole;
	uint64_t first;
	solve_with(&x, SOLVE "{" ADD "}");
	CHECK(x.run.done);
	for (int again = 0; again < 2; again++) {
		session_run_free(&x.run);
		fresh_run(&x);
		x.run.again = again;
		x.run.guest_fd = build_guest(SOLVE "{}");
		CHECK_MSG(session_run(x.s, &x.run, &x.e) == 0, "%s", x.e.text);
		close(x.run.guest_fd);
		CHECK(x.run.done);
		CHECK_EQ(session_written(x.s, x.c, &whole, &first, &x.e), 0);
		CHECK_EQ(whole, !again);
	}
	CHECK_EQ(first, 0);
	finish(&x);
}

TEST(fault_is_sticky)
{
	struct fixture x;
	solve_with(&x, "sticky.c");
	CHECK_STR(buf_str(&x.run.guest.out), "");
	CHECK(!x.run.done);
	CHECK_EQ(x.run.fault.kind, FAULT_OUT_OF_BOUNDS);
	CHECK_STR(x.run.fault.kernel, "wild");
	CHECK_STR(x.run.cuda_error, "cudaErrorIllegalAddress");
	finish(&x);
}

TEST(unsynchronised_fault_is_found)
{
	struct fixture x;
	solve_with(&x, SOLVE "{ void *args[] = {&a}; launch(&wild, args); }");
	CHECK(!x.run.done);
	CHECK_EQ(x.run.fault.kind, FAULT_OUT_OF_BOUNDS);
	finish(&x);
}

TEST(exit_without_done_is_not_done)
{
	struct fixture x;
	solve_with(&x, SOLVE "{" ADD " cudaDeviceSynchronize(); exit(0); }");
	CHECK(!x.run.done);
	CHECK_EQ(x.run.guest.end, JAIL_EXITED);
	CHECK_EQ(x.run.guest.status, 0);
	CHECK(!x.run.protocol_error);
	finish(&x);
}

TEST(inputs_are_read_only_for_copies)
{
	struct fixture x;
	solve_with(&x, SOLVE "{ EXPECT(cudaMemset(a, 0, 4), cudaErrorInvalidValue); EXPECT(cudaFree(a), cudaErrorInvalidValue);"
			     "EXPECT(cudaMemcpy(b, a, 4, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);" ADD "}");
	CHECK_STR(buf_str(&x.run.guest.out), "");
	CHECK_EQ(x.run.fault.kind, FAULT_READ_ONLY);
	CHECK_STR(x.run.fault.detail, "cudaMemset writes to the input a");
	finish(&x);
}

TEST(copies)
{
	struct fixture x;
	solve_with(&x, "copies.c");
	CHECK_STR(buf_str(&x.run.guest.out), "");
	CHECK(x.run.done);
	CHECK_EQ(x.run.allocations, 1);
	CHECK_EQ(x.run.allocated_bytes, N * 4);
	CHECK(x.run.host_copies >= 6);
	finish(&x);
}

static void prints_nothing(const char *guest)
{
	struct fixture x;
	solve_with(&x, guest);
	CHECK_STR(buf_str(&x.run.guest.out), "");
	CHECK_MSG(x.run.done, "%s %s", x.run.protocol_text, buf_str(&x.run.guest.err));
	finish(&x);
}

TEST(mirrors) { prints_nothing("mirrors.c"); }
TEST(graphs) { prints_nothing("graphs.c"); }

TEST(configuration_errors)
{
	struct fixture x;
	solve_with(&x, "configurations.c");
	CHECK_STR(buf_str(&x.run.guest.out), "");
	CHECK(x.run.done);
	CHECK_EQ(x.run.n_launches, 0);
	CHECK_STR(x.run.cuda_error, "cudaErrorInvalidValue");
	CHECK_STR(x.run.cuda_detail, "launch of hang: 49153 bytes of dynamic shared memory, at most 49152; cudaFuncSetAttribute(..., "
				     "cudaFuncAttributeMaxDynamicSharedMemorySize, ...) can raise it to 232448");
	finish(&x);
}

TEST(host_access_to_device_memory_is_explained)
{
	struct fixture x;
	solve_with(&x, SOLVE "{ c[0] = 1; }");
	CHECK(!x.run.done);
	CHECK_EQ(x.run.guest.end, JAIL_SIGNALED);
	CHECK_EQ(x.run.guest.status, SIGSEGV);
	CHECK_EQ(x.run.crash, CRASH_DEVICE);
	CHECK(x.run.crash_addr != 0);
	finish(&x);
}

TEST(works_without_the_sandbox)
{
	struct session_options o = {.device = "null:x", .memory = 64 << 20, .unsandboxed = true};
	struct compiled image = {.ok = true, .ptx = "ok", .ptx_size = 2, .guest_fd = -1};
	struct fixture x = {.s = session_open(&o, &x.e)};
	CHECK_MSG(x.s, "%s", x.e.text);
	CHECK_EQ(session_load(x.s, &image, &x.e), 0);
	int guest = build_guest(SOLVE "{" ADD "}");
	lay_out(&x);
	x.run.guest_fd = guest;
	CHECK_MSG(session_run(x.s, &x.run, &x.e) == 0, "%s", x.e.text);
	close(guest);
	CHECK(x.run.done);
	finish(&x);
}

TEST(prints_are_kept_apart)
{
	struct fixture x;
	solve_with(&x, SOLVE "{ int i = 7; void *args[] = {&i}; launch(&hello, args); printf(\"host\\n\"); }");
	CHECK(x.run.done);
	CHECK_STR(buf_str(&x.run.device_output), "hello 7\n");
	CHECK_STR(buf_str(&x.run.guest.out), "host\n");
	finish(&x);
}

TEST(prepare_comes_first)
{
	struct fixture x = {.s = open_session()};
	int guest = build_guest("void prepare(float *a, int n) { int i = 1; void *args[] = {&i}; launch(&hello, args); }"
				SOLVE "{" ADD "}");
	lay_out(&x);
	struct session_argument p[2] = {x.arguments[0], x.arguments[3]};
	x.run.prepare = p;
	x.run.n_prepare = 2;
	x.run.guest_fd = guest;
	CHECK_MSG(session_run(x.s, &x.run, &x.e) == 0, "%s", x.e.text);
	close(guest);
	CHECK(x.run.done && x.run.has_prepare);
	CHECK_EQ(x.run.n_launches, 2);
	CHECK(x.run.launches[0].prepare && !x.run.launches[1].prepare);
	finish(&x);
}

TEST(many_mixed_arguments)
{
	struct fixture x = {.s = open_session()};
	int guest = build_guest("arguments.c");
	lay_out(&x);
	struct session_argument v[] = {
		{.kind = ARGUMENT_I32, .i = -1}, {.kind = ARGUMENT_F64, .f = 2.5}, {.kind = ARGUMENT_F32, .f = 1.5},
		{.kind = ARGUMENT_I64, .i = 1ll << 40}, {.kind = ARGUMENT_NULL}, {.kind = ARGUMENT_I32, .i = 6},
		{.kind = ARGUMENT_F32, .f = 7}, {.kind = ARGUMENT_I32, .i = 8}, {.kind = ARGUMENT_I32, .i = 9},
		{.kind = ARGUMENT_I32, .i = -10}, {.kind = ARGUMENT_F64, .f = 11},
	};
	x.run.solve = v;
	x.run.n_solve = 11;
	x.run.guest_fd = guest;
	CHECK(session_run(x.s, &x.run, &x.e) == 0);
	close(guest);
	CHECK_STR(buf_str(&x.run.guest.out), "");
	CHECK(x.run.done);
	finish(&x);
}

/* ---- ends that are not the guest's own ---- */

TEST(hang_is_cut_off_and_the_session_lives)
{
	struct fixture x = {.s = open_session()};
	int guest = build_guest(SOLVE "{ if (n == 50000) { " ADD " return; } launch(&hang, 0); cudaDeviceSynchronize(); }");
	lay_out(&x);
	x.arguments[3].i = 1;
	x.run.limits.wall_ms = 300;
	x.run.guest_fd = guest;
	CHECK_MSG(session_run(x.s, &x.run, &x.e) == 0, "%s", x.e.text);
	CHECK_EQ(x.run.guest.end, JAIL_WALL);
	CHECK(!x.run.done && !session_dead(x.s));
	session_run_free(&x.run);
	lay_out(&x);
	x.run.guest_fd = guest;
	CHECK_MSG(session_run(x.s, &x.run, &x.e) == 0, "%s", x.e.text);
	CHECK(x.run.done);
	close(guest);
	finish(&x);
}

TEST(crash_of_the_device_is_told)
{
	struct fixture x;
	solve_with(&x, SOLVE "{ launch(&crash, 0); cudaDeviceSynchronize(); }");
	CHECK(session_dead(x.s));
	CHECK_MSG(strstr(x.e.text, "the device process crashed (signal 6"), "%s", x.e.text);
	finish(&x);
}

TEST(bad_images)
{
	struct session *s = open_session();
	struct err e = {0};
	struct compiled c = {.ok = true, .ptx = "bad", .ptx_size = 3};
	CHECK_EQ(session_load(s, &c, &e), -1);
	CHECK_EQ(e.kind, ERR_INPUT);
	CHECK_STR(e.text, "t.cu:7: that instruction is not supported");
	CHECK(!session_dead(s));
	c.ptx = "crash";
	c.ptx_size = 5;
	CHECK_EQ(session_load(s, &c, &e), -1);
	CHECK_EQ(e.kind, ERR_SYSTEM);
	CHECK(session_dead(s) && !session_exhausted(s));
	session_close(s);
	s = open_session();
	session_close(s);
}

TEST_WITHIN(memory_of_the_device_process_is_limited, 60)
{
	struct jail_host host;
	struct err e = {0};
	struct compiled c = {.ok = true, .ptx = "greedy", .ptx_size = 6};
#ifdef __SANITIZE_ADDRESS__
	test_skip("a sanitizer's device process has no limit of memory");
#endif
	jail_host(&host);
	if (!host.usable || host.cgroup == CGROUP_NONE)
		test_skip("no control groups");
	struct session *s = open_session();
	CHECK_EQ(session_load(s, &c, &e), -1);
	CHECK_MSG(session_dead(s) && session_exhausted(s), "%s", e.text);
	session_close(s);
}

/* The only child of a process, or of its thread that has any. */
static pid_t child_of(pid_t parent)
{
	char path[64], text[32] = "";
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
	FILE *f = fopen(path, "re");
	CHECK(f);
	size_t n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	CHECK_MSG(n && atoi(text) > 0, "%d has no child", (int)parent);
	return atoi(text);
}

/* Of a crash the program may be to blame; not of somebody's SIGKILL, be it sent to the device process or to its supervisor. */
TEST(a_killed_device_process_is_told_from_a_crashed_one)
{
	for (int program = 0; program < 2; program++) {
		struct session *s = open_session();
		struct err e = {0};
		pid_t supervisor = child_of(getpid());
		CHECK_EQ(kill(program ? child_of(supervisor) : supervisor, SIGKILL), 0);
		for (int i = 0; i < 500 && session_reset(s, &e) == 0; i++)		/* it may answer once more */
			nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
		CHECK_EQ(e.kind, ERR_SYSTEM);
		CHECK_MSG(session_dead(s) && session_killed(s) && !session_exhausted(s), "%s", e.text);
		session_close(s);
	}
	struct fixture x;
	solve_with(&x, SOLVE "{ launch(&crash, 0); cudaDeviceSynchronize(); }");
	CHECK_MSG(session_dead(x.s) && !session_killed(x.s), "%s", x.e.text);
	finish(&x);
}

TEST(unknown_device_names_the_form)
{
	struct session_options o = {.device = "gpuX", .unsandboxed = true};
	struct err e = {0};
	CHECK(!session_open(&o, &e));
	CHECK_MSG(strstr(e.text, "gpuX"), "%s", e.text);
}

/* ---- guests that speak the protocol themselves ---- */

#define RAW                                                                                            \
	"#include <sys/socket.h>\n"                                                                    \
	"static unsigned r[20000];"                                                                    \
	"static void put(const void *m, int n) { send(3, m, n, MSG_NOSIGNAL); }"                       \
	"static void get(void) { recv(3, r, sizeof r, 0); }"                                           \
	"static void greet(void) { unsigned m[] = {WIRE_HELLO, WIRE_VERSION}; put(m, 8); get(); }"                         \
	"int main() { setvbuf(stdout, 0, _IONBF, 0);"

static void refused(const char *source, const char *text)
{
	struct fixture x;
	solve_with(&x, source);
	CHECK(!x.run.done);
	CHECK_MSG(x.run.protocol_error, "no protocol error; guest: %s", buf_str(&x.run.guest.out));
	CHECK_STR(x.run.protocol_text, text);
	CHECK(!session_dead(x.s));
	finish(&x);
}

TEST(protocol_unknown_kind)
{
	refused(RAW "greet(); unsigned m[] = {99, 0}; put(m, 8); get(); }", "there is no message of kind 99");
}

TEST(protocol_short)
{
	refused(RAW "greet(); put(\"ab\", 2); get(); }", "a message of 2 bytes has no kind");
}

TEST(protocol_truncated)
{
	refused(RAW "greet(); unsigned m[] = {WIRE_ALLOC}; put(m, 4); get(); }", "ALLOC of 4 bytes: it has 16 to 16");
}

TEST(protocol_oversized)
{
	refused(RAW "greet(); static char m[100000]; put(m, sizeof m); get(); }", "a message of more than 65792 bytes");
}

TEST(protocol_no_hello)
{
	refused(RAW "unsigned m[] = {WIRE_SYNC, 0}; put(m, 8); get(); }", "SYNC is out of order");
}

TEST(protocol_other_version)
{
	refused(RAW "unsigned m[] = {WIRE_HELLO, 77}; put(m, 8); get(); }",
		"the guest runtime speaks version 77, the device process version 1");
}

TEST(protocol_done_before_solve)
{
	refused(RAW "greet(); unsigned m[] = {WIRE_DONE, 0}; put(m, 8); get(); }", "DONE is out of order");
}

TEST(protocol_phase_twice)
{
	refused(RAW "greet(); unsigned m[] = {WIRE_PHASE, WIRE_SOLVE, 0, 0}; put(m, 16); get(); put(m, 16); get(); }",
		"PHASE is out of order");
}

TEST(protocol_prepare_that_there_is_none)
{
	refused(RAW "greet(); unsigned m[] = {WIRE_PHASE, WIRE_PREPARE, 1, 0}; put(m, 16); get(); }", "PHASE 4 is out of order");
}

TEST(protocol_wrong_kernel)
{
	refused(RAW "greet(); unsigned m[14] = {WIRE_LAUNCH, 77, 1, 1, 1, 1, 1, 1, 0, 0}; put(m, 56); get(); }",
		"LAUNCH of kernel 77: there are 6");
}

TEST(protocol_wrong_parameters)
{
	refused(RAW "greet(); unsigned m[16] = {WIRE_LAUNCH, 0, 1, 1, 1, 1, 1, 1, 0, 0}; put(m, 64); get(); }",
		"LAUNCH of add with 8 bytes of parameters: it has 32");
}

TEST(protocol_wrong_shape)
{
	refused(RAW "greet(); unsigned m[14] = {WIRE_LAUNCH, 2, 0, 1, 1, 1, 1, 1, 0, 0}; put(m, 56); get(); }",
		"LAUNCH of grid 0x1x1, block 1x1x1");
}

TEST(protocol_wrong_unit)
{
	refused(RAW "greet(); struct wire_fill m = {WIRE_FILL, 3, 0, 0, 4096, 3, 3, 1}; put(&m, sizeof m); get(); }",
		"FILL in units of 3 bytes");
}

TEST(wild_addresses_are_answered)
{
	struct fixture x;
	solve_with(&x, RAW "greet();"
			   "struct wire_download down = {WIRE_DOWNLOAD, 0, -1, 100, 8, 5}, vast = {WIRE_DOWNLOAD, 0, 0x7f0000001000, 1l << 40, 1l << 40, 1l << 40};"
			   "struct wire_copy copy = {WIRE_COPY, 0, -8, 16, 4096, 16, 16, 1ul << 60};"
			   "struct wire_alloc alloc = {WIRE_ALLOC, 0, -1}; struct wire_release release = {WIRE_RELEASE, 0, 4096};"
			   "struct wire_upload up = {WIRE_UPLOAD, 1, 8};"
			   "put(&down, sizeof down); get(); EXPECT(r[1], cudaErrorInvalidValue);"
			   "put(&vast, sizeof vast); get(); EXPECT(r[1], cudaErrorInvalidValue);"
			   "put(&copy, sizeof copy); get(); EXPECT(r[1], cudaErrorInvalidValue);"
			   "put(&alloc, sizeof alloc); get(); EXPECT(r[1], cudaErrorMemoryAllocation);"
			   "put(&release, sizeof release); get(); EXPECT(r[1], cudaErrorInvalidValue);"
			   "put(&up, sizeof up); get(); EXPECT(r[1], cudaSuccess);	/* no bytes */ }");
	CHECK_STR(buf_str(&x.run.guest.out), "");
	CHECK(!x.run.protocol_error && !x.run.done);
	finish(&x);
}

TEST(guest_that_closes_half_way)
{
	struct fixture x;
	solve_with(&x, RAW "greet(); struct wire_download m = {WIRE_DOWNLOAD, 0, 0x7f0000001000, 4, 4, 1}; put(&m, sizeof m);"
			   "shutdown(3, SHUT_RDWR); }");
	CHECK(!x.run.done);
	CHECK(!session_dead(x.s));
	finish(&x);
}

TEST_WITHIN(a_million_messages, 60)
{
	struct fixture x;
	solve_with(&x, RAW "greet(); unsigned m[] = {WIRE_NOTE, 1}; for (int i = 0; i < 300000; i++) put(m, 8); }");
	CHECK(!x.run.done && !x.run.protocol_error);
	CHECK_STR(x.run.cuda_error, "cudaErrorInvalidValue");
	finish(&x);
}

TEST_WITHIN(launches_have_a_limit, 60)
{
	struct fixture x;
	solve_with(&x, SOLVE "{ int i = 1; void *args[] = {&i}; for (int k = 0; k < 70000; k++) launch(&hello, args); }");
	CHECK(!x.run.done);
	CHECK_EQ(x.run.n_launches, CONTROL_LAUNCHES_MAX);
	CHECK_EQ(x.run.fault.kind, FAULT_BAD_LAUNCH);
	CHECK_STR(x.run.fault.detail, "more than 65536 kernel launches in one run");
	finish(&x);
}

TEST_WITHIN(device_text_has_a_limit, 60)
{
	struct fixture x;
	solve_with(&x, "void solve() { int i = 1000000; void *args[] = {&i}; for (int k = 0; k < 65536; k++) { launch(&hello, args);"
		       "launch(&hello, args); if (k == 30000) return; } }");
	CHECK(x.run.done);
	CHECK(x.run.device_output.size == 60002 * 14 || x.run.device_output.size == CONTROL_TEXT_MAX);
	finish(&x);
}

TEST(program_gets_arguments_and_device_text)
{
	struct fixture x = {.s = open_session()};
	const char *argv[] = {"prog", "one", NULL};
	int guest = build_guest("int main(int argc, char **argv) { int i = 3; void *args[] = {&i}; printf(\"%s\\n\", argv[1]);"
				"launch(&hello, args); EXPECT(cudaDeviceSynchronize(), 0); printf(\"end\\n\"); return 5; }");
	lay_out(&x);
	x.run.program = true;
	x.run.argv = argv;
	x.run.guest_fd = guest;
	x.run.n_solve = 0;
	CHECK_MSG(session_run(x.s, &x.run, &x.e) == 0, "%s", x.e.text);
	close(guest);
	CHECK_STR(buf_str(&x.run.guest.out), "one\nhello 3\nend\n");
	CHECK_EQ(x.run.guest.status, 5);
	finish(&x);
}
