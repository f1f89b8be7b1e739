// A suite of tests: every FOLDER/*.test.mjs, each file in a process of its own, with servers and a browser of its own, so that files
// run side by side and none finds what another has left.  Within a file, one test comes after the other.
//	main.mjs [WORD]			those tests whose name has the word; V=1 tells each one's time
//	main.mjs --file NAME [WORD]	one file, in this very process
import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { slower, tests } from "./harness.mjs";
import { stopAll } from "./server.mjs";

const LANES = 3;	// files at once: they wait more than they work
const LIMIT = 120000 * slower;

async function runTest({ name, body }) {
	let timer;
	const began = Date.now();
	try {
		await Promise.race([body(), new Promise((_, no) => (timer = setTimeout(() => no(new Error(`no end after ${LIMIT / 1000} s`)), LIMIT)))]);
		if (process.env.V) console.log(`ok ${name} (${Date.now() - began} ms)`);
		return true;
	} catch (e) {
		console.log(`FAILED ${name}: ${e.stack ?? e}`);
		return false;
	} finally {
		clearTimeout(timer);
	}
}

async function runFile(url, want, close) {
	let passed = 0;
	let failed = 0;
	await import(url);
	for (const t of tests.filter((t) => t.name.includes(want))) (await runTest(t)) ? passed++ : failed++;
	await close();
	for (const problem of await stopAll()) {
		failed++;
		console.log(`FAILED the server: ${problem}`);
	}
	console.log(`${passed} passed, ${failed} failed`);
	return failed;
}

// What a process of one file says.
function fileApart(main, name, want) {
	return new Promise((done) => {
		const child = spawn(process.execPath, [main, "--file", name, want], { stdio: ["ignore", "pipe", "pipe"] });
		let said = "";
		for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
		child.on("close", (status, signal) => {
			const count = /^(\d+) passed, (\d+) failed\n$/m.exec(said.slice(said.lastIndexOf("\n", said.length - 2) + 1));
			if (count) done({ said: said.slice(0, said.lastIndexOf("\n", said.length - 2) + 1), passed: Number(count[1]), failed: Number(count[2]) });
			else done({ said: `${said}FAILED ${name}: ended with ${signal ?? `status ${status}`} and no count\n`, passed: 0, failed: 1 });
		});
	});
}

async function runAll(main, names, want) {
	const results = [];
	let next = 0;
	let told = 0;
	await Promise.all(
		Array.from({ length: LANES }, async () => {
			while (next < names.length) {
				const i = next++;
				results[i] = await fileApart(main, names[i], want);
				for (; results[told]; told++) process.stdout.write(results[told].said);	// in order
			}
		}),
	);
	const sum = (what) => results.reduce((n, r) => n + r[what], 0);
	console.log(`${sum("passed")} passed, ${sum("failed")} failed`);
	return sum("failed");
}

// main: import.meta.url of the suite's main.mjs; close: what a file's process does at its end.
export async function suite(main, close = async () => {}) {
	const [first, ...rest] = process.argv.slice(2);
	const failed =
		first === "--file"
			? await runFile(new URL(rest[0], main), rest[1] ?? "", close)
			: await runAll(fileURLToPath(main), (await readdir(new URL(".", main))).filter((f) => f.endsWith(".test.mjs")).sort(), first ?? "");
	process.exit(failed ? 1 : 0);
}
