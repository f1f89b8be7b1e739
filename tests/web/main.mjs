// Runs every test of tests/web/*.test.mjs, in order; `main.mjs WORD` those whose name has the word.
import { readdir } from "node:fs/promises";
import { slower, tests } from "../http/harness.mjs";
import { stopAll } from "../http/server.mjs";
import { closeBrowser } from "./browser.mjs";

const here = new URL(".", import.meta.url);
const want = process.argv[2] ?? "";
for (const file of (await readdir(here)).filter((f) => f.endsWith(".test.mjs")).sort()) await import(new URL(file, here));

let passed = 0;
let failed = 0;
const LIMIT = 120000 * slower;
for (const { name, body } of tests.filter((t) => t.name.includes(want))) {
	let timer;
	const began = Date.now();
	try {
		await Promise.race([body(), new Promise((_, no) => (timer = setTimeout(() => no(new Error(`no end after ${LIMIT / 1000} s`)), LIMIT)))]);
		passed++;
		if (process.env.V) console.log(`ok ${name} (${Date.now() - began} ms)`);
	} catch (e) {
		failed++;
		console.log(`FAILED ${name}: ${e.stack ?? e}`);
	} finally {
		clearTimeout(timer);
	}
}
await closeBrowser();
for (const problem of await stopAll()) {
	failed++;
	console.log(`FAILED the server: ${problem}`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
