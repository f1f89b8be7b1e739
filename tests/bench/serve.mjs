// judge serve under load: open event streams, reads of the API while the queue works, memory over many requests.
import http from "node:http";
import { readFileSync } from "node:fs";
import { addUser, call, signIn, start, stopAll } from "../http/server.mjs";

const STREAMS = 500;
const READS = 10000;
const AT_ONCE = 8;

const server = await start("workers = 1\nconnections_per_address = 0\nsign_ins_per_minute = 1000\nsubmissions_per_minute = 1000\nrequests_per_minute = 1000000");
const source = readFileSync("problems/int4-gemv/submissions/accepted/step1_textbook.cu", "utf8");
const agent = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE });
const resident = () => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${server.child.pid}/status`, "utf8"))[1]) / 1024;
const percentile = (list, p) => list.sort((a, b) => a - b)[Math.floor((list.length - 1) * p)];

const users = [];
for (let i = 0; i < 10; i++) {
	addUser(server, `user${i}`, "student");
	users.push(await signIn(server, `user${i}`));
}
const judgings = [];
for (const cookie of users) {
	for (let i = 0; i < 2; i++) {
		const a = await call(server, "/api/v1/submissions", { method: "POST", cookie, json: { problem: "int4-gemv", source } });
		judgings.push({ cookie, id: a.json.judging.id });
	}
}

let opened = 0;
let heard = 0;
const sockets = [];
await Promise.all(Array.from({ length: STREAMS }, (_, i) => new Promise((done, no) => {
	const j = judgings[i % judgings.length];
	const rq = http.get(`${server.origin}/api/v1/judgings/${j.id}/events`, { headers: { cookie: j.cookie, accept: "text/event-stream" } }, (rs) => {
		if (rs.statusCode !== 200) return no(new Error(`a stream got ${rs.statusCode}`));
		opened++;
		rs.on("data", (d) => (heard += (d.toString().match(/^event:/gm) ?? []).length));
		rs.on("error", () => {});
		done();
	});
	rq.on("error", no);
	sockets.push(rq);
})));

function read(path, cookie) {
	return new Promise((done, no) => {
		const began = process.hrtime.bigint();
		http.get(server.origin + path, { agent, headers: { cookie } }, (rs) => {
			rs.resume();
			rs.on("end", () => (rs.statusCode === 200 ? done(Number(process.hrtime.bigint() - began) / 1e6) : no(new Error(`${path}: ${rs.statusCode}`))));
		}).on("error", no);
	});
}

const paths = (j) => ["/api/v1/site", "/api/v1/problems", "/api/v1/problems/int4-gemv", "/api/v1/submissions", `/api/v1/judgings/${j.id}`, "/api/v1/problems/int4-gemv/leaderboard", "/api/v1/session"];
const times = [];
let memory = [];
let n = 0;
async function reader() {
	while (n < READS) {
		const i = n++;
		const j = judgings[i % judgings.length];
		if (i === 1000 || i === READS - 1) memory.push(resident());
		times.push(await read(paths(j)[i % 7], j.cookie));
	}
}
const began = Date.now();
await Promise.all(Array.from({ length: AT_ONCE }, reader));
const seconds = (Date.now() - began) / 1000;
const row = (what, value) => console.log(`  ${what.padEnd(60)} ${value}`);
console.log("judge serve, a worker grading beside it");
row("open event streams", `${opened}, ${heard} events heard`);
row(`reads of the API, ${AT_ONCE} at once: each second`, (READS / seconds).toFixed(0));
row("p50, p99, longest", `${percentile(times, 0.5).toFixed(1)}, ${percentile(times, 0.99).toFixed(1)}, ${percentile(times, 1).toFixed(0)} ms`);
row(`memory after 1,000 and ${READS.toLocaleString("en")} requests`, memory.map((m) => m.toFixed(1)).join(", ") + " MiB");
for (const s of sockets) s.destroy();
for (const problem of await stopAll()) console.log(problem);
process.exit(0);
