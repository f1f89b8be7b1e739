// The result of a judging: while it runs, its progress; then verdict, cases, times, book and advice.
import { useState } from "preact/hooks";
import { api } from "../api";
import { nextProblem } from "../paths";
import { bytes, count, micros, percent, score, short, sizes, times, value } from "../format";
import { useLoad } from "../hooks";
import { t, useLanguage, word } from "../i18n";
import type { Book, Case, Diagnostic, Hardware, Judging, Line, Measurement, Score, Timing } from "../types";
import { Icon } from "./icons";
import { lazy, Meter, TableBox } from "./parts";
import { stageName, TierMark, tone, verdictName, VerdictMark } from "./verdict";

const Roofline = lazy(async () => ({ default: (await import("../charts/plots")).Roofline }));
const Speedup = lazy(async () => ({ default: (await import("../charts/plots")).Speedup }));

/** The stages that every judging goes through, under which the others fall. */
const stages = ["queued", "compile", "samples", "hidden cases", "timing"];
const under: Record<string, string> = { start: "compile", "cases on the GPU": "hidden cases", "compute-sanitizer": "hidden cases", "timing on the GPU": "timing", baseline: "timing", calibrate: "timing", "peaks of the GPU": "timing", "counters on the GPU": "timing" };

function Steps({ judging }: { judging: Judging }) {
	const now = judging.state === "queued" ? "queued" : judging.progress?.stage ?? "start";
	const at = stages.indexOf(under[now] ?? now);
	const p = judging.progress;
	return (
		<div class="progress">
			<ol class="steps">
				{stages.map((s, i) => <li key={s} class={i < at ? "past" : i === at ? "now" : ""} aria-current={i === at ? "step" : undefined}>{stageName(s)}</li>)}
			</ol>
			<p class="step-text">
				{judging.state === "queued"
					? judging.place ? t("place", { n: judging.place }) : t("state_queued")
					: <>{stageName(now)}{p && p.total > 0 && <span class="num"> {p.done} / {p.total}</span>}</>}
			</p>
			<progress max={Math.max(1, p?.total ?? 1)} value={judging.state === "running" && p && p.total > 0 ? p.done : undefined} aria-label={t("progress")} />
		</div>
	);
}

/** Efficiency on a scale with the medals' marks. */
function Gauge({ efficiency, rules }: { efficiency: number; rules: Score | null }) {
	const marks = rules ? (["bronze", "silver", "gold"] as const).flatMap((k) => (rules.tiers[k] !== undefined ? [[k, rules.tiers[k] as number] as const] : [])) : [];
	const e = Math.max(0, Math.min(1, efficiency));
	return (
		<div class="gauge" role="img" aria-label={`${t("efficiency")}: ${percent(efficiency)}. ${marks.map(([k, v]) => `${word("tier_", k)} ${percent(v)}`).join(", ")}`}>
			<svg viewBox="0 0 200 24" preserveAspectRatio="none" aria-hidden="true">
				<rect x="0" y="6" width="200" height="12" rx="2" class="rail" />
				<rect x="0" y="6" width={200 * e} height="12" rx="2" class="fill" />
				{marks.map(([k, v]) => <line key={k} x1={200 * v} x2={200 * v} y1="1" y2="23" class={`mark ${k}`} />)}
			</svg>
			<div class="gauge-scale" aria-hidden="true">
				<span>0</span>
				{marks.map(([k, v]) => <span key={k} style={{ left: `${v * 100}%` }} class="gauge-mark">{word("tier_", k)}</span>)}
				{!marks.some(([, v]) => v > 0.8) && <span>100 %</span>}
			</div>
		</div>
	);
}

function CaseMore({ c, onLine }: { c: Case; onLine?: (n: number) => void }) {
	return (
		<div class="case-more">
			{c.why && <p>{c.why}</p>}
			{c.fault && (
				<p class="fault">
					{c.fault.detail ?? c.fault.kind}{c.fault.kernel && <> · <code>{c.fault.kernel}</code></>}
					{c.fault.line ? <> · <LineLink line={c.fault.line} onLine={onLine} /></> : null}
				</p>
			)}
			{c.wrong && c.wrong.length > 0 && (
				<TableBox label={t("wrong_elements")}>
					<table class="figures">
						<thead><tr><th>{t("element")}</th><th class="n">{t("expected")}</th><th class="n">{t("got")}</th><th class="n">{t("difference")}</th><th class="n">{t("bound")}</th></tr></thead>
						<tbody>{c.wrong.map((w, i) => {
							const d = typeof w.got === "number" && typeof w.expected === "number" ? Math.abs(w.got - w.expected) : null;
							return <tr key={i}><td><code>{w.tensor}[{w.index}]</code></td><td class="n">{value(w.expected)}</td><td class="n">{w.got === null ? t("unwritten") : value(w.got)}</td><td class="n">{d === null ? "–" : short(d)}</td><td class="n">{typeof w.bound === "number" ? short(w.bound) : value(w.bound)}</td></tr>;
						})}</tbody>
					</table>
				</TableBox>
			)}
			{c.output && <><p class="label">{t("printed")}</p><pre tabIndex={0}>{c.output}</pre></>}
		</div>
	);
}

function LineLink({ line, onLine }: { line: number; onLine?: (n: number) => void }) {
	const text = t("line_n", { n: line });
	return onLine ? <button type="button" class="link" onClick={() => onLine(line)}>{text}</button> : <span>{text}</span>;
}

/** 0 to 1 on a scale of decades: a ratio of 1 is the bound. */
const ratioShare = (r: number) => Math.max(0, Math.min(1, 1 + Math.log10(Math.max(r, 1e-6)) / 6));

function Cases({ cases, onLine }: { cases: Case[]; onLine?: (n: number) => void }) {
	const failing = cases.findIndex((c) => c.verdict && c.verdict !== "AC");
	const [open, setOpen] = useState<number | null>(failing >= 0 ? failing : null);
	const passed = cases.filter((c) => c.verdict === "AC").length;
	return (
		<section>
			<h3>{t("cases")} <small class="num">{t("passed_of", { n: passed, all: cases.length })}</small></h3>
			<TableBox label={t("cases")}>
				<table class="figures">
					<thead><tr><th>{t("verdict")}</th><th>{t("case")}</th><th>{t("sizes")}</th><th class="n">{t("error_ratio")}</th></tr></thead>
					<tbody>
						{cases.map((c, i) => {
							const more = Boolean((c.why && c.verdict !== "AC") || c.wrong?.length || c.output || c.fault);
							const r = typeof c.error_ratio === "number" ? c.error_ratio : null;
							return [
								<tr key={i} class={c.verdict && c.verdict !== "AC" ? "failed" : undefined}>
									<td>{c.verdict ? <VerdictMark verdict={c.verdict} long={false} /> : <span class="faint">{t("not_run")}</span>}</td>
									<td>
										{more ? <button type="button" class="link" aria-expanded={open === i} onClick={() => setOpen(open === i ? null : i)}>{c.name}</button> : c.name}
										{c.visible && <span class="tag">{t("sample")}</span>}{c.gpu && <span class="tag">{t("kind_gpu")}</span>}
									</td>
									<td class="num small">{c.sizes ? sizes(c.sizes) : <span class="faint">{t("hidden")}</span>}</td>
									<td class="n">{r === null ? (c.error_ratio ?? "–") : <span class="meter"><svg class="bar" viewBox="0 0 48 6" preserveAspectRatio="none" aria-hidden="true"><rect width="48" height="6" rx="1" class="rail" /><rect width={48 * ratioShare(r)} height="6" rx="1" class={r > 1 ? "fill bad" : "fill"} /></svg>{short(r)}</span>}</td>
								</tr>,
								open === i && more && <tr key={`${i}+`} class="more-row"><td colSpan={4}><CaseMore c={c} onLine={onLine} /></td></tr>,
							];
						})}
					</tbody>
				</table>
			</TableBox>
		</section>
	);
}

function Times({ timing, modelled }: { timing: Timing[]; modelled: boolean }) {
	const reference = timing.some((c) => c.reference_us);
	const cublas = timing.some((c) => c.cublas_us);
	return (
		<section>
			<h3>{t("timing")}</h3>
			<TableBox label={t("timing")}>
				<table class="figures">
					<thead><tr><th>{t("case")}</th><th>{t("sizes")}</th><th class="n">{t("time")}</th><th class="n">{t("floor")}</th><th class="n">{t("efficiency")}</th>{reference && <th class="n">{t("vs_reference")}</th>}{cublas && <th class="n">{t("vs_cublas")}</th>}</tr></thead>
					<tbody>{timing.map((c, i) => (
						<tr key={i}><td>{c.name}</td><td class="num small">{sizes(c.sizes)}</td><td class="n">{micros(c.time_us)}{c.measurement && <><br /><span class="faint small" title={interval(c.measurement)}>{t("plus_minus", { part: percent(halfWidth(c.measurement, c.time_us), 1) })}</span></>}</td><td class="n">{micros(c.floor_us)}</td><td class="n"><Meter value={c.efficiency} /></td>
							{reference && <td class="n">{times(c.reference_us ? c.reference_us / c.time_us : null)}</td>}{cublas && <td class="n">{times(c.cublas_us ? c.cublas_us / c.time_us : null)}</td>}</tr>
					))}</tbody>
				</table>
			</TableBox>
			{timing.some((c) => c.measurement?.disturbed) && <p class="disturbed" role="note"><Icon name="warn" /> {t("disturbed")}</p>}
			{timing.map((c) => c.limiter && <p key={c.name} class="limiter">{timing.length > 1 && <b>{c.name}: </b>}{t("limited_by")} <b>{word("limit_", c.limiter)}</b></p>)}
			{modelled && <p class="limiter">{t("modelled")}</p>}
		</section>
	);
}

const interval = (m: Measurement) => `${micros(m.low_us, 4)} – ${micros(m.high_us, 4)}`;
/** Of the 95 % confidence interval, as a part of the time. */
const halfWidth = (m: Measurement, us: number) => (m.low_us === null || m.high_us === null ? null : Math.max(m.high_us - us, us - m.low_us) / us);
const megahertz = (a: number, b: number) => (a === b || !b ? `${a}` : `${a} → ${b}`);

/** How times on a GPU were come by, for whoever doubts them. */
function Measured({ judging, timing }: { judging: Judging; timing: (Timing & { measurement: Measurement })[] }) {
	return (
		<section>
			<details>
				<summary><h3>{t("measurement")}</h3></summary>
				<p class="limiter">{t("measurement_text", { device: judging.device_name ?? judging.device, driver: judging.driver ?? "–" })} {judging.read_gbs ? t("measured_peak", { gbs: Math.round(judging.read_gbs) }) : ""}</p>
				<TableBox label={t("measurement")}>
					<table class="figures">
						<thead><tr><th>{t("case")}</th><th class="n">{t("confidence")}</th><th class="n">{t("spread")}</th><th class="n">{t("passes")}</th><th class="n">{t("cold")}</th><th class="n">{t("sm_clock")}</th><th class="n">{t("memory_clock")}</th><th class="n">°C</th><th class="n">W</th></tr></thead>
						<tbody>{timing.map(({ name, measurement: m }) => (
							<tr key={name}><td>{name}{m.disturbed && <> <Icon name="warn" /><span class="hidden">{t("disturbed")}</span></>}</td><td class="n">{interval(m)}</td><td class="n">{percent(m.spread, 2)}</td><td class="n">{m.passes} × {m.sets}</td><td class="n">{micros(m.cold_us)}</td>
								<td class="n">{megahertz(m.before.sm_mhz, m.after.sm_mhz)}</td><td class="n">{megahertz(m.before.memory_mhz, m.after.memory_mhz)}</td><td class="n">{m.after.temperature}</td><td class="n">{m.after.watts === null ? "–" : Math.round(m.after.watts)}</td></tr>
						))}</tbody>
					</table>
				</TableBox>
			</details>
		</section>
	);
}

/** What both devices counted of one case. */
function Counters({ hardware }: { hardware: Hardware }) {
	const lang = useLanguage();
	const rows = Object.entries(hardware.counters);
	return (
		<section>
			<details>
				<summary><h3>{t("both_counters")}</h3></summary>
				{hardware.note && <p class="limiter">{hardware.note}</p>}
				{hardware.measured_us !== null && hardware.modelled_us !== null && <p class="limiter">{t("measured_modelled", { measured: micros(hardware.measured_us), modelled: micros(hardware.modelled_us) })}</p>}
				{rows.length > 0 && <TableBox label={t("both_counters")}>
					<table class="figures">
						<thead><tr><th>{t("counter")}</th><th class="n">{t("kind_gpu")}</th><th class="n">{t("kind_emulated")}</th><th class="n">{t("ratio")}</th></tr></thead>
						<tbody>{rows.map(([k, v]) => <tr key={k}><td>{word("count_", k)}</td><td class="n">{count(v.gpu, lang)}</td><td class="n">{count(v.emulated, lang)}</td><td class="n">{v.gpu && v.emulated !== null ? (v.emulated / v.gpu).toFixed(3) : "–"}</td></tr>)}</tbody>
					</table>
				</TableBox>}
			</details>
		</section>
	);
}

function BookOf({ book }: { book: Book }) {
	const lang = useLanguage();
	const rows: [string, string][] = [[t("b_launches"), count(book.launches, lang)]];
	if (book.weight_passes !== null && book.weight_passes !== undefined) rows.push([t("b_passes"), `${book.weight_passes.toFixed(2)}${book.weights ? ` (${book.weights})` : ""}`]);
	rows.push([t("b_intermediates"), bytes(book.intermediate_bytes)]);
	if (book.sectors_per_request !== null && book.sectors_per_request !== undefined) {
		rows.push([t("b_sectors"), t("b_sectors_text", { load: book.sectors_per_request.toFixed(2), store: (book.store_sectors_per_request ?? 0).toFixed(2) })]);
	}
	if (book.load_efficiency !== null && book.load_efficiency !== undefined) rows.push([t("b_used"), percent(book.load_efficiency)]);
	rows.push([t("b_conflicts"), book.shared_wavefronts ? t("b_conflicts_text", { n: count(book.shared_conflicts, lang), all: count(book.shared_wavefronts, lang) }) : "–"]);
	rows.push([t("b_dram"), t("b_dram_text", { read: bytes(book.dram_read_bytes), write: bytes(book.dram_write_bytes) })]);
	if (book.occupancy !== null && book.occupancy !== undefined) rows.push([t("b_occupancy"), percent(book.occupancy)]);
	if (book.scratch_bytes) rows.push([t("b_scratch"), bytes(book.scratch_bytes)]);
	return (
		<section>
			<h3>{t("book")} {book.case && <small>{book.case}</small>}</h3>
			<dl class="book">{rows.map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{v}</dd></div>)}</dl>
		</section>
	);
}

function Lines({ lines, onLine }: { lines: Line[]; onLine?: (n: number) => void }) {
	const lang = useLanguage();
	const top = [...lines].sort((a, b) => b.share - a.share).slice(0, 20);
	return (
		<section>
			<details>
				<summary><h3>{t("profile_lines")}</h3></summary>
				<TableBox label={t("profile_lines")}>
					<table class="figures">
						<thead><tr><th>{t("line")}</th><th class="n">{t("share")}</th><th class="n">{t("instructions")}</th><th class="n">{t("requests")}</th><th class="n">{t("sectors")}</th><th class="n">{t("conflicts")}</th></tr></thead>
						<tbody>{top.map((l) => <tr key={l.line}><td><LineLink line={l.line} onLine={onLine} /></td><td class="n">{percent(l.share)}</td><td class="n">{count(l.instructions, lang)}</td><td class="n">{count(l.requests, lang)}</td><td class="n">{count(l.sectors, lang)}</td><td class="n">{count(l.conflicts, lang)}</td></tr>)}</tbody>
					</table>
				</TableBox>
			</details>
		</section>
	);
}

function Diagnostics({ list, onLine }: { list: Diagnostic[]; onLine?: (n: number, column?: number) => void }) {
	return (
		<section>
			<h3>{t("diagnostics")}</h3>
			<ul class="diagnostics">{list.map((d, i) => (
				<li key={i} class={d.severity}>
					<span class="where">{onLine ? <button type="button" class="link" onClick={() => onLine(d.line, d.column)}>{d.line}{d.column > 0 && `:${d.column}`}</button> : `${d.line}:${d.column}`}</span>
					<span class="severity">{word("sev_", d.severity)}</span>
					<span class="text">{d.text}</span>
				</li>
			))}</ul>
		</section>
	);
}

function Head({ judging, onCancel }: { judging: Judging; onCancel?: () => void }) {
	const v = judging.verdict;
	const over = judging.state === "done" || judging.state === "cancelled";
	return (
		<header class={`result-head ${judging.state === "done" ? tone(v) : "idle"}`}>
			<div role="status" class="result-verdict">
				{judging.state === "done" && v ? <><VerdictMark verdict={v} /><span class="hidden">{score(judging.score)}</span></> : <span class="verdict idle"><Icon name={judging.state === "cancelled" ? "ban" : "dots"} /><span>{word("state_", judging.state)}</span></span>}
			</div>
			{over && judging.score !== null && <div class="figure"><b>{score(judging.score)}</b><span>{t("of_100")}</span></div>}
			{over && judging.efficiency !== null && <div class="figure"><b>{percent(judging.efficiency)}</b><span>{t("efficiency")}</span></div>}
			{over && judging.time_us !== null && <div class="figure"><b>{micros(judging.time_us)}</b><span>{t("time")}</span></div>}
			{judging.tier && <TierMark tier={judging.tier} />}
			{!over && onCancel && <button type="button" onClick={onCancel}>{t("cancel")}</button>}
		</header>
	);
}

/** After an accepted submission: where to go on. */
function Onwards({ problem }: { problem: string }) {
	const lang = useLanguage();
	const { data } = useLoad(api.problems, `problems:after:${problem}`);
	if (!data) return null;
	const next = nextProblem(data, problem);
	if (!next) return <p class="next">{t("all_solved")}</p>;
	return <p class="next"><span>{t("next_problem")}</span><a class="strong" href={`/problems/${next.problem.id}`}>{next.problem.title[lang]}</a> {next.path && <span class="faint">{next.path.title[lang]}</span>}</p>;
}

// A sentence with its figures left out, as students get it of a hidden case, says no more than the verdict does.
export function Result({ judging, rules, onLine, onCancel, next }: {
	judging: Judging; rules: Score | null; onLine?: (n: number, column?: number) => void; onCancel?: () => void; next?: boolean;
}) {
	const done = judging.state === "done";
	const points = useLoad((s) => (done && judging.timing?.length ? api.points(judging.problem, judging.device)(s) : Promise.resolve(null)), `points:${judging.id}:${done}`);
	const gone = judging.diagnostics ?? [];
	// On a GPU some cases are timed by the model too: those are no times of this device.
	const timing = (judging.timing ?? []).filter((c) => (c.gpu ?? false) === !(judging.modelled ?? true));
	const measured = timing.filter((c): c is Timing & { measurement: Measurement } => Boolean(c.measurement));
	return (
		<article class="result">
			<Head judging={judging} onCancel={onCancel} />
			{(judging.state === "queued" || judging.state === "running") && <Steps judging={judging} />}
			{done && judging.verdict && judging.verdict !== "AC" && judging.text && !/\.\.\.|…/.test(judging.text) && <p class="why">{judging.text}</p>}
			{done && next && judging.verdict === "AC" && judging.score !== null && <Onwards problem={judging.problem} />}
			{judging.note && <p class="why faint">{judging.note}</p>}
			{judging.efficiency !== null && judging.efficiency !== undefined && <Gauge efficiency={judging.efficiency} rules={rules} />}
			{gone.length > 0 && <Diagnostics list={gone} onLine={onLine} />}
			{judging.advice && judging.advice.length > 0 && <section><h3>{t("advice")}</h3><ul class="advice">{judging.advice.map((a, i) => <li key={i}><Icon name="arrow" /><span>{a}</span></li>)}</ul></section>}
			{timing.length > 0 && <Times timing={timing} modelled={judging.modelled ?? false} />}
			{judging.notes?.map((n) => <p key={n} class="limiter">{n}</p>)}
			{measured.length > 0 && <Measured judging={judging} timing={measured} />}
			{points.data && <Roofline points={points.data} current={judging.submission} />}
			{timing.length > 1 && <Speedup timing={timing} />}
			{judging.cases?.some((c) => c.verdict) && <Cases key={`${judging.id}${judging.state}`} cases={judging.cases} onLine={onLine} />}
			{judging.book && <BookOf book={judging.book} />}
			{judging.hardware && <Counters hardware={judging.hardware} />}
			{judging.lines && judging.lines.length > 0 && <Lines lines={judging.lines} onLine={onLine} />}
			{done && <p class="fine">{t("judging_n", { n: judging.id })} · {judging.device}{judging.device_name && ` (${judging.device_name})`} · {t("version")} {judging.version.slice(0, 8)}{judging.seed && <> · {t("seed")} {judging.seed}</>} · {verdictName(judging.verdict ?? "SE")}</p>}
		</article>
	);
}
