import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api";
import { useLanguage } from "./i18n";

export interface Loaded<T> { data: T | null; error: ApiError | null; loading: boolean; reload(): void; set(v: T): void }

/** Loads when `key` changes (and when the language does: the server speaks it too); what came before stays until the new is there. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, key: string): Loaded<T> {
	const lang = useLanguage();
	const [state, setState] = useState<{ data: T | null; error: ApiError | null; loading: boolean; key: string }>({ data: null, error: null, loading: true, key });
	const [turn, setTurn] = useState(0);
	const latest = useRef(load);
	latest.current = load;
	useEffect(() => {
		const stop = new AbortController();
		setState((s) => ({ data: s.key === key ? s.data : null, error: null, loading: true, key }));
		latest.current(stop.signal).then(
			(data) => { if (!stop.signal.aborted) setState({ data, error: null, loading: false, key }); },
			(e: unknown) => {
				if (stop.signal.aborted) return;
				const error = e instanceof ApiError ? e : new ApiError(0, "fault", String(e), null, null);
				setState({ data: null, error, loading: false, key });
			},
		);
		return () => stop.abort();
	}, [key, turn, lang]);
	const reload = useCallback(() => setTurn((n) => n + 1), []);
	const set = useCallback((data: T) => setState((s) => ({ ...s, data })), []);
	return { data: state.key === key ? state.data : null, error: state.error, loading: state.loading, reload, set };
}

export function useTitle(text: string | undefined): void {
	useEffect(() => {
		if (text) document.title = `${text} · judge`;
	}, [text]);
}

/** Follows a list that comes in pages. */
export function usePages<T>(load: (cursor: string | undefined, signal: AbortSignal) => Promise<{ items: T[]; next?: string | null }>, key: string) {
	const first = useLoad((signal) => load(undefined, signal), key);
	const [more, setMore] = useState<{ key: string; items: T[]; next: string | null; busy: boolean }>({ key, items: [], next: null, busy: false });
	const extra = more.key === key && first.data ? more : { key, items: [] as T[], next: first.data?.next ?? null, busy: false };
	const next = extra.items.length ? extra.next : first.data?.next ?? null;
	const loadMore = async () => {
		if (!next) return;
		setMore({ ...extra, next, busy: true });
		try {
			const page = await load(next, new AbortController().signal);
			setMore({ key, items: [...extra.items, ...page.items], next: page.next ?? null, busy: false });
		} catch {
			setMore({ ...extra, next, busy: false });
		}
	};
	return { ...first, items: first.data ? [...first.data.items, ...extra.items] : null, next, busy: extra.busy, loadMore };
}

export interface Shortcut { keys: string; run(e: KeyboardEvent): void }

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** Keys of a page outside of fields ("/"), or with Ctrl/⌘ anywhere ("mod+Enter"). */
export function useKeys(shortcuts: Record<string, () => void>): void {
	const latest = useRef(shortcuts);
	latest.current = shortcuts;
	useEffect(() => {
		const onKey = (e: KeyboardEvent) => {
			if (e.defaultPrevented || e.altKey) return;
			const mod = isMac ? e.metaKey : e.ctrlKey;
			const target = e.composedPath()[0] as HTMLElement | undefined;
			const typing = target?.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target?.tagName ?? "");
			if (!mod && (typing || e.ctrlKey || e.metaKey || document.querySelector("dialog[open]"))) return;
			const run = latest.current[(mod ? "mod+" : "") + e.key];
			if (!run) return;
			e.preventDefault();
			run();
		};
		document.addEventListener("keydown", onKey);
		return () => document.removeEventListener("keydown", onKey);
	}, []);
}
