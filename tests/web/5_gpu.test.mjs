// Results from a GPU, where there is none: judgings as a GPU's worker would store them, with a report of a w4a16-gemm on an H200.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert, misfits, test } from "../http/harness.mjs";
import { addUser, call, fixture, signIn, start } from "../http/server.mjs";
import { inspect, open } from "./browser.mjs";

const source = "problems/w4a16-gemm/submissions/accepted/step3_fused_mma.cu";
const report = () => JSON.parse(readFileSync("tests/web/gpu_report.json", "utf8"));

// What students get: no seed, no sizes of hidden cases.
function publicOf(r) {
	return { ...r, seed: null, cases: r.cases.map((c) => (c.visible || c.timing ? c : { ...c, sizes: {} })) };
}

function store(server, user, r, device = "gpu:0") {
	const folder = mkdtempSync(join(tmpdir(), "judge-gpu-"));
	writeFileSync(join(folder, "whole"), JSON.stringify(r));
	writeFileSync(join(folder, "public"), JSON.stringify(publicOf(r)));
	const id = execFileSync(fixture, [server.data, "judged", user, r.problem, device, r.submission, source, join(folder, "whole"), join(folder, "public")], { encoding: "utf8" });
	rmSync(folder, { recursive: true });
	return Number(id);
}

// The same kernel, this many times as slow.
function slower(r, times) {
	const cases = r.cases.map((c) => (c.gpu && c.timing ? { ...c, time_us: c.time_us * times, efficiency: c.efficiency / times, measurement: { ...c.measurement, low_us: c.measurement.low_us * times, high_us: c.measurement.high_us * times, disturbed: false } } : c));
	return { ...r, cases, time_us: r.time_us * times, efficiency: r.efficiency / times, score: 60 + 40 * Math.min(1, r.efficiency / times / 0.8) };
}

let made;
async function site() {
	made ??= (async () => {
		const server = await start("", ["--no-workers"]);
		for (const [name, role] of [["ada", "student"], ["bob", "student"], ["ina", "instructor"]]) addUser(server, name, role);
		const cookies = { ada: await signIn(server, "ada"), ina: await signIn(server, "ina") };
		execFileSync(fixture, [server.data, "device", "gpu:0", "NVIDIA H200"]);
		const first = store(server, "bob", slower(report(), 1.6));
		const older = store(server, "ada", slower(report(), 3));
		const submission = store(server, "ada", report());
		return { server, cookies, submission, older, first };
	})();
	return made;
}

test("a GPU's result over HTTP: measurements, both devices' counters, and no more than that for students", async () => {
	const { server, cookies, submission } = await site();
	const ask = (who, path) => call(server, `/api/v1${path}`, { cookie: cookies[who] });
	const doc = (await ask("ada", "/openapi.json")).json;
	const id = (await ask("ada", `/submissions/${submission}`)).json.judging.id;
	const j = (await ask("ada", `/judgings/${id}`)).json;
	assert.deepEqual(misfits(doc, doc.components.schemas.Judging, j), []);
	assert.deepEqual([j.modelled, j.device_name, j.driver], [false, "NVIDIA H200", "580.95.05"]);
	const timed = j.timing.filter((c) => c.gpu);
	assert.deepEqual(timed.map((c) => c.sizes.M), [1, 4, 32, 128]);
	for (const c of timed) assert.ok(c.measurement.low_us < c.time_us && c.time_us < c.measurement.high_us && c.cublas_us > 0 && c.reference_us > 0, c.name);
	assert.equal(j.timing.find((c) => !c.gpu).measurement, null, "what was modelled has no measurement");
	assert.ok(j.hardware.counters.dram_read_bytes.gpu > j.hardware.counters.dram_read_bytes.emulated);
	assert.ok(!JSON.stringify(j).includes("GPU-0000"), "which of the site's cards it was is nobody's business");
	assert.ok(j.cases.filter((c) => !c.visible && !c.timing).every((c) => c.sizes === null));
	const points = (await ask("ada", "/problems/w4a16-gemm/points?device=gpu:0")).json;
	assert.deepEqual(misfits(doc, doc.paths["/problems/{id}/points"].get.responses[200].content["application/json"].schema, points), []);
	assert.ok(Math.abs(points.roof.peak_gbs - 4310) < 1 && Math.abs(points.roof.peak_flops - 742e12) < 1e12, JSON.stringify(points.roof));
	assert.ok(points.items.every((p) => p.sizes.N === 8192), "points of this device alone");
});

test("a GPU's result on its page: times with their interval, measurement, roofline, speedup by batch, counters", async () => {
	const { server, cookies, submission } = await site();
	const page = await open(server, { cookie: cookies.ada });
	await page.goto(`/submissions/${submission}`);
	const times = page.getByRole("heading", { name: "Timing" }).locator("xpath=..");
	await times.getByText("± 0.2 %").first().waitFor();
	assert.deepEqual(await times.locator("tbody td:first-child").allInnerTexts(), ["M1", "M4", "M32", "M128"], "no modelled case among them");
	assert.equal(await page.getByText("Times are modelled, not measured.").count(), 0);
	await page.getByText("A measurement was disturbed").first().waitFor();
	await page.locator("figure.plot", { hasText: "Roofline" }).locator("circle.dot.now[r='6']").nth(3).waitFor();
	const speedup = page.locator("figure.plot", { hasText: "Speedup by batch size" });
	assert.equal(await speedup.locator(".series.reference circle").count(), 4);
	assert.equal(await speedup.locator(".series.cublas circle").count(), 4);
	await inspect(page, "gpu-result");
	await page.context().close();
});

test("a GPU's result, what is folded: how it was measured, what both devices counted", async () => {
	const { server, cookies, submission } = await site();
	const page = await open(server, { cookie: cookies.ada });
	await page.goto(`/submissions/${submission}`);
	for (const name of ["Measurement", "Counters of both devices"]) await page.locator("summary", { hasText: name }).click();
	await page.getByText("The case takes 6.71 µs on the GPU").waitFor();
	await page.getByRole("cell", { name: "118 × 12" }).first().waitFor();
	await page.getByRole("cell", { name: "7.900 µs – 7.929 µs" }).waitFor();
	await page.getByText("Counters of both devices").scrollIntoViewIfNeeded();
	await inspect(page, "gpu-result-counters");
	await page.context().close();
});

test("a GPU has a board of its own", async () => {
	const { server, cookies } = await site();
	const page = await open(server, { cookie: cookies.ada });
	await page.goto("/problems/w4a16-gemm/leaderboard");
	await page.getByLabel("Device").selectOption("gpu:0");
	await page.locator("tr.chosen").waitFor();
	assert.deepEqual(await page.locator("tbody tr td:nth-child(2) a").allInnerTexts(), ["ada", "bob"]);
	await inspect(page, "gpu-leaderboard");
	await page.getByLabel("Device").selectOption("emulated:h200");
	await page.getByText("Nobody is ranked here yet.").waitFor();
	await page.goto("/users/ada");
	await page.getByRole("cell", { name: "gpu:0" }).waitFor();
	await inspect(page, "gpu-user");
	await page.context().close();
});

test("a roofline without a compute-bound case has no flat top", async () => {
	const { server, cookies } = await site();
	const r = report();
	const bound = { ...r, cases: r.cases.filter((c) => !c.timing || ["M1", "M4"].includes(c.name)) };
	execFileSync(fixture, [server.data, "device", "gpu:1", "NVIDIA H200"]);
	const id = store(server, "ada", bound, "gpu:1");
	const points = (await call(server, "/api/v1/problems/w4a16-gemm/points?device=gpu:1", { cookie: cookies.ada })).json;
	assert.equal(points.roof.peak_flops, null);
	const page = await open(server, { cookie: cookies.ina });
	await page.goto(`/submissions/${id}`);
	await page.locator("figure.plot", { hasText: "Roofline" }).locator("circle.dot.now[r='6']").first().waitFor();
	assert.equal(await page.locator(".roof-label").count(), 1);
	await page.locator("figure.plot", { hasText: "Roofline" }).scrollIntoViewIfNeeded();
	await inspect(page, "gpu-roofline-slope");
	await page.goto("/manage?tab=devices");
	await page.getByRole("cell", { name: "gpu:1" }).waitFor();
	await inspect(page, "gpu-devices");
	await page.context().close();
});

// Whole, as it was written there; the card's name is taken out.
test("a report that a judge on an H200 wrote", async () => {
	const { server, cookies } = await site();
	const r = JSON.parse(readFileSync("tests/web/h200_report.json", "utf8"));
	const id = store(server, "ada", r);
	const ask = (path) => call(server, `/api/v1${path}`, { cookie: cookies.ada });
	const doc = (await ask("/openapi.json")).json;
	const j = (await ask(`/judgings/${(await ask(`/submissions/${id}`)).json.judging.id}`)).json;
	assert.deepEqual(misfits(doc, doc.components.schemas.Judging, j), []);
	assert.equal(j.hardware.counters.global_load_sectors.gpu, j.hardware.counters.global_load_sectors.emulated);
	for (const lang of ["en-GB", "zh-CN"]) {
		const page = await open(server, { cookie: cookies.ada, lang });
		await page.goto(`/submissions/${id}`);
		await page.locator("tbody td", { hasText: "M16" }).first().waitFor();
		for (const fold of await page.locator("details > summary").all()) await fold.click();
		await inspect(page, `gpu-h200-${lang.slice(0, 2)}`);
		await page.context().close();
	}
});
