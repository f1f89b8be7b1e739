// One submission: its result beside its source, or the difference from another.
import { useMemo, useRef, useState } from "preact/hooks";
import { api } from "../api";
import type { CodeView } from "../editor/view";
import { bytes, when } from "../format";
import { useLoad, useTitle } from "../hooks";
import { t, useLanguage } from "../i18n";
import { useJudging } from "../judging";
import { setQuery, usePlace } from "../router";
import { atLeast, useUser } from "../session";
import type { Submission } from "../types";
import { Diff, diffRows } from "../ui/diff";
import { Choice, Empty, ErrorBox, Tabs, useNotice, useTab, Waiting } from "../ui/parts";
import { Result } from "../ui/result";
import { Code } from "../ui/source";
import { Split } from "../ui/split";
import { Outcome } from "../ui/verdict";
import { phrases, PtxPane, useMarks } from "../ui/workbench";

function Difference({ a, b }: { a: Submission; b: Submission }) {
	const rows = useMemo(() => diffRows(a.source ?? "", b.source ?? ""), [a, b]);
	const added = rows.filter((r) => r.mark === "+").length, removed = rows.filter((r) => r.mark === "-").length;
	return (
		<div class="page">
			<h1>{t("diff_title", { a: a.id, b: b.id })}</h1>
			<table class="compare">
				<thead><tr><th /><th>{t("user")}</th><th>{t("verdict")}</th><th>{t("problem")}</th></tr></thead>
				<tbody>{[a, b].map((s) => <tr key={s.id}><td><a href={`/submissions/${s.id}`}>#{s.id}</a></td><td>{s.user}</td><td><Outcome judging={s.judging} /></td><td>{s.problem}</td></tr>)}</tbody>
			</table>
			<p class="faint">{added + removed === 0 ? t("same") : t("diff_count", { added, removed })}</p>
			<Diff a={a.source ?? ""} b={b.source ?? ""} label={t("diff_title", { a: a.id, b: b.id })} />
		</div>
	);
}

function Compare({ id, other }: { id: string; other: string }) {
	const a = useLoad(api.submission(id), `submission:${id}`);
	const b = useLoad(api.submission(other), `submission:${other}`);
	if (a.error || b.error) return <div class="page"><ErrorBox error={a.error ?? b.error} /></div>;
	if (!a.data || !b.data) return <Waiting />;
	return <Difference a={a.data} b={b.data} />;
}

const tabs = ["result", "ptx"] as const;

function Shown({ submission, reload }: { submission: Submission; reload(): void }) {
	const lang = useLanguage();
	const user = useUser();
	const { query } = usePlace();
	const [tab, setTab] = useTab(tabs);
	const judgings = submission.judgings?.length ? submission.judgings : [submission.judging];
	const wanted = Number(query.get("judging")) || submission.judging.id;
	const { judging, error, cancel } = useJudging(wanted);
	const problem = useLoad(api.problem(submission.problem, lang), `problem:${submission.problem}`);
	const view = useRef<CodeView | null>(null);
	const [ready, setReady] = useState<CodeView | null>(null);
	const [line, setLine] = useState(0);
	const [show, setShow] = useState<"left" | "right">("left");
	const [notice, say] = useNotice();
	useMarks(ready, judging, true);
	const toLine = (n: number, column?: number) => {
		setShow("right");
		view.current?.goTo(n, column);
	};
	const again = () => api.rejudgeOne(submission.id).then(() => { setQuery({ judging: null }); reload(); }, (e: Error) => say(e.message, true));
	return (
		<div class="bench with-head">
			<header class="bench-head">
				<h1>{t("submission_n", { n: submission.id })}</h1>
				<p class="meta">
					<a href={`/problems/${submission.problem}`}>{problem.data?.title[lang] ?? submission.problem}</a> · <a href={`/users/${submission.user}`}>{submission.user}</a> · {when(submission.created, lang)} · {bytes(submission.size)}
					{submission.scope === "samples" && <span class="tag">{t("samples")}</span>}
				</p>
				<span class="space" />
				{judgings.length > 1 && <Choice compact label={t("judging")} value={String(wanted)} onValue={(v) => setQuery({ judging: v === String(submission.judging.id) ? null : v })}
					options={judgings.map((j) => [String(j.id), `${t("judging_n", { n: j.id })} ${j.verdict ?? ""}`] as const)} />}
				{atLeast(user, "instructor") && <button type="button" onClick={() => void again()}>{t("rejudge")}</button>}
			</header>
			{notice}
			<div class="narrow-switch segmented" role="group" aria-label={t("view")}>
				<button type="button" aria-pressed={show === "left"} onClick={() => setShow("left")}>{t("result")}</button>
				<button type="button" aria-pressed={show === "right"} onClick={() => setShow("right")}>{t("code")}</button>
			</div>
			<Split name="submission" show={show} left={<>
				<Tabs label={t("submission")} panel="sub" value={tab} onValue={setTab} tabs={[["result", t("result")], ["ptx", "PTX"]]} />
				<div id="sub" role="tabpanel" aria-labelledby={`sub-tab-${tab}`} class={tab === "ptx" ? "panel flush" : "panel"} tabIndex={tab === "ptx" ? -1 : 0}>
					{error ? <ErrorBox error={error} /> : !judging ? <Waiting /> : tab === "result"
						? <Result judging={judging} rules={problem.data?.score ?? null} onLine={toLine} onCancel={cancel} next={submission.user === user?.name} />
						: judging.state === "done" ? <PtxPane key={judging.id} judging={judging} name={submission.name} source={view} line={line} fresh /> : <Empty>{t("no_ptx")}</Empty>}
				</div>
			</>} right={
				<div class="editor-pane">
					<div class="editor-bar"><span class="file">{submission.name}</span></div>
					<Code class="fill" options={{ text: submission.source ?? "", label: t("source_label"), language: "cuda", readOnly: true, phrases: phrases(), onLine: setLine }} view={(v) => { view.current = v; setReady(v); }} />
				</div>
			} />
		</div>
	);
}

export default function SubmissionPage({ id }: { id: string }) {
	const other = usePlace().query.get("with");
	const { data, error, reload } = useLoad((s) => (other ? Promise.resolve(null) : api.submission(id)(s)), `submission:${id}:${other ?? ""}`);
	useTitle(t("submission_n", { n: id }));
	if (other) return <Compare id={id} other={other} />;
	if (error) return <div class="page"><ErrorBox error={error} retry={reload} /></div>;
	if (!data) return <Waiting />;
	return <Shown key={`${data.id}:${data.judging.id}`} submission={data} reload={reload} />;
}
