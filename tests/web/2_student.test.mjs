// What a student does: an account, a statement in both languages, a compile error, a wrong and a right submission, plots, the board.
import { assert, test } from "../http/harness.mjs";
import { editor, inspect, open, setSource, settled } from "./browser.mjs";
import { broken, right, world, wrong } from "./world.mjs";

let page;

test("a visitor reads the list, and makes an account", async () => {
	const { server } = await world();
	page = await open(server);
	await page.goto("/");
	await page.locator("tr.problem").getByRole("link", { name: "INT4 GEMV: one warp per row" }).first().waitFor();
	await inspect(page, "problems-visitor");
	await page.goto("/sign-in");
	await inspect(page, "sign-in");
	await page.getByRole("link", { name: "Make an account" }).click();
	await inspect(page, "register");
	await page.getByLabel("User name").fill("ada");
	await page.getByLabel("Shown name").fill("Ada <b>Lovelace</b>");
	await page.getByLabel("Password").fill("short");
	await page.getByRole("button", { name: "Make an account" }).click();
	await page.locator("[aria-invalid=true][type=password]").waitFor();	// the server's message stands at its field
	await page.getByLabel("Password").fill("correct horse battery");
	await page.getByRole("button", { name: "Make an account" }).click();
	await page.getByRole("link", { name: "Ada <b>Lovelace</b>" }).waitFor();
	await page.getByRole("heading", { name: "Problems" }).waitFor();
});

test("problems are searched by the key /, filtered and sorted", async () => {
	await page.goto("/problems");
	await page.locator("tr.problem").getByRole("link", { name: "INT4 GEMV: one warp per row" }).first().waitFor();
	await page.keyboard.press("/");
	await page.keyboard.type("w8a16");
	await page.waitForFunction(() => document.querySelectorAll("tr.problem").length === 1);
	await page.reload();	// the filter is a part of the address
	await page.waitForFunction(() => document.querySelectorAll("tr.problem").length === 1);
	await page.getByLabel("Search problems").fill("");
	await page.getByRole("rowheader", { name: "First kernels: from FP32 to 4 bits" }).getByText(/^0 of \d+ solved$/).waitFor();
	await page.locator("tr.problem", { hasText: "INT4 GEMV: one warp per row" }).getByText("Unpack 4-bit weights").waitFor();
	await page.locator("tr.problem", { hasText: "INT4 GEMV: one warp per row" }).getByRole("link", { name: "W8A16 GEMV: INT8 weights, FP16 activations" }).waitFor();
	await inspect(page, "paths");
	await page.getByRole("button", { name: "Difficulty" }).click();
	assert.equal(await page.locator("tr.path").count(), 0);
	assert.equal(await page.locator("th[aria-sort]").innerText().then((s) => s.trim()), "Difficulty");
	await inspect(page, "problems");
	await page.keyboard.press("?");
	await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
	await inspect(page, "keys");
	await page.keyboard.press("Escape");
});

test("a statement with its math, in English and in Chinese, and its hints one by one", async () => {
	await page.goto("/problems/int4-gemv");
	await page.locator(".prose .katex").first().waitFor();
	await settled(page);
	assert.ok((await page.locator(".prose .katex-display").count()) >= 2);
	assert.equal(await page.locator(".katex-error").count(), 0);
	await page.getByRole("button", { name: "Show hint 1 of 6" }).click();
	await page.getByRole("button", { name: "Show hint 2 of 6" }).waitFor();
	await page.locator(".problem-head").getByRole("link", { name: "W8A16 GEMV: INT8 weights, FP16 activations" }).waitFor();
	await inspect(page, "problem");
	await page.getByRole("button", { name: "中文" }).click();
	await page.getByRole("heading", { name: "INT4 GEMV：一个 warp 算一行" }).waitFor();
	await page.getByRole("tab", { name: "题面" }).waitFor();
	await page.locator(".prose .katex").first().waitFor();
	assert.equal(await page.locator(".katex-error").count(), 0);
	assert.equal(await page.getAttribute("html", "lang"), "zh-CN");
	await page.locator(".problem-head", { hasText: "做完后：在寄存器里解开 4 位权重" }).waitFor();
	await inspect(page, "problem-zh");
	await page.getByRole("button", { name: "English" }).click();
	await page.getByRole("tab", { name: "Statement" }).waitFor();
});

test("a draft is kept, Esc and Tab leave the editor, the starter comes back when asked", async () => {
	await setSource(page, "// my draft\n");
	await page.reload();
	await editor(page).waitFor();
	assert.equal((await editor(page).innerText()).trim(), "// my draft");
	await editor(page).click();
	await page.keyboard.press("Tab");
	assert.ok(await page.evaluate(() => document.activeElement?.shadowRoot?.activeElement?.classList.contains("cm-content")));
	await page.keyboard.press("Escape");
	await page.keyboard.press("Tab");
	assert.ok(await page.evaluate(() => !document.activeElement?.shadowRoot));
	await page.getByRole("button", { name: "Reset" }).click();
	await page.getByRole("button", { name: "Replace it" }).click();
	assert.match(await editor(page).innerText(), /solve/);
	await page.locator("input[type=file]").setInputFiles({ name: "mine.cu", mimeType: "text/plain", buffer: Buffer.from("// from a file\n") });
	await page.waitForFunction(() => document.querySelector(".editor-pane .code").shadowRoot.textContent.includes("from a file"));
});

test("a compile error stands on its line", async () => {
	await setSource(page, broken);
	await page.keyboard.press("Control+Enter");
	await page.locator(".result-verdict", { hasText: "Compile error" }).waitFor({ timeout: 90000 });
	const told = Number(/\d+/.exec(await page.locator(".diagnostics .where").first().innerText())[0]);
	await page.locator(".cm-lint-marker-error").first().waitFor();
	await page.locator(".diagnostics .where button").first().click();
	assert.equal(Number(await page.locator(".editor-pane .cm-lineNumbers .cm-activeLineGutter").innerText()), told);
	await inspect(page, "result-compile-error");
});

test("a wrong submission shows what was expected and what came, its progress comes live", async () => {
	await setSource(page, wrong);
	await page.evaluate(() => {
		window.seen = [];
		new MutationObserver(() => {
			const s = document.querySelector(".steps .now")?.textContent;
			if (s && window.seen.at(-1) !== s) window.seen.push(s);
		}).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
	});
	await page.getByRole("button", { name: "Submit" }).click();
	await page.locator(".result-verdict", { hasText: "Wrong answer" }).waitFor({ timeout: 90000 });
	const seen = await page.evaluate(() => window.seen);
	assert.ok(seen.includes("Compile"), `progress showed ${seen}`);
	await page.getByRole("columnheader", { name: "Expected" }).waitFor();
	assert.ok((await page.locator(".case-more tbody tr").count()) > 0);
	assert.equal(await page.locator("[role=status].result-verdict").count(), 1);
	await inspect(page, "result-wrong");
	await page.getByRole("button", { name: "中文" }).click();
	await page.locator(".result-verdict", { hasText: "答案错误" }).waitFor();
	await page.locator(".case-more p", { hasText: "个元素中有" }).first().waitFor();
	await page.locator(".advice li").first().waitFor();
	const said = (await page.locator(".result .why, .result .case-more p, .result .advice li, .result .limiter").allInnerTexts()).join("\n");
	assert.ok(!/[a-z]{2,} [a-z]{2,} [a-z]{2,}/.test(said), `English on a Chinese page: ${said}`);
	await inspect(page, "result-wrong-zh");
	await page.getByRole("button", { name: "English" }).click();
	await page.locator(".result-verdict", { hasText: "Wrong answer" }).waitFor();
});

test("the samples alone, by Ctrl+'", async () => {
	await setSource(page, right);
	await page.keyboard.press("Control+'");
	await page.locator(".result-verdict", { hasText: "Accepted" }).waitFor({ timeout: 90000 });
	await page.getByText("2 of 2 right").waitFor();
	assert.equal(await page.locator(".next").count(), 0);
});

test("a right submission: efficiency, roofline, book, the profile in the gutter", async () => {
	await page.getByRole("button", { name: "Submit" }).click();
	await page.locator(".figure", { hasText: "Efficiency" }).waitFor({ timeout: 90000 });
	assert.match(await page.locator(".result-verdict").innerText(), /Accepted/);
	const plot = page.locator("figure.plot", { hasText: "Roofline" });
	await plot.locator("circle.dot.now[r='6']").waitFor();
	await plot.getByText("As a table").click();
	assert.ok((await plot.locator("tbody tr").count()) >= 1);
	await page.locator(".editor-pane .cm-heat-bar").first().waitFor();
	await page.getByRole("heading", { name: /^Book/ }).waitFor();
	await page.getByRole("heading", { name: "Advice" }).waitFor();
	await page.locator(".next").getByRole("link").waitFor();
	assert.notEqual(await page.locator(".next a").getAttribute("href"), "/problems/int4-gemv");
	await inspect(page, "result-accepted");
});

test("PTX and source are linked both ways, until the source is edited", async () => {
	await page.getByRole("tab", { name: "PTX" }).click();
	const ptx = page.locator(".ptx .cm-content");
	await ptx.waitFor();
	await page.locator(".editor-pane .cm-line", { hasText: "__shfl_down_sync" }).first().click();
	await page.locator(".ptx .cm-linked").first().waitFor();
	await page.locator(".ptx .cm-line", { hasText: "shfl" }).first().click();
	await page.locator(".editor-pane .cm-linked").first().waitFor();
	await inspect(page, "ptx");
	await editor(page).click();
	await page.keyboard.type(" ");
	await page.getByText("Stale: the source was edited since.").waitFor();
	assert.equal(await page.locator(".editor-pane .cm-heat-bar").count(), 0);
	await page.keyboard.press("Control+z");
	await page.locator(".editor-pane .cm-heat-bar").first().waitFor();
});

test("own runs, submissions with filters, one of them, and two compared", async () => {
	await page.getByRole("tab", { name: "My runs" }).click();
	await page.waitForFunction(() => document.querySelectorAll(".panel tbody tr").length === 4);
	await inspect(page, "runs");
	await page.getByRole("link", { name: "Submissions" }).click();
	await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 4);
	await page.getByLabel("Mark submission 2").check();
	await page.getByLabel("Mark submission 4").check();
	await inspect(page, "submissions");
	await page.getByRole("link", { name: "Compare the two" }).click();
	await page.locator(".diff .added").first().waitFor();
	await inspect(page, "diff");
	await page.goto("/submissions?verdict=WA");
	await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
	await page.goto("/submissions/4");
	await page.locator(".result-verdict", { hasText: "Accepted" }).waitFor();
	await page.locator(".editor-pane .cm-heat-bar").first().waitFor();
	await inspect(page, "submission");
});

test("the board, and one's own page", async () => {
	await page.goto("/problems/int4-gemv/leaderboard");
	await page.locator("tr.chosen", { hasText: "Ada <b>Lovelace</b>" }).waitFor();
	await inspect(page, "leaderboard");
	await page.getByRole("link", { name: "Ada <b>Lovelace</b>" }).first().click();
	await page.getByRole("heading", { name: "1 problem solved" }).waitFor();
	await inspect(page, "user");
	await page.goto("/problems");
	await page.locator("tr.problem .verdict.good").first().waitFor();
	await page.getByRole("rowheader", { name: "First kernels: from FP32 to 4 bits" }).getByText(/^1 of \d+ solved$/).waitFor();
	await page.getByRole("button", { name: "中文" }).click();
	await page.getByRole("rowheader", { name: "第一批 kernel：从 FP32 到 4 位" }).getByText(/^已解决 1\/\d+$/).waitFor();
	await inspect(page, "paths-zh");
	await page.getByRole("button", { name: "English" }).click();
});

test("settings: a token that is shown once, the theme, signing out", async () => {
	await page.goto("/settings");
	await page.getByLabel("What for").fill("my laptop");
	await page.getByRole("button", { name: "Make a token" }).click();
	await page.locator(".secret code").waitFor();
	await inspect(page, "settings");
	await page.reload();
	await page.getByRole("cell", { name: "my laptop" }).waitFor();
	assert.equal(await page.locator(".secret").count(), 0);
	await page.getByLabel("Theme", { exact: true }).selectOption("dark");
	assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(20, 22, 26)");
	await page.reload();
	assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
	await page.getByLabel("Theme", { exact: true }).selectOption("system");
	await page.getByRole("button", { name: "Sign out" }).click();
	await page.getByRole("link", { name: "Sign in" }).waitFor();
	await page.goto("/submissions");
	await page.getByRole("heading", { name: "Sign in first" }).waitFor();
	await page.goto("/nowhere");
	await inspect(page, "not-found");
	await page.context().close();
});
