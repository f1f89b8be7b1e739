// What is done to web servers: smuggling, slowness, size, forgery, guessing, injection.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert, slower, test } from "./harness.mjs";
import { call, raw, signIn, start, addUser } from "./server.mjs";
import { judged, world } from "./world.mjs";

const post = (lines, body = "") => `POST /api/v1/session HTTP/1.1\r\n${lines.map((l) => l + "\r\n").join("")}\r\n${body}`;
const HOST = "Host: x";

test("requests whose end is in doubt are refused, and the connection closed", async () => {
	const { server } = await world();
	const smuggled = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
	const bad = {
		"length and chunked": post([HOST, "Content-Length: 4", "Transfer-Encoding: chunked"], `0\r\n\r\n${smuggled}`),
		"chunked and length": post([HOST, "Transfer-Encoding: chunked", "Content-Length: 4"], `0\r\n\r\n${smuggled}`),
		"two lengths": post([HOST, "Content-Length: 0", "Content-Length: 39"], smuggled),
		"the same length twice": post([HOST, "Content-Length: 2", "Content-Length: 2"], "{}"),
		"a list of lengths": post([HOST, "Content-Length: 2, 2"], "{}"),
		"a space before the colon": post([HOST, "Content-Length : 2"], "{}"),
		"a negative length": post([HOST, "Content-Length: -1"], "{}"),
		"a signed length": post([HOST, "Content-Length: +2"], "{}"),
		"a hexadecimal length": post([HOST, "Content-Length: 0x2"], "{}"),
		"a length beyond 64 bits": post([HOST, "Content-Length: 99999999999999999999999"], "{}"),
		"an unknown encoding": post([HOST, "Transfer-Encoding: xchunked"], "0\r\n\r\n"),
		"encodings in a row": post([HOST, "Transfer-Encoding: gzip, chunked"], "0\r\n\r\n"),
		"two encodings": post([HOST, "Transfer-Encoding: chunked", "Transfer-Encoding: identity"], "0\r\n\r\n"),
		"chunked in HTTP/1.0": "POST /api/v1/session HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"no host": post(["Content-Length: 2"], "{}"),
		"two hosts": post([HOST, "Host: y", "Content-Length: 2"], "{}"),
		"a control character in a header": post([HOST, "X-A: a\x01b", "Content-Length: 2"], "{}"),
		"two origins": post([HOST, "Origin: http://x", "Origin: http://y", "Content-Length: 2"], "{}"),
		"a bad chunk": post([HOST, "Content-Type: application/json", "Transfer-Encoding: chunked"], "zz\r\n{}\r\n0\r\n\r\n"),
		"another version": "GET /healthz HTTP/3.7\r\nHost: x\r\n\r\n",
		"no HTTP at all": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
	};
	for (const [what, text] of Object.entries(bad)) {
		const a = await raw(server, text);
		assert.ok(!a.text.includes('"status":"ok"'), `${what}: a second request came through`);
		assert.ok(a.closed, `${what}: the connection stays open after ${JSON.stringify(a.text.slice(0, 100))}`);
		assert.ok(a.status === 400 || a.status === 413 || a.status === 505 || a.status === 0, `${what}: ${a.text.slice(0, 200)}`);
	}
});

test("well-formed requests in a row on one connection are each answered", async () => {
	const { server } = await world();
	const a = await raw(server, `GET /healthz HTTP/1.1\r\n${HOST}\r\n\r\nGET /healthz HTTP/1.1\r\n${HOST}\r\nConnection: close\r\n\r\n`);
	assert.equal(a.text.match(/"status":"ok"/g)?.length, 2);
	const chunked = await raw(server, post([HOST, "Content-Type: application/json", "Transfer-Encoding: chunked", "Connection: close"], '2\r\n{}\r\n0\r\n\r\n'));
	assert.equal(chunked.status, 422);
	const lf = await raw(server, `GET /healthz HTTP/1.1\n${HOST}\nConnection: close\n\n`);
	assert.equal((lf.text.match(/HTTP\/1\.1/g) ?? []).length, 1);
});

test("slow heads, bodies and readers are cut off in total time", async () => {
	const { server } = await world();		// request_seconds = 2, of a server without sanitizers
	const drip = [..."GET /healthz HTTP/1.1\r\nX: ", ..."a".repeat(200)];
	const bodyDrip = [post([HOST, "Content-Type: application/json", "Content-Length: 500"]), ..." ".repeat(200)];
	const all = await Promise.all([raw(server, drip, { ms: 9000, gap: 100 * slower }), raw(server, bodyDrip, { ms: 9000, gap: 100 * slower }), raw(server, [], { ms: 9000 })]);
	for (const [i, a] of all.entries()) assert.ok(a.closed && a.ms < 6000 * slower, `connection ${i}: open after ${a.ms} ms`);
});

test("what is too long is refused", async () => {
	const { server, ask } = await world();
	assert.ok([0, 414, 431, 400].includes((await raw(server, `GET /${"a".repeat(60000)} HTTP/1.1\r\n${HOST}\r\n\r\n`)).status));
	assert.equal((await raw(server, `GET /${"a".repeat(5000)} HTTP/1.1\r\n${HOST}\r\n\r\n`)).status, 414);
	assert.ok([0, 431, 413, 400].includes((await raw(server, `GET / HTTP/1.1\r\n${HOST}\r\nX: ${"a".repeat(60000)}\r\n\r\n`)).status));
	assert.equal((await raw(server, `GET / HTTP/1.1\r\n${HOST}\r\n${"X: y\r\n".repeat(200)}\r\n`)).status, 400);
	const early = await raw(server, post([HOST, "Content-Type: application/json", "Content-Length: 100000000"]));
	assert.equal(early.status, 413);
	const flood = await raw(server, [post([HOST, "Content-Type: application/json", "Transfer-Encoding: chunked"]), ...Array(20).fill(`10000\r\n${"a".repeat(65536)}\r\n`)]);
	assert.ok(flood.closed && !flood.text.includes("200 OK"));
	for (let i = 0; i < 20; i++) {	// the answer, not "connection reset", though the body still comes
		const sent = await call(server, "/api/v1/session", { method: "POST", body: "x".repeat(3 << 20), type: "application/json" });
		assert.equal(sent.status, 413);
		const late = await raw(server, [post([HOST, "Content-Type: application/json", "Content-Length: 600000"]), ...Array(9).fill("a".repeat(65536))], { gap: 5 });
		assert.equal(late.status, 413);
	}
	const big = await ask.alice("/submissions", { method: "POST", json: { problem: "int4-gemv", source: "x".repeat(262145) } });
	assert.deepEqual([big.status, big.json.error.field], [413, "source"]);
	const zh = await ask.alice("/submissions", { method: "POST", json: { problem: "int4-gemv", source: "字".repeat(87381) }, headers: { "accept-language": "zh" } });
	assert.notEqual(zh.status, 413);
	for (const json of [{ name: "a".repeat(33), password: "correct horse" }, { name: "long", password: "p".repeat(2000) }, { name: "long", password: "correct horse", display: "d".repeat(81) }])
		assert.equal((await ask.anybody("/users", { method: "POST", json })).status, 422);
});

test("JSON: depth, duplicate keys, surrogates, numbers, NUL, what follows it", async () => {
	const { ask } = await world();
	const bad = {
		deep: "[".repeat(30000) + "]".repeat(30000),
		"deep objects": '{"name":'.repeat(5000) + "1" + "}".repeat(5000),
		"a key twice": '{"name":"a","name":"b","password":"x"}',
		"a lone surrogate": '{"name":"\\ud800","password":"x"}',
		"a surrogate's second half": '{"name":"\\udc00","password":"x"}',
		NUL: '{"name":"a\\u0000b","password":"x"}',
		"what follows": '{"name":"a","password":"b"} x',
		NaN: '{"name":NaN}',
		nothing: "",
		"a list": "[]",
		"a huge number": `{"name":1${"0".repeat(500)}}`,
	};
	for (const [what, body] of Object.entries(bad)) {
		const a = await ask.anybody("/session", { method: "POST", body, type: "application/json" });
		assert.ok([400, 422].includes(a.status), `${what}: ${a.status} ${a.text}`);
		assert.ok(a.json.error.message, what);
	}
	const utf8 = await ask.anybody("/session", { method: "POST", body: Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x7d]), type: "application/json" });
	assert.equal(utf8.status, 400);
	const form = await ask.anybody("/session", { method: "POST", body: '{"name":"alice","password":"correct horse"}', type: "text/plain" });
	assert.equal(form.status, 415);
	const days = await ask.alice("/tokens", { method: "POST", json: { name: "x", days: 1e300 } });
	assert.deepEqual([days.status, days.json.error.field], [422, "days"]);
});

test("messages are in the language of who asks", async () => {
	const { ask } = await world();
	const zh = await ask.anybody("/session", { headers: { "accept-language": "fr, zh-CN;q=0.9, en;q=0.5" } });
	assert.match(zh.json.error.message, /请先登录/);
	assert.match((await ask.anybody("/session")).json.error.message, /Sign in/);
	await ask.bob("/users/bob", { method: "PATCH", json: { language: "zh" } });
	assert.match((await ask.bob("/queue")).json.error.message, /无权/);
	await ask.bob("/users/bob", { method: "PATCH", json: { language: "en" } });
});

test("SQL is data", async () => {
	const { ask } = await world();
	for (const s of ["' OR 1=1 --", '"; DROP TABLE users; --', "%", "_", "\\", "'||(SELECT password FROM users)||'", "*", "a\" OR \"a\"=\"a"]) {
		const q = encodeURIComponent(s);
		assert.equal((await ask.anybody("/session", { method: "POST", json: { name: s, password: "x" } })).status, 401, s);
		assert.deepEqual((await ask.ina(`/users?search=${q}`)).json.items.filter((u) => !u.name.includes(s) && !u.display.includes(s)), [], s);
		assert.deepEqual((await ask.ina(`/submissions?problem=${q}`)).json.items, [], s);
		assert.ok((await ask.ina(`/users/${q}`)).status === 404, s);
		assert.equal((await ask.anybody(`/problems/${q}`)).status, 404, s);
		assert.equal((await ask.alice(`/submissions?cursor=${q}`)).status, 422, s);
		assert.equal((await ask.alice("/groups/join", { method: "POST", json: { code: s } })).status, 422, s);
	}
	assert.equal((await ask.ina("/users")).status, 200);
});

test("names: who they seem to be, they are", async () => {
	const { ask } = await world();
	for (const name of ["Alice", "al ice", "аlice", "a/b", "..", "-x", "a\u202eb", "<b>", "", "a\nb"])
		assert.equal((await ask.anybody("/users", { method: "POST", json: { name, password: "correct horse" } })).status, 422, JSON.stringify(name));
	assert.equal((await ask.anybody("/users", { method: "POST", json: { name: "alice", password: "correct horse" } })).status, 409);
	for (const display of ["a\u202eb", "a\u0007b", "a\nb", "\u2066x"])
		assert.equal((await ask.bob("/users/bob", { method: "PATCH", json: { display } })).status, 422, JSON.stringify(display));
	for (const password of ["short", "password", "newname9"])
		assert.equal((await ask.anybody("/users", { method: "POST", json: { name: "newname9", password } })).status, 422, password);
});

test("markup of others is text: JSON alone carries it, no HTML page does", async () => {
	const { ask, server } = await world();
	const xss = `<img src=x onerror=alert(1)>`;
	assert.equal((await ask.bob("/users/bob", { method: "PATCH", json: { display: xss } })).json.display, xss);
	const a = await ask.alice("/users/bob");
	assert.equal(a.headers.get("content-type"), "application/json");
	assert.equal(a.headers.get("x-content-type-options"), "nosniff");
	assert.match(a.headers.get("content-security-policy"), /default-src 'none'/);
	const done = await judged();
	assert.match(done.cases.find((c) => c.visible).output, /<script>/);
	const page = await call(server, "/problems");
	assert.ok(!/<script(?![^>]*src=)[^>]*>[^<]/.test(page.text));
	for (const [name, value] of Object.entries({ "content-security-policy": /script-src 'self';.*frame-ancestors 'none'/, "x-frame-options": /DENY/, "referrer-policy": /same-origin/, "x-content-type-options": /nosniff/ }))
		assert.match(page.headers.get(name) ?? "", value, name);
	assert.ok(!/script-src[^;]*unsafe/.test(page.headers.get("content-security-policy")));
	const bad = await ask.anybody("/session", { method: "POST", json: { [xss]: 1, name: "a", password: "b" } });
	assert.equal(bad.headers.get("content-type"), "application/json");
	await ask.bob("/users/bob", { method: "PATCH", json: { display: "bob" } });
});

test("requests that another site's page makes are refused", async () => {
	const { ask, cookies, server } = await world();
	const forge = (options) => ask.alice("/tokens", { method: "POST", json: { name: "forged" }, ...options });
	assert.equal((await forge({ origin: "https://evil.example" })).status, 403);
	assert.equal((await forge({ origin: "null" })).status, 403);
	assert.equal((await forge({ origin: `http://127.0.0.1:${server.port}.evil.example` })).status, 403);
	assert.equal((await forge({ origin: `http://evil@127.0.0.1:${server.port}` })).status, 403);
	assert.equal((await forge({ origin: null })).status, 403);
	assert.equal((await forge({ origin: null, headers: { "sec-fetch-site": "cross-site" } })).status, 403);
	assert.equal((await forge({ origin: null, headers: { "sec-fetch-site": "same-site" } })).status, 403);
	assert.equal((await forge({ origin: null, headers: { "sec-fetch-site": "same-origin" } })).status, 201);
	assert.equal((await ask.anybody("/session", { method: "POST", json: { name: "bob", password: "correct horse" }, origin: "https://evil.example" })).status, 403);
	const token = (await forge({})).json.token;
	assert.equal((await ask.anybody("/tokens", { method: "POST", json: { name: "by token" }, token, origin: null })).status, 201);
	assert.equal((await ask.anybody("/session", { token: "x".repeat(43) })).status, 401);
	assert.equal((await ask.anybody("/session", { headers: { authorization: "Basic YWxpY2U6eA==" } })).status, 401);
	assert.ok(!(await ask.alice("/tokens")).text.includes(token));
	assert.ok(cookies.alice.startsWith("judge_session="));
	assert.equal((await ask.anybody("/site", { headers: { origin: "https://evil.example" } })).headers.get("access-control-allow-origin"), null);
});

test("a session's name is new at each sign-in, is kept from scripts, and ends", async () => {
	const { ask, server } = await world();
	const planted = "judge_session=" + "A".repeat(43);
	const a = await ask.anybody("/session", { method: "POST", json: { name: "bob", password: "correct horse" }, cookie: planted });
	assert.match(a.headers.get("set-cookie"), /^judge_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/);
	const fresh = a.headers.get("set-cookie").split(";")[0];
	assert.notEqual(fresh, planted);
	assert.equal((await call(server, "/api/v1/session", { cookie: planted })).status, 401);
	const again = await call(server, "/api/v1/session", { method: "POST", json: { name: "bob", password: "correct horse" }, cookie: fresh });
	assert.equal((await call(server, "/api/v1/session", { cookie: fresh })).status, 401);
	const last = again.headers.get("set-cookie").split(";")[0];
	assert.equal((await call(server, "/api/v1/session", { cookie: last })).status, 200);
	assert.equal((await call(server, "/api/v1/session", { method: "DELETE", cookie: last })).status, 204);
	assert.equal((await call(server, "/api/v1/session", { cookie: last })).status, 401);
});

test("a new password ends other sessions; a disabled account all and its tokens", async () => {
	const { ask, server } = await world();
	addUser(server, "carl", "student");
	const [one, two] = [await signIn(server, "carl"), await signIn(server, "carl")];
	const patch = (json) => call(server, "/api/v1/users/carl", { method: "PATCH", cookie: one, json });
	assert.equal((await patch({ password: "another horse" })).json.error.field, "old_password");
	assert.equal((await patch({ password: "another horse", old_password: "wrong horse" })).status, 422);
	const changed = await patch({ password: "another horse", old_password: "correct horse" });
	assert.equal(changed.status, 200);
	for (const c of [one, two]) assert.equal((await call(server, "/api/v1/session", { cookie: c })).status, 401);
	const now = changed.headers.get("set-cookie").split(";")[0];
	const { token } = (await call(server, "/api/v1/tokens", { method: "POST", cookie: now, json: { name: "t" } })).json;
	assert.equal((await ask.root("/users/carl", { method: "PATCH", json: { disabled: true } })).status, 200);
	assert.equal((await call(server, "/api/v1/session", { cookie: now })).status, 401);
	assert.equal((await call(server, "/api/v1/session", { token })).status, 401);
	assert.equal((await ask.anybody("/session", { method: "POST", json: { name: "carl", password: "another horse" } })).status, 401);
	assert.equal((await ask.root("/users/root", { method: "PATCH", json: { role: "student" } })).status, 409);
});

test("guessing passwords, submitting and registering have limits, and say how much is left", async () => {
	const server = await start("sign_ins_per_minute = 5\nsubmissions_per_minute = 2\nregistrations_per_hour = 3\nconnections_per_address = 20", ["--no-workers"]);
	addUser(server, "dora", "student");
	const guess = (name, password) => call(server, "/api/v1/session", { method: "POST", json: { name, password } });
	const cookie = await signIn(server, "dora");
	const seen = [];
	for (let i = 0; i < 8; i++) seen.push(await guess("dora", `guess number ${i}`));
	assert.deepEqual(seen.map((a) => a.status), [401, 401, 401, 401, 401, 429, 429, 429]);
	assert.deepEqual(seen.slice(0, 5).map((a) => a.headers.get("ratelimit-remaining")), ["4", "3", "2", "1", "0"]);
	assert.ok(Number(seen[5].headers.get("retry-after")) > 0);
	assert.equal((await guess("dora", "correct horse")).status, 429, "the right password is no way past the limit");
	assert.equal((await guess("nobody", "x")).status, 429, "nor is another name from the same address");
	const submit = () => call(server, "/api/v1/submissions", { method: "POST", cookie, json: { problem: "int4-gemv", source: "int x;" } });
	const subs = [await submit(), await submit(), await submit()];
	assert.deepEqual(subs.map((a) => a.status), [201, 201, 429]);
	assert.deepEqual(subs.map((a) => a.headers.get("ratelimit-remaining")), ["1", "0", "0"]);
	const register = (i) => call(server, "/api/v1/users", { method: "POST", json: { name: `robot${i}`, password: "correct horse" } });
	const made = [];
	for (let i = 0; i < 4; i++) made.push((await register(i)).status);
	assert.deepEqual(made, [201, 201, 201, 429]);
	const idle = await Promise.all(Array.from({ length: 40 }, () => raw(server, [], { ms: 700 })));
	assert.ok(idle.filter((a) => a.closed).length >= 20, "connections of one address have a limit");
});

test("registration by invitation, and closed", async () => {
	const invite = await start("registration = invite", ["--no-workers"]);
	addUser(invite, "ina", "instructor");
	const ina = await signIn(invite, "ina");
	const { code, id } = (await call(invite, "/api/v1/groups", { method: "POST", cookie: ina, json: { name: "Class" } })).json;
	const register = (s, json) => call(s, "/api/v1/users", { method: "POST", json: { name: "eve", password: "correct horse", ...json } });
	assert.equal((await register(invite, {})).json.error.field, "invite");
	assert.equal((await register(invite, { invite: "nonsense" })).status, 422);
	assert.equal((await register(invite, { invite: code })).status, 201);
	assert.deepEqual((await call(invite, `/api/v1/groups/${id}/members`, { cookie: ina })).json.items.map((u) => u.name), ["eve"]);
	const closed = await start("registration = closed", ["--no-workers"]);
	assert.equal((await register(closed, {})).status, 403);
});

test("a proxy's header signs in from the proxy alone, and never without Origin", async () => {
	const server = await start("proxies = 127.0.0.1\nsign_in_header = X-Remote-User", ["--no-workers"]);
	const by = (headers, options = {}) => call(server, "/api/v1/session", { headers, ...options });
	assert.equal((await by({ "x-remote-user": "Frank@example.org" })).json.name, "frank");
	assert.equal((await by({ "x-remote-user": "../x" })).status, 422);
	assert.equal((await by({})).status, 401);
	const forged = await call(server, "/api/v1/tokens", { method: "POST", json: { name: "x" }, headers: { "x-remote-user": "frank" }, origin: "https://evil.example" });
	assert.equal(forged.status, 403);
	const secure = await call(server, "/api/v1/users", { method: "POST", json: { name: "gina", password: "correct horse" }, headers: { "x-forwarded-proto": "https" } });
	assert.match(secure.headers.get("set-cookie"), /; Secure$/);
	assert.ok(secure.headers.get("strict-transport-security"));
	assert.equal((await call(server, "/metrics", { headers: { "x-forwarded-for": "203.0.113.9" } })).status, 403);
	const { server: direct } = await world();
	assert.equal((await call(direct, "/api/v1/session", { headers: { "x-remote-user": "root" } })).status, 401);
});

test("files: nothing outside the folder of the pages, by no spelling", async () => {
	const { server } = await world();
	for (const path of ["/../judge.conf", "/..%2fjudge.conf", "/%2e%2e/%2e%2e/etc/passwd", "/assets/../../Makefile", "/..\\..\\x", "//etc/passwd", "/assets/%00.js", "/.git/config", "/index.html%00.js", "/%c0%ae%c0%ae/x", "/./index.html/../../x", "/data/judge.db"]) {
		const a = await raw(server, `GET ${path} HTTP/1.1\r\n${HOST}\r\nConnection: close\r\n\r\n`);
		assert.ok(![200].includes(a.status) || a.text.includes("<html"), `${path}: ${a.text.slice(0, 300)}`);
		assert.ok(!/root:|JUDGE|SQLite|workers =/.test(a.text), path);
	}
	for (const path of ["/api/v1/%00", "/api/v1/%zz", "/api/v1/problems/a%0ab"]) assert.equal((await raw(server, `GET ${path} HTTP/1.1\r\n${HOST}\r\n\r\n`)).status, 400, path);
	assert.equal((await call(server, "/api/v1/nothing")).status, 404);
	assert.equal((await call(server, "/api/v1/site", { method: "PUT", body: "x" })).status, 405);
	assert.equal((await call(server, "/", { method: "POST", body: "x" })).status, 405);
	assert.equal((await call(server, "/api/v1/site", { method: "HEAD" })).status, 200);
});

test("without a configuration it serves, and says how to make the first administrator", async () => {
	const server = await start(null, ["--no-workers"]);
	assert.equal((await call(server, "/healthz")).json.status, "ok");
	await new Promise((r) => setTimeout(r, 50));
	assert.match(server.log, /judge user add NAME --role admin --data \S+\/data/);
	addUser(server, "first", "admin");
	assert.equal((await call(server, "/api/v1/queue", { cookie: await signIn(server, "first") })).status, 200);
	await assert.rejects(start("listen = nowhere"), /write an IPv4 or IPv6 address/);
	await assert.rejects(start("prot = 1"), /line 2: no key "prot": did you mean port/);
});

test("TLS of its own: secure cookies, and a certificate that does not fit is told", async () => {
	const folder = mkdtempSync(join(tmpdir(), "judge-tls-"));
	const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
	execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost"], { stdio: "ignore" });
	try {
		const server = await start(`tls_certificate = ${cert}\ntls_key = ${key}`, ["--no-workers"]);
		const answer = await new Promise((done, no) => {
			const body = JSON.stringify({ name: "hugo", password: "correct horse" });
			const rq = https.request({ port: server.port, host: "127.0.0.1", path: "/api/v1/users", method: "POST", rejectUnauthorized: false, headers: { "content-type": "application/json", "content-length": body.length } }, done);
			rq.on("error", no);
			rq.end(body);
		});
		answer.resume();
		assert.equal(answer.statusCode, 201);
		assert.match(answer.headers["set-cookie"][0], /; Secure$/);
		await assert.rejects(start(`tls_certificate = ${key}\ntls_key = ${key}`), /TLS cannot be had/);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test("health and metrics", async () => {
	const { server } = await world();
	assert.equal((await call(server, "/healthz")).json.status, "ok");
	const m = await call(server, "/metrics");
	for (const line of m.text.trim().split("\n")) assert.match(line, /^(# (HELP|TYPE) judge_\w+ .+|judge_\w+(\{[\w]+="[^"]*"(,[\w]+="[^"]*")*\})? [\d.e+-]+)$/);
	assert.match(m.text, /judge_requests_refused_total [1-9]/);
});
