// Builds the browser side into build/web: hashed names, one chunk a part, a .gz beside each text file.
// Usage: node build.mjs [OUTPUT FOLDER]
import { build } from "esbuild";
import { mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "../build/web"));
const fresh = out + ".new";

const common = {
	absWorkingDir: here,
	bundle: true,
	minify: true,
	metafile: true,
	outdir: fresh + "/assets",
	entryNames: "[name]-[hash]",
	chunkNames: "[name]-[hash]",
	assetNames: "[name]-[hash]",
	publicPath: "/assets",
	target: ["chrome109", "firefox115", "safari16"],
	legalComments: "none",
	logLevel: "warning",
	loader: { ".woff2": "file", ".woff": "empty", ".ttf": "empty" },
};

// All browsers that are served read woff2: the other forms of a font, which its CSS names, are left out.
const woff2Only = {
	name: "woff2-only",
	setup(b) {
		b.onLoad({ filter: /\.css$/ }, async ({ path }) => ({
			contents: (await readFile(path, "utf8")).replace(/,\s*url\([^)]*\.(?:woff|ttf)["']?\)\s*format\([^)]*\)/g, ""),
			loader: "css",
		}));
	},
};

// The hashed file that came of an entry point.
function made(result, entry) {
	const name = Object.entries(result.metafile.outputs).find(([, o]) => o.entryPoint === entry)?.[0];
	if (!name) throw new Error(`no output of ${entry}`);
	return "/assets/" + basename(name);
}

async function compress(folder) {
	for (const name of await readdir(folder)) {
		if (!/\.(js|css|html|svg)$/.test(name)) continue;
		const path = join(folder, name);
		await writeFile(path + ".gz", gzipSync(await readFile(path), { level: 9 }));
	}
}

await rm(fresh, { recursive: true, force: true });
await mkdir(fresh + "/assets", { recursive: true });
const styles = await build({ ...common, entryPoints: ["src/style/app.css", "src/style/math.css"], plugins: [woff2Only] });
const boot = await build({ ...common, entryPoints: ["src/boot.ts"], format: "iife" });
const scripts = await build({
	...common,
	entryPoints: ["src/main.tsx"],
	format: "esm",
	splitting: true,
	jsx: "automatic",
	jsxImportSource: "preact",
	define: { MATH_CSS: JSON.stringify(made(styles, "src/style/math.css")) },
});

const html = (await readFile(join(here, "src/index.html"), "utf8"))
	.replace("%CSS%", made(styles, "src/style/app.css"))
	.replace("%BOOT%", made(boot, "src/boot.ts"))
	.replace("%MAIN%", made(scripts, "src/main.tsx"));
await writeFile(fresh + "/index.html", html);
await writeFile(fresh + "/icon.svg", await readFile(join(here, "src/icon.svg")));
// What each chunk is made of, for the check of sizes in tests/web.
await writeFile(fresh + "/../web.meta.json", JSON.stringify({ scripts: scripts.metafile.outputs, styles: styles.metafile.outputs }));
await compress(fresh);
await compress(fresh + "/assets");
await rm(out, { recursive: true, force: true });
await rename(fresh, out);
