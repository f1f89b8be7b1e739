/* The compile plan: see compile_plan.h.
 *
 * nvcc runs its tools one after the other: two preprocessor runs, the front end for the host side, the device compiler,
 * the host compiler.  `nvcc --dryrun` prints them as shell commands.  The plan runs those very commands, but the host side
 * and the device side at the same time, so a compilation takes half as long:
 *
 *	front-cpp -> front (cudafe++) ----------------------+-> host (gcc -c) -> link
 *	device-cpp -> device (cicc: PTX) -> fatbin ---------+
 *	                                  \-> ptxas -v (checks the PTX, counts registers)
 *
 * The two sides share one thing, the id that names symbols of internal linkage, which the front end would write and the
 * device compiler read: it is written beforehand.  If an nvcc prints something else than these steps, the plan is made of
 * two plain nvcc runs, side by side.
 *
 * What preprocessor and front end make of the CUDA headers is the same for nearly every source; where it is, it is taken from
 * where it was kept, and the host compiler takes it precompiled (compile_prefix.h, compile_kept.h).
 *
 * A script of POSIX sh holds the plan: the printed commands are shell text already, and the jail has a shell anyway.
 */
#include "compile_plan.h"

#include "base/cleanup.h"
#include "compile_kept.h"
#include "compile_prefix.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define INSIDE_ROOT "/cuda"
/* Compilers spend a third of their time on page faults: have glibc ask for memory in large pieces, and for huge pages, of which it
 * learns from a file of the kernel. */
#define HUGE_PAGES "/sys/kernel/mm/transparent_hugepage"
#define TUNABLES "GLIBC_TUNABLES=glibc.malloc.top_pad=67108864:glibc.malloc.hugetlb=1"
#define MODULE_ID "_00000000_11_solution_cu_00000000"

static const char *const step_names[] = {
#define X(id, name, text) name,
	COMPILE_STEPS(X)
#undef X
};

static const char *const step_texts[] = {
#define X(id, name, text) text,
	COMPILE_STEPS(X)
#undef X
};

const char *compile_step_name(enum compile_step step)
{
	return step_names[step];
}

const char *compile_step_text(enum compile_step step)
{
	return step_texts[step];
}

/* ---- the jail ---- */

/* A toolkit that a distribution put into /usr is reached there. */
const char *compile_inside_root(const struct compile_request *rq, const struct toolchain *t)
{
	bool there = !strcmp(t->root, "/usr") || !strncmp(t->root, "/usr/lib/", 9);
	return rq->unsandboxed || there ? t->root : INSIDE_ROOT;
}

/* NVCC_CCBIN is nvcc's own way to be told of another host compiler; nothing else of the judge's environment goes in. */
static const char *environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=/tmp", "TMPDIR=/tmp", TUNABLES, NULL, NULL};

static void set_host_compiler(void)
{
	const char *compiler = getenv("NVCC_CCBIN");
	struct buf b = {0};
	if (!compiler || !*compiler)
		return;
	buf_printf(&b, "NVCC_CCBIN=%s", compiler);
	environment[sizeof environment / sizeof *environment - 2] = b.data;
}

void compile_jail(struct jail_spec *s, const struct compile_request *rq, const struct toolchain *t, const char *script,
		  struct jail_mount *mounts, const char **argv)
{
	static const char *const system_folders[] = {"/bin", "/lib", "/lib64", "/lib32", "/usr/bin", "/usr/lib", "/usr/lib64",
						     "/usr/lib32", "/usr/libexec", "/usr/include", HUGE_PAGES};
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	unsigned n = 0;
	pthread_once(&once, set_host_compiler);
	for (unsigned i = 0; i < sizeof system_folders / sizeof *system_folders; i++)
		mounts[n++] = (struct jail_mount){system_folders[i], system_folders[i]};
	mounts[n++] = (struct jail_mount){t->root, compile_inside_root(rq, t)};
	if (!strcmp(mounts[n - 1].host, mounts[n - 1].inside))
		n--;
	/* Each tool's processor time is limited, and the whole by the clock with room for a machine that is busy: a source must
	 * not fail to compile because others are being compiled. */
	unsigned time = rq->wall_ms ? rq->wall_ms : 60000, tries = time < 12000 ? 3000 : time / 4;	/* of slices: add_prologue */
	argv[0] = "/bin/sh";
	argv[1] = "-c";
	argv[2] = script;
	argv[3] = NULL;
	*s = (struct jail_spec){
		.policy = JAIL_COMPILE, .name = "compile", .argv = argv, .envp = environment, .exe_fd = -1,
		.mounts = mounts, .n_mounts = n, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1,
		.unsandboxed = rq->unsandboxed,
		.limits = {.cpu_ms = time + tries, .wall_ms = 3 * time, .memory = rq->memory ? rq->memory : 4ull << 30,
			   .processes = 64, .file_size = 256 << 20, .tmpfs = 512 << 20, .output = 4 << 20},
	};
}

/* ---- commands ---- */

struct commands {
	char *lines[N_COMPILE_STEPS];	/* of nvcc's own steps; NULL: not seen */
	bool odd;			/* a line that is not understood, or seen twice */
	struct buf variables;		/* shell assignments that the lines need */
};

static void quote(struct buf *b, const char *word)
{
	buf_addc(b, '\'');
	for (; *word; word++)
		if (*word == '\'')
			buf_adds(b, "'\\''");
		else
			buf_addc(b, *word);
	buf_addc(b, '\'');
}

/* What every nvcc run of ours is given. */
static void add_options(struct buf *b, const struct compile_request *rq)
{
	/* -arch=compute_90a would also compile for 90, where an architecture's own instructions (wgmma) are errors */
	buf_printf(b, " -gencode=arch=compute_%s,code=compute_%s -lineinfo -cudart none -Xcompiler=-O1,-fno-pie,-fno-diagnostics-show-caret "
		   "-include " COMPILE_PRELUDE, rq->arch, rq->arch);
	for (const char *const *o = rq->options; o && *o; o++) {
		buf_addc(b, ' ');
		quote(b, *o);
	}
	buf_adds(b, " " COMPILE_SOURCE);
}

static bool has(const char *line, const char *part)
{
	return strstr(line, part) != NULL;
}

/* Which step a printed command is; N_COMPILE_STEPS: none. */
static enum compile_step recognise(const char *line)
{
	if (!strncmp(line, "cudafe++ ", 9) && has(line, "--module_id_file_name"))
		return STEP_FRONT;
	if (!strncmp(line, "\"$CICC_PATH/cicc\" ", 18) && has(line, "--module_id_file_name") && has(line, ".ptx\""))
		return STEP_DEVICE;
	if (!strncmp(line, "fatbinary ", 10))
		return STEP_FATBIN;
	if (!strncmp(line, "ptxas ", 6))
		return STEP_PTXAS;
	if (has(line, " -E ") && has(line, ".cpp4.ii\""))
		return STEP_FRONT_CPP;
	if (has(line, " -E ") && has(line, ".cpp1.ii\""))
		return STEP_DEVICE_CPP;
	if (has(line, " -c ") && has(line, ".cudafe1.cpp\"") && has(line, "-o \"solution.o\""))
		return STEP_HOST;
	return N_COMPILE_STEPS;
}

/* NAME=value, one that a command refers to. */
static bool wanted_variable(const char *line)
{
	return !strncmp(line, "PATH=", 5) || !strncmp(line, "CICC_PATH=", 10) || !strncmp(line, "LD_LIBRARY_PATH=", 16);
}

static void add_variable(struct buf *b, const char *line)
{
	const char *value = strchr(line, '=') + 1;
	buf_printf(b, "export %.*s", (int)(value - line), line);
	quote(b, value);
	buf_addc(b, '\n');
}

static void add_command(struct commands *c, char *line)
{
	static const char generate[] = "--gen_module_id_file ";
	size_t name = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
	if (name && line[name] == '=') {
		if (wanted_variable(line))
			add_variable(&c->variables, line);
		return;
	}
	if (!strncmp(line, "rm ", 3))
		return;
	enum compile_step step = recognise(line);
	if (step == N_COMPILE_STEPS || c->lines[step]) {
		c->odd = true;
		return;
	}
	char *flag = step == STEP_FRONT ? strstr(line, generate) : NULL;
	if (flag)
		memmove(flag, flag + sizeof generate - 1, strlen(flag + sizeof generate - 1) + 1);
	c->lines[step] = line;
}

/* Take nvcc's printed commands apart, in place. */
static void read_commands(char *text, struct commands *c)
{
	for (char *save, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!strncmp(line, "#$ ", 3))
			add_command(c, line + 3);
	static const enum compile_step needed[] = {STEP_FRONT_CPP, STEP_FRONT, STEP_DEVICE_CPP, STEP_DEVICE, STEP_FATBIN, STEP_HOST};
	for (unsigned i = 0; i < sizeof needed / sizeof *needed; i++)
		c->odd |= !c->lines[needed[i]];
}

/* ---- the script ---- */

static void add_step(struct buf *b, enum compile_step step, const char *command)
{
	buf_printf(b, "run %s ", step_names[step]);
	quote(b, command);
}

static void add_prologue(struct buf *b, const struct commands *c)
{
	buf_add(b, c->variables.data, c->variables.size);
	/* Three steps try slices first.  Together they may take a quarter of the processor time that a compilation has, a second each at
	 * least, and have that on top (compile_jail; the jail gives each process two seconds more than all may take). */
	buf_printf(b,
		   "try=$(ulimit -t)\n"
		   "case $try in *[!0-9]*) try=5 ;; *) try=$((try > 17 ? (try - 2) / 15 : 1)) ;; esac\n"
		   "run() {\n"
		   "echo @+$1\n"
		   "eval \"$2\" >>$1.log 2>&1\n"
		   "s=$?\n"
		   "echo @=$1 $s\n"
		   "return $s\n"
		   "}\n"
		   "run prepare 'cat <&%d >" COMPILE_SOURCE " && cat <&%d >" COMPILE_PRELUDE " && "
		   "printf " MODULE_ID " >solution.module_id && cat <&%d >libguest.a && "
		   "{ ! read -r n || { head -c $n >slice.device.ii && cat >slice.front.ii; }; } <&%d'\n",
		   COMPILE_SOURCE_FD, COMPILE_PRELUDE_FD, COMPILE_LIBRARY_FD, COMPILE_SLICE_FD);
}

static char *pass_command(enum compile_step step, const struct commands *c)
{
	char *kept = compile_kept_pass(step, c->lines[step]);
	struct buf b = {0};
	buf_adds(&b, kept ? kept : c->lines[step]);
	free(kept);
	return b.data;
}

static void add_pass(struct buf *b, enum compile_step step, const struct commands *c)
{
	CLEANUP_FREE char *command = pass_command(step, c);
	add_step(b, step, command);
}

/* A command on what comes of a slice of the headers (compile_slice.h), SIDE's.  Whatever it says, or earlier commands do, is not
 * listened to: then all are done again with the headers as a whole.  (exit $?: the shell inside says that a command was killed, not
 * the one whose words are the step's.) */
static void add_sliced(struct buf *b, enum compile_step step, const char *side, const char *command, const char *again)
{
	CLEANUP_BUF struct buf line = {0};
	buf_printf(&line, "if ! [ -s slice.%s.ii ]; then %s; elif ! { ( ulimit -t $try; %s; exit $? ) >sliced.%s.said 2>&1 && [ ! -s sliced.%s.said ]; }; then "
			  ": >slice.%s.ii; %s; fi", side, command, command, side, side, side, again);
	add_step(b, step, buf_str(&line));
}

/* The pass of the preprocessor, and the step that takes its output. */
static void pass_and(struct buf *b, enum compile_step pass, enum compile_step step, const struct commands *c)
{
	CLEANUP_FREE char *command = pass_command(pass, c);
	buf_printf(b, "{ %s; } && %s", command, c->lines[step]);
}

static void add_device(struct buf *b, const struct commands *c)
{
	CLEANUP_BUF struct buf again = {0};
	pass_and(&again, STEP_DEVICE_CPP, STEP_DEVICE, c);
	add_sliced(b, STEP_DEVICE, "device", c->lines[STEP_DEVICE], buf_str(&again));
}

static void add_front(struct buf *b, const struct commands *c)
{
	CLEANUP_BUF struct buf again = {0};
	pass_and(&again, STEP_FRONT_CPP, STEP_FRONT, c);
	add_sliced(b, STEP_FRONT, "front", c->lines[STEP_FRONT], buf_str(&again));
}

static void add_fast_passes(struct buf *b, const struct commands *c)
{
	buf_adds(b, "{ ");
	add_pass(b, STEP_FRONT_CPP, c);
	buf_adds(b, " && ");
	add_front(b, c);
	buf_adds(b, "; } & front=$!\n{ ");
	add_pass(b, STEP_DEVICE_CPP, c);
	buf_adds(b, " && ");
	add_device(b, c);
	buf_adds(b, " && ");
	add_step(b, STEP_FATBIN, c->lines[STEP_FATBIN]);
	buf_adds(b, "; } & device=$!\n");
}

static void add_plain_passes(struct buf *b, const struct compile_request *rq)
{
	CLEANUP_BUF struct buf host = {0}, device = {0};
	buf_adds(&host, "nvcc -c -o solution.o");
	add_options(&host, rq);
	buf_adds(&device, "nvcc -ptx -o solution.ptx");
	add_options(&device, rq);
	buf_adds(b, "{ ");
	add_step(b, STEP_FRONT, buf_str(&host));
	buf_adds(b, "; } & front=$!\n{ ");
	add_step(b, STEP_DEVICE, buf_str(&device));
	buf_adds(b, "; } & device=$!\n");
}

/* With an entry the guest's main is taken from the library before the source is seen, so that a main in the source clashes
 * with it; without one, the library's is not wanted. */
static void add_link(struct buf *b, const struct compile_request *rq)
{
	CLEANUP_BUF struct buf link = {0};
	buf_adds(&link, "g++ -static -no-pie -Wl,--gc-sections,-s -o guest ");
	if (rq->entry)
		buf_adds(&link, "-Wl,-u,main libguest.a ");
	if (rq->entry && strcmp(rq->entry, "solve") != 0)		/* the guest's main calls solve */
		buf_printf(&link, "-Wl,--defsym=solve=%s ", rq->entry);
	buf_adds(&link, "solution.o libguest.a");
	add_step(b, STEP_LINK, buf_str(&link));
}

/* The front end's output without the precompiled prefix, if it begins with it. */
static const char take_prefix[] =
	"if n=$(wc -c <" COMPILE_PREFIX ") && cmp -s -n $n " COMPILE_PREFIX " solution.cudafe1.cpp; then\n"
	"{ echo '#include \"" COMPILE_PREFIX "\"' && tail -c +$((n+1)) solution.cudafe1.cpp; } >rest &&\n"
	"mv rest solution.cudafe1.cpp\n"
	"fi 2>/dev/null\n";

static void add_host(struct buf *b, const struct commands *c)
{
	CLEANUP_BUF struct buf again = {0};
	pass_and(&again, STEP_FRONT_CPP, STEP_FRONT, c);
	buf_printf(&again, " &&\n{ %s%s; }", take_prefix, c->lines[STEP_HOST]);
	buf_adds(b, take_prefix);
	add_sliced(b, STEP_HOST, "front", c->lines[STEP_HOST], buf_str(&again));
}

/* Every step's log that says anything, and that the script came to its end. */
static void add_epilogue(struct buf *b)
{
	buf_adds(b, "for step in *.log; do\n"
		    "[ -s $step ] || continue\n"
		    "{ n=$(wc -c <$step) && if [ $n -gt 262144 ]; then\n"
		    "{ head -c 131072 $step && printf '\\n\\n(cut)\\n\\n' && tail -c 131072 $step; } >piece && mv piece $step && n=$(wc -c <$step)\n"
		    "fi; } && echo @log ${step%.log} $((n)) && cat $step || echo @lost\n"
		    "done\n"
		    "echo @done\n");
}

static void add_ptxas(struct buf *b, const struct compile_request *rq)
{
	CLEANUP_BUF struct buf ptxas = {0};
	buf_printf(&ptxas, "ptxas -v -arch=sm_%s -m64 --generate-line-info solution.ptx -o solution.cubin", rq->arch);
	add_step(b, STEP_PTXAS, buf_str(&ptxas));
}

/* The device side alone. */
static char *make_device_script(const struct compile_request *rq, const struct commands *c)
{
	struct buf b = {0};
	CLEANUP_BUF struct buf plain = {0};
	buf_adds(&plain, "nvcc -ptx -o solution.ptx");
	add_options(&plain, rq);
	add_prologue(&b, c);
	if (c->odd) {
		add_step(&b, STEP_DEVICE, buf_str(&plain));
	} else {
		add_pass(&b, STEP_DEVICE_CPP, c);
		buf_adds(&b, " && ");
		add_device(&b, c);
	}
	if (rq->parts == COMPILE_DEVICE) {
		buf_printf(&b, " && { cat solution.ptx >&%d || echo @lost; } && ", COMPILE_PTX_FD);
		add_ptxas(&b, rq);
		buf_printf(&b, " && run collect 'cat solution.cubin >&%d'\n", COMPILE_CUBIN_FD);
	} else {
		buf_printf(&b, " && run collect 'cat solution.ptx >&%d'\n", COMPILE_PTX_FD);
	}
	add_epilogue(&b);
	return b.data;
}

static char *make_script(const struct compile_request *rq, const struct commands *c)
{
	struct buf b = {0};
	if (rq->parts != COMPILE_ALL)
		return make_device_script(rq, c);
	add_prologue(&b, c);
	if (c->odd)
		add_plain_passes(&b, rq);
	else
		add_fast_passes(&b, c);
	/* The shell's own words about a child's death are no compiler output: they go to stderr, which nobody reads. */
	buf_printf(&b, "wait $device && {\ncat solution.ptx >&%d || echo @lost\n", COMPILE_PTX_FD);
	buf_adds(&b, "{ ");
	add_ptxas(&b, rq);
	buf_printf(&b, " && { cat solution.cubin >&%d || echo @lost; }; } & ptxas=$!\nwait $front && {\n", COMPILE_CUBIN_FD);
	if (!c->odd) {
		add_host(&b, c);
		buf_adds(&b, " && ");
	}
	add_link(&b, rq);
	buf_printf(&b, " && run collect 'cat guest >&%d'\n}\nwait $ptxas\n}\nwait\n", COMPILE_GUEST_FD);
	add_epilogue(&b);
	return b.data;
}

/* ---- once for each set of options ---- */

static void free_commands(struct commands *c)
{
	buf_free(&c->variables);
}

struct cached {
	struct cached *next;
	char *key, *script;
	char *prefix, *lean;		/* that make the kept headers; NULL where there is none */
};

static int build_scripts(const struct compile_request *rq, const struct toolchain *t, struct cached *out, struct err *e)
{
	CLEANUP_BUF struct buf shell = {0};
	struct jail_mount mounts[COMPILE_MOUNTS];
	const char *argv[COMPILE_ARGS];
	struct jail_spec s;
	struct jail_result r;
	const char *root = compile_inside_root(rq, t);
	buf_adds(&shell, "PATH=");
	quote(&shell, root);
	buf_adds(&shell, "/bin:$PATH; exec nvcc --dryrun -keep -c -o solution.o");
	add_options(&shell, rq);
	compile_jail(&s, rq, t, buf_str(&shell), mounts, argv);
	if (jail_run(&s, &r, e) < 0)
		return -1;
	CLEANUP(free_commands) struct commands c = {0};
	buf_addc(&r.err, '\n');
	if (r.end != JAIL_EXITED || r.status != 0) {
		err_system(e, "nvcc in %s does not work (%s, %d): %.600s", t->root, jail_end_name(r.end), r.status, buf_str(&r.err));
	} else {
		read_commands(r.err.data, &c);
		if (!c.variables.size) {
			buf_adds(&c.variables, "PATH=");
			quote(&c.variables, root);
			buf_adds(&c.variables, "/bin:$PATH\n");
			c.odd = true;
		}
		out->script = make_script(rq, &c);
		if (!c.odd) {
			out->prefix = compile_kept_script(buf_str(&c.variables), MODULE_ID, (const char *const *)c.lines, false);
			out->lean = compile_kept_script(buf_str(&c.variables), MODULE_ID, (const char *const *)c.lines, true);
		}
	}
	jail_result_free(&r);
	return out->script ? 0 : -1;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cached *cache;

static char *cache_key(const struct compile_request *rq)
{
	struct buf b = {0};
	buf_printf(&b, "%d %d %s", rq->unsandboxed, rq->parts, rq->entry ? rq->entry : "-");
	add_options(&b, rq);
	return b.data;
}

static struct cached *find(const char *key)
{
	struct cached *c = cache;
	while (c && strcmp(c->key, key) != 0)
		c = c->next;
	return c;
}

const char *compile_script(const struct compile_request *rq, const struct toolchain *t, struct err *e)
{
	char *key = cache_key(rq);
	pthread_mutex_lock(&lock);
	struct cached *c = find(key), made = {.next = cache, .key = key};
	if (!c && build_scripts(rq, t, &made, e) == 0) {
		c = malloc(sizeof *c);
		if (!c)
			BUG("out of memory");
		*c = made;
		cache = c;
		key = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(key);
	return c ? c->script : NULL;
}

const char *compile_prefix_script(const struct compile_request *rq, const struct toolchain *t, enum compile_headers headers)
{
	CLEANUP_FREE char *key = compile_script(rq, t, NULL) ? cache_key(rq) : NULL;
	pthread_mutex_lock(&lock);
	const struct cached *c = key ? find(key) : NULL;
	pthread_mutex_unlock(&lock);
	return !c ? NULL : headers == COMPILE_HEADERS_LEAN ? c->lean : c->prefix;
}
