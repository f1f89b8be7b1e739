// Two texts, line by line: what one has and the other hasn't.
import { diffLines } from "diff";
import { useMemo } from "preact/hooks";

export interface Row { mark: " " | "-" | "+"; left: number | null; right: number | null; text: string }

export function diffRows(a: string, b: string): Row[] {
	const rows: Row[] = [];
	let left = 0, right = 0;
	for (const part of diffLines(a, b)) {
		const lines = part.value.replace(/\n$/, "").split("\n");
		for (const text of lines) {
			if (part.added) rows.push({ mark: "+", left: null, right: ++right, text });
			else if (part.removed) rows.push({ mark: "-", left: ++left, right: null, text });
			else rows.push({ mark: " ", left: ++left, right: ++right, text });
		}
	}
	return rows;
}

export function Diff({ a, b, label, wrap }: { a: string; b: string; label: string; wrap?: boolean }) {
	const rows = useMemo(() => diffRows(a, b), [a, b]);
	return (
		<div class={wrap ? "diff wrap" : "diff"} role="region" tabIndex={0} aria-label={label}>
			<table><tbody>{rows.map((r, i) => (
				<tr key={i} class={r.mark === "+" ? "added" : r.mark === "-" ? "removed" : undefined}>
					<td class="ln">{r.left}</td><td class="ln">{r.right}</td><td class="sign">{r.mark === "-" ? "−" : r.mark}</td><td><code>{r.text}</code></td>
				</tr>
			))}</tbody></table>
		</div>
	);
}
