// A statement: HTML that the server made and cleaned, with its math set by KaTeX once there is some.
import { useLayoutEffect, useRef } from "preact/hooks";

let styled = false;

async function setMath(root: HTMLElement) {
	const spans = [...root.querySelectorAll<HTMLElement>("span.math:not([data-set])")];
	if (!spans.length) return;
	if (!styled) {
		styled = true;
		const link = document.createElement("link");
		link.rel = "stylesheet";
		link.href = MATH_CSS;
		document.head.append(link);
	}
	const { default: katex } = await import("katex");
	for (const s of spans) {
		const tex = s.textContent ?? "";
		s.dataset["set"] = "";
		s.textContent = "";
		katex.render(tex, s, { displayMode: s.classList.contains("display"), throwOnError: false, trust: false, maxExpand: 500, maxSize: 20 });
	}
}

export function Prose({ html }: { html: string }) {
	const ref = useRef<HTMLDivElement>(null);
	useLayoutEffect(() => {
		const el = ref.current;
		if (!el) return;
		el.innerHTML = html;
		for (const table of [...el.querySelectorAll("table")]) {
			const box = document.createElement("div");
			box.className = "table-box";
			table.replaceWith(box);
			box.append(table);
		}
		// What scrolls sideways must be reachable by keys.
		const reach = () => {
			for (const b of el.querySelectorAll<HTMLElement>("pre, .table-box, .math.display")) {
				if (b.scrollWidth > b.clientWidth + 1) b.tabIndex = 0;
				else b.removeAttribute("tabindex");
			}
		};
		const o = new ResizeObserver(reach);
		o.observe(el);
		void setMath(el).then(reach);
		return () => o.disconnect();
	}, [html]);
	return <div ref={ref} class="prose" />;
}
