// One server with people of every role, and what they hand in.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addUser, call, signIn, start } from "../http/server.mjs";

// Another text each time: what the judge keeps of earlier ones would spare it the compiler, whose progress tests look at.
const sample = (path) => `${readFileSync(`problems/int4-gemv/submissions/${path}.cu`, "utf8")}// ${process.pid} ${Date.now()}\n`;
export const right = sample("accepted/step1_textbook");
export const wrong = sample("wrong_answer/zero_point_missing");
export const broken = right.replace(/;\n(?=[^\n]*=)/, "\n");	// one semicolon less

let made;
export function world() {
	made ??= make();
	return made;
}

async function make() {
	const server = await start("workers = 2\nsign_ins_per_minute = 1000\nregistrations_per_hour = 1000\nrequests_per_minute = 100000\nsubmissions_per_minute = 60");
	const cookies = {};
	for (const [name, role] of [["ina", "instructor"], ["root", "admin"], ["bob", "student"]]) {
		addUser(server, name, role);
		cookies[name] = await signIn(server, name);
	}
	const ask = (name, path, options = {}) => call(server, "/api/v1" + path, { cookie: cookies[name], ...options });
	return { server, cookies, ask };
}

// Waits for the judging of a submission to end; returns it.
export async function judged(w, name, submission) {
	for (let i = 0; i < (process.env.SAN ? 3000 : 300); i++) {
		const s = (await w.ask(name, `/submissions/${submission}`)).json;
		if (s.judging.state === "done" || s.judging.state === "cancelled") return s.judging;
		await new Promise((r) => setTimeout(r, 200));
	}
	throw new Error(`submission ${submission} is not judged`);
}

// The INT4 problem under another name, as an archive; `spoil` changes its problem.json.
export function packageFile(id, spoil = (p) => p) {
	const folder = mkdtempSync(join(tmpdir(), "judge-web-package-"));
	cpSync("problems/int4-gemv", join(folder, id), { recursive: true });
	const path = join(folder, id, "problem.json");
	const p = JSON.parse(readFileSync(path, "utf8"));
	writeFileSync(path, JSON.stringify(spoil({ ...p, id, title: { en: `Uploaded ${id}`, zh: `上传的 ${id}` } })));
	rmSync(join(folder, id, "submissions"), { recursive: true });
	const file = join(folder, `${id}.tar.gz`);
	execFileSync("tar", ["-czf", file, "-C", folder, id]);
	return { file, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
