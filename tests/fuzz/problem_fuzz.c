/* problem.json of a stranger's package, with its cases made concrete; an input that does not begin like an object is an expression
 * of sizes. */
#include "fuzz.h"
#include "judge/problem.c"

/* Whatever was accepted can be graded: each case has sizes and tensors, or a reason why not. */
static void use(const struct problem *p)
{
	struct buf text = {0};
	struct secret none = {{0}, ""};
	problem_prelude(p, &text);
	problem_prototype(p, p->n_prepare > 0, &text);
	for (unsigned i = 0; i < p->n_cases; i++) {
		struct testcase t;
		struct gemm_shape shape;
		struct err e = {0};
		double bytes, flops;
		bool made = testcase_make(p, &p->cases[i], &none, "fuzz", &t, &e) == 0 && testcase_work(&t, &bytes, &flops, &e) == 0;
		if (!made && !e.text[0])
			BUG("a case without sizes, and no reason");
		if (made && p->gemm[0])
			problem_gemm(p, &t.sizes, &shape, &e);
	}
	buf_free(&text);
}

static int a_name(void *user, const char *name, struct err *e)
{
	(void)user, (void)name, (void)e;
	return 0;
}

static void evaluate(const char *text)
{
	struct sizes s = {.n = 2, .at = {{"N", 257}, {"K", 4096}}};
	struct err e = {0};
	int64_t value;
	if (sizes_eval(text, &s, &value, &e) == 0 && value < 0)
		BUG("a negative size");
	sizes_names(text, a_name, NULL, &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = {0};
	if (!size || *data != '{') {
		char *text = strndup((const char *)data, size);
		evaluate(text);
		free(text);
		return 0;
	}
	struct json *j = json_parse((const char *)data, size, "p/problem.json", &e);
	if (j) {
		struct arena *a = arena_new();
		struct problem *p = arena_alloc(a, sizeof *p);
		p->arena = a;
		struct load l = {.json = j, .root = json_root(j), .p = p, .e = &e};
		if (load(&l, "p") == 0)
			use(p);
		else if (e.kind != ERR_INPUT || !e.text[0])
			BUG("a refusal without a reason");
		for (const char *s = e.text; *s; s++)
			if ((unsigned char)*s < ' ')
				BUG("a message with a control character: 0x%02x", (unsigned char)*s);
		arena_free(a);
	} else if (!e.text[0]) {
		BUG("a refusal without a reason");
	}
	json_free(j);
	return 0;
}

#ifdef FUZZING
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct draws d = {seed};
	return draw(&d, 3) ? mutate_words(data, size, max, &d) : LLVMFuzzerMutate(data, size, max);
}
#endif
