// Follows a judging to its end: by a stream of events, or, where streams don't come through, by asking every second.
import { api } from "./api";
import { eventParser } from "./sse";

export interface JudgingEvent { event: string; data: Record<string, unknown> }

const wait = (ms: number, signal: AbortSignal) =>
	new Promise<void>((done) => {
		const timer = setTimeout(done, ms);
		signal.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
	});

const isLast = (event: string) => event === "done" || event === "cancelled";

function parsed(text: string): Record<string, unknown> {
	try {
		const v: unknown = JSON.parse(text);
		return typeof v === "object" && v !== null ? (v as Record<string, unknown>) : {};
	} catch {
		return {};
	}
}

export async function follow(id: number, on: (e: JudgingEvent) => void, signal: AbortSignal): Promise<void> {
	let since: string | null = null;
	let broken = 0;

	/** Reads one connection to its end; true: the judging is over. */
	async function stream(): Promise<boolean> {
		const r = await api.events(id, since, signal);
		if (!r.ok || !r.body || !r.headers.get("Content-Type")?.startsWith("text/event-stream")) throw new Error("no stream");
		const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
		const feed = eventParser();
		for (;;) {
			const { done, value } = await reader.read();
			if (done) return false;
			for (const e of feed(value)) {
				since = e.id ?? since;
				broken = 0;
				on({ event: e.event, data: parsed(e.data) });
				if (isLast(e.event)) {
					void reader.cancel();
					return true;
				}
			}
		}
	}

	async function poll(): Promise<boolean> {
		const { items, next } = await api.eventsSince(id, since, signal);
		for (const e of items) {
			since = String(e.id);
			on({ event: e.event, data: (e.data ?? {}) as Record<string, unknown> });
			if (isLast(e.event)) return true;
		}
		if (next !== null && next !== undefined) since = String(next);
		return false;
	}

	while (!signal.aborted) {
		try {
			if (broken < 2 ? await stream() : await poll()) return;
			if (broken < 2) broken++;
		} catch {
			broken++;
		}
		await wait(broken < 2 ? 300 : Math.min(1000 * Math.max(1, broken - 1), 10000), signal);
		if (broken >= 3) broken = 2;
	}
}
