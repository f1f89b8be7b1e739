// judge login and judge submit against a running server, as a student's shell would: what is printed, and how they end.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert, test } from "./harness.mjs";
import { addUser, fixture, judge, start } from "./server.mjs";

const ANSI = /\x1b\[[0-9;]*m/g;
const sample = (path) => readFileSync(`problems/int4-gemv/submissions/${path}.cu`, "utf8");
const files = { "right.cu": sample("accepted/step1_textbook"), "wrong.cu": sample("wrong_answer/zero_point_missing"), "broken.cu": sample("accepted/step1_textbook").replace("extern", "extra extern") };

// A shell with a home of its own and these files.
function shell() {
	const home = mkdtempSync(join(tmpdir(), "judge-home-"));
	for (const [name, text] of Object.entries(files)) writeFileSync(join(home, name), text);
	const begin = (args, input) => {
		const child = spawn(judge, args, { cwd: home, env: { ...process.env, HOME: home, XDG_CONFIG_HOME: "", JUDGE_CACHE: process.env.JUDGE_CACHE ?? join(process.env.HOME ?? home, ".cache/judge"), LC_ALL: "C.UTF-8" } });
		const told = { out: "", err: "" };
		child.stdout.on("data", (d) => (told.out += d));
		child.stderr.on("data", (d) => (told.err += d));
		child.stdin.end(input ?? "");
		const ended = new Promise((done) => child.on("close", (status) => done({ status, out: told.out.replace(ANSI, ""), err: told.err.replace(ANSI, "") })));
		return { told, ended };
	};
	return { home, begin, run: (args, input) => begin(args, input).ended, remove: () => rmSync(home, { recursive: true, force: true }) };
}

// What of a report is the same wherever it was graded: not the sizes and values of hidden cases, nor the time it took.
function gist(report) {
	const lines = report.split("\n");
	return {
		verdict: lines.find((l) => l.trim()).trim(),
		sections: lines.filter((l) => /^ {2}(cases|timing|book of|advice|diagnostics)/.test(l)).map((l) => l.trim()),
		cases: lines.map((l) => /^ {2}([A-Z]{2,4}) +([\w-]+) /.exec(l)).filter(Boolean).map((m) => `${m[1]} ${m[2]}`),
		timed: lines.filter((l) => / µs /.test(l)).map((l) => l.trim()),
		book: lines.filter((l) => /^ {4}(kernel launches|weight passes|intermediates|sectors per request|bank conflicts|DRAM|occupancy) /.test(l)),
		advice: lines.filter((l) => /→/.test(l)),
	};
}

let made;
async function site() {
	made ??= (async () => {
		const server = await start("workers = 1\nsign_ins_per_minute = 1000\nsubmissions_per_minute = 100");
		addUser(server, "ada", "student");
		const sh = shell();
		const signed = await sh.run(["login", server.origin], "ada\ncorrect horse\n");
		return { server, sh, signed };
	})();
	return made;
}

test("judge login keeps a token and no password; a wrong password is told apart", async () => {
	const { server, sh, signed } = await site();
	assert.equal(signed.status, 0, signed.err);
	const kept = join(sh.home, ".config/judge/server.json");
	assert.equal(statSync(kept).mode & 0o777, 0o600);
	const text = readFileSync(kept, "utf8");
	assert.equal(JSON.parse(text).url, server.origin);
	assert.ok(!text.includes("correct horse") && !(signed.out + signed.err).includes(JSON.parse(text).token));
	const other = shell();
	const bad = await other.run(["login", server.origin], "ada\nwrong horse\n");
	assert.equal(bad.status, 2);
	assert.match(bad.err, /the name or the password is wrong/);
	const none = await other.run(["submit", "right.cu"]);
	assert.equal(none.status, 2);
	assert.match(none.err, /sign in once by judge login URL/);
	other.remove();
});

test("judge submit: a right kernel, reported as by a local run", async () => {
	const { server, sh } = await site();
	const remote = await sh.run(["submit", "-p", "int4-gemv", "--profile", "right.cu"]);
	assert.equal(remote.status, 0, remote.err);
	assert.match(remote.err, /compile[^]*hidden cases[^]*timing/, "progress is told");
	assert.match(remote.out, new RegExp(`${server.origin}/submissions/\\d+`));
	const local = await sh.run(["-p", "int4-gemv", "--profile", "right.cu"]);
	assert.equal(local.status, 0, local.err);
	const [got, want] = [gist(remote.out), gist(local.out)];
	assert.ok(want.cases.length > 15 && want.timed.length >= 1 && want.book.length >= 6 && want.advice.length, JSON.stringify(want));
	assert.deepEqual(got, want);
	assert.ok(!/seed/.test(remote.out), "the seed of hidden cases stays with the server");
	const json = await sh.run(["submit", "-p", "int4-gemv", "--samples", "--json", "right.cu"]);
	assert.equal(json.status, 0, json.err);
	assert.equal(JSON.parse(json.out).verdict, "AC");
	assert.equal(json.err, "");
});

test("judge submit: a wrong kernel and one that does not compile, reported as by a local run", async () => {
	const { sh } = await site();
	for (const [name, options, shown] of [["wrong.cu", ["--samples"], /WRONG ANSWER/], ["broken.cu", [], /COMPILE ERROR/]]) {
		const args = ["-p", "int4-gemv", ...options, name];
		const [remote, local] = [await sh.run(["submit", ...args]), await sh.run(args)];
		assert.deepEqual([remote.status, local.status], [1, 1], remote.err + local.err);
		assert.match(remote.out, shown);
		assert.deepEqual(gist(remote.out), gist(local.out));
		if (name === "broken.cu") assert.ok(remote.out.includes("extra extern") && /broken\.cu:\d+/.test(remote.out), remote.out);
	}
	const empty = await sh.run(["submit", "-p", "no-such-problem", "right.cu"]);
	assert.notEqual(empty.status, 0);
	assert.equal((await sh.run(["submit", "-p", "int4-gemv", "nowhere.cu"])).status, 2);
});

test("judge submit: a server that is killed and comes back loses nothing; one that stays away is told", async () => {
	const server = await start("", ["--no-workers"]);
	addUser(server, "bo", "student");
	const sh = shell();
	assert.equal((await sh.run(["login", server.origin], "bo\ncorrect horse\n")).status, 0);
	const going = sh.begin(["submit", "-p", "int4-gemv", "--samples", "right.cu"]);
	for (let i = 0; i < 200 && !/place 1/.test(going.told.err); i++) await new Promise((r) => setTimeout(r, 50));
	assert.match(going.told.err, /queued[^]*place 1/);
	server.child.kill("SIGKILL");
	await server.ended;
	await new Promise((r) => setTimeout(r, 1500));
	const again = await start("workers = 1", [], server);
	const end = await going.ended;
	assert.equal(end.status, 0, end.err);
	assert.match(end.out, /ACCEPTED/);
	again.child.kill("SIGTERM");
	await again.ended;
	const gone = await sh.run(["submit", "-p", "int4-gemv", "right.cu"]);
	assert.equal(gone.status, 3);
	assert.match(gone.err, /cannot reach http:\/\/127\.0\.0\.1:\d+/);
	sh.remove();
});

test("judge submit: a token that has expired, or was taken back", async () => {
	const { server, sh } = await site();
	execFileSync(fixture, [server.data, "expire"]);
	const over = await sh.run(["submit", "-p", "int4-gemv", "right.cu"]);
	assert.equal(over.status, 2);
	assert.match(over.err, new RegExp(`does not know you \\(any more\\): sign in by judge login ${server.origin}`));
	assert.equal(over.out, "");
	assert.equal((await sh.run(["login", server.origin], "ada\ncorrect horse\n")).status, 0);
	const { token } = JSON.parse(readFileSync(join(sh.home, ".config/judge/server.json"), "utf8"));
	const tokens = await (await fetch(`${server.origin}/api/v1/tokens`, { headers: { authorization: `Bearer ${token}` } })).json();
	assert.match(tokens.items.at(-1).name, /^judge login on /);
	await fetch(`${server.origin}/api/v1/tokens/${tokens.items.at(-1).id}`, { method: "DELETE", headers: { authorization: `Bearer ${token}` } });
	assert.equal((await sh.run(["submit", "-p", "int4-gemv", "right.cu"])).status, 2);
	sh.remove();
});
