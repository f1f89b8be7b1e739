// Every route of openapi.json with every role: who may, and what answers look like.
import { readFileSync } from "node:fs";
import { assert, misfits, test } from "./harness.mjs";
import { MARK, judged, packageText, source, world } from "./world.mjs";

const roles = ["anybody", "student", "assistant", "instructor", "admin"];
const rank = { anybody: 0, alice: 1, bob: 1, tess: 2, ina: 3, root: 4 };

function* operations(doc) {
	for (const [path, methods] of Object.entries(doc.paths)) for (const [method, op] of Object.entries(methods)) yield { path, method: method.toUpperCase(), op };
}

const fill = (path, ids) => path.replace(/\{(\w+)\}/g, (_, n) => ids[n]);

// What stands for {id} depends on what it is of; for what would change something, things that are not there.
function target(w, path, method) {
	const part = path.split("/")[1];
	if (path === "/groups/{id}/members/{name}") return "/groups/999999/members/nobody";
	if (path === "/assignments/{id}/extensions/{name}") return "/assignments/999999/extensions/nobody";
	const ids = { problems: "int4-gemv", submissions: w.submission.id, judgings: w.submission.judging.id, groups: w.group.id, assignments: w.assignment.id };
	const harmless = method === "GET" || path.endsWith("/roster") || path.endsWith("/extensions");
	return fill(path, { id: harmless || part === "problems" ? (ids[part] ?? 999999) : 999999, n: 1, name: "alice", language: "en" });
}

test("openapi.json and the router know the same routes, roles and methods", async () => {
	const w = await world();
	const table = readFileSync("judge/server/routes.def", "utf8").matchAll(/^ROUTE\((\w+), (\w+), "([^"]+)", (\w+), (\w+), \w+\)/gm);
	const said = [...operations(w.doc)].map((o) => `${o.op.operationId} ${o.method} ${o.path} ${o.op["x-role"]} ${o.op.requestBody ? "body" : "none"}`);
	const routed = [...table].map(([, id, method, path, role, body]) => `${id} ${method} ${path} ${role.toLowerCase()} ${body === "NONE" ? "none" : "body"}`);
	assert.deepEqual(said.sort(), routed.sort());
});

test("every route refuses whoever is below its role, and nobody else", async () => {
	const w = await world();
	for (const { path, method, op } of operations(w.doc))
		for (const who of Object.keys(rank)) {
			if (["sign_out", "sign_in", "openapi"].includes(op.operationId)) continue;
			const options = { method, headers: { accept: "application/json" } };
			if (op.requestBody) Object.assign(options, path.endsWith("/roster") ? { body: "", type: "text/csv" } : path === "/problems" ? { body: "x", type: "application/zip" } : { json: {} });
			const a = await w.ask[who](target(w, path, method) + (path.endsWith("/events") ? "?since=0" : ""), options);
			const label = `${who}: ${method} ${path} gives ${a.status} ${a.text.slice(0, 200)}`;
			const least = roles.indexOf(op["x-role"]);
			if (rank[who] < least) assert.equal(a.status, who === "anybody" ? 401 : 403, label);
			else if (who === "bob" && a.status === 403) assert.match(path, /^\/users/, label);
			else if (path !== "/users/{name}") assert.ok(![401, 403].includes(a.status), label);
			assert.ok(a.status < 500, label);
			if (a.status >= 400) assert.deepEqual(misfits(w.doc, w.doc.components.schemas.Error, a.json), [], label);
		}
});

test("whoever forgets a middle role is noticed: assistants may not manage, instructors may", async () => {
	const w = await world();
	assert.equal((await w.ask.tess("/queue")).status, 403);
	assert.equal((await w.ask.ina("/queue")).status, 200);
	assert.equal((await w.ask.ina("/users/alice", { method: "PATCH", json: { role: "admin" } })).status, 403);
	assert.equal((await w.ask.alice("/users/alice", { method: "PATCH", json: { role: "admin" } })).status, 403);
	assert.equal((await w.ask.alice("/users/bob", { method: "PATCH", json: { display: "x" } })).status, 403);
});

test("answers are as they are described", async () => {
	const w = await world();
	await judged();
	for (const { path, method, op } of operations(w.doc)) {
		if (method !== "GET" || op.operationId === "openapi") continue;
		for (const who of ["alice", "ina"]) {
			const a = await w.ask[who](target(w, path, method) + (path.endsWith("/events") ? "?since=0" : ""), { headers: { accept: "application/json" } });
			const schema = op.responses[a.status]?.content?.["application/json"]?.schema;
			if (a.status === 200 && schema) assert.deepEqual(misfits(w.doc, schema, a.json), [], `${who}: ${path}`);
		}
	}
});

test("a student sees no other's work", async () => {
	const w = await world();
	await judged();
	const { id, judging } = w.submission;
	for (const path of [`/submissions/${id}`, `/judgings/${judging.id}`, `/judgings/${judging.id}/ptx`, `/judgings/${judging.id}/events`])
		for (const who of ["bob", "anybody"]) assert.equal((await w.ask[who](path)).status, who === "bob" ? 404 : 401, path);
	assert.equal((await w.ask.bob(`/judgings/${judging.id}/cancel`, { method: "POST" })).status, 404);
	assert.equal((await w.ask.bob("/submissions?user=alice")).status, 403);
	assert.deepEqual((await w.ask.bob("/submissions")).json.items, []);
	assert.equal((await w.ask.bob(`/groups/${w.group.id}`)).status, 404);
	assert.equal((await w.ask.bob(`/groups/${w.group.id}/assignments`)).status, 404);
	assert.equal((await w.ask.bob(`/problems/int4-gemv/leaderboard?group=${w.group.id}`)).status, 404);
	assert.equal((await w.ask.tess(`/submissions/${id}`)).json.source, source);
});

test("no route tells a student what is hidden: seeds, sizes, values, oracles, reference solutions, others' sources", async () => {
	const w = await world();
	const whole = await judged();
	const hidden = whole.cases.filter((c) => !c.visible && !c.timing);
	assert.ok(hidden.length > 5 && hidden.some((c) => c.verdict === "WA"), "the submission is wrong on hidden cases");
	const told = packageText("starter.cu") + packageText("statement.en.md") + source;
	const secrets = ["judge.db", "oracle.c", ...packageText("oracle.c").split("\n").concat(packageText("reference.cu").split("\n")).filter((l) => l.trim().length > 30 && !told.includes(l))];
	for (const { path, method } of operations(w.doc)) {
		if (method !== "GET" || path === "/openapi.json") continue;
		for (const who of ["anybody", "bob", "alice"]) {
			const a = await w.ask[who](target(w, path, method) + (path.endsWith("/events") ? "?since=0" : ""), { headers: { accept: "application/json" } });
			for (const s of secrets) assert.ok(!a.text.includes(JSON.stringify(s).slice(1, -1)), `${who}: ${path} tells ${s}`);
			if (who !== "alice") assert.ok(!a.text.includes(MARK), `${who}: ${path} tells alice's source`);
		}
	}
	const own = (await w.ask.alice(`/judgings/${whole.id}`)).json;
	assert.equal(own.seed, undefined);
	assert.equal(own.note, undefined);
	for (const c of own.cases.filter((x) => !x.visible && !x.timing)) {
		assert.equal(c.sizes, null, c.name);
		assert.equal(c.output, null, c.name);
		assert.equal(c.wrong, null, c.name);
		assert.ok(!/\d/.test(c.why ?? ""), c.why);
	}
	assert.ok(!/\d/.test(own.text), own.text);
	const report = (await w.ask.alice(`/judgings/${whole.id}/report`)).json;
	assert.ok(!report.seed);
	for (const c of report.cases.filter((x) => !x.visible && !x.timing)) {
		assert.deepEqual([c.sizes, c.printed, c.worst].filter((x) => x && Object.keys(x).length), [], c.name);
		assert.ok(!/\d/.test(c.text ?? ""), c.text);
	}
	const shown = own.cases.find((c) => c.visible);
	assert.match(shown.output, /secret N=/);
	assert.ok(hidden.every((c) => c.sizes), "an instructor sees sizes");
});

test("events: all of them, from any on, and an end", async () => {
	const w = await world();
	const { id } = await judged();
	const all = await w.ask.alice(`/judgings/${id}/events`, { headers: { accept: "text/event-stream" } });
	assert.equal(all.headers.get("content-type"), "text/event-stream");
	assert.match(all.text, /^id: \d+\nevent: queued\ndata: \{/m);
	assert.match(all.text, /event: done\ndata: \{.*"WA".*\}\n\n$/);
	const ids = [...all.text.matchAll(/^id: (\d+)$/gm)].map((m) => Number(m[1]));
	assert.deepEqual(ids, [...ids].sort((a, b) => a - b));
	const rest = await w.ask.alice(`/judgings/${id}/events`, { headers: { accept: "text/event-stream", "last-event-id": String(ids[2]) } });
	assert.deepEqual([...rest.text.matchAll(/^id: (\d+)$/gm)].map((m) => Number(m[1])), ids.slice(3));
	const polled = await w.ask.alice(`/judgings/${id}/events?since=${ids[2]}`, { headers: { accept: "application/json" } });
	assert.deepEqual(polled.json.items.map((e) => e.id), ids.slice(3));
});

test("a hidden problem is not there for students", async () => {
	const w = await world();
	await w.ask.ina("/problems/w8a16-gemv", { method: "PATCH", json: { hidden: true } });
	for (const path of ["", "/hints/1", "/leaderboard", "/points"]) assert.equal((await w.ask.bob("/problems/w8a16-gemv" + path)).status, 404, path);
	assert.ok(!(await w.ask.bob("/problems")).json.items.some((p) => p.id === "w8a16-gemv"));
	assert.equal((await w.ask.bob("/submissions", { method: "POST", json: { problem: "w8a16-gemv", source: "x" } })).status, 422);
	assert.equal((await w.ask.tess("/problems/w8a16-gemv")).status, 200);
	await w.ask.ina("/problems/w8a16-gemv", { method: "PATCH", json: { hidden: false } });
});

test("statements: math for the browser, no hints unasked, both languages", async () => {
	const w = await world();
	const en = (await w.ask.anybody("/problems/int4-gemv")).json;
	const zh = (await w.ask.anybody("/problems/int4-gemv?lang=zh")).json;
	assert.match(en.statement_html, /<span class="math display">y_n = /);
	assert.match(zh.statement_html, /为什么/);
	assert.ok(!en.statement_html.includes("Hint 1") && en.hints >= 3);
	assert.match((await w.ask.anybody("/problems/int4-gemv/hints/1")).json.html, /^<h3>Hint 1/);
	assert.equal((await w.ask.anybody("/problems/int4-gemv/hints/99")).status, 404);
});

test("problems tell their path, what they teach and need; what is hidden is neither needed nor on a path", async () => {
	const w = await world();
	const { items, paths } = (await w.ask.bob("/problems")).json;
	const of = (id, list = items) => list.find((p) => p.id === id);
	assert.ok(paths.length >= 2 && paths.every((p) => p.title.en && /[\u4e00-\u9fff]/.test(p.title.zh)));
	assert.deepEqual([of("w8a16-gemv").path, of("int4-gemv").path, of("w4a16-gemm").path], ["first-kernels", "first-kernels", "tensor-cores"]);
	assert.ok(of("w8a16-gemv").order < of("int4-gemv").order);
	assert.match(of("int4-gemv").teaches.zh, /[\u4e00-\u9fff]/);
	assert.deepEqual(of("int4-gemv").needs, [{ id: "w8a16-gemv", title: of("w8a16-gemv").title, solved: false }]);
	assert.equal(of("int4-gemv").tier, null);
	const { path, order, teaches, needs } = (await w.ask.bob("/problems/int4-gemv")).json;
	assert.deepEqual({ path, order, teaches, needs }, (({ path, order, teaches, needs }) => ({ path, order, teaches, needs }))(of("int4-gemv")));
	await w.ask.ina("/problems/w8a16-gemv", { method: "PATCH", json: { hidden: true } });
	assert.deepEqual(of("int4-gemv", (await w.ask.bob("/problems")).json.items).needs, []);
	assert.deepEqual((await w.ask.bob("/problems/int4-gemv")).json.needs, []);
	assert.equal((await w.ask.ina("/problems/int4-gemv")).json.needs.length, 1);
	const tensor = items.filter((p) => p.path === "tensor-cores");
	for (const p of tensor) await w.ask.ina(`/problems/${p.id}`, { method: "PATCH", json: { hidden: true } });
	assert.ok(!(await w.ask.bob("/problems")).json.paths.some((p) => p.id === "tensor-cores"));
	for (const p of [{ id: "w8a16-gemv" }, ...tensor]) await w.ask.ina(`/problems/${p.id}`, { method: "PATCH", json: { hidden: false } });
});

test("a judging says its sentences in the language that is asked for, whoever may see what", async () => {
	const w = await world();
	const { id } = await judged();
	for (const who of ["alice", "ina"]) {
		const en = (await w.ask[who](`/judgings/${id}`)).json, zh = (await w.ask[who](`/judgings/${id}?lang=zh`)).json;
		assert.match(en.text, /elements of y are out of bound/);
		assert.match(zh.text, /个元素中有/);
		assert.ok(!/[a-z]{2,} [a-z]{2,} [a-z]{2,}/.test([zh.text, ...zh.cases.map((c) => c.why ?? ""), ...zh.advice].join("\n")), who);
		assert.deepEqual(zh.cases.map((c) => [c.name, c.verdict]), en.cases.map((c) => [c.name, c.verdict]));
	}
});
