// Servers of the suite's own, and how to talk to them.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { slower } from "./harness.mjs";

export const judge = resolve(process.env.B ?? "build", "judge");
export const fixture = resolve(process.env.B ?? "build", "fixture");
const running = [];

// Starts a server with these lines of judge.conf (null: without one); resolves when it listens.  `former`: one that has ended, whose
// data and port it takes over.
export async function start(conf = "", options = [], former = null) {
	const folder = former?.folder ?? mkdtempSync(join(tmpdir(), "judge-http-"));
	if (former) running.splice(running.indexOf(former), 1);
	const config = conf === null ? [] : ["--config", join(folder, "site.conf")];
	if (conf !== null) writeFileSync(join(folder, "site.conf"), `data = data\n${conf}\n`);
	const server = { folder, data: join(folder, "data"), log: "", port: 0 };
	const child = spawn(judge, ["serve", ...config, "--port", String(former?.port ?? 0), ...options], { cwd: folder });
	server.child = child;
	server.ended = new Promise((done) => child.on("exit", (code, signal) => done({ code, signal })));
	await new Promise((done, no) => {
		const hear = (text) => {
			server.log += text;
			const found = /https?:\/\/(?:127\.0\.0\.1|\[::1\]):(\d+)/.exec(server.log);
			if (found) {
				server.port = Number(found[1]);
				done();
			}
		};
		child.stdout.on("data", hear);
		child.stderr.on("data", hear);
		child.on("close", () => no(new Error(`judge serve ended: ${server.log}`)));
	}).catch((e) => {
		rmSync(folder, { recursive: true, force: true });
		throw e;
	});
	running.push(server);
	server.origin = `http://127.0.0.1:${server.port}`;
	return server;
}

// Each must end by itself, well, when it is told to.
export async function stopAll() {
	const problems = [];
	for (const s of running) {
		s.child.kill("SIGTERM");
		const slow = setTimeout(() => s.child.kill("SIGKILL"), 20000 * slower);
		const { code, signal } = await s.ended;
		clearTimeout(slow);
		if (code !== 0) problems.push(`ended with ${signal ?? code}: ${s.log.slice(-2000)}`);
		rmSync(s.folder, { recursive: true, force: true });
	}
	return problems;
}

export function addUser(server, name, role) {
	execFileSync(judge, ["user", "add", name, "--role", role, "--data", server.data], { input: "correct horse\n", stdio: ["pipe", "pipe", "pipe"] });
}

// One request.  options: method, json, body, type, cookie, token, origin (null: none), headers.
export async function call(server, path, options = {}) {
	const headers = { ...options.headers };
	let body = options.body;
	if (options.json !== undefined) {
		body = JSON.stringify(options.json);
		headers["content-type"] = "application/json";
	}
	if (options.type) headers["content-type"] = options.type;
	if (options.cookie) headers.cookie = options.cookie;
	if (options.token) headers.authorization = `Bearer ${options.token}`;
	if (options.origin !== null) headers.origin = options.origin ?? server.origin;
	const answer = await fetch(server.origin + path, { method: options.method ?? "GET", headers, body, redirect: "manual", signal: options.signal });
	const text = await answer.text();
	let json;
	try {
		json = JSON.parse(text);
	} catch {
		json = undefined;
	}
	return { status: answer.status, headers: answer.headers, text, json };
}

export async function signIn(server, name, password = "correct horse") {
	const a = await call(server, "/api/v1/session", { method: "POST", json: { name, password } });
	if (a.status !== 200) throw new Error(`${name} cannot sign in: ${a.status} ${a.text}`);
	return a.headers.get("set-cookie").split(";")[0];
}

// Bytes as they are; all that comes back until the server closes, or `ms` (of a server without sanitizers) are over.
export function raw(server, chunks, { ms = 1500, gap = 0 } = {}) {
	return new Promise((done) => {
		const socket = net.connect(server.port, "127.0.0.1");
		let text = "";
		const began = Date.now();
		const end = (closed) => {
			socket.destroy();
			clearTimeout(timer);
			done({ text, closed, ms: Date.now() - began, status: Number(/^HTTP\/1\.[01] (\d+)/.exec(text)?.[1] ?? 0) });
		};
		const timer = setTimeout(() => end(false), ms * slower);
		socket.on("data", (d) => (text += d.toString("latin1")));
		socket.on("end", () => end(true));
		socket.on("error", () => end(true));
		socket.on("connect", async () => {
			for (const c of [].concat(chunks)) {
				if (socket.destroyed) return;
				socket.write(typeof c === "string" ? Buffer.from(c, "latin1") : c);
				if (gap) await new Promise((r) => setTimeout(r, gap));
			}
		});
	});
}
