/* What a stranger's oracle leaves in the memory file of a case, and the executable that a compile jail hands out. */
#include "fuzz.h"
#include "judge/oracle.c"
#include "sandbox/compile_check.h"

#include <elf.h>

static void collect_case(const uint8_t *data, size_t size)
{
	static const struct problem p = {.id = "p", .n_arguments = 3,
		.arguments = {{.name = "x", .role = ROLE_INPUT, .type = TYPE_F32}, {.name = "y", .role = ROLE_OUTPUT, .type = TYPE_F32},
			      {.name = "N", .role = ROLE_SCALAR, .type = TYPE_I32}}};
	static const struct case_spec spec = {.name = "c"};
	struct testcase t = {.problem = &p, .spec = &spec, .tensors = {{{4}, 4, 16, 0}, {{3}, 3, 12, 0}}};
	struct oracle_header h;
	struct answer a = {0};
	struct err e = {0};
	make_header(&t, &h);
	a.size = h.size;
	a.map = calloc(1, h.size);
	memcpy(a.map, &h, sizeof h);
	poison(&h, a.map);
	/* the end of the header and the areas matter most: the input lies over them from the back */
	size_t n = size < h.size ? size : h.size;
	memcpy((char *)a.map + h.size - n, data, n);
	if (size & 1)
		((struct oracle_header *)a.map)->done = 1;
	if (collect(&t, &h, &a, &e) < 0) {
		if (e.kind != ERR_SYSTEM || !e.text[0])
			BUG("a failure without a reason");
	} else {
		for (int i = 0; i < 3; i++)
			if (isnan(a.tensors[1].expected[i]) || !(a.tensors[1].bound[i] >= 0))
				BUG("an answer that nothing can be compared with");
	}
	free(a.map);
}

/* An executable, and PTX, that a compiler taken over by the source might give. */
static void take_executable(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	char *text = arena_strndup(a, (const char *)data, size);
	struct compiled c = {.ok = true, .ptx = text, .ptx_size = strlen(text), .cubin = text, .cubin_size = size, .guest_fd = -1};
	CLEANUP_FD int fd = memfd_create("guest", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		BUG("no memory file");
	if (!compile_refuse(&c, fd, a) && (size < sizeof(Elf64_Ehdr) || memcmp(data, ELFMAG, SELFMAG) != 0))
		BUG("this is no executable");
	arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && (*data == ELFMAG[0] || *data == '.'))
		take_executable(data, size);
	else
		collect_case(data, size);
	return 0;
}
