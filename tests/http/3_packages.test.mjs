// Uploaded packages: archives made by hand, byte by byte, so that they may be wrong in any way.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { gzipSync, deflateRawSync } from "node:zlib";
import { assert, misfits, test } from "./harness.mjs";
import { raw } from "./server.mjs";
import { world } from "./world.mjs";

// ---- tar ----

function tarEntry({ name, data = "", type = "0", link = "", size }) {
	const body = Buffer.from(data);
	const h = Buffer.alloc(512);
	h.write(name, 0, 100);
	h.write("0000644\0", 100);
	h.write("0000000\0", 108);
	h.write("0000000\0", 116);
	h.write((size ?? body.length).toString(8).padStart(11, "0") + "\0", 124);
	h.write("00000000000\0", 136);
	h.write("        ", 148);
	h.write(type, 156);
	h.write(link, 157, 100);
	h.write("ustar\x0000", 257, "latin1");
	h.write([...h].reduce((a, b) => a + b, 0).toString(8).padStart(6, "0") + "\0 ", 148, "latin1");
	return Buffer.concat([h, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

const tar = (entries) => Buffer.concat([...entries.map(tarEntry), Buffer.alloc(1024)]);
const tgz = (entries) => gzipSync(tar(entries));

// ---- zip ----

function crc(bytes) {
	let c = 0xffffffff;
	for (const b of bytes) {
		c ^= b;
		for (let i = 0; i < 8; i++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
	}
	return (c ^ 0xffffffff) >>> 0;
}

function zip(entries) {
	const locals = [];
	const centrals = [];
	let at = 0;
	for (const { name, data = "", mode = 0o100644 } of entries) {
		const raw = Buffer.from(data);
		const packed = deflateRawSync(raw);
		const head = Buffer.alloc(30);
		head.writeUInt32LE(0x04034b50, 0);
		head.writeUInt16LE(20, 4);
		head.writeUInt16LE(8, 8);
		head.writeUInt32LE(crc(raw), 14);
		head.writeUInt32LE(packed.length, 18);
		head.writeUInt32LE(raw.length, 22);
		head.writeUInt16LE(Buffer.byteLength(name), 26);
		const local = Buffer.concat([head, Buffer.from(name), packed]);
		const c = Buffer.alloc(46);
		c.writeUInt32LE(0x02014b50, 0);
		c.writeUInt16LE((3 << 8) | 20, 4);
		head.copy(c, 6, 4, 28);
		c.writeUInt32LE((mode << 16) >>> 0, 38);
		c.writeUInt32LE(at, 42);
		centrals.push(Buffer.concat([c, Buffer.from(name)]));
		locals.push(local);
		at += local.length;
	}
	const central = Buffer.concat(centrals);
	const end = Buffer.alloc(22);
	end.writeUInt32LE(0x06054b50, 0);
	end.writeUInt16LE(entries.length, 8);
	end.writeUInt16LE(entries.length, 10);
	end.writeUInt32LE(central.length, 12);
	end.writeUInt32LE(at, 16);
	return Buffer.concat([...locals, central, end]);
}

// ---- a package that is right ----

const names = ["problem.json", "statement.en.md", "statement.zh.md", "starter.cu", "oracle.c", "reference.cu"];
const file = (name) => readFileSync(`problems/int4-gemv/${name}`, "utf8");
function good(id, change = {}) {
	return names.map((name) => ({ name: `folder/${name}`, data: change[name] ?? (name === "problem.json" ? file(name).replace('"int4-gemv"', `"${id}"`) : file(name)) }));
}

async function upload(body, query = "", who = "ina") {
	const w = await world();
	return w.ask[who](`/problems${query}`, { method: "POST", body, type: "application/octet-stream" });
}

// What lies in the data folder of packages, and in the folders around it.
async function lying() {
	const w = await world();
	const root = join(w.server.data, "problems");
	return { root, ids: existsSync(root) ? readdirSync(root).sort() : [] };
}

test("a package is uploaded, served, replaced; old judgings keep their version", async () => {
	const w = await world();
	const a = await upload(tgz(good("uploaded")));
	assert.equal(a.status, 201, a.text);
	assert.deepEqual(misfits(w.doc, w.doc.components.schemas.Package, a.json), []);
	const p = (await w.ask.alice("/problems/uploaded")).json;
	assert.equal(p.version, a.json.version);
	const text = file("problem.json").replace('"int4-gemv"', '"uploaded"').replace('"efficiency": 40', '"efficiency": 40 ');
	const b = await upload(zip(good("uploaded", { "problem.json": text, "statement.en.md": "# New\n\n[x](javascript:alert(1)) ![y](https://evil.example/p.png) <script>alert(2)</script> <img src=x onerror=alert(3)> [h](https://ok.example) [j](JaVaScRiPt&#58;alert(4)) [d](data:text/html,x) [r](//evil.example) `<b>` $a<b$\n" })));
	assert.equal(b.status, 201, b.text);
	assert.notEqual(a.json.version, b.json.version);
	const html = (await w.ask.alice("/problems/uploaded")).json.statement_html;
	assert.match(html, /<h2>New<\/h2>/);
	assert.ok(!/<(script|img|b>)|href="(?!https:\/\/ok\.example")/i.test(html), html);
	assert.match(html, /<span class="math inline">a&lt;b<\/span>/);
	const versions = (await w.ask.ina("/problems/uploaded/versions")).json.items;
	assert.deepEqual(versions.map((v) => [v.version, v.current, v.by]), [[b.json.version, true, "ina"], [a.json.version, false, "ina"]]);
	const same = await upload(zip(good("uploaded", { "problem.json": text })));
	assert.equal(same.status, 201);
	assert.ok((await w.ask.alice("/problems/uploaded")).json.statement_html.includes("math display"), "the same version with other texts is served at once");
});

test("check=1 only checks; what is wrong is said with file and field", async () => {
	const before = await lying();
	const ok = await upload(zip(good("only-checked")), "?check=1");
	assert.deepEqual([ok.status, ok.json.id, ok.json.messages.map((m) => m.file)], [200, "only-checked", ["submissions/accepted", "submissions/wrong_answer"]], "what is only wanting is told, and no obstacle");
	const math = await upload(zip(good("only-checked", { "statement.en.md": file("statement.en.md") + "\n\n$\\frc{1}{2}$\n" })), "?check=1");
	const told = math.json.messages.find((m) => m.file === "statement.en.md");
	assert.ok(math.status === 200 && told.line > 50 && told.text.includes("\\frc"), math.text);
	assert.deepEqual(misfits((await world()).doc, (await world()).doc.components.schemas.Package, math.json), []);
	const bad = await upload(zip(good("only-checked", { "problem.json": file("problem.json").replace('"int4-gemv"', '"only-checked"').replace('"medium"', '"middling"') })), "?check=1");
	assert.equal(bad.status, 422);
	assert.deepEqual([bad.json.messages[0].file, bad.json.messages[0].field], ["problem.json", "difficulty"]);
	const lacks = await upload(zip(good("only-checked").filter((e) => !/starter|reference/.test(e.name))), "?check=1");
	assert.deepEqual([lacks.status, lacks.json.messages.map((m) => m.file)], [422, ["starter.cu", "reference.cu", "submissions/accepted", "submissions/wrong_answer"]]);
	assert.deepEqual((await lying()).ids, before.ids);
});

test("who may upload: instructors", async () => {
	for (const [who, status] of [["anybody", 401], ["alice", 403], ["tess", 403]]) assert.equal((await upload(tgz(good("mine")), "", who)).status, status, who);
	const w = await world();
	assert.equal((await w.ask.ina("/problems", { method: "POST", json: {} })).status, 415);
});

test("archives that reach out, lie, or swell are refused, and leave nothing", async () => {
	const before = await lying();
	const with_ = (entry) => [...good("evil"), entry];
	const bomb = Buffer.alloc(40 << 20);
	const bad = {
		"a path upwards": tgz(with_({ name: "../evil.txt", data: "x" })),
		"a path upwards inside": tgz(with_({ name: "folder/../../evil.txt", data: "x" })),
		"an absolute path": tgz(with_({ name: "/tmp/judge-evil.txt", data: "x" })),
		"a symbolic link": tgz(with_({ name: "folder/link", type: "2", link: "/etc/passwd" })),
		"a hard link": tgz(with_({ name: "folder/link", type: "1", link: "folder/problem.json" })),
		"a character device": tgz(with_({ name: "folder/zero", type: "3" })),
		"a block device": tgz(with_({ name: "folder/disk", type: "4" })),
		"a FIFO": tgz(with_({ name: "folder/pipe", type: "6" })),
		"a name twice": tgz(with_({ name: "folder/problem.json", data: "{}" })),
		"names that differ in case": tgz(with_({ name: "folder/Problem.JSON", data: "{}" })),
		"a file that is a folder too": tgz(with_({ name: "folder/problem.json/x", data: "x" })),
		"a hidden file": tgz(with_({ name: "folder/.bashrc", data: "x" })),
		"a backslash": tgz(with_({ name: "folder\\..\\x", data: "x" })),
		"a control character": tgz(with_({ name: "folder/a\nb", data: "x" })),
		"a dot entry": tgz(with_({ name: "folder/./x", data: "x" })),
		"too many entries": tgz(with_({ name: "folder/a" }).concat(Array.from({ length: 600 }, (_, i) => ({ name: `folder/f${i}` })))),
		"a bomb of zeros": tgz(with_({ name: "folder/zeros", data: bomb })),
		"a bomb in a zip": zip(with_({ name: "folder/zeros", data: bomb })),
		"a zip with a path upwards": zip(with_({ name: "../evil.txt", data: "x" })),
		"a zip with a link": zip(with_({ name: "folder/link", data: "/etc/passwd", mode: 0o120777 })),
		"a size that is not so": gzipSync(Buffer.concat([...good("evil").map(tarEntry), tarEntry({ name: "folder/short", data: "x", size: 999999 })])),
		"half an archive": tgz(good("evil")).subarray(0, 900),
		"nothing": Buffer.alloc(0),
		"text": Buffer.from("not an archive at all\n".repeat(50)),
		"an archive in bzip2's name": Buffer.from("BZh91AY&SY"),
		"no problem.json": tgz([{ name: "folder/readme.txt", data: "x" }]),
		"an id that climbs": tgz(good("../../evil")),
		"an id of another kind": tgz(good("Evil ID")),
		"a problem.json that is none": tgz(good("evil", { "problem.json": "[[[" })),
		"a statement that is not UTF-8": tgz(good("evil", { "statement.en.md": Buffer.from([0x23, 0x20, 0xff, 0xfe]) })),
	};
	for (const [what, body] of Object.entries(bad)) {
		const a = await upload(body);
		assert.equal(a.status, 422, `${what}: ${a.status} ${a.text.slice(0, 300)}`);
		assert.ok(a.json.messages.length >= 1 && a.json.messages[0].text, `${what}: says nothing`);
		assert.ok(!a.text.includes(before.root), `${what}: tells where things lie: ${a.text}`);
	}
	const after = await lying();
	assert.deepEqual(after.ids, before.ids);
	assert.ok(!existsSync("/tmp/judge-evil.txt") && !existsSync(join(after.root, "..", "evil.txt")) && !existsSync(join(after.root, "evil.txt")));
	const w = await world();
	const large = await raw(w.server, `POST /api/v1/problems HTTP/1.1\r\nHost: x\r\nContent-Type: application/zip\r\nContent-Length: ${(16 << 20) + 1}\r\n\r\n`);
	assert.equal(large.status, 413);
	assert.equal((await w.ask.alice("/problems/evil")).status, 404);
});

test("rosters in, grades out: nothing in them is a formula", async () => {
	const w = await world();
	const roster = (body) => w.ask.ina(`/groups/${w.group.id}/roster`, { method: "POST", body, type: "text/csv" });
	const a = await roster('name,display,password\r\nxena,"=HYPERLINK(""http://evil"",""x"")",\r\nyuri,"Yu, ""the"" Ri",correct horse\r\n');
	assert.deepEqual([a.status, a.json], [200, { rows: 2, added: 2, joined: 2 }], a.text);
	assert.deepEqual((await roster("xena\nyuri\n")).json, { rows: 2, added: 0, joined: 0 });
	for (const body of ["", 'name\n"open', "a,b,c,d\n", "Bad Name\n", Buffer.from([0xff, 0xfe, 0x61]), "x".repeat(2 << 20)]) {
		const bad = await roster(body);
		assert.ok([422, 413].includes(bad.status), `${String(body).slice(0, 20)}: ${bad.status}`);
	}
	const csv = (await w.ask.ina(`/groups/${w.group.id}/grades.csv`)).text;
	assert.match(csv, /"xena","'=HYPERLINK\(""http:\/\/evil"",""x""\)"/);
	assert.match(csv, /"yuri","Yu, ""the"" Ri"/);
	for (const line of csv.trim().split("\r\n").slice(1)) for (const cell of line.split(",")) assert.ok(!/^"?[=+@\t]/.test(cell), cell);
});
