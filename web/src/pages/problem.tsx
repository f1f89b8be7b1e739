// A problem: statement, result and own runs at the left, the editor at the right.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, lastQuota } from "../api";
import type { CodeView } from "../editor/view";
import { ago, bytes, count, micros, percent, score, sizes } from "../format";
import { isMac, useKeys, useLoad, usePages, useTitle } from "../hooks";
import { t, useLanguage, word } from "../i18n";
import { useJudging } from "../judging";
import { atLeast, deviceName, useSite, useUser } from "../session";
import type { Problem, Scope, Submission } from "../types";
import { Icon } from "../ui/icons";
import { Choice, Confirm, Empty, ErrorBox, errorText, Meter, More, signInUrl, TableBox, Tabs, useTab, Waiting } from "../ui/parts";
import { Prose } from "../ui/prose";
import { Result } from "../ui/result";
import { Code } from "../ui/source";
import { Split } from "../ui/split";
import { Outcome, SolvedMark } from "../ui/verdict";
import { phrases, PtxPane, useMarks } from "../ui/workbench";

const draftKey = (id: string) => `draft:${id}`;
/** The submission that this tab of the browser shows, so that a reload finds it again. */
const sentKey = (id: string) => `sent:${id}`;
const mod = isMac ? "⌘" : "Ctrl";

function Facts({ problem }: { problem: Problem }) {
	const lang = useLanguage();
	const s = problem.score;
	const rules = Object.entries(problem.rules).filter(([, v]) => v !== null && v !== false);
	const limits = Object.entries(problem.limits).filter(([, v]) => v !== null);
	const figure = (k: string, v: number | string | boolean | Record<string, number> | null): string => {
		if (v && typeof v === "object") return Object.entries(v).map(([name, n]) => `${name} ${n} ×`).join(", ");
		const n = typeof v === "string" && /^\d+$/.test(v) ? Number(v) : v;
		return typeof n !== "number" ? String(n) : /bytes/.test(k) ? bytes(n) : count(n, lang);
	};
	return (
		<section class="facts">
			<h2>{t("limits_and_score")}</h2>
			<dl class="book">
				<div><dt>{t("score")}</dt><dd>{t("score_text", { correct: s.correct, efficiency: s.efficiency, full: percent(s.full_at) })}</dd></div>
				<div><dt>{t("medals")}</dt><dd>{(["bronze", "silver", "gold"] as const).filter((k) => s.tiers[k] !== undefined).map((k) => `${word("tier_", k)} ${percent(s.tiers[k])}`).join(" · ")}</dd></div>
				{limits.map(([k, v]) => <div key={k}><dt>{word("limit_name_", k)}</dt><dd>{figure(k, v)}</dd></div>)}
				{rules.map(([k, v]) => <div key={k}><dt>{word("rule_", k)}</dt><dd>{figure(k, v)}</dd></div>)}
				{problem.timing.map((c) => <div key={c.name + c.device}><dt>{t("timed_on", { device: c.device })}</dt><dd>{c.name} {sizes(c.sizes)}</dd></div>)}
			</dl>
		</section>
	);
}

function Hints({ problem }: { problem: Problem }) {
	const lang = useLanguage();
	const [shown, setShown] = useState<string[]>([]);
	const [error, setError] = useState<unknown>(null);
	useEffect(() => setShown([]), [lang, problem.id]);
	if (!problem.hints) return null;
	const next = () => {
		setError(null);
		api.hint(problem.id, shown.length + 1, lang)().then((h) => setShown([...shown, h.html]), setError);
	};
	return (
		<section class="hints">
			<h2>{t("hints")}</h2>
			{shown.map((h, i) => <Prose key={i} html={h} />)}
			{error !== null && <ErrorBox error={error} />}
			{shown.length < problem.hints && <button type="button" onClick={next}><Icon name="bulb" />{t("show_hint", { n: shown.length + 1, all: problem.hints })}</button>}
		</section>
	);
}

function Runs({ problem, turn, current }: { problem: string; turn: number; current: number | null }) {
	const lang = useLanguage();
	const user = useUser();
	const { items, error, reload, ...more } = usePages((cursor, s) => api.submissions({ problem, user: user?.name ?? "", cursor })(s), `runs:${problem}:${turn}`);
	if (!user) return <Empty><a href={signInUrl()}>{t("sign_in")}</a></Empty>;
	if (error) return <ErrorBox error={error} retry={reload} />;
	if (!items) return <Waiting />;
	if (!items.length) return <Empty>{t("no_runs")}</Empty>;
	return (
		<>
			<TableBox label={t("runs")}>
				<table>
					<thead><tr><th>#</th><th>{t("verdict")}</th><th class="n">{t("score")}</th><th class="n">{t("efficiency")}</th><th class="n">{t("time")}</th><th>{t("when")}</th></tr></thead>
					<tbody>{items.map((s) => (
						<tr key={s.id} class={s.id === current ? "chosen" : undefined}>
							<td><a href={`/submissions/${s.id}`}>{s.id}</a></td><td><Outcome judging={s.judging} />{s.scope === "samples" && <span class="tag">{t("samples")}</span>}</td>
							<td class="n">{score(s.judging.score)}</td><td class="n"><Meter value={s.judging.efficiency} /></td><td class="n">{micros(s.judging.time_us)}</td><td class="faint nowrap">{ago(s.created, lang)}</td>
						</tr>
					))}</tbody>
				</table>
			</TableBox>
			<More {...more} />
		</>
	);
}

function EditorPane({ problem, view, onEdit, onLine, bar }: {
	problem: Problem; view: (v: CodeView | null) => void; onEdit(text: string): void; onLine(n: number): void; bar: preact.ComponentChildren;
}) {
	const site = useSite();
	const code = useRef<CodeView | null>(null);
	const [asked, ask] = useState(false);
	const [over, setOver] = useState(false);
	const [error, setError] = useState<string | null>(null);
	const file = useRef<HTMLInputElement>(null);
	const take = async (f: File | undefined) => {
		if (!f) return;
		if (f.size > site.limits.source_bytes) return setError(t("too_large", { max: bytes(site.limits.source_bytes) }));
		setError(null);
		code.current?.set(await f.text());
	};
	return (
		<div class={over ? "editor-pane over" : "editor-pane"}
			onDragOver={(e) => { if (e.dataTransfer?.types.includes("Files")) { e.preventDefault(); setOver(true); } }}
			onDragLeave={() => setOver(false)}
			onDrop={(e) => { if (e.dataTransfer?.files.length) { e.preventDefault(); setOver(false); void take(e.dataTransfer.files[0]); } }}>
			<div class="editor-bar">
				<span class="file">{problem.id}.cu</span>
				<span class="space" />
				<button type="button" class="quiet" onClick={() => file.current?.click()}><Icon name="upload" />{t("open_file")}</button>
				<input ref={file} type="file" accept=".cu,.cuh,.txt,text/plain" hidden aria-label={t("open_file")} onChange={(e) => { void take(e.currentTarget.files?.[0]); e.currentTarget.value = ""; }} />
				<button type="button" class="quiet" onClick={() => ask(true)}><Icon name="undo" />{t("reset")}</button>
			</div>
			{error && <p class="field-error" role="alert">{error}</p>}
			<Code class="fill" options={{
				text: localStorage.getItem(draftKey(problem.id)) ?? problem.starter, label: t("editor_label"), language: "cuda", phrases: phrases(), onLine,
				onChange: (text) => {
					if (text === problem.starter) localStorage.removeItem(draftKey(problem.id));
					else localStorage.setItem(draftKey(problem.id), text);
					onEdit(text);
				},
			}} view={(v) => { code.current = v; view(v); }} />
			{bar}
			{asked && <Confirm title={t("reset")} text={t("reset_ask")} yes={t("reset_yes")} onNo={() => ask(false)} onYes={() => { ask(false); code.current?.set(problem.starter); code.current?.focus(); }} />}
		</div>
	);
}

const tabs = ["statement", "result", "ptx", "runs"] as const;

function Bench({ problem }: { problem: Problem }) {
	const lang = useLanguage();
	const site = useSite();
	const user = useUser();
	const [tab, setTab] = useTab(tabs);
	const [show, setShow] = useState<"left" | "right">("left");
	const devices = site.devices.filter((d) => !problem.devices.length || problem.devices.includes(d.id) || problem.devices.includes(d.kind));
	const [device, setDevice] = useState(() => localStorage.getItem("device") ?? "");
	const chosen = devices.find((d) => d.id === device)?.id ?? devices[0]?.id ?? "";
	const [sent, setSent] = useState<{ submission: Submission; source: string } | null>(null);
	const [text, setText] = useState(() => localStorage.getItem(draftKey(problem.id)) ?? problem.starter);
	const [busy, setBusy] = useState(false);
	const [error, setError] = useState<unknown>(null);
	const [turn, setTurn] = useState(0);
	const [line, setLine] = useState(0);
	const view = useRef<CodeView | null>(null);
	const [ready, setReady] = useState<CodeView | null>(null);
	const { judging, error: followError, cancel } = useJudging(sent?.submission.judging.id ?? null, () => setTurn((n) => n + 1));
	const fresh = sent !== null && sent.source === text;
	useEffect(() => {
		const id = sessionStorage.getItem(sentKey(problem.id));
		const stop = new AbortController();
		if (id && user) api.submission(id)(stop.signal).then((s) => setSent((now) => now ?? { submission: s, source: s.source ?? "" }), () => sessionStorage.removeItem(sentKey(problem.id)));
		return () => stop.abort();
	}, [problem.id, user?.name]);
	useMarks(ready, judging, fresh);

	const submit = async (scope: Scope) => {
		if (busy) return;
		if (!user) return setError(new Error(t("sign_in_first")));
		setBusy(true);
		setError(null);
		const source = view.current?.text() ?? text;
		try {
			const submission = await api.submit({ problem: problem.id, source, device: chosen, scope });
			setSent({ submission, source });
			sessionStorage.setItem(sentKey(problem.id), String(submission.id));
			setText(source);
			setTurn((n) => n + 1);
			setTab("result");
			setShow("left");
		} catch (e) {
			setError(e);
		}
		setBusy(false);
	};
	useKeys({ "mod+Enter": () => void submit("full"), "mod+'": () => void submit("samples") });
	const toLine = (n: number, column?: number) => {
		setShow("right");
		view.current?.goTo(n, column);
	};
	const quota = lastQuota();

	const left = (
		<>
			<Tabs label={t("problem")} panel="bench" value={tab} onValue={setTab}
				tabs={[["statement", t("statement")], ["result", t("result"), judging?.state === "running" || judging?.state === "queued" ? <span class="live" /> : null], ["ptx", "PTX"], ["runs", t("runs")]]}
				end={<a class="bar-link" href={`/problems/${problem.id}/leaderboard`}>{t("leaderboard")}</a>} />
			<div id="bench" role="tabpanel" aria-labelledby={`bench-tab-${tab}`} class={tab === "ptx" ? "panel flush" : "panel"} tabIndex={tab === "ptx" ? -1 : 0}>
				{tab === "statement" && <>
					<header class="problem-head">
						<h1>{problem.title[lang] ?? problem.title.en}</h1>
						<p class="meta"><span class={`level ${problem.difficulty}`}>{word("level_", problem.difficulty)}</span>{problem.tags.map((x) => <a key={x} class="tag" href={`/problems?tag=${encodeURIComponent(x)}`}>{x}</a>)}{atLeast(user, "instructor") && <a href={`/problems/${problem.id}/edit`}>{t("edit_statement")}</a>}</p>
						{problem.teaches && <p class="teaches">{t("teaches", { text: problem.teaches[lang] })}</p>}
						{problem.needs.length > 0 && <p class="teaches">{t("needs_first")}{problem.needs.map((n, i) => <span key={n.id}>{i > 0 && ", "}<a href={`/problems/${n.id}`}>{n.title[lang]}</a>{n.solved && <> <SolvedMark solved tried /></>}</span>)}</p>}
					</header>
					<Prose html={problem.statement_html} />
					<Hints problem={problem} />
					<Facts problem={problem} />
				</>}
				{tab === "result" && (followError ? <ErrorBox error={followError} /> : judging ? <Result judging={judging} rules={problem.score} onLine={toLine} onCancel={cancel} next /> : sent ? <Waiting /> : <Empty>{t("no_result", { key: mod })}</Empty>)}
				{tab === "ptx" && (judging?.state === "done" ? <PtxPane key={judging.id} judging={judging} name={sent?.submission.name ?? "solution.cu"} source={view} line={line} fresh={fresh} /> : <Empty>{t("no_ptx")}</Empty>)}
				{tab === "runs" && <Runs problem={problem.id} turn={turn} current={sent?.submission.id ?? null} />}
			</div>
		</>
	);
	const bar = (
		<div class="submit-bar">
			{error !== null && <p class="field-error" role="alert">{errorText(error)}</p>}
			<div class="submit-row">
				<Choice compact label={t("device")} value={chosen} options={devices.map((d) => [d.id, deviceName(d)])} onValue={(v) => { setDevice(v); localStorage.setItem("device", v); }} />
				{quota && <span class="quota faint">{t("quota", { n: quota.remaining, all: quota.limit })}</span>}
				<span class="space" />
				{user ? <>
					<button type="button" disabled={busy} onClick={() => void submit("samples")} title={`${mod}+'`}><Icon name="play" />{t("run_samples")}</button>
					<button type="button" class="primary" disabled={busy} onClick={() => void submit("full")} title={`${mod}+Enter`}><Icon name="send" />{t("submit")}</button>
				</> : <a class="button primary" href={signInUrl()}>{t("sign_in_to_submit")}</a>}
			</div>
		</div>
	);
	return (
		<div class="bench">
			<div class="narrow-switch segmented" role="group" aria-label={t("view")}>
				<button type="button" aria-pressed={show === "left"} onClick={() => setShow("left")}>{tab === "ptx" ? "PTX" : t(tab)}</button>
				<button type="button" aria-pressed={show === "right"} onClick={() => setShow("right")}>{t("code")}</button>
			</div>
			<Split name="bench" show={show} left={left} right={
				<EditorPane problem={problem} onEdit={setText} onLine={setLine} bar={bar} view={(v) => { view.current = v; setReady(v); }} />
			} />
		</div>
	);
}

export default function ProblemPage({ id }: { id: string }) {
	const lang = useLanguage();
	const { data, error, reload } = useLoad((s) => api.problem(id, lang)(s), `problem:${id}`);
	useTitle(data?.title[lang] ?? data?.title.en);
	if (error) return <div class="page"><ErrorBox error={error} retry={reload} /></div>;
	if (!data) return <Waiting />;
	return <Bench key={data.id} problem={data} />;
}
