// For instructors: a statement as it is written, beside what students will see of it. A draft is kept until it is saved.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, ApiError } from "../api";
import type { CodeView } from "../editor/view";
import { when } from "../format";
import { useKeys, useLoad, useTitle } from "../hooks";
import { languageNames, t, useLanguage } from "../i18n";
import { setQuery, usePlace } from "../router";
import type { Language, Message, Statement } from "../types";
import { Diff } from "../ui/diff";
import { ErrorBox, errorText, Messages, useNotice, Waiting } from "../ui/parts";
import { Prose } from "../ui/prose";
import { Code } from "../ui/source";
import { Split } from "../ui/split";
import { phrases } from "../ui/workbench";

interface Draft { text: string; base: string | null }

const draftKey = (id: string, language: Language) => `statement:${id}:${language}`;

function draftOf(key: string): Draft | null {
	try {
		const d = JSON.parse(localStorage.getItem(key) ?? "null") as Partial<Draft> | null;
		return d && typeof d.text === "string" ? { text: d.text, base: typeof d.base === "string" ? d.base : null } : null;
	} catch {
		return null;
	}
}

function usePreview(text: string) {
	const [shown, setShown] = useState<{ html: string; hints: string[] } | null>(null);
	const [error, setError] = useState<unknown>(null);
	useEffect(() => {
		const stop = new AbortController();
		const timer = setTimeout(() => api.preview(text, stop.signal).then((p) => { setShown(p); setError(null); }, (e: unknown) => { if (!stop.signal.aborted) setError(e); }), shown ? 300 : 0);
		return () => { clearTimeout(timer); stop.abort(); };
	}, [text]);
	return { shown, error };
}

function Preview({ text }: { text: string }) {
	const { shown, error } = usePreview(text);
	return (
		<div class="panel" tabIndex={0} role="region" aria-label={t("preview")}>
			{error !== null && <ErrorBox error={error} />}
			{shown ? <>
				<Prose html={shown.html} />
				{shown.hints.length > 0 && <section class="hints"><h2>{t("hints")}</h2>{shown.hints.map((h, i) => <Prose key={i} html={h} />)}</section>}
			</> : error === null && <Waiting />}
		</div>
	);
}

/** Somebody saved first: theirs against one's own. */
function Conflict({ theirs, mine, onTheirs, onMine }: { theirs: Statement; mine: string; onTheirs(): void; onMine(): void }) {
	const lang = useLanguage();
	return (
		<section class="conflict" role="alert">
			<h2>{t("saved_first", { who: theirs.by ?? "–", when: theirs.created ? when(theirs.created, lang) : "–" })}</h2>
			<Diff wrap a={theirs.text ?? ""} b={mine} label={t("changed")} />
			<div class="actions start"><button type="button" onClick={onTheirs}>{t("take_theirs")}</button><button type="button" class="primary" onClick={onMine}>{t("save_mine")}</button></div>
		</section>
	);
}

function Editing({ loaded, title }: { loaded: Statement; title: string }) {
	const lang = useLanguage();
	const key = draftKey(loaded.problem, loaded.language);
	const kept = useState(() => draftOf(key))[0];
	const [now, setNow] = useState(loaded);
	const [text, setText] = useState(kept?.text ?? loaded.text ?? "");
	const [base, setBase] = useState(kept ? kept.base : loaded.base);
	const [theirs, setTheirs] = useState<Statement | null>(null);
	const [messages, setMessages] = useState<Message[]>([]);
	const [busy, setBusy] = useState(false);
	const [show, setShow] = useState<"left" | "right">("left");
	const [notice, say] = useNotice();
	const view = useRef<CodeView | null>(null);
	const changed = text !== (now.text ?? "");
	const edit = (value: string, from = base) => {
		setText(value);
		if (value === (now.text ?? "")) localStorage.removeItem(key);
		else localStorage.setItem(key, JSON.stringify({ text: value, base: from }));
	};
	const take = (s: Statement) => {
		setNow(s);
		setBase(s.base);
		setTheirs(null);
		localStorage.removeItem(key);
	};
	const save = async (from = base) => {
		if (busy || !changed) return;
		setBusy(true);
		setMessages([]);
		say("");
		try {
			const s = await api.saveStatement(loaded.problem, loaded.language, text, from);
			take(s);
			say(t("saved_edition", { n: s.edition }));
		} catch (e) {
			if (e instanceof ApiError && e.status === 409) setTheirs(await api.statement(loaded.problem, loaded.language)().catch(() => null));
			else setMessages(e instanceof ApiError ? (e.body as { messages?: Message[] } | null)?.messages ?? [] : []);
			say(errorText(e), true);
		}
		setBusy(false);
	};
	useKeys({ "mod+s": () => void save() });
	const replace = (s: Statement) => {
		take(s);
		setText(s.text ?? "");
		view.current?.set(s.text ?? "");
		say("");
	};
	return (
		<div class="bench with-head">
			<header class="bench-head">
				<h1>{t("statement")}: <a href={`/problems/${loaded.problem}`}>{title}</a></h1>
				<div class="segmented" role="group" aria-label={t("language")}>
					{(["en", "zh"] as const).map((l) => <button key={l} type="button" aria-pressed={loaded.language === l} onClick={() => setQuery({ language: l === "en" ? null : l })}>{languageNames[l]}</button>)}
				</div>
				<p class="meta">{now.base ? <>{t("version")} <code>{now.version.slice(0, 8)}</code> · {t("edition_n", { n: now.edition })}{now.by ? ` · ${now.by}` : ` · ${t("came_with_judge")}`}{now.created && ` · ${when(now.created, lang)}`}</> : t("no_statement")}</p>
				<span class="space" />
				{changed && <button type="button" class="quiet" onClick={() => void api.statement(loaded.problem, loaded.language)().then(replace, (e: unknown) => say(errorText(e), true))}>{t("discard")}</button>}
				<button type="button" class="primary" disabled={busy || !changed || text === ""} onClick={() => void save()}>{t("save")}</button>
			</header>
			{notice}
			{kept && changed && base === kept.base && !theirs && <p class="notice">{t("draft_shown")}</p>}
			{messages.length > 0 && <Messages list={messages} />}
			{theirs && <Conflict theirs={theirs} mine={text} onTheirs={() => replace(theirs)} onMine={() => { setBase(theirs.base); void save(theirs.base); }} />}
			<div class="narrow-switch segmented" role="group" aria-label={t("view")}>
				<button type="button" aria-pressed={show === "left"} onClick={() => setShow("left")}>{t("text")}</button>
				<button type="button" aria-pressed={show === "right"} onClick={() => setShow("right")}>{t("preview")}</button>
			</div>
			<Split name="statement" show={show} left={
				<div class="editor-pane">
					<div class="editor-bar"><span class="file">statement.{loaded.language}.md</span></div>
					<Code class="fill" options={{ text, label: t("statement_label"), language: "text", phrases: phrases(), onChange: (v) => edit(v) }} view={(v) => { view.current = v; }} />
				</div>
			} right={<Preview text={text} />} />
		</div>
	);
}

export default function StatementPage({ id }: { id: string }) {
	const lang = useLanguage();
	const language: Language = usePlace().query.get("language") === "zh" ? "zh" : "en";
	const problem = useLoad(api.problem(id, lang), `problem:${id}`);
	const { data, error, reload } = useLoad((s) => api.statement(id, language)(s), `statement:${id}:${language}`);
	const title = problem.data?.title[lang] ?? id;
	useTitle(`${t("edit_statement")}: ${title}`);
	if (error) return <div class="page"><ErrorBox error={error} retry={reload} /></div>;
	if (!data) return <Waiting />;
	return <Editing key={`${data.problem}:${data.language}`} loaded={data} title={title} />;
}
