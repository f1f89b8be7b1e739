// Pages by path, without a reload. `match` is pure; the rest keeps the address bar and the page in step.
import { store, useStore } from "./store";

export interface Place { path: string; query: URLSearchParams; hash: string }

const here = (): Place => ({ path: decodePath(location.pathname), query: new URLSearchParams(location.search), hash: location.hash });

function decodePath(path: string): string {
	return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/** "/problems/:id" against "/problems/int4-gemv" gives {id: "int4-gemv"}; null: no match. */
export function match(pattern: string, path: string): Record<string, string> | null {
	const p = pattern.split("/");
	const q = path.split("/");
	if (p.length !== q.length) return null;
	const params: Record<string, string> = {};
	for (let i = 0; i < p.length; i++) {
		const want = p[i] as string;
		const is = q[i] as string;
		if (want.startsWith(":")) {
			try {
				params[want.slice(1)] = decodeURIComponent(is);
			} catch {
				return null;
			}
		} else if (want !== is) return null;
	}
	return params;
}

export const place = store<Place>(here());
export const usePlace = () => useStore(place);

export function go(url: string, how: "push" | "replace" = "push"): void {
	const same = url === location.pathname + location.search;
	if (how === "replace" || same) history.replaceState(null, "", url);
	else history.pushState(null, "", url);
	const before = place.get().path;
	place.set(here());
	if (before !== place.get().path) {
		scrollTo(0, 0);
		document.getElementById("main")?.focus({ preventScroll: true });
	}
}

/** Sets or removes parameters of the present page's query. */
export function setQuery(change: Record<string, string | null>): void {
	const q = new URLSearchParams(location.search);
	for (const [k, v] of Object.entries(change)) {
		if (v === null || v === "") q.delete(k);
		else q.set(k, v);
	}
	const text = q.toString();
	go(location.pathname + (text ? `?${text}` : ""), "replace");
}

export function startRouter(): void {
	addEventListener("popstate", () => place.set(here()));
	document.addEventListener("click", (e) => {
		if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
		const a = (e.composedPath()[0] as Element | undefined)?.closest?.("a");
		if (!a || a.target || a.hasAttribute("download") || a.origin !== location.origin || a.pathname.startsWith("/api/")) return;
		if (a.hash && a.pathname === location.pathname && a.search === location.search) return;
		e.preventDefault();
		go(a.pathname + a.search + a.hash);
	});
}
