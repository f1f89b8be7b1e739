// The road of a new author's problem, made by the guide alone (tests/packages): packed, uploaded, solved by a student, replaced.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert, slower, test } from "./harness.mjs";
import { judge } from "./server.mjs";
import { world } from "./world.mjs";

const folder = "tests/packages/q4-0-gemv";
const solution = (name) => readFileSync(join(folder, "submissions", name), "utf8");

async function graded(w, body) {
	const made = await w.ask.alice("/submissions", { method: "POST", json: { problem: "q4-0-gemv", name: "q4-0-gemv.cu", ...body } });
	assert.equal(made.status, 201, made.text);
	for (let i = 0; i < 600 * slower; i++) {
		const a = await w.ask.alice(`/judgings/${made.json.judging.id}`);
		if (a.json.state === "done") return a.json;
		await new Promise((r) => setTimeout(r, 100));
	}
	throw new Error("the judging does not end");
}

test("a new author's problem: packed, uploaded, solved; a newer version leaves older judgings alone", async () => {
	const w = await world();
	const work = mkdtempSync(join(tmpdir(), "judge-author-"));
	try {
		cpSync(folder, join(work, "q4-0-gemv"), { recursive: true });
		const pack = () => {
			const said = execFileSync(judge, ["pack", "q4-0-gemv"], { cwd: work, encoding: "utf8" });
			return { version: /version ([0-9a-f]{32})/.exec(said)[1], body: readFileSync(join(work, "q4-0-gemv.tar.gz")) };
		};
		const upload = (body) => w.ask.ina("/problems", { method: "POST", body, type: "application/gzip" });
		const first = pack();
		const a = await upload(first.body);
		assert.deepEqual([a.status, a.json.version, a.json.messages], [201, first.version, []], a.text);
		const shown = (await w.ask.alice("/problems/q4-0-gemv")).json;
		assert.equal(shown.version, first.version);
		assert.ok(shown.statement_html.includes("math display") && shown.hints === 2 && shown.prototype.includes("const uint8_t *W"));

		const right = await graded(w, { source: solution("accepted/step1_textbook.cu"), scope: "samples" });
		assert.equal(right.verdict, "AC", JSON.stringify(right));
		const wrong = await graded(w, { source: solution("wrong_answer/offset_missing.cu") });
		assert.deepEqual([wrong.verdict, wrong.version], ["WA", first.version], JSON.stringify(wrong));

		const file = join(work, "q4-0-gemv", "problem.json");
		const text = readFileSync(file, "utf8");
		writeFileSync(file, text.replace('    {"name": "one-block"', '    {"name": "even", "N": 12, "K": 128},\n    {"name": "one-block"'));
		const second = pack();
		assert.notEqual(second.version, first.version);
		assert.equal((await upload(second.body)).status, 201);
		assert.equal((await w.ask.alice("/problems/q4-0-gemv")).json.version, second.version, "served at once");
		const again = (await w.ask.alice(`/judgings/${wrong.id}`)).json;
		assert.deepEqual([again.verdict, again.version, again.cases.length], ["WA", first.version, wrong.cases.length]);
		const newer = await graded(w, { source: solution("wrong_answer/offset_missing.cu") });
		assert.deepEqual([newer.verdict, newer.version], ["WA", second.version]);
		assert.equal(newer.cases.length, wrong.cases.length + 1);
		for (const version of [first.version, second.version])
			assert.ok(existsSync(join(w.server.data, "problems", "q4-0-gemv", version, "q4-0-gemv", "oracle.c")), "each version's files stay");
		const versions = (await w.ask.ina("/problems/q4-0-gemv/versions")).json.items;
		assert.deepEqual(versions.map((v) => [v.version, v.current, v.judgings]), [[second.version, true, 1], [first.version, false, 2]]);
	} finally {
		rmSync(work, { recursive: true, force: true });
	}
});
