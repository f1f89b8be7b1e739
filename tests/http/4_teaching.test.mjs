// What instructors change: statements of problems, extra time for an assignment.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { assert, misfits, test } from "./harness.mjs";
import { packageText, world } from "./world.mjs";

const hidden = (w) => (existsSync(join(w.server.data, "problems")) ? readdirSync(join(w.server.data, "problems")).filter((n) => n.startsWith(".")) : []);

test("a statement is read as it is written, and saved as a new edition; judgings keep their version", async () => {
	const w = await world();
	const at = "/problems/w8a16-gemv/statements/en";
	for (const [who, status] of [["anybody", 401], ["alice", 403], ["tess", 403]]) {
		assert.equal((await w.ask[who](at)).status, status, who);
		assert.equal((await w.ask[who](at, { method: "PUT", json: { text: "x" } })).status, status, who);
		assert.equal((await w.ask[who]("/preview", { method: "POST", json: { text: "x" } })).status, status, who);
	}
	const before = (await w.ask.alice("/problems/w8a16-gemv")).json;
	const sent = (await w.ask.alice("/submissions", { method: "POST", json: { problem: "w8a16-gemv", source: "int x;" } })).json;
	const read = (await w.ask.ina(at)).json;
	assert.deepEqual(misfits(w.doc, w.doc.components.schemas.Statement, read), []);
	assert.equal(read.by, null);
	const text = `# Another heading $a<b$ <script>alert(1)</script>\n\n${read.text}`;
	const saved = await w.ask.ina(at, { method: "PUT", json: { text, base: read.base } });
	assert.equal(saved.status, 200, saved.text);
	assert.deepEqual([saved.json.text, saved.json.by, saved.json.edition, saved.json.version], [text, "ina", read.edition + 1, read.version]);
	assert.notEqual(saved.json.base, read.base);
	const after = (await w.ask.alice("/problems/w8a16-gemv")).json;
	assert.match(after.statement_html, /^<h2>Another heading <span class="math inline">a&lt;b<\/span> &lt;script&gt;/);
	assert.deepEqual({ ...after, statement_html: "", attempts: 0, tried: false }, { ...before, statement_html: "", attempts: 0, tried: false }, "all else stays");
	assert.equal((await w.ask.alice(`/submissions/${sent.id}`)).json.judging.version, before.version);
	assert.equal((await w.ask.alice("/problems/w8a16-gemv?lang=zh")).json.statement_html, (await w.ask.ina("/problems/w8a16-gemv?lang=zh")).json.statement_html);
	const versions = (await w.ask.ina("/problems/w8a16-gemv/versions")).json.items;
	assert.deepEqual(versions.map((v) => [v.version, v.edition, v.by, v.current]), [[read.version, 2, "ina", true], [read.version, 1, null, false]]);
	assert.equal(packageText("../w8a16-gemv/statement.en.md"), read.text, "the files that came with the judge stay");
});

test("whoever saves a statement that another has changed is told, and nothing is lost", async () => {
	const w = await world();
	const at = "/problems/w8a16-gemv/statements/zh";
	const put = (who, text, base) => w.ask[who](at, { method: "PUT", json: { text, base } });
	const read = (await w.ask.ina(at)).json;
	const [a, b] = await Promise.all([put("ina", "# 甲\n", read.base), put("root", "# 乙\n", read.base)]);
	assert.deepEqual([a.status, b.status].sort(), [200, 409]);
	const lost = a.status === 409 ? a : b;
	assert.deepEqual([lost.json.error.code, lost.json.error.field], ["conflict", "base"]);
	const now = (await w.ask.ina(at)).json;
	assert.equal(now.text, a.status === 200 ? "# 甲\n" : "# 乙\n");
	assert.equal((await put("ina", "# 丙\n", null)).status, 409, "nor does it help to have read nothing");
	assert.equal((await put("ina", read.text, now.base)).status, 200);
	// In two languages at once: each is kept.
	const en = (await w.ask.ina("/problems/w8a16-gemv/statements/en")).json;
	const zh = (await w.ask.ina(at)).json;
	const both = await Promise.all([
		w.ask.ina("/problems/w8a16-gemv/statements/en", { method: "PUT", json: { text: "# One\n", base: en.base } }),
		put("root", "# 一\n", zh.base),
	]);
	assert.deepEqual(both.map((x) => x.status), [200, 200]);
	assert.equal((await w.ask.ina("/problems/w8a16-gemv/statements/en")).json.text, "# One\n");
	assert.equal((await w.ask.ina(at)).json.text, "# 一\n");
	assert.deepEqual(hidden(w), [], "no workplace is left");
});

test("statements that cannot be: the same checks as of a package", async () => {
	const w = await world();
	const put = (path, json) => w.ask.ina(`/problems/${path}`, { method: "PUT", json });
	const { base, edition } = (await w.ask.ina("/problems/int4-gemv/statements/en")).json;
	for (const [json, field] of [[{ base }, "text"], [{ text: "", base }, "text"], [{ text: 7, base }, "text"], [{ text: "x", base: 7 }, "base"], [{ text: "x", base, more: 1 }, "more"], [{ text: "x".repeat(50001), base }, "text"]]) {
		const a = await put("int4-gemv/statements/en", json);
		assert.deepEqual([a.status, a.json.error.field], [422, field], a.text);
	}
	assert.equal((await put("int4-gemv/statements/en", { text: "x".repeat(70000), base })).status, 413);
	const nul = await put("int4-gemv/statements/en", { text: "a\0b", base });
	assert.ok([400, 422].includes(nul.status), nul.text);
	for (const path of ["int4-gemv/statements/de", "int4-gemv/statements/..%2fen", "nothing/statements/en", "..%2f..%2fetc/statements/en"]) {
		assert.equal((await put(path, { text: "x", base })).status, 404, path);
		assert.equal((await w.ask.ina(`/problems/${path}`)).status, 404, path);
	}
	assert.equal((await w.ask.ina("/problems/int4-gemv/statements/en", { method: "PUT", json: { text: "x", base }, origin: "https://evil.example" })).status, 403);
	assert.equal((await w.ask.ina("/problems/int4-gemv/statements/en")).json.edition, edition);
	assert.deepEqual(hidden(w), []);
});

test("a preview is what students would see, hints apart", async () => {
	const w = await world();
	const text = packageText("statement.en.md");
	const p = (await w.ask.ina("/preview", { method: "POST", json: { text } })).json;
	const shown = (await w.ask.alice("/problems/int4-gemv")).json;
	assert.equal(p.html, shown.statement_html);
	assert.equal(p.hints.length, shown.hints);
	assert.equal(p.hints[0], (await w.ask.alice("/problems/int4-gemv/hints/1")).json.html);
	const bad = (await w.ask.ina("/preview", { method: "POST", json: { text: "<img src=x onerror=alert(1)> [x](javascript:alert(1))" } })).json;
	assert.ok(!/<img|href/.test(bad.html), bad.html);
	assert.deepEqual((await w.ask.ina("/preview", { method: "POST", json: { text: "" } })).json, { html: "", hints: [] });
});

test("extra time: given, listed, seen by whom it is for, taken away", async () => {
	const w = await world();
	const at = `/assignments/${w.assignment.id}/extensions`;
	const give = (user, deadline) => w.ask.ina(at, { method: "POST", json: { user, deadline } });
	const due = async (who) => (await w.ask[who](`/groups/${w.group.id}/assignments`)).json.items[0].deadline;
	assert.deepEqual((await w.ask.ina(at)).json, { items: [], next: null });
	const all = await give("alice", "2099-02-01T00:00:00Z");
	assert.equal(all.status, 200, all.text);
	assert.deepEqual(all.json.items, [{ user: "alice", display: "alice", deadline: "2099-02-01T00:00:00.000Z" }]);
	assert.equal(await due("alice"), "2099-02-01T00:00:00.000Z");
	assert.equal(await due("ina"), "2099-01-01T00:00:00.000Z");
	assert.deepEqual((await give("alice", "2099-03-01T00:00:00Z")).json.items.map((x) => x.deadline), ["2099-03-01T00:00:00.000Z"], "another one takes its place");
	for (const [user, deadline, field] of [["nobody", "2099-02-01T00:00:00Z", "user"], ["bob", "2099-02-01T00:00:00Z", "user"], ["alice", null, "deadline"], ["alice", "soon", "deadline"], ["alice", "1970-01-01T00:00:00Z", "deadline"]]) {
		const a = await give(user, deadline);
		assert.deepEqual([a.status, a.json.error.field], [422, field], `${user} ${deadline}: ${a.text}`);
	}
	for (const who of ["alice", "bob", "tess"]) {
		assert.equal((await w.ask[who](at)).status, 403, who);
		assert.equal((await w.ask[who](`${at}/alice`, { method: "DELETE" })).status, 403, who);
	}
	assert.equal((await w.ask.ina(`${at}/bob`, { method: "DELETE" })).status, 404);
	assert.equal((await w.ask.ina(`${at}/alice`, { method: "DELETE" })).status, 204);
	assert.equal((await w.ask.ina(`${at}/alice`, { method: "DELETE" })).status, 404);
	assert.equal(await due("alice"), "2099-01-01T00:00:00.000Z");
	assert.equal((await w.ask.ina("/assignments/999999/extensions")).status, 404);
});
