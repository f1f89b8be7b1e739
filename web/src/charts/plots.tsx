// The plots: plain SVG, d3-scale for the axes. Each stands beside a table of the same figures, which the caller gives.
import { scaleLog } from "d3-scale";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { flops as rate, micros, percent, short, times } from "../format";
import { t } from "../i18n";
import type { Point, Points, Timing } from "../types";
import { TableBox } from "../ui/parts";
import { batchOf, decades, pointAt, ridge, roofAt, steps } from "./scale";

const pad = { left: 64, right: 16, top: 12, bottom: 40 };

function useWidth(): [preact.RefObject<HTMLDivElement>, number] {
	const ref = useRef<HTMLDivElement>(null);
	const [w, setW] = useState(480);
	useEffect(() => {
		const el = ref.current;
		if (!el) return;
		const o = new ResizeObserver(() => setW(Math.max(260, el.clientWidth)));
		o.observe(el);
		return () => o.disconnect();
	}, []);
	return [ref, w];
}

function Figure({ title, table, children }: { title: string; table: ComponentChildren; children: (w: number, titleId: string) => ComponentChildren }) {
	const [ref, w] = useWidth();
	const id = useId();
	return (
		<figure class="plot">
			<figcaption id={id}>{title}</figcaption>
			<div ref={ref}>{children(w, id)}</div>
			<details><summary>{t("as_table")}</summary>{table}</details>
		</figure>
	);
}

interface Axis { at(v: number): number; ticks: number[]; text(v: number): string; label: string }

function Axes({ x, y, w, h }: { x: Axis; y: Axis; w: number; h: number }) {
	const bottom = h - pad.bottom;
	return (
		<g class="axes">
			{y.ticks.map((v) => <g key={v}><line x1={pad.left} x2={w - pad.right} y1={y.at(v)} y2={y.at(v)} class="grid" /><text x={pad.left - 8} y={y.at(v)} dy="0.32em" text-anchor="end">{y.text(v)}</text></g>)}
			{x.ticks.map((v) => <g key={v}><line x1={x.at(v)} x2={x.at(v)} y1={bottom} y2={bottom + 4} class="tick" /><text x={x.at(v)} y={bottom + 17} text-anchor="middle">{x.text(v)}</text></g>)}
			<line x1={pad.left} x2={w - pad.right} y1={bottom} y2={bottom} class="tick" />
			<text x={(pad.left + w - pad.right) / 2} y={h - 4} text-anchor="middle" class="axis-label">{x.label}</text>
			<text class="axis-label" transform={`translate(12 ${(pad.top + bottom) / 2}) rotate(-90)`} text-anchor="middle">{y.label}</text>
		</g>
	);
}

const powers = (lo: number, hi: number, base: number) => {
	const out: number[] = [];
	for (let v = lo; v <= hi * 1.0001; v *= base) out.push(v);
	return out;
};

/** Every kernel under the roof of the device. `current`: the submission that is shown. */
export function Roofline({ points, current }: { points: Points; current: number | null }) {
	// Where nothing tells of the flat part, the slope goes on.
	const roof = points.roof?.peak_gbs ? { peak_gbs: points.roof.peak_gbs, peak_flops: points.roof.peak_flops ?? Infinity } : null;
	const flat = roof !== null && Number.isFinite(roof.peak_flops);
	const shown = points.items.filter((p) => p.bytes > 0 && p.flops > 0 && p.time_us > 0);
	if (!roof || !shown.length) return null;
	const rank = (p: Point) => (p.submission !== null && p.submission === current ? 2 : p.mine ? 1 : 0);
	const all = shown.map((p) => ({ p, ...pointAt(p), kind: rank(p) })).sort((a, b) => a.kind - b.kind);
	const [x0, x1] = decades([...all.map((a) => a.x / 2), ...all.map((a) => a.x * 2), ...(flat ? [ridge(roof) * 2] : [])]);
	const [y0, y1] = decades([...all.map((a) => a.y * 0.7), ...(flat ? [roof.peak_flops * 1.3] : all.map((a) => roofAt(roof, a.x) * 1.3)), roofAt(roof, x0)]);
	const kinds = ["other", "mine", "now"] as const;
	const table = (
		<TableBox label={t("roofline")}>
			<table>
				<thead><tr><th>{t("submission")}</th><th>{t("case")}</th><th class="n">{t("intensity")}</th><th class="n">{t("rate")}</th><th class="n">{t("time")}</th><th class="n">{t("efficiency")}</th></tr></thead>
				<tbody>{[...all].reverse().map(({ p, x, y }, i) => (
					<tr key={i}><td>{p.submission !== null ? <a href={`/submissions/${p.submission}`}>#{p.submission}</a> : t("someone")}</td><td>{p.case}</td><td class="n">{short(x)}</td><td class="n">{rate(y)}</td><td class="n">{micros(p.time_us)}</td><td class="n">{percent(p.efficiency)}</td></tr>
				))}</tbody>
			</table>
		</TableBox>
	);
	return (
		<Figure title={t("roofline")} table={table}>
			{(w, id) => {
				const h = Math.min(320, Math.max(230, w * 0.55));
				const x = scaleLog().domain([x0, x1]).range([pad.left, w - pad.right]);
				const y = scaleLog().domain([y0, y1]).range([h - pad.bottom, pad.top]);
				const k = flat ? ridge(roof) : Math.min(x1, y1 / (roof.peak_gbs * 1e9));
				const top = roofAt(roof, k), end = flat ? x1 : k;
				const left = Math.max(x0, y0 / (roof.peak_gbs * 1e9));
				const line = `M${x(left)} ${y(roofAt(roof, left))}L${x(k)} ${y(top)}L${x(end)} ${y(top)}`;
				const slope = (Math.atan2(y(top) - y(roofAt(roof, left)), x(k) - x(left)) * 180) / Math.PI;
				const mid = Math.sqrt(left * k);
				return (
					<svg width={w} height={h} role="group" aria-labelledby={id}>
						<Axes w={w} h={h} x={{ at: x, ticks: powers(x0, x1, 10), text: (v) => String(Number(v.toPrecision(3))), label: t("intensity_axis") }}
							y={{ at: y, ticks: powers(y0, y1, 10), text: (v) => rate(v).replace(".00", "").replace(/\.0 /, " ").replace("FLOP/s", "F/s"), label: t("rate") }} />
						<path d={`${line}L${x(x1)} ${y(top)}L${x(x1)} ${h - pad.bottom}L${x(left)} ${h - pad.bottom}Z`} class="under-roof" />
						<path d={line} class="roof" />
						<text class="roof-label" text-anchor="middle" transform={`translate(${x(mid)} ${y(roofAt(roof, mid)) - 8}) rotate(${slope})`}>{short(roof.peak_gbs / 1000)} TB/s</text>
						{flat && <text class="roof-label" text-anchor="end" x={w - pad.right - 4} y={y(top) - 6}>{rate(roof.peak_flops)}</text>}
						{all.map(({ p, x: px, y: py, kind }, i) => {
							const dot = <circle key={i} cx={x(px)} cy={y(py)} r={kind === 2 ? 6 : kind === 1 ? 4.5 : 3.5} class={`dot ${kinds[kind]}`}><title>{`${p.submission !== null ? `#${p.submission} ` : ""}${p.case}: ${micros(p.time_us)}, ${percent(p.efficiency)}`}</title></circle>;
							return p.submission !== null && kind !== 2 ? <a key={i} href={`/submissions/${p.submission}`} aria-label={`#${p.submission} ${p.case}`} tabIndex={-1}>{dot}</a> : dot;
						})}
						<g class="legend">
							{kinds.slice().reverse().map((kind, i) => <g key={kind} transform={`translate(${pad.left + 10} ${pad.top + 10 + i * 16})`}><circle r={kind === "now" ? 5 : 4} class={`dot ${kind}`} /><text x="10" dy="0.34em">{t(`legend_${kind}`)}</text></g>)}
						</g>
					</svg>
				);
			}}
		</Figure>
	);
}

/** How many times as fast as the reference and as cuBLAS in FP16, by batch size. */
export function Speedup({ timing }: { timing: Timing[] }) {
	const rows = timing.map((c) => ({ c, m: batchOf(c.sizes), reference: c.reference_us ? c.reference_us / c.time_us : null, cublas: c.cublas_us ? c.cublas_us / c.time_us : null }))
		.filter((r) => r.m !== null && (r.reference !== null || r.cublas !== null)) as { c: Timing; m: number; reference: number | null; cublas: number | null }[];
	rows.sort((a, b) => a.m - b.m);
	if (new Set(rows.map((r) => r.m)).size < 2) return null;
	const series = (["reference", "cublas"] as const).filter((s) => rows.some((r) => r[s] !== null));
	const values = rows.flatMap((r) => [r.reference, r.cublas]).filter((v): v is number => v !== null);
	const bottom = Math.min(0.8, ...values) / 1.15, top = Math.max(1.25, ...values) * 1.15;
	const table = (
		<TableBox label={t("speedup")}>
			<table>
				<thead><tr><th class="n">M</th><th class="n">{t("time")}</th>{series.map((s) => <th key={s} class="n">{t(`vs_${s}`)}</th>)}</tr></thead>
				<tbody>{rows.map((r) => <tr key={r.c.name}><td class="n">{r.m}</td><td class="n">{micros(r.c.time_us)}</td>{series.map((s) => <td key={s} class="n">{times(r[s])}</td>)}</tr>)}</tbody>
			</table>
		</TableBox>
	);
	return (
		<Figure title={t("speedup")} table={table}>
			{(w, id) => {
				// The legend stands above: the lines may go anywhere.
				const above = 16 * series.length + 4, h = Math.min(280, Math.max(210, w * 0.5)) + above;
				const x = scaleLog().base(2).domain([rows[0]!.m, rows[rows.length - 1]!.m]).range([pad.left + 14, w - pad.right - 14]);
				// Twice as fast and half as fast are as far from even.
				const y = scaleLog().domain([bottom, top]).range([h - pad.bottom, pad.top + above]);
				return (
					<svg width={w} height={h} role="img" aria-labelledby={id}>
						<Axes w={w} h={h} x={{ at: x, ticks: [...new Set(rows.map((r) => r.m))], text: String, label: t("batch_axis") }} y={{ at: y, ticks: steps(bottom, top), text: (v) => `${v}×`, label: t("speedup_axis") }} />
						<line x1={pad.left} x2={w - pad.right} y1={y(1)} y2={y(1)} class="even" />
						{series.map((s) => {
							const own = rows.filter((r) => r[s] !== null);
							return (
								<g key={s} class={`series ${s}`}>
									<path d={own.map((r, i) => `${i ? "L" : "M"}${x(r.m)} ${y(r[s] as number)}`).join("")} />
									{own.map((r) => <circle key={r.m} cx={x(r.m)} cy={y(r[s] as number)} r="4"><title>{`M=${r.m}: ${times(r[s])}`}</title></circle>)}
								</g>
							);
						})}
						<g class="legend">{series.map((s, i) => <g key={s} class={`series ${s}`} transform={`translate(${pad.left + 10} ${pad.top + 8 + i * 16})`}><path d="M-4 0H8" /><text x="14" dy="0.34em">{t(`vs_${s}`)}</text></g>)}</g>
					</svg>
				);
			}}
		</Figure>
	);
}
