// Chromium, and what every page is held to: no error in its console, no request to another host, nothing that axe finds, no scrolling
// sideways at 360 pixels.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { assert } from "../http/harness.mjs";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const look = process.env.LOOK;

let browser;
export async function open(server, { cookie, lang = "en-GB", dark = false, width = 1280 } = {}) {
	browser ??= await chromium.launch({ executablePath: execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim(), args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"] });
	const context = await browser.newContext({ baseURL: server.origin, locale: lang, colorScheme: dark ? "dark" : "light", viewport: { width, height: width < 600 ? 740 : 800 }, reducedMotion: "reduce" });
	context.setDefaultTimeout(30000);
	if (cookie) {
		const [name, value] = cookie.split("=");
		await context.addCookies([{ name, value, url: server.origin, httpOnly: true }]);
	}
	const page = await context.newPage();
	page.faults = [];
	page.open = new Set();
	page.on("requestfinished", (r) => page.open.delete(r));
	page.on("requestfailed", (r) => page.open.delete(r));
	page.on("request", (r) => {
		page.open.add(r);
		if (!r.url().startsWith(server.origin) && !r.url().startsWith("data:")) page.faults.push(`request to ${r.url()}`);
	});
	page.on("pageerror", (e) => page.faults.push(`error: ${e.stack ?? e}`));
	page.on("console", (m) => {
		// A refused request is told here too; the tests look at what the page makes of it.
		if (m.type() === "error" && !m.text().startsWith("Failed to load resource")) page.faults.push(`console: ${m.text()}`);
	});
	return page;
}

export async function closeBrowser() {
	await browser?.close();
}

// The page has loaded what it shows.
export async function settled(page) {
	await page.locator("main").waitFor();
	await page.waitForFunction(() => !document.querySelector(".waiting") && !document.querySelector("span.math:not([data-set])"));
	for (let quiet = 0; quiet < 3; quiet = page.open.size ? 0 : quiet + 1) await page.waitForTimeout(40);
	await page.evaluate(() => document.fonts.ready);
}

const pictures = async (page, name) => {
	if (!look) return;
	mkdirSync(look, { recursive: true });
	await page.screenshot({ path: `${look}/${name}.png` });
};

// What axe finds.  colours: by its rules of colours alone.
async function violations(page, colours) {
	// A page's policy lets no foreign script in: axe goes in by the debugger, past it.
	if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
	return page.evaluate(async (colours) => {
		const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
		const rules = window.axe.getRules(tags).filter((r) => r.tags.includes("cat.color")).map((r) => r.ruleId);
		const r = await window.axe.run(document, { runOnly: colours ? { type: "rule", values: rules } : tags, resultTypes: ["violations"] });
		return r.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.target.join(" ")} ${(n.any[0] ?? n.all[0] ?? n.none[0])?.message ?? ""}`).join(" | ")}`);
	}, colours);
}

// All elements with what they hold and the boxes they take, those of shadow roots too: without their colours, all that axe can see.
const form = (page) =>
	page.evaluate(() => {
		const told = [];
		const tell = (root) => {
			for (const e of root.querySelectorAll("*")) {
				const box = e.getBoundingClientRect();
				told.push(e.cloneNode(false).outerHTML, [box.x, box.y, box.width, box.height].join());
				for (const child of e.childNodes) if (child.nodeType === Node.TEXT_NODE) told.push(child.data);
				if (e.shadowRoot) tell(e.shadowRoot);
			}
		};
		tell(document);
		return told.join("\n");
	});

// Looks at the page as it stands, light and dark, wide and narrow.
export async function inspect(page, name) {
	await settled(page);
	const wrong = [];
	let light;
	for (const scheme of ["light", "dark"]) {
		await page.emulateMedia({ colorScheme: scheme });
		const now = await form(page);
		light ??= now;
		// what differs in its colours alone keeps to all other rules as before
		for (const v of await violations(page, scheme === "dark" && now === light)) wrong.push(`${name}, ${scheme}: ${v}`);
		await pictures(page, `${name}-${scheme}`);
	}
	const size = page.viewportSize();
	await page.setViewportSize({ width: 360, height: 740 });
	await page.waitForTimeout(100);
	const wide = await page.evaluate(() => {
		const out = document.scrollingElement.scrollWidth - innerWidth;
		if (out <= 0) return null;
		const who = [...document.querySelectorAll("main *, header *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".table-box, pre, .tab-bar, .diff, nav"));
		return `${out} px too wide: ${who.slice(-2).map((e) => e.outerHTML.slice(0, 120)).join(" | ")}`;
	});
	if (wide) wrong.push(`${name}, 360 px: ${wide}`);
	await pictures(page, `${name}-narrow-dark`);
	await page.emulateMedia({ colorScheme: "light" });
	await pictures(page, `${name}-narrow`);
	await page.setViewportSize(size);
	assert.deepEqual(wrong, []);
	assert.deepEqual(page.faults, []);
}

// The text of the editor, and putting one there.
const editor = (page) => page.locator(".editor-pane .cm-content");
export const setSource = async (page, text) => {
	await editor(page).click();
	await page.keyboard.press("Control+a");
	await page.keyboard.press("Delete");
	await page.keyboard.insertText(text);
};
export { editor };
