// Which lines of PTX belong to which line of the source, by the .loc directives that nvcc writes under -lineinfo.
export interface Link {
	/** [i]: the source line of PTX line i + 1, or 0. */
	source: number[];
	/** The PTX lines (from 1) of a source line. */
	ptx: Map<number, number[]>;
}

const files = /^\s*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"/gm;
const loc = /^\s*\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*?inlined_at\s+(\d+)\s+(\d+))?/;
const base = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/** `name`: the submission's file name. Where no file is called so, the first .cu is meant. */
export function linkPtx(ptx: string, name: string): Link {
	const known = [...ptx.matchAll(files)].map((m) => ({ index: Number(m[1]), name: base(m[2] as string) }));
	const own = known.find((f) => f.name === base(name)) ?? known.find((f) => f.name.endsWith(".cu"));
	const link: Link = { source: [], ptx: new Map() };
	let line = 0;
	ptx.split("\n").forEach((text, i) => {
		const m = loc.exec(text);
		if (m) {
			// What was inlined from a header belongs to the line that called it.
			if (own && Number(m[1]) === own.index) line = Number(m[2]);
			else if (own && m[3] !== undefined && Number(m[3]) === own.index) line = Number(m[4]);
			else line = 0;
		} else if (/^\s*[})]?\s*$|^\s*\.(?:visible|entry|func|file|section|target|version|address_size)\b/.test(text)) line = /^\s*$/.test(text) ? line : 0;
		link.source.push(line);
		if (line && text.trim() && !m) {
			const all = link.ptx.get(line);
			if (all) all.push(i + 1);
			else link.ptx.set(line, [i + 1]);
		}
	});
	return link;
}
