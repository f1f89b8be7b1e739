/* What a compilation gave, before anyone uses it: see compile_check.h.
 *
 * These are limits of ours that a source alone can break, told as compile errors, so that they are never found where
 * they would look like a failure of the judge.  What they read was made by compilers that the source may have taken over:
 * whoever uses it later believes no more than before.
 */
#include "compile_check.h"

#include "base/pretty_name.h"
#include "device/device.h"
#include "wire.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PARAMETERS = sizeof ((struct device_kernel *)0)->params / sizeof ((struct device_kernel *)0)->params[0] };

static const char no_program[] = "the compiler gave no program that can be run";

/* An executable that the jail can run: static, for this machine.  Memory that is both written and executed the loader would
 * map without a system call that a filter sees. */
static const char *refuse_guest(int fd)
{
	Elf64_Ehdr h;
	bool stack = false;
	if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
		return no_program;
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != EM_X86_64 || h.e_type != ET_EXEC ||
	    h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phnum == 0 || h.e_phnum > 64)
		return no_program;
	for (unsigned i = 0; i < h.e_phnum; i++) {
		Elf64_Phdr p;
		if (pread(fd, &p, sizeof p, (off_t)(h.e_phoff + i * sizeof p)) != (ssize_t)sizeof p || p.p_type == PT_INTERP)
			return no_program;
		if (p.p_type == PT_GNU_STACK && (p.p_flags & PF_X))
			return "the host code asks for an executable stack, which the judge does not give: take out the section "
			       ".note.GNU-stack in asm(), or the nested function";
		if (p.p_type == PT_LOAD && (p.p_flags & PF_W) && (p.p_flags & PF_X))
			return "the host code has a section that is both writable and executable, which the judge does not allow";
		stack |= p.p_type == PT_GNU_STACK;
	}
	return stack ? NULL : no_program;	/* without a word about it the stack would be executable */
}

/* A kernel's head, `.entry NAME(.param ..., .param ...)`, from behind ".entry". */
static const char *refuse_kernel(const char *head, struct arena *a)
{
	char text[WIRE_NAME + 1], pretty[64];
	head += strspn(head, " \t\n");
	size_t name = strcspn(head, " \t\n("), parameters = 0;
	snprintf(text, sizeof text, "%.*s", (int)(name < sizeof text ? name : sizeof text - 1), head);
	pretty_name(text, pretty, sizeof pretty);
	if (name > WIRE_NAME)
		return arena_printf(a, "the name of the kernel %.40s... has %zu letters as the linker sees it: %d at most", pretty, name, WIRE_NAME);
	const char *p = head + name, *end = p + strcspn(p, "){;");
	while ((p = memmem(p, (size_t)(end - p), ".param", 6))) {
		parameters++;
		p += 6;
	}
	if (parameters > PARAMETERS)
		return arena_printf(a, "the kernel %s has %zu parameters: %d at most; put them into a struct", pretty, parameters,
				    (int)PARAMETERS);
	return NULL;
}

static const char *refuse_ptx(const char *ptx, size_t size, struct arena *a)
{
	size_t kernels = 0;
	if (size > COMPILE_PTX_MAX)
		return arena_printf(a, "the kernels are %zu MiB of PTX: %d at most; unroll less, or use fewer template instances", size >> 20,
				    COMPILE_PTX_MAX >> 20);
	for (const char *p = ptx ? strstr(ptx, ".entry") : NULL; p; p = strstr(p, ".entry")) {
		p += 6;
		const char *refusal = refuse_kernel(p, a);
		if (refusal)
			return refusal;
		if (++kernels > CONTROL_RESOURCES_MAX)
			return arena_printf(a, "the source has more than %d kernels", CONTROL_RESOURCES_MAX);
	}
	return NULL;
}

const char *compile_refuse(const struct compiled *c, int guest, struct arena *a)
{
	const char *refusal = refuse_ptx(c->ptx, c->ptx_size, a);
	if (!refusal && (!c->ptx || (!c->cubin && guest >= 0)))
		return no_program;
	return refusal || guest < 0 ? refusal : refuse_guest(guest);
}
