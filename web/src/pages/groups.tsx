// Classes: one's own, their assignments; for instructors also roster, code, deadlines, grades.
import { useState } from "preact/hooks";
import { api } from "../api";
import { score, when } from "../format";
import { useLoad, useTitle } from "../hooks";
import { t, useLanguage } from "../i18n";
import { go } from "../router";
import { atLeast, useUser } from "../session";
import type { Assignment, Group } from "../types";
import { Choice, Confirm, Empty, ErrorBox, errorText, Field, TableBox, useNotice, Waiting } from "../ui/parts";

const late = (a: Assignment) => Date.parse(a.deadline) < Date.now();

function AssignmentTable({ items, groups, onRemove, onExtend }: { items: Assignment[]; groups?: boolean; onRemove?: (a: Assignment) => void; onExtend?: (a: Assignment) => void }) {
	const lang = useLanguage();
	return (
		<TableBox label={t("assignments")}>
			<table>
				<thead><tr><th>{t("assignment")}</th>{groups && <th>{t("group")}</th>}<th>{t("opens")}</th><th>{t("deadline")}</th><th class="n">{t("your_score")}</th>{onRemove && <th><span class="hidden">{t("actions")}</span></th>}</tr></thead>
				<tbody>{items.map((a) => (
					<tr key={a.id}>
						<td><a class="strong" href={`/problems/${a.problem}`}>{a.title || a.problem}</a></td>{groups && <td><a href={`/groups/${a.group}`}>{a.group_name}</a></td>}
						<td class="nowrap">{a.opens ? when(a.opens, lang) : "–"}</td><td class="nowrap">{when(a.deadline, lang)} {late(a) && <span class="tag">{t("closed")}</span>}</td>
						<td class="n">{a.best ? <a href={`/submissions/${a.best.submission}`}>{score(a.best.score)}</a> : "–"}</td>
						{onRemove && <td class="n nowrap"><button type="button" class="quiet" onClick={() => onExtend?.(a)}>{t("extra_time")}</button><button type="button" class="quiet" onClick={() => onRemove(a)}>{t("remove")}</button></td>}
					</tr>
				))}</tbody>
			</table>
		</TableBox>
	);
}

export function GroupsPage() {
	const user = useUser();
	const staff = atLeast(user, "instructor");
	const groups = useLoad(api.groups, "groups");
	const assignments = useLoad(api.myAssignments, "assignments");
	const [code, setCode] = useState("");
	const [name, setName] = useState("");
	const [error, setError] = useState<unknown>(null);
	useTitle(t("groups"));
	const send = (e: Event, make: () => Promise<Group>) => {
		e.preventDefault();
		setError(null);
		make().then((g) => go(`/groups/${g.id}`), setError);
	};
	return (
		<div class="page">
			<h1>{t("groups")}</h1>
			{groups.error ? <ErrorBox error={groups.error} retry={groups.reload} /> : !groups.data ? <Waiting /> : groups.data.items.length === 0 ? <Empty>{t("no_groups")}</Empty> : (
				<TableBox label={t("groups")}>
					<table>
						<thead><tr><th>{t("group")}</th>{staff && <th>{t("invite")}</th>}<th class="n">{t("members")}</th></tr></thead>
						<tbody>{groups.data.items.map((g) => <tr key={g.id}><td><a class="strong" href={`/groups/${g.id}`}>{g.name}</a></td>{staff && <td><code>{g.code}</code></td>}<td class="n">{g.members}</td></tr>)}</tbody>
					</table>
				</TableBox>
			)}
			<div class="columns">
				<form class="form inline-form" onSubmit={(e) => send(e, () => api.join(code.trim()))}>
					<Field label={t("join_code")} value={code} onValue={setCode} required />
					<button type="submit">{t("join")}</button>
				</form>
				{staff && <form class="form inline-form" onSubmit={(e) => send(e, () => api.addGroup(name))}>
					<Field label={t("new_group")} value={name} onValue={setName} required maxLength={80} />
					<button type="submit">{t("make")}</button>
				</form>}
			</div>
			{error !== null && <p class="field-error" role="alert">{errorText(error)}</p>}
			{assignments.data && assignments.data.items.length > 0 && <><h2>{t("assignments")}</h2><AssignmentTable groups items={assignments.data.items} /></>}
		</div>
	);
}

/** What a field of date and time says, as an instant. */
const instant = (local: string) => new Date(local).toISOString();

function AddAssignment({ group, onDone }: { group: number; onDone(): void }) {
	const lang = useLanguage();
	const problems = useLoad(api.problems, "problems");
	const [problem, setProblem] = useState("");
	const [title, setTitle] = useState("");
	const [opens, setOpens] = useState("");
	const [deadline, setDeadline] = useState("");
	const [error, setError] = useState<unknown>(null);
	const chosen = problem || problems.data?.items[0]?.id || "";
	const add = (e: Event) => {
		e.preventDefault();
		setError(null);
		api.addAssignment(group, { problem: chosen, deadline: instant(deadline), ...(title ? { title } : {}), ...(opens ? { opens: instant(opens) } : {}) }).then(() => { setTitle(""); onDone(); }, setError);
	};
	return (
		<form class="form inline-form" onSubmit={add}>
			<Choice label={t("problem")} value={chosen} onValue={setProblem} options={(problems.data?.items ?? []).map((p) => [p.id, p.title[lang] ?? p.title.en])} />
			<Field label={t("title")} value={title} onValue={setTitle} maxLength={80} />
			<Field label={t("opens")} type="datetime-local" value={opens} onValue={setOpens} />
			<Field label={t("deadline")} type="datetime-local" value={deadline} onValue={setDeadline} required />
			<button type="submit">{t("add")}</button>
			{error !== null && <p class="field-error" role="alert">{errorText(error)}</p>}
		</form>
	);
}

/** Who has another deadline; one more, or one less. */
function Extend({ assignment, onClose, onChange }: { assignment: Assignment; onClose(): void; onChange(): void }) {
	const lang = useLanguage();
	const members = useLoad(api.members(assignment.group), `members:${assignment.group}`);
	const list = useLoad(api.extensions(assignment.id), `extensions:${assignment.id}`);
	const [user, setUser] = useState("");
	const [deadline, setDeadline] = useState("");
	const [error, setError] = useState<unknown>(null);
	const chosen = user || members.data?.items[0]?.name || "";
	const after = () => { setError(null); setDeadline(""); onChange(); };
	const title = t("extra_time_for", { title: assignment.title || assignment.problem });
	return (
		<section class="box" aria-label={title}>
			<h3>{title}</h3>
			{list.error ? <ErrorBox error={list.error} retry={list.reload} /> : !list.data ? <Waiting /> : list.data.items.length === 0 ? <p class="faint">{t("no_extra_time")}</p> : (
				<TableBox label={title}>
					<table>
						<thead><tr><th>{t("user")}</th><th>{t("display_name")}</th><th>{t("deadline")}</th><th><span class="hidden">{t("remove")}</span></th></tr></thead>
						<tbody>{list.data.items.map((x) => (
							<tr key={x.user}>
								<td>{x.user}</td><td>{x.display}</td><td class="nowrap">{when(x.deadline, lang)}</td>
								<td class="n"><button type="button" class="quiet" aria-label={t("remove_n", { name: x.user })} onClick={() => api.dropExtension(assignment.id, x.user).then(() => { after(); list.reload(); }, setError)}>{t("remove")}</button></td>
							</tr>
						))}</tbody>
					</table>
				</TableBox>
			)}
			<form class="form inline-form" onSubmit={(e) => { e.preventDefault(); api.extend(assignment.id, chosen, instant(deadline)).then((l) => { after(); list.set(l); }, setError); }}>
				<Choice label={t("user")} value={chosen} onValue={setUser} options={(members.data?.items ?? []).map((m) => [m.name, m.display === m.name ? m.name : `${m.name} (${m.display})`] as const)} />
				<Field label={t("deadline")} type="datetime-local" value={deadline} onValue={setDeadline} required />
				<button type="submit" disabled={!chosen}>{t("save")}</button>
				<button type="button" onClick={onClose}>{t("close")}</button>
				{error !== null && <p class="field-error" role="alert">{errorText(error)}</p>}
			</form>
		</section>
	);
}

function Roster({ group, onChange }: { group: Group; onChange(): void }) {
	const members = useLoad(api.members(group.id), `members:${group.id}`);
	const [csv, setCsv] = useState("");
	const [notice, say] = useNotice();
	const send = (e: Event) => {
		e.preventDefault();
		api.roster(group.id, csv).then((r) => { setCsv(""); say(t("roster_done", { rows: r.rows, added: r.added, joined: r.joined })); members.reload(); onChange(); }, (x: unknown) => say(errorText(x), true));
	};
	return (
		<section>
			<h2>{t("members")}</h2>
			{members.data && members.data.items.length > 0 && (
				<TableBox label={t("members")}>
					<table>
						<thead><tr><th>{t("user")}</th><th>{t("display_name")}</th><th><span class="hidden">{t("remove")}</span></th></tr></thead>
						<tbody>{members.data.items.map((m) => <tr key={m.name}><td><a href={`/users/${m.name}`}>{m.name}</a></td><td>{m.display}</td><td class="n"><button type="button" class="quiet" aria-label={t("remove_n", { name: m.name })} onClick={() => api.dropMember(group.id, m.name).then(() => { members.reload(); onChange(); }, (x: unknown) => say(errorText(x), true))}>{t("remove")}</button></td></tr>)}</tbody>
					</table>
				</TableBox>
			)}
			<form class="form" onSubmit={send}>
				<div class="field"><label for="csv">{t("roster")}</label><textarea id="csv" rows={5} value={csv} onInput={(e) => setCsv(e.currentTarget.value)} placeholder={"name,display,password\nada,Ada Lovelace,"} aria-describedby="csv-hint" required /><p id="csv-hint" class="hint">{t("roster_hint")}</p></div>
				<div class="actions start"><button type="submit">{t("import")}</button></div>
			</form>
			{notice}
		</section>
	);
}

export function GroupPage({ id }: { id: string }) {
	const user = useUser();
	const staff = atLeast(user, "instructor");
	const group = useLoad(api.group(id), `group:${id}`);
	const assignments = useLoad(api.assignments(id), `assignments:${id}`);
	const [leaving, setLeaving] = useState(false);
	const [extending, setExtending] = useState<Assignment | null>(null);
	const [notice, say] = useNotice();
	const fail = (e: unknown) => say(errorText(e), true);
	useTitle(group.data?.name);
	if (group.error) return <div class="page"><ErrorBox error={group.error} retry={group.reload} /></div>;
	if (!group.data) return <Waiting />;
	const g = group.data;
	return (
		<div class="page">
			<p class="crumb"><a href="/groups">{t("groups")}</a></p>
			<h1>{g.name}</h1>
			<p class="meta">
				{t("members_n", { n: g.members })}
				{g.code && <> · {t("invite")} <code>{g.code}</code> <button type="button" class="quiet" onClick={() => api.changeGroup(g.id, { new_code: true }).then(group.set, fail)}>{t("new_code")}</button></>}
				{staff && <> · <a href={api.gradesUrl(g.id)} download={`${g.name}.csv`}>{t("grades_csv")}</a> · <a href={`/submissions?group=${g.id}`}>{t("submissions")}</a></>}
			</p>
			{notice}
			<h2>{t("assignments")}</h2>
			{assignments.error ? <ErrorBox error={assignments.error} retry={assignments.reload} /> : !assignments.data ? <Waiting /> : assignments.data.items.length === 0 ? <Empty>{t("no_assignments")}</Empty>
				: <AssignmentTable items={assignments.data.items} onExtend={setExtending} onRemove={staff ? (a) => void api.dropAssignment(a.id).then(assignments.reload, fail) : undefined} />}
			{extending && <Extend key={extending.id} assignment={extending} onClose={() => setExtending(null)} onChange={() => say(t("saved"))} />}
			{staff && <AddAssignment group={g.id} onDone={assignments.reload} />}
			{staff && <Roster group={g} onChange={group.reload} />}
			{staff ? <p><button type="button" onClick={() => setLeaving(true)}>{t("remove_group")}</button></p> : user && <p><button type="button" onClick={() => setLeaving(true)}>{t("leave")}</button></p>}
			{leaving && <Confirm title={staff ? t("remove_group") : t("leave")} text={staff ? t("remove_group_ask") : t("leave_ask", { name: g.name })} yes={staff ? t("remove_group") : t("leave")} onNo={() => setLeaving(false)}
				onYes={() => (staff ? api.dropGroup(g.id) : api.dropMember(g.id, user!.name)).then(() => go("/groups"), (e) => { setLeaving(false); fail(e); })} />}
		</div>
	);
}

export default function Groups({ id }: { id?: string }) {
	return id === undefined ? <GroupsPage /> : <GroupPage id={id} />;
}
