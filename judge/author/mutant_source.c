/* The shape of a CUDA C++ source: see mutant_source.h. */
#include "mutant_source.h"

#include "../../sandbox/base/buf.h"

#include <string.h>

static const char keywords[] =
	"alignas alignof asm auto bool break case catch char class const const_cast constexpr continue decltype default delete do double "
	"dynamic_cast else enum explicit extern false float for friend goto if inline int long mutable namespace new noexcept nullptr "
	"operator private protected public register reinterpret_cast return short signed sizeof static static_assert static_cast struct "
	"switch template this throw true try typedef typename union unsigned using virtual void volatile while";
/* Scans that a hostile source could make long, and names enough for any kernel. */
enum { FAR = 2000, NEAR = 64, MAX_VARIABLES = 4096 };

bool source_is(const struct source *s, unsigned i, const char *word)
{
	return token_is(&s->t, i, word);
}

bool source_in(const struct source *s, unsigned i, const char *words)
{
	return token_in(&s->t, i, words);
}

static enum token_kind kind(const struct source *s, unsigned i)
{
	return i < s->t.n ? s->t.list[i].kind : TOKEN_END;
}

static unsigned match(const struct source *s, unsigned i)
{
	return s->t.list[i].match;
}

/* Both without a bracket around, or within the same. */
static bool beside(const struct source *s, unsigned i, unsigned k)
{
	unsigned a = s->t.list[i].parent, b = s->t.list[k].parent;
	return a == b || (a == i && b == k);
}

bool source_name(const struct source *s, unsigned i)
{
	return kind(s, i) == TOKEN_NAME && !source_in(s, i, keywords);
}

unsigned source_before(const struct source *s, unsigned i)
{
	while (i-- > 0)
		if (kind(s, i) != TOKEN_DIRECTIVE)
			return i;
	return s->t.n;
}

unsigned source_after(const struct source *s, unsigned i)
{
	while (++i < s->t.n && kind(s, i) == TOKEN_DIRECTIVE)
		;
	return i < s->t.n ? i : s->t.n;
}

const char *source_text(const struct source *s, unsigned first, unsigned end)
{
	struct buf b = {0};
	for (unsigned i = first; i < end && i < s->t.n; i++) {
		const struct token *k = &s->t.list[i];
		if (i > first && k->at > k[-1].at + k[-1].size)
			buf_addc(&b, ' ');
		buf_add(&b, s->t.text + k->at, k->size);
	}
	const char *text = arena_strdup(s->arena, buf_str(&b));
	buf_free(&b);
	return text;
}

bool source_free(const struct source *s, unsigned i)
{
	return i < s->t.n && s->in[i] >= 0 && !(s->flags[i] & SOURCE_FROZEN) && kind(s, i) != TOKEN_DIRECTIVE;
}

static void flag(struct source *s, unsigned first, unsigned end, unsigned char f)
{
	for (unsigned i = first; i < end && i < s->t.n; i++)
		s->flags[i] |= f;
}

/* ---- functions ---- */

static bool contains(const struct source *s, unsigned first, unsigned end, const char *words)
{
	for (unsigned i = first; i < end; i++)
		if (source_in(s, i, words))
			return true;
	return false;
}

/* The ( of the parameters of a function's head, first..end; end: it is none. */
static unsigned find_parameters(const struct source *s, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++) {
		if (source_is(s, i, "=") || kind(s, i) == TOKEN_DIRECTIVE)
			return end;
		if (!source_is(s, i, "("))
			continue;
		if (i > first && source_name(s, i - 1) &&
		    !source_in(s, i - 1, "__launch_bounds__ __align__ __attribute__ __cluster_dims__ __block_size__ __maxnreg__ __declspec"))
			return i;
		i = match(s, i);
	}
	return end;
}

static void add_function(struct source *s, unsigned first, unsigned parameters, unsigned open)
{
	struct function *f = &s->functions[s->n_functions];
	bool device = contains(s, first, parameters, "__global__ __device__"), both = contains(s, first, parameters, "__host__ constexpr");
	*f = (struct function){.name = source_text(s, parameters - 1, parameters), .parameters = parameters, .open = open,
			       .close = match(s, open), .device = device || both, .host = !device || both};
	for (unsigned i = open; i <= f->close; i++)
		s->in[i] = (int)s->n_functions;
	s->n_functions++;
}

/* What the { at i, whose declaration begins at `first`, holds: more declarations (true), or not. */
static bool enter(struct source *s, unsigned first, unsigned i)
{
	unsigned parameters = find_parameters(s, first, i), last = i ? i - 1 : 0;
	if (parameters < i && match(s, i) > i && source_in(s, last, ") const noexcept override final")) {
		add_function(s, first, parameters, i);
		return false;
	}
	return contains(s, first, i, "namespace struct class union") || (i > first && kind(s, last) == TOKEN_STRING);
}

static void find_functions(struct source *s)
{
	unsigned first = 0, most = 0;
	for (unsigned i = 0; i < s->t.n; i++)
		most += source_is(s, i, "{");
	s->functions = arena_new_array(s->arena, struct function, most + 1);
	for (unsigned i = 0; i < s->t.n; i++) {
		if (source_is(s, i, "{") && !enter(s, first, i))
			i = match(s, i);
		else if (source_in(s, i, "( ["))
			i = match(s, i);
		if (source_in(s, i, "; { }") || kind(s, i) == TOKEN_DIRECTIVE)
			first = i + 1;
	}
}

/* ---- template arguments, asm, launches: what stays as it is ---- */

/* The > that ends the list which begins at the < i; i if it is a comparison. */
static unsigned template_end(const struct source *s, unsigned i)
{
	int depth = 1;
	unsigned k = i + 1;
	for (; k < s->t.n && k < i + NEAR && depth > 0; k++) {
		if (source_is(s, k, "<"))
			depth++;
		else if (source_in(s, k, "> >>"))
			depth -= (int)s->t.list[k].size;
		else if (source_is(s, k, "("))
			k = match(s, k);
		else if (kind(s, k) != TOKEN_NAME && kind(s, k) != TOKEN_NUMBER && !source_in(s, k, ":: , * & + - / % ..."))
			return i;
	}
	bool good = depth <= 0 && (source_in(s, k, "( :: { * & , ) ; > <<< [") || kind(s, k) == TOKEN_NAME);
	return good ? k - 1 : i;
}

static void freeze_templates(struct source *s)
{
	for (unsigned i = 1; i < s->t.n; i++) {
		if (s->in[i] < 0 || !source_is(s, i, "<") || kind(s, i - 1) != TOKEN_NAME)
			continue;
		unsigned end = template_end(s, i);
		if (end == i)
			continue;
		flag(s, i, end + 1, SOURCE_FROZEN);
		s->flags[i] |= SOURCE_TEMPLATE;
		s->flags[end] |= SOURCE_TEMPLATE;
	}
}

static void freeze_calls(struct source *s)
{
	for (unsigned i = 0; i < s->t.n; i++) {
		if (!source_in(s, i, "asm __asm__ __asm static_assert alignas alignof __align__ sizeof decltype"))
			continue;
		unsigned k = i;
		while (k < s->t.n && k < i + NEAR && !source_is(s, k, "(") && !source_is(s, k, ";"))
			k++;
		if (!source_is(s, k, "(") || match(s, k) == k)
			continue;
		flag(s, i, match(s, k) + 1, SOURCE_FROZEN);
		i = match(s, k);
	}
}

/* grid, block, shared memory: the size of a block is speed. */
static void mark_launch(struct source *s, unsigned open)
{
	int argument = 0;
	for (unsigned i = open + 1; i < s->t.n && i < open + FAR; i++) {
		if (source_in(s, i, ">>> ;"))
			return;
		if (source_is(s, i, ",") && beside(s, i, open))
			argument++;
		s->flags[i] |= argument == 0 ? SOURCE_GRID : argument == 1 ? SOURCE_FROZEN : 0;
	}
}

/* ---- statements and declarations ---- */

const char *source_control(const struct source *s, unsigned i)
{
	static const char *const words[] = {"if", "for", "while", "switch"};
	unsigned k = source_is(s, i, "(") ? source_before(s, i) : s->t.n;
	if (source_is(s, k, "constexpr"))
		k = source_before(s, k);
	for (unsigned w = 0; w < sizeof words / sizeof *words; w++)
		if (source_is(s, k, words[w]))
			return words[w];
	return NULL;
}

/* Is this : the end of `case 1:` or `default:`, and not a part of a ? b : c? */
static bool ends_case(const struct source *s, unsigned i)
{
	for (unsigned k = i, n = 0; k > 0 && n < NEAR; n++) {
		if (s->flags[k] & SOURCE_START || source_in(s, k, "case default"))
			return source_in(s, k, "case default");
		if (source_in(s, --k, "; { }"))
			return false;
	}
	return false;
}

/* Does a statement end before i, so that i begins one? */
static bool follows_statement(const struct source *s, unsigned i)
{
	unsigned k = source_before(s, i);
	if (source_in(s, k, "; else do"))
		return true;
	if (source_is(s, k, "{"))
		return s->flags[k] & SOURCE_BLOCK;
	if (source_is(s, k, "}"))
		return match(s, k) != k && s->flags[match(s, k)] & SOURCE_BLOCK;
	if (source_is(s, k, ")"))
		return match(s, k) != k && source_control(s, match(s, k));
	return source_is(s, k, ":") && ends_case(s, k);
}

static bool is_block(const struct source *s, unsigned i)
{
	unsigned k = source_before(s, i);
	if (source_is(s, k, ")"))
		return true;
	return follows_statement(s, i) && !source_is(s, k, ":");
}

static void find_statements(struct source *s)
{
	for (unsigned f = 0; f < s->n_functions; f++) {
		s->flags[s->functions[f].open] |= SOURCE_BLOCK;
		for (unsigned i = s->functions[f].open + 1; i < s->functions[f].close; i++) {
			unsigned parent = s->t.list[i].parent;
			if (source_is(s, i, "{") && is_block(s, i))
				s->flags[i] |= SOURCE_BLOCK;
			if (parent != i && source_is(s, parent, "{") && s->flags[parent] & SOURCE_BLOCK && !source_is(s, i, "}") &&
			    follows_statement(s, i))
				s->flags[i] |= SOURCE_START;
		}
	}
}

/* Past specifiers and the name of a type, which begins at i; i if there is none.  *whole: it could stand alone ("unsigned x"). */
static unsigned type_end(const struct source *s, unsigned i, bool *whole)
{
	static const char specifiers[] = "const constexpr static extern volatile register mutable inline __shared__ __constant__ "
					 "__device__ typename struct";
	static const char words[] = "unsigned signed long short int char float double bool void auto";
	unsigned k = i;
	*whole = false;
	for (;;) {
		if (source_in(s, k, words))
			*whole = true;
		else if (source_in(s, k, "alignas __align__") && source_is(s, k + 1, "("))
			k = match(s, k + 1);
		else if (!source_in(s, k, specifiers))
			break;
		k++;
	}
	if (*whole || !source_name(s, k))
		return *whole ? k : i;
	while (source_name(s, k) && source_is(s, k + 1, "::"))
		k += 2;
	if (!source_name(s, k++))
		return i;
	if (source_is(s, k, "<") && s->flags[k] & SOURCE_TEMPLATE) {
		unsigned end = template_end(s, k);
		k = end + 1;
		if (source_is(s, k, "::") && source_name(s, k + 1))
			k += 2;
	}
	while (source_in(s, k, "const"))
		k++;
	return k;
}

static void add_variable(struct source *s, const char *type, unsigned stars, unsigned name, unsigned dims, bool parameter)
{
	const char *pointers = arena_printf(s->arena, "%s%.*s", type, (int)(stars < 8 ? stars : 8), "********");
	if (s->n_variables == MAX_VARIABLES)
		return;
	s->variables[s->n_variables++] = (struct variable){
		.name = source_text(s, name, name + 1), .type = pointers, .dims = dims, .function = (unsigned)s->in[name], .parameter = parameter};
}

/* The type's text: names of the type alone. */
static const char *type_text(const struct source *s, unsigned first, unsigned end)
{
	struct buf b = {0};
	for (unsigned i = first; i < end && i < s->t.n; i++) {
		if (source_in(s, i, "const constexpr static extern volatile register __shared__ __restrict__ __restrict __grid_constant__ & typename"))
			continue;
		bool space = b.size && kind(s, i) == TOKEN_NAME && kind(s, i - 1) == TOKEN_NAME;
		buf_printf(&b, "%s%.*s", space ? " " : "", (int)s->t.list[i].size, s->t.text + s->t.list[i].at);
	}
	const char *text = arena_strdup(s->arena, buf_str(&b));
	buf_free(&b);
	return text;
}

/* * & const __restrict__ before a declared name; the name's place. */
static unsigned declarator(struct source *s, unsigned i, unsigned *stars)
{
	for (*stars = 0; source_in(s, i, "* & && const __restrict__ __restrict volatile"); i++) {
		*stars += source_is(s, i, "*");
		s->flags[i] |= SOURCE_DECLARATOR;
	}
	return i;
}

/* Is i, the name of a variable, the whole number of blocks of a launch, or of one of its dimensions? */
static bool counts_blocks(const struct source *s, unsigned i)
{
	unsigned open = s->t.list[i].parent;
	bool dimension = open && source_is(s, open - 1, "dim3") && source_in(s, i - 1, "( ,") && source_in(s, i + 1, ", )");
	return s->flags[i] & SOURCE_GRID && (dimension || (source_is(s, i - 1, "<<<") && source_is(s, i + 1, ",")));
}

/* grid of "int grid = (N + 3) / 4; k<<<grid, 128>>>()": it counts blocks wherever its function has it again. */
static bool is_grid(const struct source *s, unsigned name)
{
	const struct token *k = &s->t.list[name];
	bool used = false;
	if (s->in[name] < 0)
		return false;
	const struct function *f = &s->functions[s->in[name]];
	if (f->close > f->open + FAR)
		return false;
	for (unsigned i = f->open; i < f->close; i++) {
		const struct token *o = &s->t.list[i];
		if (i == name || o->size != k->size || memcmp(s->t.text + o->at, s->t.text + k->at, k->size) != 0)
			continue;
		if (!counts_blocks(s, i))
			return false;
		used = true;
	}
	return used;
}

/* float a[4], *b = c, d: names and dimensions, from after the type on. */
static void read_declarators(struct source *s, const char *type, unsigned i)
{
	for (;;) {
		unsigned stars, dims = 0, name = declarator(s, i, &stars);
		if (!source_name(s, name))
			return;
		for (i = name + 1; source_is(s, i, "["); i = match(s, i) + 1, dims++) {
			flag(s, i, match(s, i) + 1, SOURCE_FROZEN | SOURCE_DECLARATOR);
			if (match(s, i) == i)
				return;
		}
		add_variable(s, type, stars, name, dims, false);
		if (source_in(s, i, "( {"))
			s->flags[i] |= SOURCE_DECLARATOR;
		unsigned end = source_until(s, i, ",");
		if (source_in(s, i, "= ( {") && is_grid(s, name))
			flag(s, i + 1, end, SOURCE_GRID);
		i = end;
		if (!source_is(s, i, ","))
			return;
		i++;
	}
}

static void read_declaration(struct source *s, unsigned i)
{
	bool whole;
	unsigned end = type_end(s, i, &whole);
	if (source_in(s, i, "using typedef struct class union enum template")) {
		s->flags[i] |= SOURCE_DECLARATION;
		flag(s, i, source_until(s, i, ""), SOURCE_FROZEN);
		return;
	}
	if (end == i)
		return;
	unsigned name = end;
	while (source_in(s, name, "* & && const __restrict__ __restrict volatile"))
		name++;
	if (!source_name(s, name) || !source_in(s, name + 1, "= ; [ ( { , :"))
		return;
	s->flags[i] |= SOURCE_DECLARATION;
	read_declarators(s, type_text(s, i, end), end);
}

/* extern __shared__ float xs[]; at namespace scope isn't seen: its type is unknown then. */
static void read_parameters(struct source *s, unsigned f)
{
	unsigned open = s->functions[f].parameters, close = match(s, open), first = open + 1;
	for (unsigned i = first; i <= close && i < s->t.n; i++) {
		if (i < close && source_in(s, i, "( [ {")) {
			i = match(s, i);
			continue;
		}
		if (i != close && !source_is(s, i, ","))
			continue;
		unsigned end = first, name;
		while (end < i && !source_in(s, end, "= ["))
			end++;
		name = end ? end - 1 : 0;
		if (name > first && source_name(s, name)) {
			s->in[name] = (int)f;
			add_variable(s, type_text(s, first, name), 0, name, 0, true);
			s->in[name] = -1;
		}
		first = i + 1;
	}
}

static void find_variables(struct source *s)
{
	s->variables = arena_new_array(s->arena, struct variable, MAX_VARIABLES);
	for (unsigned f = 0; f < s->n_functions; f++)
		read_parameters(s, f);
	for (unsigned i = 0; i < s->t.n; i++) {
		unsigned before = i ? i - 1 : s->t.n;
		bool header = s->in[i] >= 0 && source_is(s, before, "(") && source_control(s, before);
		if (s->flags[i] & SOURCE_START || header)
			read_declaration(s, i);
	}
}

const struct variable *source_variable(const struct source *s, unsigned i)
{
	const struct token *k = &s->t.list[i];
	if (i >= s->t.n || s->in[i] < 0)
		return NULL;
	for (unsigned v = s->n_variables; v-- > 0;) {
		const struct variable *x = &s->variables[v];
		if (x->function == (unsigned)s->in[i] && strlen(x->name) == k->size && !memcmp(x->name, s->t.text + k->at, k->size))
			return x;
	}
	return NULL;
}

void source_read(const char *text, size_t size, struct arena *a, struct source *out)
{
	*out = (struct source){.arena = a};
	tokens_of(text, size, a, &out->t);
	out->flags = arena_alloc(a, out->t.n + 1);
	out->in = arena_new_array(a, int, out->t.n + 1);
	memset(out->in, 0xff, (out->t.n + 1) * sizeof *out->in);
	find_functions(out);
	freeze_templates(out);
	freeze_calls(out);
	for (unsigned i = 0; i < out->t.n; i++)
		if (out->in[i] >= 0 && source_is(out, i, "<<<"))
			mark_launch(out, i);
	find_statements(out);
	find_variables(out);
}

/* ---- operands ---- */

/* The last token of something that has a value? */
static bool ends_value(const struct source *s, unsigned i)
{
	if (kind(s, i) == TOKEN_NUMBER || kind(s, i) == TOKEN_CHAR || kind(s, i) == TOKEN_STRING || source_in(s, i, "] this true false"))
		return true;
	if (source_is(s, i, ")"))
		return match(s, i) != i && !source_control(s, match(s, i));
	return source_name(s, i);
}

static const char type_words[] = "float double int unsigned signed long short char bool void half __half __half2 half2 float2 float4 uint4 "
				 "uint2 int4 int2 size_t uint nv_bfloat16 __nv_bfloat16 __nv_bfloat162 const struct";

/* (float), (const uint4 *), (size_t): what is in parentheses is a type. */
static bool is_cast(const struct source *s, unsigned i)
{
	unsigned close = match(s, i), last = close - 1;
	if (!source_is(s, i, "(") || close <= i + 1)
		return false;
	for (unsigned k = i + 1; k < close; k++)
		if (kind(s, k) != TOKEN_NAME && !source_in(s, k, ":: * &"))
			return false;
	if (source_in(s, last, "* &"))
		return true;
	const struct token *k = &s->t.list[last];
	return source_in(s, i + 1, type_words) || (k->size > 2 && !memcmp(s->t.text + k->at + k->size - 2, "_t", 2));
}

bool source_binary(const struct source *s, unsigned i)
{
	unsigned a = source_before(s, i), b = source_after(s, i);
	if (s->flags[i] & (SOURCE_DECLARATOR | SOURCE_TEMPLATE) || !ends_value(s, a) || b >= s->t.n)
		return false;
	if (source_is(s, a, ")") && is_cast(s, match(s, a)))
		return false;
	return !source_in(s, b, ") ] } , ; > const");
}

unsigned source_operand_end(const struct source *s, unsigned i)
{
	unsigned k = i;
	while (source_in(s, k, "! ~ - + * & ++ --") || (is_cast(s, k) && match(s, k) != k))
		k = source_is(s, k, "(") ? match(s, k) + 1 : k + 1;
	if (source_is(s, k, "(") && match(s, k) > k)
		k = match(s, k) + 1;
	else if (kind(s, k) == TOKEN_NUMBER || kind(s, k) == TOKEN_CHAR || source_name(s, k) ||
		 source_in(s, k, "this true false nullptr static_cast reinterpret_cast const_cast sizeof float int double unsigned"))
		k++;
	else
		return i;
	for (unsigned n = 0; n < NEAR; n++) {
		if (source_in(s, k, "( [") && match(s, k) > k)
			k = match(s, k) + 1;
		else if (source_is(s, k, "<") && s->flags[k] & SOURCE_TEMPLATE)
			k = template_end(s, k) + 1;
		else if (source_in(s, k, ". -> ::") && kind(s, k + 1) == TOKEN_NAME)
			k += 2;
		else if (source_in(s, k, "++ --"))
			k++;
		else
			break;
	}
	return k;
}

/* The < of the template arguments that end at the > i. */
static unsigned template_start(const struct source *s, unsigned i)
{
	for (unsigned k = i; k-- > 0 && k + NEAR > i;)
		if (source_is(s, k, "<") && s->flags[k] & SOURCE_TEMPLATE && template_end(s, k) == i)
			return k;
	return i;
}

unsigned source_operand_start(const struct source *s, unsigned i)
{
	unsigned k = i;
	for (unsigned n = 0; n < NEAR && k > 0; n++) {
		bool bracket = source_in(s, k, ") ]") && match(s, k) != k;
		if (bracket)
			k = match(s, k);
		if (bracket && k && (source_name(s, k - 1) || source_in(s, k - 1, ") ]")))
			k--;		/* what is called or subscripted */
		else if (bracket && k && source_is(s, k - 1, ">") && s->flags[k - 1] & SOURCE_TEMPLATE && template_start(s, k - 1))
			k = template_start(s, k - 1) - 1;
		else if (k > 1 && source_in(s, k - 1, ". -> ::"))
			k -= 2;
		else
			break;
	}
	while (k && source_is(s, k - 1, ")") && is_cast(s, match(s, k - 1)))
		k = match(s, k - 1);
	return k;
}

unsigned source_until(const struct source *s, unsigned i, const char *stops)
{
	for (unsigned k = i, n = 0; k < s->t.n; k++, n++) {
		if (n == FAR || source_in(s, k, "; ) ] }") || (source_in(s, k, stops) && !(s->flags[k] & SOURCE_TEMPLATE)))
			return k;
		if (source_is(s, k, ",") && s->flags[k] & SOURCE_FROZEN)
			continue;
		if (source_in(s, k, "( [ {"))
			k = match(s, k);
	}
	return s->t.n;
}

unsigned source_statement_end(const struct source *s, unsigned i)
{
	if (source_in(s, i, "if for while do else switch case default try { } ;"))
		return s->t.n;
	unsigned end = source_until(s, i, "");
	return source_is(s, end, ";") ? end : s->t.n;
}
