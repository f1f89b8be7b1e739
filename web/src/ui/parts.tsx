// The small parts that pages are made of.
import type { ComponentChildren, ComponentType, JSX } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api";
import { percent } from "../format";
import { t } from "../i18n";
import { setQuery, usePlace } from "../router";
import type { Message } from "../types";

/** A page or part whose code is loaded when it is first shown. */
export function lazy<P extends object>(load: () => Promise<{ default: ComponentType<P> }>): ComponentType<P> {
	let loaded: ComponentType<P> | null = null;
	return function Lazy(props: P) {
		const [, again] = useState(0);
		const [failed, setFailed] = useState(false);
		useEffect(() => {
			if (!loaded) load().then((m) => { loaded = m.default; again((n) => n + 1); }, () => setFailed(true));
		}, []);
		if (failed) return <p class="error" role="alert">{t("offline")}</p>;
		const Part = loaded;
		return Part ? <Part {...props} /> : <Waiting />;
	};
}

export function Waiting() {
	return <div class="waiting" aria-busy="true"><span class="hidden">{t("loading")}</span></div>;
}

export const errorText = (e: unknown) =>
	e instanceof ApiError ? (e.code === "offline" ? t("offline") : e.message) : e instanceof Error ? e.message : String(e);

export function ErrorBox({ error, retry }: { error: unknown; retry?: () => void }) {
	const missing = error instanceof ApiError && error.status === 404;
	return (
		<div class="error" role="alert">
			<p>{missing ? t("not_found") : errorText(error)}</p>
			{error instanceof ApiError && error.status === 401 && <p><a href={signInUrl()}>{t("sign_in")}</a></p>}
			{retry && !missing && <button type="button" onClick={retry}>{t("try_again")}</button>}
		</div>
	);
}

export const signInUrl = () => `/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`;

/** A table in a box that scrolls by itself when it's too wide; then it takes the focus, so that keys can scroll it. */
export function TableBox({ label, children, class: cls }: { label: string; children: ComponentChildren; class?: string }) {
	const box = useRef<HTMLDivElement>(null);
	const [wide, setWide] = useState(false);
	useLayoutEffect(() => {
		const el = box.current;
		if (!el) return;
		const look = () => setWide(el.scrollWidth > el.clientWidth + 1);
		const o = new ResizeObserver(look);
		o.observe(el);
		if (el.firstElementChild) o.observe(el.firstElementChild);
		look();
		return () => o.disconnect();
	}, []);
	const extra = wide ? { tabIndex: 0, role: "region" as const, "aria-label": label } : {};
	return <div ref={box} class={`table-box ${cls ?? ""}`} {...extra}>{children}</div>;
}

interface FieldProps extends Omit<JSX.HTMLAttributes<HTMLInputElement>, "label" | "onChange"> {
	label: string;
	value: string;
	onValue(v: string): void;
	hint?: string;
	error?: string | null;
	type?: string;
	required?: boolean;
	autocomplete?: string;
	minLength?: number;
	maxLength?: number;
	pattern?: string;
	name?: string;
	min?: string;
	max?: string;
}

export function Field({ label, value, onValue, hint, error, ...rest }: FieldProps) {
	const id = useId();
	return (
		<div class="field">
			<label for={id}>{label}</label>
			<input id={id} value={value} onInput={(e) => onValue(e.currentTarget.value)} aria-invalid={error ? true : undefined}
				aria-describedby={hint || error ? `${id}-more` : undefined} {...rest} />
			{(hint || error) && <p id={`${id}-more`} class={error ? "field-error" : "hint"}>{error ?? hint}</p>}
		</div>
	);
}

export function Choice<T extends string>({ label, value, options, onValue, compact }: {
	label: string; value: T; options: readonly (readonly [T, string])[]; onValue(v: T): void; compact?: boolean;
}) {
	const id = useId();
	return (
		<div class={compact ? "field inline" : "field"}>
			<label for={id} class={compact ? "hidden" : undefined}>{label}</label>
			<select id={id} value={value} title={compact ? label : undefined} onChange={(e) => onValue(e.currentTarget.value as T)}>
				{options.map(([v, text]) => <option key={v} value={v}>{text}</option>)}
			</select>
		</div>
	);
}

/** A modal; Esc and the backdrop close it. */
export function Dialog({ title, onClose, children, actions }: { title: string; onClose(): void; children: ComponentChildren; actions?: ComponentChildren }) {
	const ref = useRef<HTMLDialogElement>(null);
	const id = useId();
	useEffect(() => { ref.current?.showModal(); }, []);
	return (
		<dialog ref={ref} aria-labelledby={id} onClose={onClose} onClick={(e) => { if (e.target === ref.current) onClose(); }}>
			<div class="dialog">
				<h2 id={id}>{title}</h2>
				{children}
				<div class="actions">{actions ?? <button type="button" onClick={onClose}>{t("close")}</button>}</div>
			</div>
		</dialog>
	);
}

export function Confirm({ title, text, yes, onYes, onNo }: { title: string; text: string; yes: string; onYes(): void; onNo(): void }) {
	return (
		<Dialog title={title} onClose={onNo} actions={<>
			<button type="button" onClick={onNo}>{t("keep")}</button>
			<button type="button" class="primary" onClick={onYes}>{yes}</button>
		</>}>
			<p>{text}</p>
		</Dialog>
	);
}

/** Tabs by the ARIA pattern: arrows move, the panel follows. `end` stands at the right. */
export function Tabs<T extends string>({ label, value, tabs, onValue, panel, end }: {
	label: string; value: T; tabs: readonly (readonly [T, string, ComponentChildren?])[]; onValue(v: T): void; panel: string; end?: ComponentChildren;
}) {
	const move = (e: KeyboardEvent) => {
		const at = tabs.findIndex(([v]) => v === value);
		const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
		if (!step) return;
		e.preventDefault();
		const next = tabs[(at + step + tabs.length) % tabs.length];
		if (next) {
			onValue(next[0]);
			document.getElementById(`${panel}-tab-${next[0]}`)?.focus();
		}
	};
	return (
		<div class="tab-bar">
			<div role="tablist" aria-label={label} class="tabs" onKeyDown={move}>
				{tabs.map(([v, text, extra]) => (
					<button key={v} type="button" role="tab" id={`${panel}-tab-${v}`} aria-selected={v === value} aria-controls={panel} tabIndex={v === value ? 0 : -1}
						onClick={() => onValue(v)}>{text}{extra}</button>
				))}
			</div>
			{end}
		</div>
	);
}

/** Tabs whose choice is a part of the address. */
export function useTab<T extends string>(all: readonly T[], name = "tab"): [T, (v: T) => void] {
	const q = usePlace().query.get(name);
	const value = (all as readonly string[]).includes(q ?? "") ? (q as T) : (all[0] as T);
	return [value, (v) => setQuery({ [name]: v === all[0] ? null : v })];
}

/** A share of something as a short bar with its figure. */
export function Meter({ value, label }: { value: number | null | undefined; label?: string }) {
	if (value === null || value === undefined) return <span class="faint">–</span>;
	return (
		<span class="meter" title={label}>
			<svg class="bar" viewBox="0 0 48 6" preserveAspectRatio="none" aria-hidden="true"><rect width="48" height="6" rx="1" class="rail" /><rect width={48 * Math.max(0, Math.min(1, value))} height="6" rx="1" class="fill" /></svg>
			<span class="num">{percent(value)}</span>
		</span>
	);
}

export function More({ next, busy, loadMore }: { next: string | null; busy: boolean; loadMore(): void }) {
	if (!next) return null;
	return <p class="more"><button type="button" disabled={busy} onClick={loadMore}>{t("more")}</button></p>;
}

export function Empty({ children }: { children: ComponentChildren }) {
	return <p class="empty">{children}</p>;
}

/** What the server found in a package. */
export function Messages({ list }: { list: Message[] }) {
	return <ul class="diagnostics">{list.map((m, i) => <li key={i} class="error"><span class="where">{[m.file && m.line ? `${m.file}:${m.line}` : m.file, m.field].filter(Boolean).join(" · ")}</span><span class="text">{m.text}</span></li>)}</ul>;
}

/** Says something for a while to those who see and those who listen. */
export function useNotice(): [ComponentChildren, (text: string, bad?: boolean) => void] {
	const [notice, setNotice] = useState<{ text: string; bad: boolean } | null>(null);
	return [
		<div class="notice-box" role="status">{notice && <p class={notice.bad ? "notice bad" : "notice"}>{notice.text}</p>}</div>,
		(text, bad = false) => setNotice(text ? { text, bad } : null),
	];
}
