/* The PTX parser: what nvcc and inline assembly write, and hostile text. */
#include "test.h"

#include "../../sandbox/base/buf.h"
#include "../../sandbox/ptx/ptx.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"
#define OPEN HEAD ".visible .entry k(.param .u64 p)\n{\n" \
	     ".reg .pred %p<4>; .reg .b32 %r<10>; .reg .b64 %rd<10>; .reg .f32 %f<10>;\n"
#define KERNEL(body) OPEN body "\n}\n"

static struct arena *arena;

static struct ptx_module *parse(const char *text)
{
	struct err e = {0};

	arena = arena ? arena : arena_new();
	struct ptx_module *m = ptx_parse(text, strlen(text), arena, &e);
	CHECK_MSG(m, "%s", e.text);
	return m;
}

static void refused(const char *text, const char *why)
{
	struct err e = {0};

	arena = arena ? arena : arena_new();
	CHECK_MSG(!ptx_parse(text, strlen(text), arena, &e), "accepted: %.200s", text);
	CHECK_EQ(e.kind, ERR_INPUT);
	CHECK_MSG(strstr(e.text, why), "'%s' is not in '%s'", why, e.text);
}

static const struct ptx_func *kernel(const char *text)
{
	const struct ptx_func *f = ptx_find_func(parse(text), "k");
	CHECK(f);
	return f;
}

/* The statement comes back as it was written. */
static void same(const char *text)
{
	struct buf b = {0};

	buf_printf(&b, "%s%s}", OPEN, text);
	const struct ptx_func *f = kernel(b.data);
	CHECK_EQ(f->n_insns, 1);
	CHECK_STR(ptx_print_insn(f, f->insns, arena), text);
	buf_free(&b);
}

TEST(instruction_has_op_suffixes_and_types)
{
	const struct ptx_func *f = kernel(KERNEL("@!%p1 cvt.rn.f16x2.f32 %r1, %f1, %f2;\n"
						 "cp.async.ca.shared.global.L2::128B [%r1], [%rd2], 16, %r3;"));
	const struct ptx_insn *cvt = &f->insns[0], *cp = &f->insns[1];

	CHECK_EQ(cvt->op, PTX_CVT);
	CHECK(cvt->guard_not);
	CHECK_STR(f->regs[cvt->guard].name, "%p1");
	CHECK_EQ(cvt->n_mods, 1);
	CHECK_EQ(cvt->mods[0], PTX_MOD_RN);
	CHECK_EQ(cvt->n_types, 2);
	CHECK_EQ(cvt->types[0], PTX_T_F16X2);
	CHECK_EQ(cvt->types[1], PTX_T_F32);
	CHECK_EQ(cvt->ptx_line, 7);
	CHECK_EQ(cp->op, PTX_CP);
	CHECK_EQ(cp->n_mods, 5);
	CHECK(ptx_has(cp, PTX_MOD_L2_128B));
	CHECK(!ptx_has(cp, PTX_MOD_CG));
	CHECK_EQ(cp->n_types, 0);
	CHECK_EQ(cp->n_ops, 4);
	CHECK_EQ(cp->ops[0].kind, PTX_O_MEM);
	CHECK_EQ(cp->ops[2].imm, 16);
	CHECK_EQ(ptx_insn_space(cp), PTX_SPACE_SHARED);
	CHECK_EQ(cp->guard, -1);
}

TEST(instructions_print_as_written)
{
	same("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r1, %r2, _, %r4}, [%rd1+16];");
	same("setp.lt.and.u32 %p1|%p2, %r1, 3, !%p3;");
	same("setp.eq.s32 _|%p1, %r1, %r2;");
	same("setp.eq.s32 %p1|_, %r1, %r2;");
	same("atom.global.cta.relaxed.cas.b32 _, [%rd1-8], %r1, %r2;");
	same("mov.b64 {%r1, _}, %rd1;");
	same("mov.u32 %r1, %tid.x;");
	same("mov.u64 %rd1, %globaltimer;");
	same("fma.rn.ftz.f32 %f1, %f2, 0f3F800000, %f3;");
	same("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], "
	     "[%rd1, {%r2, %r3}], [%r4];");
	same("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, "
	     "{%r5, %r6}, {%f1, %f2, %f3, %f4};");
	same("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, %rd1, "
	     "%rd2, %p1, 1, 1, 0, 0;");
	same("vadd.s32.s32.s32.sat %r1, %r2.b1, %r3.h0;");
	same("vabsdiff4.u32.u32.u32.add %r1, %r2.b3210, %r3.b7654, %r4;");
	same("bar.red.popc.u32 %r1, 0, !%p1;");
	same("createpolicy.fractional.L2::evict_first.b64 %rd1, 0d3FF0000000000000;");
	same("bar.warp.sync -1;");
	same("ret;");
}

TEST(registers_of_nested_blocks_are_their_own)
{
	const struct ptx_func *f = kernel(KERNEL(
		"mov.b32 %r1, 1;\n"
		"{ .reg .b32 %r1; .reg .b16 t<3>; mov.b32 %r1, 2; mov.b16 t2, 1; mov.b32 %r2, 3;\n"
		"{ .reg .b32 %r<2>; mov.b32 %r1, 4; mov.b32 %r9, 5; } }\n"
		"{ .reg .b32 t2; mov.b32 t2, 6; }\n"
		"mov.b32 %r1, 7;"));
	const struct ptx_insn *in = f->insns;

	CHECK(in[1].ops[0].reg != in[0].ops[0].reg);
	CHECK_STR(f->regs[in[2].ops[0].reg].name, "t2");
	CHECK_EQ(f->regs[in[2].ops[0].reg].type, PTX_T_B16);
	CHECK_STR(f->regs[in[3].ops[0].reg].name, "%r2");
	CHECK(in[4].ops[0].reg != in[1].ops[0].reg && in[4].ops[0].reg != in[0].ops[0].reg);
	CHECK_EQ(in[4].ops[1].imm, 4);
	CHECK_STR(f->regs[in[5].ops[0].reg].name, "%r9");
	CHECK_STR(f->regs[in[6].ops[0].reg].name, "t2");
	CHECK_EQ(f->regs[in[6].ops[0].reg].type, PTX_T_B32);
	CHECK_EQ(in[7].ops[0].reg, in[0].ops[0].reg);
	CHECK_EQ(f->n_regs, 4 + 30 + 1 + 3 + 2 + 1);
}

TEST(a_name_may_end_in_digits_that_are_no_number_of_a_range)
{
	const struct ptx_func *f = kernel(KERNEL(
		".reg .b32 %r1<12>, %x007, %z00<2>; mov.b32 %r111, 0; mov.b32 %r5, 0; mov.b32 %x007, 0; mov.b32 %z001, 0;"));

	CHECK_STR(f->regs[f->insns[0].ops[0].reg].name, "%r111");
	CHECK_STR(f->regs[f->insns[1].ops[0].reg].name, "%r5");
	CHECK_STR(f->regs[f->insns[2].ops[0].reg].name, "%x007");
	CHECK_STR(f->regs[f->insns[3].ops[0].reg].name, "%z001");
	refused(KERNEL("mov.b32 %r10, 0;"), "line 7: '%r10' is neither declared nor a special register");
	refused(KERNEL("mov.b32 %r01, 0;"), "'%r01'");
}

TEST(labels_belong_to_their_block)
{
	const struct ptx_func *f = kernel(KERNEL(
		"bra OUT;\n"
		"{ LOOP: bra LOOP; bra OUT; }\n"
		"{ bra.uni LOOP; @%p1 bra LOOP; LOOP: { bra LOOP; } }\n"
		"OUT: ret;\nEND:\n"
		"bra END; bra LAST; LAST:"));

	CHECK_EQ(f->insns[0].ops[0].target, 6);
	CHECK_EQ(f->insns[1].ops[0].target, 1);
	CHECK_EQ(f->insns[2].ops[0].target, 6);
	CHECK_EQ(f->insns[3].ops[0].target, 5);
	CHECK_EQ(f->insns[4].ops[0].target, 5);
	CHECK_EQ(f->insns[5].ops[0].target, 5);
	CHECK_EQ(f->insns[7].ops[0].target, 7);
	CHECK_EQ(f->insns[8].ops[0].target, f->n_insns);
	refused(KERNEL("{ L: ret; }\nbra L;"), "line 8: label 'L' is not defined");
	refused(KERNEL("L: ret; L: ret;"), "twice");
}

TEST(tables_of_labels_and_calls)
{
	const struct ptx_module *m = parse(HEAD
		".func (.param .b32 r) f (.param .b64 a, .param .align 8 .b8 b[12]);\n"
		".extern .func (.param .b32 x) vprintf (.param .b64 a, .param .b64 b);\n"
		".func g { ret; }\n"
		".visible .entry k(.param .u64 p) {\n .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
		"ts: .branchtargets A, B, A;\n brx.idx %r1, ts;\nA: B:\n"
		"{ .param .b64 param0; .param .b32 retval0;\n st.param.b64 [param0], %rd1;\n"
		"call.uni (retval0), f, (param0, param0);\n call g;\n"
		"pr: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _) ;\n"
		"call (retval0), %rd2, (param0, %r1, 5), pr;\n"
		"ct: .calltargets f, g;\n call %rd2, ct;\n}\n ret; }\n"
		".func (.param .b32 r) f (.param .b64 a, .param .align 8 .b8 b[12]) { st.param.b32 [r+0], 1; ret; }\n");
	const struct ptx_func *k = ptx_find_func(m, "k"), *f = ptx_find_func(m, "f");
	const struct ptx_insn *in = k->insns;

	CHECK_EQ(in[0].ops[1].kind, PTX_O_TABLE);
	CHECK_EQ(in[0].ops[1].table->n, 3);
	CHECK_EQ(in[0].ops[1].table->targets[2], 1);
	CHECK_EQ(in[2].n_ops, 3);
	CHECK_EQ(in[2].ops[0].kind, PTX_O_LIST);
	CHECK_EQ(in[2].ops[0].n, 1);
	CHECK_EQ(in[2].ops[0].elems[0].kind, PTX_O_VAR);
	CHECK(in[2].ops[1].func == f);
	CHECK_EQ(f->n_insns, 2);
	CHECK_EQ(f->params[1].address, 8);
	CHECK_EQ(f->params[1].size, 12);
	CHECK(f->params[1].owner == f);
	CHECK(!f->is_extern && ptx_find_func(m, "vprintf")->is_extern);
	CHECK_EQ(in[4].ops[3].table->n_params, 2);
	CHECK_EQ(in[4].ops[2].elems[2].imm, 5);
	CHECK(in[5].ops[1].table->funcs[0] == f);
}

TEST(entry_parameters_and_limits)
{
	const struct ptx_func *f = kernel(HEAD
		".visible .entry k(.param .u32 a, .param .u64 .ptr .global .align 16 b, .param .u8 c, "
		".param .align 16 .b8 d[40])\n.maxntid 128, 2\n.reqntid 64, 1, 1 .minnctapersm 4 .maxnreg 40\n{ ret; }");

	CHECK_EQ(f->n_params, 4);
	CHECK_EQ(f->params[1].address, 8);
	CHECK_EQ(f->params[2].address, 16);
	CHECK_EQ(f->params[3].address, 32);
	CHECK_EQ(f->param_bytes, 72);
	CHECK_EQ(f->maxntid[1], 2);
	CHECK_EQ(f->maxntid[2], 1);
	CHECK_EQ(f->reqntid[0], 64);
	CHECK_EQ(f->minnctapersm, 4);
	CHECK(f->is_entry && f->is_visible);
}

TEST(variables_and_initial_values)
{
	const struct ptx_module *m = parse(HEAD
		".func fn ();\n"
		".global .align 4 .u32 n = 3;\n"
		".const .align 4 .f32 lut[2][2] = {{1.5, 0f40000000}, {-1, 2}};\n"
		".global .u64 ptrs[4] = {generic(n), fn, n+8, -1};\n"
		".global .align 1 .b8 s[] = {104, 0x69, 0};\n"
		".global .align 8 .b8 m[12] = {0xff(n), 0xff00(n), 0xff0000(n), 0xff000000(n), 0xff00000000(n), "
		"0xff0000000000(n), 0xff000000000000(n), 0xff00000000000000(n), 7};\n"
		".extern .shared .align 16 .b8 dyn[];\n.extern .global .u32 later[4];\n"
		".visible .global .align 8 .u32 later[4] = {1};\n"
		".shared .attribute(.unified(1, 2)) .v2 .f32 v;\n");
	const struct ptx_var *lut = ptx_find_var(m, "lut"), *p = ptx_find_var(m, "ptrs"), *b = ptx_find_var(m, "m");
	const struct ptx_var *later = ptx_find_var(m, "later");
	float f[4];
	uint64_t last;

	CHECK_EQ(lut->size, 16);
	memcpy(f, lut->init, sizeof f);
	CHECK(f[0] == 1.5f && f[1] == 2 && f[2] == -1 && f[3] == 2);
	CHECK_EQ(p->n_relocs, 3);
	CHECK(p->relocs[0].generic && p->relocs[0].var == ptx_find_var(m, "n"));
	CHECK(p->relocs[1].func == ptx_find_func(m, "fn"));
	CHECK_EQ(p->relocs[1].offset, 8);
	CHECK_EQ(p->relocs[2].addend, 8);
	memcpy(&last, p->init + 24, 8);
	CHECK_EQ(last, ~0ull);
	CHECK_EQ(ptx_find_var(m, "s")->size, 3);
	CHECK_EQ(b->n_relocs, 1);
	CHECK_EQ(b->relocs[0].width, 8);
	CHECK_EQ(b->init[8], 7);
	CHECK(ptx_find_var(m, "dyn")->is_extern && ptx_find_var(m, "dyn")->size == 0);
	CHECK_EQ(ptx_find_var(m, "dyn")->align, 16);
	CHECK(!later->is_extern && later->align == 8 && later->init[0] == 1);
	CHECK(m->vars[later->index] == later);
	CHECK_EQ(ptx_find_var(m, "v")->size, 8);
	CHECK_EQ(ptx_find_var(m, "v")->align, 8);
}

static uint64_t immediate(const char *expression)
{
	struct buf b = {0};

	buf_printf(&b, "%smov.b64 %%rd1, %s; }", OPEN, expression);
	const struct ptx_operand *o = &kernel(b.data)->insns[0].ops[1];
	CHECK_EQ(o->kind, PTX_O_INT);
	buf_free(&b);
	return o->imm;
}

TEST(constant_expressions)
{
	CHECK_EQ(immediate("(0xf0 & 0xcc) | 0xaa"), 0xea);
	CHECK_EQ(immediate("1 + 2 * 3 << 1"), 14);
	CHECK_EQ(immediate("-7 / 2"), -3);
	CHECK_EQ(immediate("-1 >> 63"), -1);
	CHECK_EQ(immediate("(.u64) -1 >> 63"), 1);
	CHECK_EQ(immediate("-1 < 0 ? 5 : 6"), 5);
	CHECK_EQ(immediate("-1 < 0U ? 5 : 6"), 6);
	CHECK_EQ(immediate("WARP_SZ - 1"), 31);
	CHECK_EQ(immediate("-WARP_SZ"), -32);
	CHECK_EQ(immediate("0b101 + 017 + 0x1F"), 5 + 15 + 31);
	CHECK_EQ(immediate("!0 && ~0 == -1"), 1);
	CHECK_EQ(immediate("0x8000000000000000 / -1"), 0);
	CHECK_EQ(immediate("(.s64) 0x8000000000000000 / -1"), 0x8000000000000000u);
	CHECK_EQ(immediate("1 << 64"), 0);
	refused(KERNEL("mov.b32 %r1, 1 / 0;"), "division by zero");
	refused(KERNEL("mov.b32 %r1, 1.0 + 2;"), "an integer is wanted");
}

TEST(float_literals)
{
	const struct ptx_insn *in = kernel(KERNEL(
		"mov.f32 %f1, 0F3f800000; mov.f64 %rd1, 0d3FF0000000000000; mov.f32 %f1, -.5e-1; mov.f32 %f1, 1.;"))->insns;
	double d;

	CHECK_EQ(in[0].ops[1].kind, PTX_O_F32);
	CHECK_EQ(in[0].ops[1].imm, 0x3f800000);
	CHECK_EQ(in[1].ops[1].kind, PTX_O_F64);
	memcpy(&d, &in[2].ops[1].imm, sizeof d);
	CHECK(d == -.05);
	memcpy(&d, &in[3].ops[1].imm, sizeof d);
	CHECK(d == 1);
	refused(KERNEL("mov.f32 %f1, 0f3f80000;"), "8 hexadecimal digits");
	refused(KERNEL("mov.f32 %f1, 0f3f800000a;"), "8 hexadecimal digits");
	refused(KERNEL("mov.u64 %rd1, 0x10000000000000000;"), "64 bits");
}

TEST(memory_operands)
{
	const struct ptx_func *f = kernel(HEAD ".shared .align 4 .b8 sm[64];\n.visible .entry k(.param .u64 p) {\n"
		".reg .b32 %r<4>; .reg .v4 .f32 v; .local .align 8 .b8 d[16];\n"
		"ld.shared.b32 %r1, [sm+4*2];\nld.param.b32 %r1, [p];\nst.local.v4.f32 [d], v;\n"
		"mov.f32 v.y, v.w;\nld.local.b32 %r1, [8];\nmov.u64 %r1, sm+4;\nld.b32 %r1, [%r2+-4];\n}");
	const struct ptx_insn *in = f->insns;

	CHECK_STR(in[0].ops[1].var->name, "sm");
	CHECK_EQ(in[0].ops[1].imm, 8);
	CHECK_EQ(in[0].ops[1].reg, -1);
	CHECK(in[1].ops[1].var == &f->params[0]);
	CHECK_EQ(in[2].ops[1].kind, PTX_O_VEC);
	CHECK_EQ(in[2].ops[1].n, 4);
	CHECK(in[2].ops[0].var->owner == f);
	CHECK_EQ(in[3].ops[0].reg, in[2].ops[1].elems[1].reg);
	CHECK_EQ(in[4].ops[1].kind, PTX_O_MEM);
	CHECK(!in[4].ops[1].var && in[4].ops[1].reg == -1 && in[4].ops[1].imm == 8);
	CHECK_EQ(in[5].ops[1].kind, PTX_O_VAR);
	CHECK_EQ(in[5].ops[1].imm, 4);
	CHECK_EQ(in[6].ops[1].imm, -4);
	CHECK_EQ(ptx_insn_space(&in[6]), PTX_SPACE_GENERIC);
}

TEST(places_are_those_of_the_kernels_own_file)
{
	const struct ptx_module *m = parse(HEAD ".visible .entry k() {\n.reg .b32 %r<3>;\n"
		".loc 1 10 5\nmov.b32 %r1, 0;\n"
		".loc 2 99 7, function_name $L__info_string0, inlined_at 1 12 3\nmov.b32 %r1, 1;\n"
		".loc 1 20 2, function_name $L__info_string1+4, inlined_at 1 10 5\nmov.b32 %r1, 2;\n"
		".loc 2 50 1, function_name $L__info_string2, inlined_at 1 20 2\nmov.b32 %r1, 3;\n}\n"
		".file 2 \"sm_30_intrinsics.hpp\"\n.file 1 \"gemv.cu\", 12, 34\n"
		".section .debug_str { $L__info_string0:\n.b8 1,2 { } \n}\n");
	const struct ptx_func *f = ptx_find_func(m, "k");
	static const uint32_t lines[] = {10, 12, 20, 20};

	for (int i = 0; i < 4; i++) {
		CHECK_EQ(m->locs[f->insns[i].loc].line, lines[i]);
		CHECK_STR(m->locs[f->insns[i].loc].file, "gemv.cu");
	}
	CHECK_EQ(f->insns[2].loc, f->insns[3].loc);
	CHECK_STR(m->lines[1], ".version 9.0");
	CHECK_STR(m->lines[f->insns[0].ptx_line], "mov.b32 %r1, 0;");
}

TEST(other_directives)
{
	const struct ptx_module *m = parse("/* a\n comment */ .version 8.7 // and one\n.target sm_80, debug\n"
		".address_size 64\n.pragma \"x\";\n.weak .func a () .noreturn;\n.func b() { ret; }\n.func c;\n"
		".alias c, b;\n.entry k() .explicitcluster .reqnctapercluster 2, 1, 1 { .pragma \"nounroll\"; ;; exit; }\n");

	CHECK_EQ(m->version_major, 8);
	CHECK_EQ(m->version_minor, 7);
	CHECK_STR(m->target, "sm_80");
	CHECK_EQ(ptx_find_func(m, "c")->n_insns, 1);
	CHECK_STR(ptx_find_func(m, "c")->name, "c");
	CHECK(ptx_find_func(m, "a")->is_weak && !ptx_find_func(m, "a")->ptx_line);
}

TEST(errors_name_place_and_cause)
{
	refused("", ".version");
	refused(HEAD ".visible .entry k() {\nfoo.u32 %r1;\n}", "line 5: unknown instruction 'foo'");
	refused(KERNEL("add.u33 %r1, %r1, 1;"), "line 7: unknown suffix '.u33' of 'add'");
	refused(KERNEL("add.u32 %r1, x, 1;"), "'x' is not declared");
	refused(KERNEL("add.u32 %r1, %r1 1;"), "',' or ';' wanted, not '1'");
	refused(KERNEL("add.u32 %r1, ;"), "an operand wanted, not ';'");
	refused(KERNEL("add.u32 %r1, %r1, 1"), "wanted, not '}'");
	refused(HEAD ".entry k() {\nret;\n", "function 'k' of line 4 has no '}'");
	refused(HEAD ".entry k() { ret; }\n.entry k() { ret; }", "line 5: function 'k' is defined twice, first in line 4");
	refused(HEAD ".global .u32 a;\n.global .u32 a;", "line 5: 'a' is declared twice");
	refused(HEAD ".global .u32 a[2] = {1, 2, 3};", "more initial values");
	refused(HEAD ".global .u32 a[0x100000000][0x100000000];", "too large");
	refused(HEAD ".global .pred a;", "registers only");
	refused(HEAD ".global .u32 a[];", "size of 'a' is missing");
	refused(HEAD ".frobnicate 3", "no directive that we know");
	refused(HEAD ".address_size 32", "an address size of 64");
	refused(HEAD "/* no end", "comment without an end");
	refused(KERNEL("mov.u32 %r1, \"abc;"), "string without an end");
	refused(KERNEL("mov.u32 %r1, %envreg99;"), "special register");
	refused(KERNEL("mov.u32 %r1, \x80;"), "stray character");
	refused(KERNEL(".reg .b32 %big<2000000>;"), "more than 1048576 registers");
	refused(KERNEL("st.b8 [1.5], 1;"), "an address is an integer");
	struct err e = {0};
	CHECK(!ptx_parse("a\nb\0c", 5, arena, &e));
	CHECK_STR(e.text, "line 2: a NUL byte in the text");
}

static void repeat(struct buf *b, const char *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		buf_adds(b, s);
}

TEST(nesting_is_bounded)
{
	static const char *const units[][2] = {
		{"", "{"}, {"mov.b32 %r1, ", "("}, {"mov.b32 %r1, ", "-~"}, {"mov.b32 %r1, ", "1 ? "},
		{"mov.b32 %r1, ", "(.u64)"}, {"mov.b32 %r1, ", "1 ? 1 : "}};

	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		struct buf b = {0};
		buf_adds(&b, HEAD ".entry k() {\n.reg .b32 %r<3>;\n");
		buf_adds(&b, units[i][0]);
		repeat(&b, units[i][1], 100000);
		refused(b.data, "nested more than");
		buf_free(&b);
	}
	struct buf b = {0};
	buf_adds(&b, HEAD ".global .u32 a[2] = ");
	repeat(&b, "{", 100000);
	refused(b.data, "too deep");
	buf_free(&b);
}

TEST(memory_is_bounded)
{
	struct buf b = {0};
	struct err e = {0};

	buf_adds(&b, HEAD);
	for (int i = 0; i < 100; i++)
		buf_printf(&b, ".func f%d() { .reg .b32 a<1048570>; ret; }\n", i);
	struct arena *a = arena_new();
	CHECK(!ptx_parse(b.data, b.size, a, &e));
	CHECK_MSG(strstr(e.text, "memory"), "%s", e.text);
	CHECK(arena_used(a) < (size_t)PTX_MAX_MEMORY + (64 << 20));
	arena_free(a);
	buf_free(&b);
}

TEST_WITHIN(twenty_megabytes_parse_in_time, 60)
{
	struct buf b = {0};
	struct timespec from, to;

	buf_adds(&b, HEAD);
	for (int i = 0; b.size < 20 << 20; i++) {
		buf_printf(&b, ".visible .entry k%d(.param .u64 p) {\n.reg .pred %%p<9>;\n.reg .b32 %%r<173>;\n"
			       ".reg .b64 %%rd<20>;\n.reg .f32 %%f<200>;\n", i);
		for (int j = 0; j < 100; j++)
			buf_printf(&b, "$L%d_%d:\n{ .reg .b32 t<4>; .reg .pred q;\n\tld.global.nc.v4.f32 \t{%%f%d, %%f2, "
				       "%%f3, %%f4}, [%%rd%d+%d];\n\tfma.rn.f32 \t%%f5, %%f1, %%f%d, %%f6;\n"
				       "\tsetp.lt.u32 q, t1, %%r%d;\n\t@q bra \t$L%d_%d;\n}\n",
				   i, j, j, j % 20, 16 * j, j, j, i, j);
		buf_adds(&b, "ret; }\n");
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	parse(b.data);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
	/* The aim is 2 s of processor time; ten times that tells a quadratic parser from a slow machine and a sanitizer. */
	CHECK_MSG(seconds < 20, "%.1f s", seconds);
	CHECK(arena_used(arena) < b.size * 20);
	buf_free(&b);
}

TEST(output_of_nvcc)
{
	static const char *const files[] = {"tests/fuzz/corpus/ptx/gemv.ptx", "tests/fuzz/corpus/ptx/language.ptx",
					    "tests/fuzz/corpus/ptx/matrix.ptx", "tests/fuzz/corpus/ptx/sm90.ptx"};

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct buf b = {0};
		struct err e = {0};
		CHECK_MSG(buf_read_file(&b, files[i], 10 << 20, &e) == 0, "%s", e.text);
		struct ptx_module *m = parse(b.data);
		unsigned n = 0;
		for (uint32_t j = 0; j < m->n_funcs; j++) {
			const struct ptx_func *f = m->funcs[j];
			for (uint32_t k = 0; k < f->n_insns; k++)
				n += ptx_print_insn(f, &f->insns[k], arena)[0] != 0;
		}
		CHECK(n > 60);
		buf_free(&b);
	}
}
