// For those who teach: queue and devices, packages, rejudging as a set, users.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, ApiError } from "../api";
import { ago, bytes, score, when } from "../format";
import { useLoad, usePages, useTitle } from "../hooks";
import { t, useLanguage, word } from "../i18n";
import { atLeast, useSite, useUser } from "../session";
import type { Message, Rejudge, Role, User, Verdict } from "../types";
import { Choice, Confirm, Empty, ErrorBox, errorText, Field, Messages, More, TableBox, Tabs, useNotice, useTab, Waiting } from "../ui/parts";
import { Outcome, stageName, VerdictMark, verdictName } from "../ui/verdict";

function useRefresh(reload: () => void, ms: number) {
	useEffect(() => {
		const timer = setInterval(() => { if (!document.hidden) reload(); }, ms);
		return () => clearInterval(timer);
	}, [reload, ms]);
}

function QueueTab() {
	const lang = useLanguage();
	const { data, error, reload } = useLoad(api.queue, "queue");
	const [notice, say] = useNotice();
	useRefresh(reload, 3000);
	if (error) return <ErrorBox error={error} retry={reload} />;
	if (!data) return <Waiting />;
	return (
		<>
			<dl class="counts"><div><dt>{t("state_queued")}</dt><dd>{data.queued}</dd></div><div><dt>{t("state_running")}</dt><dd>{data.running}</dd></div><div><dt>{t("system_errors")}</dt><dd>{data.system_errors}</dd></div></dl>
			{notice}
			{data.items.length === 0 ? <Empty>{t("queue_empty")}</Empty> : (
				<TableBox label={t("queue")}>
					<table>
						<thead><tr><th>#</th><th>{t("user")}</th><th>{t("problem")}</th><th>{t("state")}</th><th>{t("device")}</th><th>{t("reason")}</th><th class="n">{t("attempt")}</th><th>{t("when")}</th><th><span class="hidden">{t("cancel")}</span></th></tr></thead>
						<tbody>{data.items.map((s) => (
							<tr key={s.judging.id}>
								<td><a href={`/submissions/${s.id}`}>{s.id}</a></td><td>{s.user}</td><td>{s.problem}</td>
								<td class="nowrap"><Outcome judging={s.judging} /> {s.judging.progress && <span class="faint small">{stageName(s.judging.progress.stage)} {s.judging.progress.total > 0 && `${s.judging.progress.done}/${s.judging.progress.total}`}</span>}</td>
								<td class="faint">{s.judging.device}</td><td>{word("reason_", s.judging.reason)}</td><td class="n">{s.judging.attempt}</td><td class="faint nowrap">{ago(s.judging.created, lang)}</td>
								<td class="n"><button type="button" class="quiet" aria-label={t("cancel_n", { n: s.id })} onClick={() => api.cancel(s.judging.id).then(reload, (e: unknown) => say(errorText(e), true))}>{t("cancel")}</button></td>
							</tr>
						))}</tbody>
					</table>
				</TableBox>
			)}
			<h2>{t("workers")}</h2>
			{data.workers.length === 0 ? <Empty>{t("no_workers")}</Empty> : (
				<TableBox label={t("workers")}>
					<table>
						<thead><tr><th>{t("name")}</th><th>{t("state")}</th><th class="n">{t("judging")}</th><th class="n">{t("graded")}</th><th class="n">{t("failed")}</th><th>{t("seen")}</th></tr></thead>
						<tbody>{data.workers.map((w) => <tr key={w.name}><td>{w.name}</td><td>{w.alive ? word("worker_", w.state) : <span class="verdict bad">{t("worker_dead")}</span>}</td><td class="n">{w.judging ?? "–"}</td><td class="n">{w.graded}</td><td class="n">{w.failed}</td><td class="faint nowrap">{w.seen ? ago(w.seen, lang) : "–"}</td></tr>)}</tbody>
					</table>
				</TableBox>
			)}
		</>
	);
}

function DevicesTab() {
	const lang = useLanguage();
	const { data, error, reload } = useLoad(api.devices, "devices");
	useRefresh(reload, 5000);
	if (error) return <ErrorBox error={error} retry={reload} />;
	if (!data) return <Waiting />;
	return (
		<TableBox label={t("devices")}>
			<table>
				<thead><tr><th>{t("device")}</th><th>{t("name")}</th><th>{t("kind")}</th><th>{t("health")}</th><th>{t("since_head")}</th></tr></thead>
				<tbody>{data.items.map((d) => <tr key={d.id}><td><code>{d.id}</code></td><td>{d.name}</td><td>{word("kind_", d.kind)}</td><td>{d.in_service ? <span class="verdict good">{t("in_service")}</span> : <span class="verdict bad">{t("out_of_service")}</span>} {d.note && <span class="faint">{d.note}</span>}</td><td class="faint nowrap">{d.since ? ago(d.since, lang) : "–"}</td></tr>)}</tbody>
			</table>
		</TableBox>
	);
}

function PackagesTab() {
	const lang = useLanguage();
	const site = useSite();
	const problems = useLoad(api.problems, "problems");
	const input = useRef<HTMLInputElement>(null);
	const [file, setFile] = useState<File | null>(null);
	const [busy, setBusy] = useState(false);
	const [messages, setMessages] = useState<Message[]>([]);
	const [notice, say] = useNotice();
	const send = async (check: boolean) => {
		if (!file) return;
		setBusy(true);
		setMessages([]);
		say("");
		try {
			if (file.size > site.limits.upload_bytes) throw new Error(t("too_large", { max: bytes(site.limits.upload_bytes) }));
			const r = await api.addProblem(file, check);
			setMessages(r.messages);
			say(check ? t("package_fine", { id: r.id }) : t("package_taken", { id: r.id, version: r.version.slice(0, 8) }));
			if (!check) problems.reload();
		} catch (e) {
			const list = e instanceof ApiError ? (e.body as { messages?: Message[] } | null)?.messages : undefined;
			setMessages(list ?? []);
			say(list?.length ? t("package_refused", { n: list.length }) : errorText(e), true);
		}
		setBusy(false);
	};
	const change = (id: string, c: { hidden?: boolean; position?: number }) => api.changeProblem(id, c).then(problems.reload, (e: unknown) => say(errorText(e), true));
	return (
		<>
			<div class="drop" onDragOver={(e) => e.preventDefault()} onDrop={(e) => { e.preventDefault(); setFile(e.dataTransfer?.files[0] ?? null); }}>
				<label for="package">{t("package_label")}</label>
				<input id="package" ref={input} type="file" accept=".zip,.gz,.tgz,application/zip,application/gzip" onChange={(e) => setFile(e.currentTarget.files?.[0] ?? null)} />
				<p class="hint">{t("package_hint")}</p>
				<div class="actions start"><button type="button" disabled={!file || busy} onClick={() => void send(true)}>{t("package_check")}</button><button type="button" class="primary" disabled={!file || busy} onClick={() => void send(false)}>{t("package_upload")}</button></div>
			</div>
			{notice}
			{messages.length > 0 && <Messages list={messages} />}
			<h2>{t("problems")}</h2>
			{problems.data && (
				<TableBox label={t("problems")}>
					<table>
						<thead><tr><th>{t("problem")}</th><th>{t("version")}</th><th class="n">{t("position")}</th><th>{t("state")}</th><th><span class="hidden">{t("actions")}</span></th></tr></thead>
						<tbody>{problems.data.items.map((p) => (
							<tr key={p.id}>
								<td><a class="strong" href={`/problems/${p.id}`}>{p.title[lang] ?? p.title.en}</a></td><td><code>{p.version.slice(0, 8)}</code></td>
								<td class="n"><input class="tiny" type="number" aria-label={t("position_of", { id: p.id })} value={p.position} onChange={(e) => void change(p.id, { position: Number(e.currentTarget.value) })} /></td>
								<td>{p.hidden ? t("hidden") : t("shown")}</td>
								<td class="n nowrap"><a class="button quiet" href={`/problems/${p.id}/edit`} aria-label={`${t("edit_statement")}: ${p.id}`}>{t("edit_statement")}</a><button type="button" class="quiet" onClick={() => void change(p.id, { hidden: !p.hidden })}>{p.hidden ? t("show") : t("hide")}</button></td>
							</tr>
						))}</tbody>
					</table>
				</TableBox>
			)}
		</>
	);
}

const verdicts: Verdict[] = ["AC", "WA", "CE", "RE", "IMA", "RACE", "UB", "DL", "TLE", "MLE", "OLE", "NW", "IM", "RV", "SE"];

function RejudgeTab() {
	const lang = useLanguage();
	const problems = useLoad(api.problems, "problems");
	const [f, setF] = useState({ problem: "", verdict: "", user: "", since: "", until: "" });
	const [found, setFound] = useState<number | null>(null);
	const [asking, ask] = useState(false);
	const [set, setSet] = useState<Rejudge | null>(null);
	const [error, setError] = useState<unknown>(null);
	const change = (c: Partial<typeof f>) => { setF({ ...f, ...c }); setFound(null); };
	const filter = () => ({
		...(f.problem ? { problem: f.problem } : {}), ...(f.verdict ? { verdict: f.verdict } : {}), ...(f.user ? { user: f.user } : {}),
		...(f.since ? { since: new Date(f.since).toISOString() } : {}), ...(f.until ? { until: new Date(f.until).toISOString() } : {}),
	});
	useEffect(() => {
		if (!set || set.done >= set.total) return;
		const stop = new AbortController();
		const timer = setTimeout(() => api.rejudgeState(set.id)(stop.signal).then(setSet, (e: unknown) => { if (!stop.signal.aborted) setError(e); }), 1000);
		return () => { clearTimeout(timer); stop.abort(); };
	}, [set]);
	return (
		<>
			<p class="faint">{t("rejudge_text")}</p>
			<form class="form inline-form" onSubmit={(e) => { e.preventDefault(); setError(null); api.rejudge({ ...filter(), preview: true }).then((r) => setFound(r.count), setError); }}>
				<Choice label={t("problem")} value={f.problem} onValue={(problem) => change({ problem })} options={[["", t("any_problem")], ...(problems.data?.items ?? []).map((p) => [p.id, p.title[lang] ?? p.title.en] as const)]} />
				<Choice label={t("verdict")} value={f.verdict} onValue={(verdict) => change({ verdict })} options={[["", t("any_verdict")], ...verdicts.map((v) => [v, verdictName(v)] as const)]} />
				<Field label={t("user")} value={f.user} onValue={(user) => change({ user })} />
				<Field label={t("from")} type="datetime-local" value={f.since} onValue={(since) => change({ since })} />
				<Field label={t("until")} type="datetime-local" value={f.until} onValue={(until) => change({ until })} />
				<button type="submit">{t("preview")}</button>
			</form>
			{error !== null && <p class="field-error" role="alert">{errorText(error)}</p>}
			<div role="status">{found !== null && <p class="found">{t("rejudge_found", { n: found })} {found > 0 && <button type="button" class="primary" onClick={() => ask(true)}>{t("rejudge_all", { n: found })}</button>}</p>}</div>
			{asking && <Confirm title={t("rejudge")} text={t("rejudge_ask", { n: found ?? 0 })} yes={t("rejudge_all", { n: found ?? 0 })} onNo={() => ask(false)}
				onYes={() => { ask(false); api.rejudge({ ...filter(), preview: false }).then((r) => { setSet(r as unknown as Rejudge); setFound(null); }, setError); }} />}
			{set && <section>
				<h2>{t("rejudge_n", { n: set.id })}</h2>
				<p role="status" class="num">{t("done_of", { n: set.done, all: set.total })}</p>
				<progress max={Math.max(1, set.total)} value={set.done} aria-label={t("progress")} />
				{set.changed.length === 0 ? <Empty>{set.done >= set.total ? t("nothing_changed") : t("nothing_changed_yet")}</Empty> : (
					<TableBox label={t("changed")}>
						<table>
							<thead><tr><th>{t("submission")}</th><th>{t("before")}</th><th>{t("after")}</th><th class="n">{t("score")}</th></tr></thead>
							<tbody>{set.changed.map((c) => <tr key={c.submission}><td><a href={`/submissions/${c.submission}`}>#{c.submission}</a></td><td>{c.before ? <VerdictMark verdict={c.before} /> : "–"}</td><td>{c.after ? <VerdictMark verdict={c.after} /> : "–"}</td><td class="n">{score(c.score_before)} → {score(c.score_after)}</td></tr>)}</tbody>
						</table>
					</TableBox>
				)}
			</section>}
		</>
	);
}

const roles: Role[] = ["student", "assistant", "instructor", "admin"];

function UsersTab() {
	const lang = useLanguage();
	const me = useUser();
	const admin = atLeast(me, "admin");
	const [search, setSearch] = useState("");
	const { items, error, reload, ...more } = usePages<User>((cursor, s) => api.users({ search, cursor })(s), `users:${search}`);
	const [notice, say] = useNotice();
	const change = (name: string, c: { role?: string; disabled?: boolean }) => api.changeUser(name, c).then(() => { say(t("saved")); reload(); }, (e: unknown) => { say(errorText(e), true); reload(); });
	return (
		<>
			<div class="filters"><input type="search" class="search" aria-label={t("search_users")} placeholder={t("search_users")} value={search} onInput={(e) => setSearch(e.currentTarget.value)} /></div>
			{notice}
			{error ? <ErrorBox error={error} retry={reload} /> : !items ? <Waiting /> : !items.length ? <Empty>{t("no_users")}</Empty> : <>
				<TableBox label={t("users")}>
					<table>
						<thead><tr><th>{t("user")}</th><th>{t("display_name")}</th><th>{t("role")}</th><th>{t("since_head")}</th>{admin && <th><span class="hidden">{t("actions")}</span></th>}</tr></thead>
						<tbody>{items.map((u) => (
							<tr key={u.name}>
								<td><a href={`/users/${u.name}`}>{u.name}</a>{u.disabled && <span class="tag">{t("disabled")}</span>}</td><td>{u.display}</td>
								<td>{admin && u.name !== me?.name ? <Choice compact label={t("role_of", { name: u.name })} value={u.role} onValue={(role) => void change(u.name, { role })} options={roles.map((r) => [r, word("role_", r)])} /> : word("role_", u.role)}</td>
								<td class="faint nowrap">{when(u.created, lang)}</td>
								{admin && <td class="n">{u.name !== me?.name && <button type="button" class="quiet" onClick={() => void change(u.name, { disabled: !u.disabled })}>{u.disabled ? t("enable") : t("disable")}</button>}</td>}
							</tr>
						))}</tbody>
					</table>
				</TableBox>
				<More {...more} />
			</>}
		</>
	);
}

const tabs = ["queue", "devices", "packages", "rejudge", "users"] as const;

export default function ManagePage() {
	const [tab, setTab] = useTab(tabs);
	useTitle(t("manage"));
	return (
		<div class="page">
			<h1>{t("manage")}</h1>
			<Tabs label={t("manage")} panel="manage" value={tab} onValue={setTab} tabs={tabs.map((x) => [x, t(x)] as const)} />
			<div id="manage" role="tabpanel" aria-labelledby={`manage-tab-${tab}`} class="tab-panel" tabIndex={-1}>
				{tab === "queue" ? <QueueTab /> : tab === "devices" ? <DevicesTab /> : tab === "packages" ? <PackagesTab /> : tab === "rejudge" ? <RejudgeTab /> : <UsersTab />}
			</div>
		</div>
	);
}
