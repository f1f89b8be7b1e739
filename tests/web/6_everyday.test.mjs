// What happens every day: a page is loaded again while it judges, one signs out elsewhere, a browser runs no scripts.
import { assert, test } from "../http/harness.mjs";
import { call, signIn } from "../http/server.mjs";
import { open, setSource } from "./browser.mjs";
import { right, world } from "./world.mjs";

test("a reload in the middle of a judging finds it again, and so does going back", async () => {
	const { server } = await world();
	const page = await open(server, { cookie: await signIn(server, "bob") });
	await page.goto("/problems/int4-gemv");
	await setSource(page, right);
	await page.getByRole("button", { name: "Run samples" }).click();
	await page.locator(".steps .now, .result-verdict .verdict.good").first().waitFor();
	await page.reload();
	await page.locator(".result-verdict", { hasText: "Accepted" }).waitFor({ timeout: 90000 });
	await page.getByRole("link", { name: "Leaderboard" }).click();
	await page.getByRole("heading", { name: "Leaderboard" }).waitFor();
	await page.goBack();
	await page.locator(".result-verdict", { hasText: "Accepted" }).waitFor();
	assert.deepEqual(page.faults, []);
	await page.context().close();
});

test("a session that was ended elsewhere: the page says so, and the draft stays", async () => {
	const { server } = await world();
	const cookie = await signIn(server, "bob");
	const page = await open(server, { cookie });
	await page.goto("/problems/w8a16-gemv");
	await setSource(page, "// not lost\n");
	await call(server, "/api/v1/session", { method: "DELETE", cookie });
	await page.getByRole("button", { name: "Submit" }).click();
	await page.getByRole("link", { name: "Sign in to submit" }).waitFor();
	await page.getByRole("alert").getByText("Sign in first").waitFor();
	await page.getByRole("link", { name: "Sign in to submit" }).click();
	await page.getByLabel("User name").fill("bob");
	await page.getByLabel("Password").fill("correct horse");
	await page.getByRole("button", { name: "Sign in" }).click();
	await page.locator(".editor-pane .cm-content", { hasText: "// not lost" }).waitFor();
	await page.getByRole("button", { name: "Submit" }).waitFor();
	await page.context().close();
});

test("without JavaScript the page says what it needs", async () => {
	const { server } = await world();
	const page = await open(server);
	const bare = await page.context().browser().newContext({ javaScriptEnabled: false, baseURL: server.origin });
	const plain = await bare.newPage();
	await plain.goto("/");
	assert.match(await plain.locator("body").innerText(), /needs JavaScript[^]*judge submit/);
	await bare.close();
	await page.context().close();
});
