// Sites that don't let just anybody make an account.
import { assert, test } from "../http/harness.mjs";
import { addUser, call, signIn, start } from "../http/server.mjs";
import { inspect, open } from "./browser.mjs";

test("by invitation: a class's code is asked for, and leads into the class", async () => {
	const server = await start("registration = invite", ["--no-workers"]);
	addUser(server, "ina", "instructor");
	const { code } = (await call(server, "/api/v1/groups", { method: "POST", cookie: await signIn(server, "ina"), json: { name: "GPU 101" } })).json;
	const page = await open(server);
	await page.goto("/problems/int4-gemv");
	await page.getByRole("link", { name: "Sign in to submit" }).click();
	await page.getByRole("link", { name: "Make an account" }).click();
	await page.getByLabel("User name").fill("eve");
	await page.getByLabel("Password").fill("correct horse battery");
	await page.getByLabel("Invite code").fill("NONSENSE");
	await page.getByRole("button", { name: "Make an account" }).click();
	await page.locator("[name=invite][aria-invalid=true]").waitFor();
	await inspect(page, "register-invite");
	await page.getByLabel("Invite code").fill(` ${code} `);	// as it is pasted
	await page.getByRole("button", { name: "Make an account" }).click();
	await page.getByRole("button", { name: "Submit" }).waitFor();	// back where they came from
	await page.getByRole("link", { name: "Classes" }).click();
	await page.getByRole("link", { name: "GPU 101" }).waitFor();
	await page.context().close();
});

test("closed: nobody is asked for an account, and the page says whom to ask", async () => {
	const server = await start("registration = closed", ["--no-workers"]);
	addUser(server, "ina", "instructor");
	const page = await open(server);
	await page.goto("/sign-in");
	await page.getByRole("button", { name: "Sign in" }).waitFor();
	assert.equal(await page.getByRole("link", { name: "Make an account" }).count(), 0);
	await page.goto("/register");
	await page.getByText("New accounts are not made here: ask your instructor.").waitFor();
	assert.equal(await page.locator("main input").count(), 0);
	await inspect(page, "register-closed");
	await page.getByRole("main").getByRole("link", { name: "Sign in" }).click();
	await page.getByLabel("User name").fill("ina");
	await page.getByLabel("Password").fill("correct horse");
	await page.getByRole("button", { name: "Sign in" }).click();
	await page.getByRole("link", { name: "Manage" }).waitFor();
	await page.context().close();
});
