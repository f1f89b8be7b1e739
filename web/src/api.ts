// The one place that talks HTTP.
import type {
	Assignment, DeviceHealth, Extension, Group, Judging, JudgingShort, Language, List, Message, Points, Problem, ProblemItem, Problems, Profile, Queue, Rank,
	Rejudge, Scope, Site, Statement, Submission, Token, User,
} from "./types";

const BASE = "/api/v1";

export class ApiError extends Error {
	constructor(readonly status: number, readonly code: string, message: string, readonly field: string | null, readonly body: unknown) {
		super(message);
	}
}

/** What the server says of a rate limit, from its last answer to a limited request. */
export interface Quota { limit: number; remaining: number; reset: number }
let quota: Quota | null = null;
export const lastQuota = () => quota;

let signedOut = () => {};
/** What to do when the server knows one no more: the session is over, or was ended from elsewhere. */
export const onSignedOut = (f: () => void) => { signedOut = f; };

let language = "en";
export const speak = (lang: string) => { language = lang; };

type Query = Record<string, string | number | boolean | null | undefined>;

export function withQuery(path: string, query: Query): string {
	const q = new URLSearchParams();
	for (const [k, v] of Object.entries(query)) if (v !== null && v !== undefined && v !== "" && v !== false) q.set(k, v === true ? "1" : String(v));
	const text = q.toString();
	return text ? `${path}?${text}` : path;
}

function headers(extra?: Record<string, string>): Record<string, string> {
	return { Accept: "application/json", "Accept-Language": language, ...extra };
}

async function failure(r: Response): Promise<ApiError> {
	const body: unknown = await r.json().catch(() => null);
	const e = (body as { error?: { code?: string; message?: string; field?: string | null } } | null)?.error;
	return new ApiError(r.status, e?.code ?? "http", e?.message ?? `${r.status} ${r.statusText}`, e?.field ?? null, body);
}

function noteQuota(r: Response) {
	const n = (name: string) => Number(r.headers.get(name));
	if (r.headers.has("RateLimit-Limit")) quota = { limit: n("RateLimit-Limit"), remaining: n("RateLimit-Remaining"), reset: n("RateLimit-Reset") };
}

async function call(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
	const raw = body instanceof Blob || typeof body === "string";
	const type = body instanceof Blob ? "application/octet-stream" : typeof body === "string" ? "text/csv" : "application/json";
	let r: Response;
	try {
		r = await fetch(BASE + path, {
			method,
			headers: headers(body === undefined ? undefined : { "Content-Type": type }),
			body: body === undefined ? undefined : raw ? body : JSON.stringify(body),
			credentials: "same-origin",
			signal: signal ?? null,
		});
	} catch (e) {
		if (signal?.aborted) throw e;
		throw new ApiError(0, "offline", "", null, null);
	}
	noteQuota(r);
	if (r.status === 401 && path !== "/session") signedOut();
	if (!r.ok) throw await failure(r);
	return r;
}

async function json<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
	const r = await call(method, path, body, signal);
	return (r.status === 204 ? undefined : await r.json()) as T;
}

const get = <T>(path: string, query: Query = {}) => (signal?: AbortSignal) => json<T>("GET", withQuery(path, query), undefined, signal);
const at = (id: string | number) => encodeURIComponent(String(id));

export const api = {
	site: get<Site>("/site"),
	signIn: (name: string, password: string) => json<User>("POST", "/session", { name, password }),
	signOut: () => json<void>("DELETE", "/session"),
	register: (u: { name: string; password: string; display?: string; invite?: string; language: string }) => json<User>("POST", "/users", u),
	users: (q: { search?: string; cursor?: string }) => get<List<User>>("/users", q),
	profile: (name: string) => get<Profile>(`/users/${at(name)}`),
	changeUser: (name: string, change: Partial<{ display: string; language: string; password: string; old_password: string; role: string; disabled: boolean }>) =>
		json<User>("PATCH", `/users/${at(name)}`, change),
	tokens: get<List<Token>>("/tokens"),
	addToken: (name: string, days: number) => json<Token>("POST", "/tokens", { name, days }),
	dropToken: (id: number) => json<void>("DELETE", `/tokens/${id}`),

	problems: get<Problems>("/problems"),
	problem: (id: string, lang: string) => get<Problem>(`/problems/${at(id)}`, { lang }),
	hint: (id: string, n: number, lang: string) => get<{ html: string }>(`/problems/${at(id)}/hints/${n}`, { lang }),
	leaderboard: (id: string, q: { device?: string; group?: string; cursor?: string }) => get<List<Rank>>(`/problems/${at(id)}/leaderboard`, q),
	points: (id: string, device?: string) => get<Points>(`/problems/${at(id)}/points`, { device }),
	addProblem: (file: Blob, check: boolean) => json<{ id: string; version: string; messages: Message[] }>("POST", withQuery("/problems", { check }), file),
	statement: (id: string, language: Language) => get<Statement>(`/problems/${at(id)}/statements/${language}`),
	saveStatement: (id: string, language: Language, text: string, base: string | null) => json<Statement>("PUT", `/problems/${at(id)}/statements/${language}`, { text, base }),
	preview: (text: string, signal?: AbortSignal) => json<{ html: string; hints: string[] }>("POST", "/preview", { text }, signal),
	changeProblem: (id: string, change: { hidden?: boolean; position?: number }) => json<ProblemItem>("PATCH", `/problems/${at(id)}`, change),

	submit: (s: { problem: string; source: string; device?: string; scope: Scope; name?: string }) => json<Submission>("POST", "/submissions", s),
	submissions: (q: { problem?: string; user?: string; verdict?: string; group?: string; cursor?: string }) => get<List<Submission>>("/submissions", q),
	submission: (id: number | string) => get<Submission>(`/submissions/${at(id)}`),
	judging: (id: number, lang: string) => get<Judging>(`/judgings/${id}`, { lang }),
	cancel: (id: number) => json<Judging>("POST", `/judgings/${id}/cancel`),
	ptx: (id: number) => get<{ ptx: string }>(`/judgings/${id}/ptx`),
	rejudgeOne: (id: number) => json<JudgingShort>("POST", `/submissions/${id}/rejudge`),
	rejudge: (q: { problem?: string; verdict?: string; user?: string; since?: string; until?: string; preview: boolean }) =>
		json<{ count: number } & Partial<Rejudge>>("POST", "/rejudges", q),
	rejudgeState: (id: number) => get<Rejudge>(`/rejudges/${id}`),
	queue: get<Queue>("/queue"),
	devices: get<List<DeviceHealth>>("/devices"),

	groups: get<List<Group>>("/groups"),
	group: (id: number | string) => get<Group>(`/groups/${at(id)}`),
	changeGroup: (id: number, change: { name?: string; new_code?: boolean }) => json<Group>("PATCH", `/groups/${id}`, change),
	addGroup: (name: string) => json<Group>("POST", "/groups", { name }),
	dropGroup: (id: number) => json<void>("DELETE", `/groups/${id}`),
	join: (code: string) => json<Group>("POST", "/groups/join", { code }),
	roster: (id: number, csv: string) => json<{ rows: number; added: number; joined: number }>("POST", `/groups/${id}/roster`, csv),
	members: (id: number | string) => get<List<User>>(`/groups/${at(id)}/members`),
	dropMember: (id: number, name: string) => json<void>("DELETE", `/groups/${id}/members/${at(name)}`),
	myAssignments: get<List<Assignment>>("/assignments"),
	assignments: (group: number | string) => get<List<Assignment>>(`/groups/${at(group)}/assignments`),
	addAssignment: (group: number, a: { problem: string; title?: string; opens?: string; deadline: string }) =>
		json<Assignment>("POST", `/groups/${group}/assignments`, a),
	dropAssignment: (id: number) => json<void>("DELETE", `/assignments/${id}`),
	extensions: (id: number) => get<List<Extension>>(`/assignments/${id}/extensions`),
	extend: (id: number, user: string, deadline: string) => json<List<Extension>>("POST", `/assignments/${id}/extensions`, { user, deadline }),
	dropExtension: (id: number, user: string) => json<void>("DELETE", `/assignments/${id}/extensions/${at(user)}`),
	gradesUrl: (id: number) => `${BASE}/groups/${id}/grades.csv`,

	/** The stream of a judging's events, after the event `since`. */
	events: (id: number, since: string | null, signal: AbortSignal) =>
		fetch(`${BASE}/judgings/${id}/events`, {
			headers: { Accept: "text/event-stream", ...(since ? { "Last-Event-ID": since } : {}) },
			credentials: "same-origin",
			cache: "no-store",
			signal,
		}),
	/** The same by asking once. */
	eventsSince: (id: number, since: string | null, signal: AbortSignal) =>
		json<{ items: { id: number | string; event: string; data: unknown }[]; next: string | number | null }>(
			"GET", withQuery(`/judgings/${id}/events`, { since: since ?? "0" }), undefined, signal),
};
