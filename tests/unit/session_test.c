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
#include <sys/socket.h>
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

static int build_guest(const char *source)
{
	char dir[] = "/tmp/session_test.XXXXXX", path[64], command[1000];
	const char *b = getenv("B") ? getenv("B") : "build", *cuda = getenv("CUDA_HOME") ? getenv("CUDA_HOME") : "/usr/local/cuda";
	snprintf(path, sizeof path, "%s/libguest.a", b);
	if (access(path, R_OK) < 0)
		test_skip("no libguest.a: make it first");
	CHECK(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/guest.c", dir);
	FILE *f = fopen(path, "w");
	CHECK(f);
	fprintf(f, "#include \"session_guest.h\"\n%s\n", source);
	fclose(f);
	snprintf(command, sizeof command, "gcc -w -O1 -static -no-pie -isystem %s/include -Itests/unit -o %s/guest %s/guest.c %s/libguest.a",
		 cuda, dir, dir, b);
	CHECK_EQ(system(command), 0);
	snprintf(path, sizeof path, "%s/guest", dir);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	snprintf(command, sizeof command, "rm -r %s", dir);
	CHECK_EQ(system(command), 0);
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
	x->run = (struct session_run){.solve = x->arguments, .n_solve = 5, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1,
				      .limits = {.wall_ms = 5000, .memory = 256 << 20, .output = 65536}};
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

TEST(fault_is_sticky)
{
	struct fixture x;
	solve_with(&x, SOLVE "{ void *args[] = {&a}; EXPECT(launch(&wild, args), cudaSuccess); EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);"
		   "EXPECT(cudaGetLastError(), cudaErrorIllegalAddress); EXPECT(cudaGetLastError(), cudaSuccess);"
		   "void *p; EXPECT(cudaMalloc(&p, 4), cudaErrorIllegalAddress); }");
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
	solve_with(&x, SOLVE "{ EXPECT(cudaMemset(a, 0, 4), cudaErrorInvalidValue); EXPECT(cudaMemcpy(b, a, 4, cudaMemcpyDeviceToDevice), "
			     "cudaErrorInvalidValue); EXPECT(cudaFree(a), cudaErrorInvalidValue);" ADD "}");
	CHECK_STR(buf_str(&x.run.guest.out), "");
	CHECK_EQ(x.run.fault.kind, FAULT_READ_ONLY);
	CHECK_STR(x.run.fault.detail, "cudaMemset writes to the input a");
	finish(&x);
}

TEST(copies)
{
	struct fixture x;
	solve_with(&x, SOLVE "{ static float h[50000], g[50000]; float *d; EXPECT(cudaMalloc((void **)&d, sizeof h), 0);"
			     "EXPECT(cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost), 0); EXPECT(h[49999], 49999);"
			     "EXPECT(cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice), 0); EXPECT(cudaMemcpy(g, d, sizeof g, cudaMemcpyDefault), 0);"
			     "EXPECT(memcmp(g, h, sizeof h), 0); EXPECT(cudaMemcpy(c, d, sizeof h, cudaMemcpyDeviceToDevice), 0);"
			     "float m[3][2]; EXPECT(cudaMemcpy2D(m, 8, a, 400, 8, 3, cudaMemcpyDeviceToHost), 0); EXPECT(m[2][1], 201);"
			     "EXPECT(cudaMemset2D(d, 400, 0xff, 4, 10), 0); EXPECT(cudaMemcpy(g, d, sizeof g, cudaMemcpyDeviceToHost), 0);"
			     "EXPECT(g[100] != g[100], 1); EXPECT(g[101], 101);"
			     "EXPECT(cudaMemcpy(h, g, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);"
			     "EXPECT(cudaMemcpy(d, h, sizeof h + 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);"
			     "EXPECT(cudaMemcpy((void *)16, a, sizeof h, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);"
			     "EXPECT(cudaMemcpy(d, (void *)16, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);"
			     "EXPECT(cudaMemcpy(h, a, 4, cudaMemcpyDeviceToHost), 0); EXPECT(cudaFree(d), 0); EXPECT(cudaFree(d), cudaErrorInvalidValue); }");
	CHECK_STR(buf_str(&x.run.guest.out), "");
	CHECK(x.run.done);
	CHECK_EQ(x.run.allocations, 1);
	CHECK_EQ(x.run.allocated_bytes, N * 4);
	CHECK(x.run.host_copies >= 6);
	finish(&x);
}

TEST(mirrors_symbols_events_graphs)
{
	struct fixture x;
	solve_with(&x, SOLVE "{ int *m, *h, k = 3, five[16] = {5}; EXPECT(cudaMallocManaged((void **)&m, 400000, cudaMemAttachGlobal), 0);"
			     "for (int i = 0; i < 100000; i++) m[i] = i; int all = 100000; void *first[] = {&m, &all};"
			     "launch(&increment, first); launch(&increment, first); EXPECT(cudaDeviceSynchronize(), 0); EXPECT(m[99999], 100001);"
			     "m[0] = 7; launch(&increment, first); EXPECT(cudaDeviceSynchronize(), 0); EXPECT(m[0], 8); EXPECT(m[1], 4);"
			     "EXPECT(cudaHostAlloc((void **)&h, 64, cudaHostAllocMapped), 0); memset(h, 0, 64); int *dh; cudaHostGetDevicePointer((void **)&dh, h, 0);"
			     "void *more[] = {&dh, &k}; launch(&increment, more); EXPECT(cudaDeviceSynchronize(), 0); EXPECT(h[2], 1); EXPECT(h[3], 0);"
			     "EXPECT(cudaMemcpyToSymbol(variable, five, 64, 0, cudaMemcpyHostToDevice), 0); EXPECT(cudaMemcpyFromSymbol(&k, variable, 4, 0, cudaMemcpyDeviceToHost), 0); EXPECT(k, 5);"
			     "EXPECT(cudaMemcpyToSymbol(variable, five, 64, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);"
			     "cudaStream_t s; EXPECT(cudaStreamCreate(&s), 0); EXPECT(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), 0); int one = 1; void *third[] = {&m, &one};"
			     "EXPECT(cudaLaunchKernel(&increment, (dim3){1,1,1}, (dim3){1,1,1}, third, 0, s), 0); cudaGraph_t g; EXPECT(cudaStreamEndCapture(s, &g), 0);"
			     "cudaGraphExec_t ge; EXPECT(cudaGraphInstantiate(&ge, g, 0), 0); for (int i = 0; i < 3; i++) EXPECT(cudaGraphLaunch(ge, s), 0);"
			     "EXPECT(cudaStreamSynchronize(s), 0); EXPECT(m[0], 11); EXPECT(cudaFree(m), 0); EXPECT(cudaFreeHost(h), 0);"
			     "cudaEvent_t e; float ms; EXPECT(cudaEventCreate(&e), 0); EXPECT(cudaEventElapsedTime(&ms, e, e), cudaErrorInvalidResourceHandle); EXPECT(cudaEventRecord(e, s), 0); EXPECT(cudaEventElapsedTime(&ms, e, e), 0);"
			     ADD "}");
	CHECK_STR(buf_str(&x.run.guest.out), "");
	CHECK(x.run.done);
	finish(&x);
}

TEST(configuration_errors)
{
	struct fixture x;
	solve_with(&x, "#define L(g, b, sh) cudaLaunchKernel(&hang, g, b, 0, sh, 0)\n" SOLVE
		   "{ EXPECT(L(((dim3){0,1,1}), ((dim3){1,1,1}), 0), cudaErrorInvalidValue); EXPECT(cudaGetLastError(), cudaErrorInvalidValue); EXPECT(cudaGetLastError(), 0);"
		   "EXPECT(L(((dim3){1,1,1}), ((dim3){1025,1,1}), 0), cudaErrorInvalidValue); EXPECT(L(((dim3){1,1,1}), ((dim3){1,1,65}), 0), cudaErrorInvalidValue);"
		   "EXPECT(L(((dim3){1,1,1}), ((dim3){1,1,1}), 49153), cudaErrorInvalidValue); EXPECT(cudaFuncSetAttribute(&hang, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449), cudaErrorInvalidValue);"
		   "EXPECT(cudaLaunchCooperativeKernel(&hang, (dim3){999,1,1}, (dim3){1024,1,1}, 0, 0, 0), cudaErrorCooperativeLaunchTooLarge);"
		   "EXPECT(launch(variable, 0), cudaErrorInvalidResourceHandle);" ADD "}");
	CHECK_STR(buf_str(&x.run.guest.out), "");
	CHECK(x.run.done);
	CHECK_STR(x.run.cuda_error, "cudaErrorInvalidResourceHandle");
	finish(&x);
}

TEST(prints_are_kept_apart)
{
	struct fixture x;
	solve_with(&x, SOLVE "{ int i = 7; void *args[] = {&i}; launch(&hello, args); printf(\"host\\n\");" "}");
	CHECK(x.run.done);
	CHECK_STR(buf_str(&x.run.device_output), "hello 7\n");
	CHECK_STR(buf_str(&x.run.guest.out), "host\n");
	finish(&x);
}

TEST(prepare_comes_first)
{
	struct fixture x = {.s = open_session()};
	int guest = build_guest("void prepare(float *a, int n) { int i = 1; void *args[] = {&i}; launch(&hello, args); }" SOLVE "{" ADD "}");
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
	int guest = build_guest("void solve(int a, double b, float c, long d, float *e, int f, float g, int h, int i, int j, double k) {"
				"EXPECT(a, -1); EXPECT(b * 4, 10); EXPECT(c * 2, 3); EXPECT(d, 1L << 40); EXPECT(e == 0, 1); EXPECT(f, 6);"
				"EXPECT(g, 7); EXPECT(h, 8); EXPECT(i, 9); EXPECT(j, -10); EXPECT(k, 11); }");
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
	CHECK(session_dead(s));
	session_close(s);
	s = open_session();
	session_close(s);
}

TEST(unknown_device_names_the_form)
{
	struct session_options o = {.device = "gpuX", .unsandboxed = true};
	struct err e = {0};
	CHECK(!session_open(&o, &e));
	CHECK_MSG(strstr(e.text, "gpuX"), "%s", e.text);
}

/* ---- guests that speak the protocol themselves ---- */

#define RAW "#include <sys/socket.h>\n" \
	    "static unsigned r[20000]; static int put(const void *m, int n) { return send(3, m, n, MSG_NOSIGNAL); } static int get(void) { return recv(3, r, sizeof r, 0); }\n" \
	    "static void greet(void) { unsigned m[] = {1, 1}; put(m, 8); get(); }\n int main() { setvbuf(stdout, 0, _IONBF, 0); "

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

TEST(protocol_unknown_kind) { refused(RAW "greet(); unsigned m[] = {99, 0}; put(m, 8); get(); }", "there is no message of kind 99"); }
TEST(protocol_short) { refused(RAW "greet(); put(\"ab\", 2); get(); }", "a message of 2 bytes has no kind"); }
TEST(protocol_truncated) { refused(RAW "greet(); unsigned m[] = {4}; put(m, 4); get(); }", "ALLOC of 4 bytes: it has 16 to 16"); }
TEST(protocol_oversized) { refused(RAW "greet(); static char m[100000]; put(m, sizeof m); get(); }", "a message of more than 65792 bytes"); }
TEST(protocol_no_hello) { refused(RAW "unsigned m[] = {11, 0}; put(m, 8); get(); }", "SYNC is out of order"); }
TEST(protocol_done_before_solve) { refused(RAW "greet(); unsigned m[] = {18, 0}; put(m, 8); get(); }", "DONE is out of order"); }
TEST(protocol_phase_twice)
{
	refused(RAW "greet(); unsigned m[] = {17, 8, 0, 0}; put(m, 16); get(); put(m, 16); get(); }", "PHASE is out of order");
}
TEST(protocol_wrong_kernel)
{
	refused(RAW "greet(); unsigned m[] = {10, 77, 1, 1, 1, 1, 1, 1, 0, 0}; put(m, 40); get(); }", "LAUNCH of kernel 77: there are 6");
}
TEST(protocol_wrong_parameters)
{
	refused(RAW "greet(); unsigned m[12] = {10, 0, 1, 1, 1, 1, 1, 1, 0, 0}; put(m, 48); get(); }",
		"LAUNCH of add with 8 bytes of parameters: it has 32");
}
TEST(protocol_wrong_shape)
{
	refused(RAW "greet(); unsigned m[10] = {10, 2, 0, 1, 1, 1, 1, 1, 0, 0}; put(m, 40); get(); }",
		"LAUNCH of grid 0x1x1, block 1x1x1");
}

TEST(wild_addresses_are_answered)
{
	struct fixture x;
	solve_with(&x, RAW "greet(); unsigned long m[6] = {7, -1, 100, 8, 5}; put(m, 40); get(); EXPECT(r[1], 1);"
			   "unsigned long c[7] = {8, -8, 16, 4096, 16, 16, 1ul << 60}; put(c, 56); get(); EXPECT(r[1], 1);"
			   "unsigned long d[5] = {7, 0x7f0000001000, 1ul << 40, 1ul << 40, 1ul << 40}; put(d, 40); get(); EXPECT(r[1], 1);"
			   "unsigned long a[2] = {4, -1}; put(a, 16); get(); EXPECT(r[1], 2); }");
	CHECK_STR(buf_str(&x.run.guest.out), "");
	CHECK(!x.run.protocol_error && !x.run.done);
	finish(&x);
}

TEST(guest_that_closes_half_way)
{
	struct fixture x;
	solve_with(&x, RAW "greet(); unsigned m[] = {7, 0, 4096, 127, 4, 0, 4, 0, 1, 0}; put(m, 40); shutdown(3, SHUT_RDWR); }");
	CHECK(!x.run.done);
	CHECK(!session_dead(x.s));
	finish(&x);
}

TEST_WITHIN(a_million_messages, 60)
{
	struct fixture x;
	solve_with(&x, RAW "greet(); unsigned m[] = {16, 1}; for (int i = 0; i < 300000; i++) put(m, 8); }");
	CHECK(!x.run.done && !x.run.protocol_error);
	CHECK_STR(x.run.cuda_error, "cudaErrorInvalidValue");
	finish(&x);
}

TEST(program_gets_arguments_and_device_text)
{
	struct fixture x = {.s = open_session()};
	const char *argv[] = {"prog", "one", NULL};
	int guest = build_guest("int main(int argc, char **argv) { int i = 3; void *args[] = {&i}; printf(\"%s\\n\", argv[1]); launch(&hello, args);"
				"EXPECT(cudaDeviceSynchronize(), 0); printf(\"end\\n\"); return 5; }");
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
