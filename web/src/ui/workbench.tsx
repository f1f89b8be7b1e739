// What the page of a problem and that of a submission share: the source with its marks, and the PTX that it became.
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { api } from "../api";
import { linkPtx } from "../editor/link";
import type { CodeView, Heat } from "../editor/view";
import { count, percent } from "../format";
import { useLoad } from "../hooks";
import { t, useLanguage } from "../i18n";
import type { Judging, Line } from "../types";
import { Empty, ErrorBox, Waiting } from "./parts";
import { Code } from "./source";

/** CodeMirror's own words, in the language of the page. */
export const phrases = () => ({
	"Find": t("cm_find"), "Replace": t("cm_replace"), "next": t("cm_next"), "previous": t("cm_previous"), "all": t("cm_all"), "match case": t("cm_case"),
	"by word": t("cm_word"), "regexp": t("cm_regexp"), "replace": t("cm_replace"), "replace all": t("cm_replace_all"), "close": t("close"),
});

function heatOf(lines: Line[] | undefined, lang: string): Heat[] {
	const top = Math.max(1e-9, ...(lines ?? []).map((l) => l.share));
	return (lines ?? []).filter((l) => l.share > 0).map((l) => ({
		line: l.line,
		share: l.share / top,
		label: percent(l.share),
		title: t("heat_title", { share: percent(l.share, 1), instructions: count(l.instructions, lang), sectors: count(l.sectors, lang), conflicts: count(l.conflicts, lang) }),
	}));
}

/** Puts a result's marks on the source while that is what was judged, and takes them off once it's edited. */
export function useMarks(view: CodeView | null, judging: Judging | null, fresh: boolean): void {
	const lang = useLanguage();
	useEffect(() => {
		if (!view) return;
		const on = fresh && judging?.state === "done";
		view.diagnose(on ? judging.diagnostics ?? [] : []);
		view.heat(on ? heatOf(judging.lines, lang) : []);
		if (!on) view.mark([], false);
	}, [view, judging, fresh, lang]);
}

/** The line under the cursor in PTX or source marks its lines in the other. */
export function PtxPane({ judging, name, source, line, fresh }: { judging: Judging; name: string; source: RefObject<CodeView | null>; line: number; fresh: boolean }) {
	const loaded = useLoad(api.ptx(judging.id), `ptx:${judging.id}`);
	const text = loaded.data?.ptx;
	const link = useMemo(() => (text ? linkPtx(text, name) : null), [text, name]);
	const view = useRef<CodeView | null>(null);
	useEffect(() => {
		if (fresh && link) view.current?.mark(link.ptx.get(line) ?? [], true);
	}, [line, link, fresh]);
	if (loaded.error) return loaded.error.status === 404 ? <Empty>{t("no_ptx")}</Empty> : <ErrorBox error={loaded.error} retry={loaded.reload} />;
	if (!text) return <Waiting />;
	const back = (n: number) => {
		const from = link?.source[n - 1] ?? 0;
		if (!fresh) return;
		source.current?.mark(from ? [from] : [], true);
		if (from) view.current?.mark(link?.ptx.get(from) ?? [], false);
	};
	return (
		<div class="ptx">
			<div class="ptx-bar">{fresh ? <span class="faint">{t("ptx_hint")}</span> : <span class="stale">{t("ptx_stale")}</span>}</div>
			<Code class="fill" options={{ text, label: t("ptx_label"), language: "assembly", readOnly: true, phrases: phrases(), onLine: back }} view={(v) => { view.current = v; }} />
		</div>
	);
}
