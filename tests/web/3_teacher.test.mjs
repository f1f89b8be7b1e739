// What an instructor does: a class with an assignment, a package that is refused and one that is taken, queue, devices, judging again.
import { readFileSync } from "node:fs";
import { assert, test } from "../http/harness.mjs";
import { inspect, open, settled } from "./browser.mjs";
import { judged, packageFile, right, world } from "./world.mjs";

let page;
const inOneHour = () => new Date(Date.now() + 3600e3 - new Date().getTimezoneOffset() * 60e3).toISOString().slice(0, 16);

test("a class with a roster and an assignment", async () => {
	const { server, cookies, ask } = await world();
	page = await open(server, { cookie: cookies.ina });
	await page.goto("/groups");
	await page.getByLabel("New class").fill("GPU 101");
	await page.getByRole("button", { name: "Make", exact: true }).click();
	await page.getByRole("heading", { name: "GPU 101" }).waitFor();
	await page.getByLabel("Problem").selectOption("int4-gemv");
	await page.getByLabel("Title").fill("Week 1");
	await page.getByLabel("Deadline").fill(inOneHour());
	await page.getByRole("button", { name: "Add", exact: true }).click();
	await page.getByRole("link", { name: "Week 1" }).waitFor();
	await page.getByLabel("Add people (CSV)").fill("name,display\nbob,Bob\ncleo,Cléo 李\n");
	await page.getByRole("button", { name: "Import" }).click();
	await page.getByText("1 account made, 2 joined").waitFor();
	await page.getByRole("cell", { name: "Cléo 李" }).waitFor();
	await page.getByRole("button", { name: "Extra time" }).click();
	const extra = page.getByRole("region", { name: "Extra time: Week 1" });
	await extra.getByText("Nobody has extra time here.").waitFor();
	for (const name of ["bob", "cleo"]) {
		await extra.getByLabel("User").selectOption(name);
		await extra.getByLabel("Deadline").fill(inOneHour());
		await extra.getByRole("button", { name: "Save" }).click();
		await extra.getByRole("button", { name: `Remove ${name}` }).waitFor();
	}
	await inspect(page, "group");
	await extra.getByRole("button", { name: "Remove cleo" }).click();
	await extra.getByRole("button", { name: "Remove cleo" }).waitFor({ state: "detached" });
	assert.deepEqual((await ask("ina", "/assignments/1/extensions")).json.items.map((x) => x.user), ["bob"]);
	await extra.getByRole("button", { name: "Close" }).click();
	const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Grades (CSV)" }).click()]);
	assert.ok(download.suggestedFilename().endsWith(".csv"));
	const mine = (await ask("bob", "/assignments")).json;
	assert.equal(mine.items[0].title, "Week 1");
	await page.goto("/groups");
	await page.getByRole("link", { name: "GPU 101" }).waitFor();
	await inspect(page, "groups");
});

test("a package is refused with its faults, and taken once they are mended", async () => {
	const bad = packageFile("uploaded", (p) => ({ ...p, difficulty: "fierce" }));
	const good = packageFile("uploaded");
	await page.goto("/manage?tab=packages");
	await page.getByLabel("Problem package").setInputFiles(bad.file);
	await page.getByRole("button", { name: "Check" }).click();
	await page.locator(".diagnostics", { hasText: "difficulty" }).waitFor();
	await inspect(page, "manage-package-refused");
	await page.getByLabel("Problem package").setInputFiles(good.file);
	await page.getByRole("button", { name: "Upload" }).click();
	await page.getByText("uploaded is taken, version").waitFor();
	bad.remove();
	good.remove();
	const row = page.getByRole("row", { name: /Uploaded uploaded/ });
	await row.getByRole("button", { name: "Hide" }).click();
	await row.getByText("hidden").waitFor();
	await row.getByRole("button", { name: "Show" }).click();
	await row.getByText("shown").waitFor();
	await row.getByRole("link", { name: "Uploaded uploaded" }).click();
	await page.getByRole("heading", { name: "Uploaded uploaded" }).waitFor();
});

test("a statement is edited beside its preview; a draft is kept; who saves second sees what the first wrote", async () => {
	const { ask } = await world();
	await page.getByRole("link", { name: "Edit statement" }).click();
	const source = page.locator(".editor-pane .cm-content");
	await source.waitFor();
	await source.click();
	await page.keyboard.press("Control+Home");
	await page.keyboard.insertText("# The sum $\\sum_k w_k x_k$ in words\n\n");
	const preview = page.getByRole("region", { name: "Preview" });
	await preview.locator("h2 .katex").first().waitFor();
	await page.reload();
	await page.getByText("This is your draft, not saved yet.").waitFor();
	await preview.locator("h2 .katex").first().waitFor();
	await inspect(page, "statement-draft");
	await page.getByRole("button", { name: "Save", exact: true }).click();
	await page.getByText("Saved: edition 2.").waitFor();
	assert.match((await ask("bob", "/problems/uploaded")).json.statement_html, /^<h2>The sum <span class="math inline">/);
	assert.ok(await page.getByRole("button", { name: "Save", exact: true }).isDisabled());

	const at = "/problems/uploaded/statements/en";
	const read = (await ask("root", at)).json;
	await ask("root", at, { method: "PUT", json: { text: read.text.replace("in words", "in the words of another"), base: read.base } });
	await source.click();
	await page.keyboard.press("Control+End");
	await page.keyboard.insertText("\nOne line more.\n");
	await page.keyboard.press("Control+s");
	await page.getByText("Saved first by root").waitFor();
	await page.locator(".conflict .removed", { hasText: "in the words of another" }).waitFor();
	await inspect(page, "statement-conflict");
	await page.getByRole("button", { name: "Save mine over it" }).click();
	await page.getByText("Saved: edition 4.").waitFor();
	assert.match((await ask("root", at)).json.text, /in words[^]*One line more\.\n$/);

	await page.getByRole("button", { name: "中文" }).first().click();
	await page.getByRole("button", { name: "English" }).first().click();
	await page.getByRole("button", { name: "中文", pressed: false }).last().click();
	await page.locator(".file", { hasText: "statement.zh.md" }).waitFor();
	await page.goto("/problems/uploaded");
	await page.getByRole("heading", { name: /^The sum/ }).waitFor();
});

test("queue and devices", async () => {
	const { ask } = await world();
	const sent = (await ask("bob", "/submissions", { method: "POST", json: { problem: "int4-gemv", source: right, name: "bob.cu" } })).json;
	await page.goto("/manage");
	await page.getByRole("heading", { name: "Workers" }).waitFor();
	await inspect(page, "manage-queue");
	await page.getByRole("tab", { name: "Devices" }).click();
	await page.getByText("in service").first().waitFor();
	await inspect(page, "manage-devices");
	assert.equal((await judged(await world(), "bob", sent.id)).verdict, "AC");
});

test("a set is judged again after a look at how many", async () => {
	await page.goto("/manage?tab=rejudge");
	await page.getByLabel("Verdict").selectOption("AC");
	await page.getByLabel("User", { exact: true }).fill("bob");
	await page.getByRole("button", { name: "Preview" }).click();
	await page.getByText("1 submission fits.").waitFor();
	await page.getByRole("button", { name: "Judge 1 again" }).click();
	await page.getByRole("dialog").getByRole("button", { name: "Judge 1 again" }).click();
	await page.getByText("1 of 1 done").waitFor({ timeout: 90000 });
	await page.getByText("No verdict and no score changed.").waitFor();
	await inspect(page, "manage-rejudge");
	await page.goto("/submissions?user=bob");
	await page.locator("tbody a", { hasText: /^\d+$/ }).first().click();
	await page.locator(".bench-head select option").nth(1).waitFor({ state: "attached" });
	await settled(page);
});

test("a problem with batches: speedup by batch size, with its table", async () => {
	const w = await world();
	const source = readFileSync("problems/w4a16-gemm/submissions/accepted/step3_fused_mma.cu", "utf8");
	const sent = (await w.ask("bob", "/submissions", { method: "POST", json: { problem: "w4a16-gemm", source, name: "fused.cu" } })).json;
	assert.equal((await judged(w, "bob", sent.id)).verdict, "AC");
	await page.goto(`/submissions/${sent.id}`);
	const plot = page.locator("figure.plot", { hasText: "Speedup by batch size" });
	await plot.locator("circle").nth(3).waitFor();
	await plot.getByText("As a table").click();
	assert.deepEqual(await plot.locator("tbody td:first-child").allInnerTexts(), ["1", "4", "32", "128"]);
	await plot.scrollIntoViewIfNeeded();
	await inspect(page, "speedup");
});

test("an administrator changes roles", async () => {
	const { server, cookies } = await world();
	await page.context().close();
	page = await open(server, { cookie: cookies.root });
	await page.goto("/manage?tab=users");
	await page.getByLabel("Role of bob").selectOption("assistant");
	await page.getByText("Saved.").waitFor();
	await inspect(page, "manage-users");
	await page.getByLabel("Search users").fill("cl");
	await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
});

test("when no stream comes through, progress is asked for", async () => {
	const { server, cookies, ask } = await world();
	await page.context().close();
	page = await open(server, { cookie: cookies.bob });
	await page.route("**/events*", (r) => (r.request().headers().accept?.includes("event-stream") ? r.abort() : r.continue()));
	const sent = (await ask("bob", "/submissions", { method: "POST", json: { problem: "int4-gemv", source: right, name: "bob.cu", scope: "samples" } })).json;
	await page.goto(`/submissions/${sent.id}`);
	await page.locator(".result-verdict", { hasText: "Accepted" }).waitFor({ timeout: 90000 });
});

test("a judging is cancelled", async () => {
	const { ask } = await world();
	const sent = (await ask("bob", "/submissions", { method: "POST", json: { problem: "int4-gemv", source: `${right}\n// again`, name: "bob.cu" } })).json;
	await page.goto(`/submissions/${sent.id}`);
	await page.getByRole("button", { name: "Cancel" }).click();
	await page.locator(".result-verdict", { hasText: "Cancelled" }).waitFor({ timeout: 30000 });
	await page.context().close();
});
