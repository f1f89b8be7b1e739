// The pure parts, and what the build makes: sizes, and names of no other host.
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { assert, test } from "../http/harness.mjs";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const built = join(process.env.B ?? "build", "web");

let modules;
async function part(name) {
	if (!modules) {
		const out = mkdtempSync(join(tmpdir(), "judge-web-"));
		await require("esbuild").build({ entryPoints: ["format", "sse", "editor/link", "charts/scale", "paths"].map((f) => `web/src/${f}.ts`), outdir: out, bundle: true, format: "esm", outExtension: { ".js": ".mjs" }, outbase: "web/src", logLevel: "error" });
		modules = {};
		for (const m of ["format", "sse", "editor/link", "charts/scale", "paths"]) modules[m] = await import(pathToFileURL(join(out, `${m}.mjs`)));
		rmSync(out, { recursive: true, force: true });
	}
	return modules[name];
}

test("figures are written as people read them", async () => {
	const f = await part("format");
	assert.equal(f.percent(0.108), "11 %");
	assert.equal(f.percent(0.034), "3.4 %");
	assert.equal(f.percent(0), "0 %");
	assert.equal(f.percent(null), "–");
	assert.equal(f.micros(19.036), "19.0 µs");
	assert.equal(f.micros(999.7), "1.00 ms");
	assert.equal(f.micros(0.5), "500 ns");
	assert.equal(f.micros(2.5e6), "2.50 s");
	assert.equal(f.bytes(0), "0 B");
	assert.equal(f.bytes(9453568), "9.45 MB");
	assert.equal(f.bytes(262144), "262 kB");
	assert.equal(f.short(0.00022), "2.20e-4");
	assert.equal(f.short(1234.4), "1234");
	assert.equal(f.times(2), "2.0×");
	assert.equal(f.times(214.36 / 19.036), "11.3×");
	assert.equal(f.score(65.3999), "65.3");	// never more than it is
	assert.equal(f.score(100), "100.0");
	assert.equal(f.value("nan"), "nan");
	assert.equal(f.value(-1.875), "-1.875");
	assert.equal(f.sizes({ N: 8, K: 256 }), "N=8 K=256");
	const now = Date.parse("2026-11-30T12:00:00Z");
	assert.match(f.ago("2026-11-30T11:57:00Z", "en", now), /^3 min\.? ago$/);
	assert.match(f.ago("2026-11-30T11:57:00Z", "zh", now), /^3 ?分钟前$/);
});

test("problems by paths, and what comes next", async () => {
	const { byPaths, nextProblem } = await part("paths");
	const title = { en: "x", zh: "x" };
	const p = (id, path, order, position, needs = [], solved = false) => ({ id, path, order, position, solved, needs: needs.map(([n, s]) => ({ id: n, title, solved: s })) });
	const paths = [{ id: "one", title, about: title }, { id: "two", title, about: title }, { id: "none", title, about: title }];
	const of = (items) => ({ items, paths });
	const items = [p("d", null, null, 9), p("c", "two", 1, 1), p("b", "one", 4, 2, [["a", false]]), p("e", null, null, 3), p("a", "one", 2, 8)];
	assert.deepEqual(byPaths(of(items)).map((g) => [g.path?.id ?? null, g.items.map((x) => x.id).join("")]), [["one", "ab"], ["two", "c"], [null, "ed"]]);
	assert.equal(nextProblem(of(items), "a").problem.id, "b", "what needs the one just solved");
	assert.equal(nextProblem(of(items), "a").path.id, "one");
	assert.equal(nextProblem(of(items), "d").problem.id, "a", "from the end back to the beginning");
	assert.equal(nextProblem(of(items), "d").path.id, "one");
	assert.equal(nextProblem(of([p("x", null, null, 1), p("y", null, null, 2, [["z", false]])]), "x").problem.id, "y", "what is not ready, where nothing else is left");
	assert.equal(nextProblem(of(items.map((x) => ({ ...x, solved: true }))), "a"), null);
	assert.equal(nextProblem(of([p("a", null, null, 1)]), "a"), null);
});

test("events are read from a stream however it is cut", async () => {
	const { eventParser } = await part("sse");
	const text = ": hello\r\n\r\nid: 7\nevent: stage\ndata: {\"a\":\ndata: 1}\n\ndata:x\r\rid: 8\r\nevent: done\r\ndata: {}\r\n\r\nevent: lost\ndata: half";
	const want = [{ id: "7", event: "stage", data: "{\"a\":\n1}" }, { id: "7", event: "message", data: "x" }, { id: "8", event: "done", data: "{}" }];
	assert.deepEqual(eventParser()(text), want);
	for (let size = 1; size < 9; size++) {
		const feed = eventParser();
		const got = [];
		for (let i = 0; i < text.length; i += size) got.push(...feed(text.slice(i, i + size)));
		assert.deepEqual(got, want, `pieces of ${size}`);
	}
});

test("PTX lines belong to the source lines of their .loc", async () => {
	const { linkPtx } = await part("editor/link");
	const ptx = [
		".version 8.7", '\t.file\t1 "/box/mine.cu"', '\t.file\t2 "/cuda/include/math.h"', ".visible .entry k(", ")", "{",
		"\t.loc\t1 12 3", "\tld.global.u32 %r1, [%rd1];", "\tadd.s32 %r2, %r1, 1;",
		"\t.loc\t2 99 1, function_name $L1, inlined_at 1 14 7", "\tmul.f32 %f1, %f2, %f3;",
		"\t.loc\t2 50 1", "\tmov.u32 %r9, 0;",
		"\t.loc\t1 12 9", "\tst.global.u32 [%rd1], %r2;", "}",
	].join("\n");
	const link = linkPtx(ptx, "mine.cu");
	assert.deepEqual(link.ptx.get(12), [8, 9, 15]);
	assert.deepEqual(link.ptx.get(14), [11]);
	assert.deepEqual([link.source[7], link.source[10], link.source[12], link.source[15], link.source[0]], [12, 14, 0, 0, 0]);
	assert.deepEqual(linkPtx(ptx, "renamed.cu").ptx.get(14), [11]);	// the only .cu there is
	assert.equal(linkPtx("", "x.cu").ptx.size, 0);
});

test("the roofline's axes and points", async () => {
	const s = await part("charts/scale");
	const roof = { peak_gbs: 4500, peak_flops: 60e12 };
	assert.equal(s.roofAt(roof, 1), 4.5e12);
	assert.equal(s.roofAt(roof, 1000), 60e12);
	assert.ok(Math.abs(s.ridge(roof) - 13.333) < 0.001);
	assert.deepEqual(s.decades([3, 40]), [1, 100]);
	assert.deepEqual(s.decades([10, 10]), [10, 100]);
	assert.deepEqual(s.decades([]), [1, 10]);
	assert.deepEqual(s.steps(0.4, 23), [0.5, 1, 2, 5, 10, 20]);
	assert.deepEqual(s.pointAt({ bytes: 100, flops: 360, time_us: 1 }), { x: 3.6, y: 3.6e8 });
	assert.equal(s.batchOf({ M: 4, N: 1 }), 4);
	assert.equal(s.batchOf({ N: 1 }), null);
});

test("what is loaded keeps to its budget", () => {
	const meta = JSON.parse(readFileSync(join(built, "../web.meta.json"), "utf8"));
	const gz = (path) => gzipSync(readFileSync(join(built, "assets", basename(path))), { level: 9 }).length;
	const key = (entry) => Object.keys(meta.scripts).find((k) => meta.scripts[k].entryPoint === entry);
	const closure = (k, all = new Set()) => {
		if (all.has(k)) return all;
		all.add(k);
		for (const i of meta.scripts[k].imports) if (i.kind === "import-statement") closure(i.path, all);
		return all;
	};
	const sum = (keys) => [...keys].reduce((n, k) => n + gz(k), 0);
	const css = (entry) => gz(Object.keys(meta.styles).find((k) => meta.styles[k].entryPoint === entry));
	const shell = closure(key("src/main.tsx"));
	const without = (entry) => [...closure(key(entry))].filter((k) => !shell.has(k));
	const katex = Object.keys(meta.scripts).find((k) => /katex-/.test(k));
	const kb = {
		shell: sum(shell) + sum(without("src/i18n/zh.ts")) + css("src/style/app.css"),
		editor: sum(without("src/editor/view.ts")),
		katex: sum([katex]) + css("src/style/math.css"),
		charts: sum(without("src/charts/plots.tsx")),
	};
	for (const [what, limit] of Object.entries({ shell: 30, editor: 175, katex: 85, charts: 20 })) assert.ok(kb[what] <= limit * 1024, `${what}: ${kb[what]} bytes, more than ${limit} KiB`);
	console.log(`saw: ${Object.entries(kb).map(([k, v]) => `${k} ${(v / 1024).toFixed(1)} KiB`).join(", ")}`);
});

test("every text that is served lies there compressed too, and under a name of its contents", () => {
	for (const f of readdirSync(join(built, "assets"))) {
		assert.match(f, /-[A-Z0-9]{8}\.(js|css|woff2)(\.gz)?$/);
		if (/\.(js|css)$/.test(f)) assert.ok(readdirSync(join(built, "assets")).includes(`${f}.gz`), f);
	}
	const html = readFileSync(join(built, "index.html"), "utf8");
	assert.ok(!/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|https?:/.test(html), "index.html has something inline, or names another host");
});

test("the lock file names no registry", () => {
	assert.ok(!/"resolved"/.test(readFileSync("web/package-lock.json", "utf8")));
	const p = JSON.parse(readFileSync("web/package.json", "utf8"));
	for (const [name, version] of Object.entries({ ...p.dependencies, ...p.devDependencies })) assert.match(version, /^\d+\.\d+\.\d+$/, name);
});

test("KaTeX knows every word that judge check lets statements use", () => {
	const katex = require("katex");
	const words = [...readFileSync("judge/author/tex.def", "utf8").matchAll(/TEX\((\w+)\)/g)].map((m) => m[1]).filter((w) => w !== "word");
	assert.ok(words.length > 300);
	const forms = (w) => [`\\${w}`, `\\${w}{a}`, `\\${w}{a}{b}`, `\\${w}(`, `a\\${w} b`, `\\${w}{1em}`, `\\${w} 1em`, `\\${w}{red}{a}`, `\\left(\\${w}|\\right)`];
	const unknown = words.filter((w) => {
		let why = "";
		for (const tex of forms(w))
			try {
				katex.renderToString(tex, { throwOnError: true, displayMode: true, strict: "ignore" });
				return false;
			} catch (e) {
				why += e.message;
			}
		return /Undefined control sequence/.test(why);	// else it wants surroundings that are none of these
	});
	assert.deepEqual(unknown, []);
	for (const file of ["problems", "tests/packages"].flatMap((top) => readdirSync(top).map((p) => join(top, p, "statement.en.md"))))
		if (existsSync(file))
			for (const m of readFileSync(file, "utf8").replace(/```[\s\S]*?```|`[^`\n]*`/g, "").matchAll(/\$\$([\s\S]+?)\$\$|\$([^$\n]+)\$/g))
				assert.doesNotThrow(() => katex.renderToString(m[1] ?? m[2], { throwOnError: true, strict: "ignore" }), `${file}: ${m[0]}`);
});
