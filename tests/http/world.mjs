// One server with people of every role, a group, and a submission that is wrong on hidden cases and prints there: what the tests of
// roles look at.
import { readFileSync } from "node:fs";
import { slower } from "./harness.mjs";
import { addUser, call, signIn, start } from "./server.mjs";

export const MARK = "only-alice-may-read-this";

// Right on the samples, wrong elsewhere; prints what it sees.
export const source = `// ${MARK}
#include <stdio.h>
__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int n = blockIdx.x;
	float sum = 0;
	if (n == 0 && threadIdx.x == 0)
		printf("<script>alert(1)</script> secret N=%d x[0]=%f\\n", N, x[0]);
	for (int k = threadIdx.x; k < K; k += 32) {
		int g = n * (K / 128) + k / 128;
		float q = Wq[n * (K / 8) + k / 8] >> k % 8 * 4 & 15;
		sum += (q - zeros[g]) * scales[g] * x[k];
	}
	for (int o = 16; o; o /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, o);
	if (threadIdx.x == 0)
		y[n] = N == 8 || N == 1 ? sum : 2 * sum + 1;
}
extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	gemv<<<N, 32>>>(Wq, scales, zeros, x, y, N, K);
}
`;

let made;
export function world() {
	made ??= make();
	return made;
}

async function make() {
	const server = await start("workers = 1\nsign_ins_per_minute = 1000\nregistrations_per_hour = 1000\nrequests_per_minute = 100000\nsubmissions_per_minute = 100\nrequest_seconds = " + 2 * slower);
	const people = { alice: "student", bob: "student", tess: "assistant", ina: "instructor", root: "admin" };
	const cookies = { anybody: undefined };
	for (const [name, role] of Object.entries(people)) {
		addUser(server, name, role);
		cookies[name] = await signIn(server, name);
	}
	const as = (name) => (path, options = {}) => call(server, "/api/v1" + path, { cookie: cookies[name], ...options });
	const ask = Object.fromEntries(Object.keys(cookies).map((n) => [n, as(n)]));
	const group = (await ask.ina("/groups", { method: "POST", json: { name: "Class" } })).json;
	await ask.alice("/groups/join", { method: "POST", json: { code: group.code } });
	const assignment = (await ask.ina(`/groups/${group.id}/assignments`, { method: "POST", json: { problem: "int4-gemv", deadline: "2099-01-01T00:00:00Z" } })).json;
	const submission = (await ask.alice("/submissions", { method: "POST", json: { problem: "int4-gemv", source, name: "alice.cu" } })).json;
	const doc = (await ask.anybody("/openapi.json")).json;
	return { server, ask, cookies, group, assignment, submission, doc };
}

// The judging of alice's submission, over.
export async function judged() {
	const w = await world();
	for (let i = 0; i < 400 * slower; i++) {
		const a = await w.ask.ina(`/judgings/${w.submission.judging.id}`);
		if (a.json.state === "done") return a.json;
		await new Promise((r) => setTimeout(r, 100));
	}
	throw new Error("the judging does not end");
}

export const packageText = (name) => readFileSync(`problems/int4-gemv/${name}`, "utf8");
