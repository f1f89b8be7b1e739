/* Making and using the kept headers: see compile_kept.h, and compile_prefix.h for the files.
 *
 * A preprocessor that is given the macros of the headers, and a source, prints what it would have printed for the source after
 * the headers.  It would not where
 *	- a header has counted (__COUNTER__), forbids a name (#pragma GCC poison), or is included at most once by other means than a macro
 *	  of its own: the builder finds out, and keeps no text;
 *	- the source gives it something to complain about: the place of an earlier definition is another.  Whenever it says
 *	  anything at all, the pass is done again the long way, and that one's words count;
 *	- the source looks at saved macros: compile_look.h keeps it away.
 * That the macros are all there, and no others, the builder has the preprocessor itself list.
 */
#include "compile_kept.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "compile_prefix.h"

#include <string.h>

/* A copy of a command with `from` replaced; NULL if it isn't there once. */
static char *altered(const char *command, const char *from, const char *to)
{
	const char *at = command ? strstr(command, from) : NULL;
	if (!at || strstr(at + 1, from))
		return NULL;
	struct buf b = {0};
	buf_add(&b, command, (size_t)(at - command));
	buf_adds(&b, to);
	buf_adds(&b, at + strlen(from));
	return b.data;
}

static const struct pass {
	enum compile_step step;
	const char *name, *output;
} passes[] = {
	{STEP_FRONT_CPP, "front", "solution.cpp4.ii"},
	{STEP_DEVICE_CPP, "device", "solution.cpp1.ii"},
};

static const struct pass *pass_of(enum compile_step step)
{
	return &passes[step == STEP_DEVICE_CPP];
}

/* The pass's command to the standard output.  macros: a file of them in place of the runtime's headers, or NULL. */
static char *to_output(const struct pass *p, const char *command, const char *options, const char *macros)
{
	CLEANUP_BUF struct buf output = {0}, first = {0}, flags = {0};
	buf_printf(&output, " -o \"%s\"", p->output);
	buf_printf(&flags, " -E %s", options);
	CLEANUP_FREE char *printed = altered(command, buf_str(&output), "");
	CLEANUP_FREE char *flagged = altered(printed, " -E ", buf_str(&flags));
	if (macros)
		buf_printf(&first, " -imacros %s ", macros);
	return altered(flagged, " -include \"cuda_runtime.h\" ", macros ? buf_str(&first) : " -include \"cuda_runtime.h\" ");
}

char *compile_kept_pass(enum compile_step step, const char *command)
{
	const struct pass *p = pass_of(step);
	CLEANUP_BUF struct buf macros = {0};
	struct buf b = {0};
	buf_printf(&macros, "/prefix/%s.h", p->name);
	CLEANUP_FREE char *rest = to_output(p, command, "", buf_str(&macros));
	if (!rest)
		return NULL;
	buf_printf(&b, "[ -e /prefix/%s.ii ] && { cat $([ -s slice.%s.ii ] && echo slice.%s.ii || echo /prefix/%s.ii) && %s; } >%s 2>%s.said && "
		   "[ ! -s %s.said ] || { : >slice.%s.ii; %s; }", p->name, p->name, p->name, p->name, rest, p->output, p->name, p->name, p->name, command);
	return b.data;
}

/* ---- the builder ---- */

/* kept NAME TEXT: NAME.ii and NAME.h, if the pass lends itself to it.  Of the macros, those that the command line defines are left
 * out, and each has the file it is from before it; where in that file, nobody asks. */
static const char functions[] =
	"headers() { sed -n 's/^# [0-9]* \"\\(\\/[^\"]*\\)\".*/\\1/p' \"$@\" | sort -u; }\n"
	"plain() (\n"
	"set -f; IFS='\n'\n"
	"grep -q 'judge_prefix_counter = 0 ' $2 || exit 1\n"
	"grep -Eq 'GCC[ \t]+poison' $2 && exit 1\n"
	"grep -Eq '^[ \t]*#[ \t]*(import|pragma[ \t]+once)' $(headers $2)\n"
	"[ $? = 1 ]\n"
	")\n"
	"kept() {\n"
	"plain $1 $2 &&\n"
	"{ sed '/" COMPILE_PREFIX_END "/,$d' $2 && echo '# 0 \"<command-line>\" 2'; } >$1.ii &&\n"
	"sed -n '/^# 1 \"\\//,$p' $1.dD | sed -e '/^#define /b' -e '/^#undef /b' -e '/^# [0-9]/!d' "
	"-e 's/^\\(# [0-9]* \"[^\"]*\"\\) [12]/\\1/' | sed -e '$!N' -e '/^# .*\\n# /D' -e P -e D >$1.h &&\n"
	"${1}_macros >$1.1 && ${1}_kept_macros >$1.2 && cmp -s $1.1 $1.2 || { : >$1.ii; : >$1.h; }\n"
	"}\n";

/* The commands of a pass as shell functions: NAME_all, NAME_defines, NAME_macros, NAME_kept_macros. */
static bool add_pass(struct buf *b, const struct pass *p, const char *command)
{
	CLEANUP_BUF struct buf macros = {0};
	buf_printf(&macros, "%s.h", p->name);
	CLEANUP_FREE char *all = to_output(p, command, "-isystem lean ", NULL);
	CLEANUP_FREE char *defines = to_output(p, command, "-isystem lean -dD ", NULL);
	CLEANUP_FREE char *list = to_output(p, command, "-isystem lean -dM ", NULL);
	CLEANUP_FREE char *kept = to_output(p, command, "-dM ", buf_str(&macros));
	if (!all || !defines || !list || !kept)
		return false;
	buf_printf(b,
		   "%s_all() { %s; }\n%s_defines() { %s; }\n"
		   "%s_macros() { %s | sort; }\n%s_kept_macros() { %s | sort; }\n",
		   p->name, all, p->name, defines, p->name, list, p->name, kept);
	return true;
}

/* libstdc++'s header of the special functions, first to be found, with all but them: what it defines and includes by itself. */
static const char leave_out[] =
	"f=$(front_all | sed -n 's/^# 1 \"\\(\\/.*\\/bits\\/specfun\\.h\\)\" 1 .*/\\1/p' | head -n 1)\n"
	"if [ -n \"$f\" ] && grep -q '^#include <tr1/gamma.tcc>' \"$f\" && grep -q '^#ifndef _GLIBCXX_BITS_SPECFUN_H' \"$f\" &&\n"
	"! grep -q '^#.*\\\\$' \"$f\"; then\n"
	"mkdir -p lean/bits && grep '^#' \"$f\" | grep -v '^#include <tr1/' >lean/bits/specfun.h\n"
	"fi\n";

/* The prelude ends in a declaration that marks the end of the headers; in the front end's output, the line before, which tells the
 * place in the file, goes too.  The header must be compiled by the host command itself, else the compiler would not take it. */
char *compile_kept_script(const char *variables, const char *module_id, const char *const *commands, bool lean)
{
	static const int fds[] = COMPILE_PREFIX_FDS;
	CLEANUP_FREE char *kind = altered(commands[STEP_HOST], " -c -x c++ ", " -x c++-header ");
	CLEANUP_FREE char *input = altered(kind, "\"solution.cudafe1.cpp\"", "prefix.h");
	CLEANUP_FREE char *command = altered(input, "\"solution.o\"", "prefix.h.gch");
	CLEANUP_BUF struct buf b = {0};
	if (!command)
		return NULL;
	buf_printf(&b, "%sset -e\n: >" COMPILE_SOURCE "\ncat <&%d >" COMPILE_PRELUDE "\nprintf %s >solution.module_id\n%s", variables,
		   COMPILE_PRELUDE_FD, module_id, functions);
	for (unsigned i = 0; i < sizeof passes / sizeof *passes; i++)
		if (!add_pass(&b, &passes[i], commands[passes[i].step]))
			return NULL;
	if (lean)
		buf_adds(&b, leave_out);
	buf_printf(&b,
		   "device_all >solution.cpp1.ii\ndevice_defines >device.dD\nkept device solution.cpp1.ii &\ndevice=$!\n"
		   "front_all >solution.cpp4.ii\nfront_defines >front.dD\nkept front solution.cpp4.ii\n%s\n"
		   "grep -q " COMPILE_PREFIX_END " solution.cudafe1.cpp\n"
		   "sed -n '/" COMPILE_PREFIX_END "/q; x; 1!p' solution.cudafe1.cpp >prefix.h\n%s\nwait $device\n"
		   "cat prefix.h.gch >&%d\ncat front.ii >&%d\ncat front.h >&%d\ncat device.ii >&%d\ncat device.h >&%d\n"
		   "cat prefix.h >&%d\nheaders solution.cpp4.ii solution.cpp1.ii\n",
		   commands[STEP_FRONT], command, fds[PREFIX_COMPILED], fds[PREFIX_FRONT_TEXT], fds[PREFIX_FRONT_MACROS],
		   fds[PREFIX_DEVICE_TEXT], fds[PREFIX_DEVICE_MACROS], fds[PREFIX_HEADER]);
	char *script = b.data;
	b = (struct buf){0};
	return script;
}
