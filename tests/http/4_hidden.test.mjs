// What a submission learns of a hidden input, and puts into all that is told of a case, reaches no student.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { assert, slower, test } from "./harness.mjs";
import { world } from "./world.mjs";

const folder = "tests/attacks/hidden";
// The word, and what tells.cu makes of it.
const word = /45077320|11581\d{5}|1\.1581|0\.1158|72382258|17671|\b110[45]\b|\b276\b|\b115\b|y\[34\]/;

function archive() {
	const made = mkdtempSync(join(tmpdir(), "judge-hidden-"));
	cpSync(folder, made, { recursive: true });
	writeFileSync(join(made, "statement.en.md"), "# y = 1\n");
	for (const name of ["starter.cu", "reference.cu"]) writeFileSync(join(made, name), 'extern "C" void solve(const uint32_t *x, float *y, int n, int which)\n{\n}\n');
	const bytes = execFileSync("tar", ["-C", made, "-czf", "-", "problem.json", "statement.en.md", "starter.cu", "reference.cu", "oracle.c"]);
	rmSync(made, { recursive: true });
	return bytes;
}

async function over(who, id) {
	for (let i = 0; i < 400 * slower; i++) {
		const a = await who(`/judgings/${id}`);
		if (a.json.state === "done") return a.json;
		await new Promise((r) => setTimeout(r, 100));
	}
	throw new Error("the judging does not end");
}

test("a submission cannot tell a hidden input: by addresses, sizes, counts, statuses, texts, values", async () => {
	const w = await world();
	const put = await w.ask.ina("/problems", { method: "POST", body: archive(), type: "application/octet-stream" });
	assert.equal(put.status, 201, put.text);
	const sent = (await w.ask.alice("/submissions", { method: "POST", json: { problem: "hidden", source: readFileSync(`${folder}/tells.cu`, "utf8"), name: "tells.cu" } })).json;
	const whole = await over(w.ask.ina, sent.judging.id);
	const verdicts = Object.fromEntries(whole.cases.map((c) => [c.name, c.verdict]));
	assert.deepEqual(verdicts, { sample: "AC", address: "IMA", block: "RE", grid: "AC", allocation: "AC", printed: "AC", "exit-status": "RE",
		assertion: "RE", value: "WA", ratio: "AC", launches: "RV", memory: "AC", "host-address": "RE", copy: "AC", message: "RE", exception: "RE",
		allocated: "AC", thread: "IMA", instructions: "AC", "never-written": "NW" });
	// a check of the check: the word is there to be told
	for (const [name, key] of [["address", "fault"], ["value", "error_ratio"], ["never-written", "why"], ["thread", "fault"], ["ratio", "error_ratio"]])
		assert.match(JSON.stringify(whole.cases.find((c) => c.name === name)[key]), word, name);
	for (const path of [`/judgings/${sent.judging.id}`, `/judgings/${sent.judging.id}/report`, `/judgings/${sent.judging.id}/events?since=0`, "/submissions",
		"/problems/hidden"]) {
		const a = await w.ask.alice(path, { headers: { accept: "application/json" } });
		assert.equal(a.status, 200, path);
		// times are nobody's choice, to the microsecond
		const text = a.text.replace(/"(seconds|created|started|finished|time_us|launch_us)":\s*("[^"]*"|[0-9.e+-]+)/g, "");
		assert.ok(!word.test(text), `${path} tells ${text.match(word)?.[0]}: ${text.slice(Math.max(0, text.search(word) - 200), text.search(word) + 60)}`);
	}
	const own = (await w.ask.alice(`/judgings/${sent.judging.id}`)).json;
	const report = (await w.ask.alice(`/judgings/${sent.judging.id}/report`)).json;
	for (const c of [...own.cases, ...report.cases].filter((x) => !x.visible)) {
		assert.ok(!/\d/.test(c.why ?? c.text ?? ""), c.why ?? c.text);
		assert.ok([null, 0.001, 0.2].includes(c.error_ratio), `${c.name}: ${c.error_ratio}`);
		assert.deepEqual(Object.keys(c.fault ?? {}).filter((k) => !["kind", "kernel", "file", "line"].includes(k)), [], c.name);
	}
	assert.ok(!/\d/.test(own.text), own.text);
	assert.equal(report.book.case, "sample", "the book is that of the sample");
	assert.ok(report.host_memory_bytes < 50e6);
});
