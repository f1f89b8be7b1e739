// A judging that is followed while it runs.
import { useCallback, useEffect, useState } from "preact/hooks";
import { api } from "./api";
import { follow } from "./follow";
import { useLanguage } from "./i18n";
import type { Case, Judging } from "./types";

const number = (v: unknown) => (typeof v === "number" ? v : 0);

/** What an event changes of what is shown. */
export function applyEvent(j: Judging, event: string, data: Record<string, unknown>): Judging {
	switch (event) {
	case "queued":
		return { ...j, state: "queued", place: number(data["place"]) || j.place, progress: null };
	case "stage":
	case "progress":
		return { ...j, state: "running", place: null, progress: { stage: String(data["stage"] ?? j.progress?.stage ?? "start"), done: number(data["done"]), total: number(data["total"]) } };
	case "case":
		return { ...j, cases: [...(j.cases ?? []), data as unknown as Case] };
	default:
		return j;
	}
}

export function useJudging(id: number | null, onDone?: (j: Judging) => void): { judging: Judging | null; error: unknown; cancel(): void } {
	const lang = useLanguage();	// the server says its sentences in it
	const [judging, setJudging] = useState<Judging | null>(null);
	const [error, setError] = useState<unknown>(null);
	useEffect(() => {
		setJudging(null);
		setError(null);
		if (id === null) return;
		const stop = new AbortController();
		const load = async () => {
			const j = await api.judging(id)(stop.signal);
			if (!stop.signal.aborted) setJudging(j);
			return j;
		};
		(async () => {
			const first = await load();
			if (first.state === "done" || first.state === "cancelled") return;
			await follow(id, (e) => setJudging((j) => j && applyEvent(j, e.event, e.data)), stop.signal);
			if (stop.signal.aborted) return;
			const last = await load();
			onDone?.(last);
		})().catch((e: unknown) => { if (!stop.signal.aborted) setError(e); });
		return () => stop.abort();
	}, [id, lang]);
	const cancel = useCallback(() => {
		if (id !== null) api.cancel(id).then(setJudging, setError);
	}, [id]);
	return { judging, error, cancel };
}
