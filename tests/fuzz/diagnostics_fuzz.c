/* What compilers print and a submission can steer: nvcc, cudafe++, gcc, ld, ptxas, ptxas -v; the PTX that ptxas complains of follows
 * the log after a byte 1.
 */
#include "fuzz.h"
#include "sandbox/diagnostics.h"

#include <stdlib.h>
#include <string.h>

static void check_text(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' && *s != '\n' && *s != '\t')
			BUG("a control character for the terminal: 0x%02x", (unsigned char)*s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char source[] = "#include <stdint.h>\nextern \"C\" void solve(const float *x, int N)\n{\n\tg<<<1, 1>>>(x);\n}\n";
	struct compile_request rq = {.source = source, .size = sizeof source - 1, .name = "a.cu", .entry = "solve", .arch = "90",
				     .prelude = "extern \"C\" void solve(const float *x, float *y, int N);\n"};
	struct arena *a = arena_new();
	struct diagnostic *list;
	struct kernel_resources *kernels;
	char *raw = strndup((const char *)data, size), *ptx = strchr(raw, 1);
	if (ptx)
		*ptx++ = 0;
	char *log = diagnostics_clean(raw, strlen(raw), 64 << 10, a);
	check_text(log);
	size_t n = diagnostics_parse(log, "a.cu", a, &list);
	diagnostics_map_ptx(list, n, "a.cu", ptx);
	compile_explain(&rq, a, list, n);
	for (size_t i = 0; i < n; i++) {
		if (!list[i].file || !list[i].text)
			BUG("a diagnostic without file or text");
		check_text(list[i].text);
	}
	resources_parse(log, a, &kernels);
	free(raw);
	arena_free(a);
	return 0;
}

#ifdef FUZZING
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct draws d = {seed};
	return draw(&d, 2) ? mutate_words(data, size, max, &d) : LLVMFuzzerMutate(data, size, max);
}
#endif
