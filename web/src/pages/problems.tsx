// All problems: filter, sort, search.
import { useRef } from "preact/hooks";
import { api } from "../api";
import { percent } from "../format";
import { useKeys, useLoad, useTitle } from "../hooks";
import { t, useLanguage, word } from "../i18n";
import { setQuery, usePlace } from "../router";
import { useUser } from "../session";
import type { ProblemItem } from "../types";
import { Choice, Empty, ErrorBox, Meter, TableBox, Waiting } from "../ui/parts";
import { SolvedMark } from "../ui/verdict";

const levels = ["easy", "medium", "hard"];
const rate = (p: ProblemItem) => (p.attempts ? p.accepted / p.attempts : -1);
const orders: Record<string, (a: ProblemItem, b: ProblemItem) => number> = {
	position: (a, b) => a.position - b.position,
	title: (a, b) => a.title.en.localeCompare(b.title.en),
	difficulty: (a, b) => levels.indexOf(a.difficulty) - levels.indexOf(b.difficulty),
	best: (a, b) => (b.best_efficiency ?? -1) - (a.best_efficiency ?? -1),
	acceptance: (a, b) => rate(b) - rate(a),
};

export default function ProblemsPage() {
	const lang = useLanguage();
	const user = useUser();
	const { query } = usePlace();
	const { data, error, reload } = useLoad(api.problems, "problems");
	const search = useRef<HTMLInputElement>(null);
	useTitle(t("problems"));
	useKeys({ "/": () => search.current?.focus() });
	if (error) return <div class="page"><ErrorBox error={error} retry={reload} /></div>;
	if (!data) return <Waiting />;

	const q = query.get("q") ?? "", level = query.get("level") ?? "", tag = query.get("tag") ?? "", state = query.get("state") ?? "";
	const sort = query.get("sort") ?? "position";
	const tags = [...new Set(data.items.flatMap((p) => p.tags))].sort();
	const found = data.items.filter((p) =>
		(!q || [p.id, p.title.en, p.title.zh, ...p.tags].some((x) => x?.toLowerCase().includes(q.toLowerCase()))) && (!level || p.difficulty === level) && (!tag || p.tags.includes(tag)) &&
		(!state || (state === "solved") === p.solved)).sort(orders[sort] ?? orders["position"]);
	const head = (key: string, text: string, cls = "") => (
		<th class={cls} aria-sort={sort === key ? (key === "best" || key === "acceptance" ? "descending" : "ascending") : undefined}>
			<button type="button" class="sort" onClick={() => setQuery({ sort: sort === key ? null : key })}>{text}</button>
		</th>
	);
	return (
		<div class="page">
			<h1>{t("problems")}</h1>
			<div class="filters" role="search">
				<input ref={search} type="search" class="search" placeholder={t("search_problems")} aria-label={t("search_problems")} value={q} onInput={(e) => setQuery({ q: e.currentTarget.value })} />
				<Choice compact label={t("difficulty")} value={level} onValue={(v) => setQuery({ level: v })} options={[["", t("any_difficulty")], ...levels.map((l) => [l, word("level_", l)] as const)]} />
				<Choice compact label={t("tag")} value={tag} onValue={(v) => setQuery({ tag: v })} options={[["", t("any_tag")], ...tags.map((x) => [x, x] as const)]} />
				{user && <Choice compact label={t("state")} value={state} onValue={(v) => setQuery({ state: v })} options={[["", t("any_state")], ["solved", t("solved")], ["open", t("unsolved")]]} />}
			</div>
			{found.length === 0 ? <Empty>{t("no_problems")}</Empty> : (
				<TableBox label={t("problems")}>
					<table class="problems">
						<thead><tr>{user && <th class="mark"><span class="hidden">{t("state")}</span></th>}{head("title", t("title"))}{head("difficulty", t("difficulty"))}<th class="wide">{t("tags")}</th>{user && head("best", t("best"), "n")}{head("acceptance", t("acceptance"), "n wide")}</tr></thead>
						<tbody>{found.map((p) => (
							<tr key={p.id}>
								{user && <td class="mark"><SolvedMark solved={p.solved} tried={p.tried ?? false} /></td>}
								<td><a class="strong" href={`/problems/${p.id}`}>{p.title[lang] ?? p.title.en}</a>{p.hidden && <span class="tag">{t("hidden")}</span>}</td>
								<td><span class={`level ${p.difficulty}`}>{word("level_", p.difficulty)}</span></td>
								<td class="wide">{p.tags.map((x) => <button key={x} type="button" class="tag" onClick={() => setQuery({ tag: x })}>{x}</button>)}</td>
								{user && <td class="n"><Meter value={p.best_efficiency} label={t("best")} /></td>}
								<td class="n wide">{p.attempts ? <>{percent(p.accepted / p.attempts)} <span class="faint">{p.accepted}/{p.attempts}</span></> : <span class="faint">–</span>}</td>
							</tr>
						))}</tbody>
					</table>
				</TableBox>
			)}
		</div>
	);
}
