// All problems, by paths; filter, sort, search.
import { useRef } from "preact/hooks";
import { api } from "../api";
import { percent } from "../format";
import { useKeys, useLoad, useTitle } from "../hooks";
import { t, useLanguage, word } from "../i18n";
import { byPaths } from "../paths";
import { setQuery, usePlace } from "../router";
import { useUser } from "../session";
import type { Path, ProblemItem } from "../types";
import { Choice, Empty, ErrorBox, Meter, TableBox, Waiting } from "../ui/parts";
import { SolvedMark, TierMark } from "../ui/verdict";

const levels = ["easy", "medium", "hard"];
const rate = (p: ProblemItem) => (p.attempts ? p.accepted / p.attempts : -1);
const orders: Record<string, (a: ProblemItem, b: ProblemItem) => number> = {
	title: (a, b) => a.title.en.localeCompare(b.title.en),
	difficulty: (a, b) => levels.indexOf(a.difficulty) - levels.indexOf(b.difficulty),
	best: (a, b) => (b.best_efficiency ?? -1) - (a.best_efficiency ?? -1),
	acceptance: (a, b) => rate(b) - rate(a),
};

/** Over the problems of a path: what it is about, how far one has come. */
function PathHead({ path, all, span }: { path: Path | null; all: ProblemItem[]; span: number }) {
	const lang = useLanguage();
	const user = useUser();
	const done = all.filter((p) => p.solved).length;
	return (
		<tr class="path">
			<th scope="rowgroup" colSpan={span}>
				<div class="path-head">
					<h2>{path ? path.title[lang] : t("further_problems")}</h2>
					{user && <span class="path-done">
						<svg class="bar" viewBox="0 0 96 6" preserveAspectRatio="none" aria-hidden="true"><rect width="96" height="6" rx="1" class="rail" /><rect width={(96 * done) / all.length} height="6" rx="1" class="fill" /></svg>
						<span class="num">{t("path_done", { n: done, all: all.length })}</span>
					</span>}
				</div>
				{path && <p>{path.about[lang]}</p>}
			</th>
		</tr>
	);
}

function Row({ problem: p, number }: { problem: ProblemItem; number: number | null }) {
	const lang = useLanguage();
	const user = useUser();
	const first = p.needs.filter((n) => !n.solved);
	return (
		<tr class="problem">
			{user && <td class="mark"><SolvedMark solved={p.solved} tried={p.tried ?? false} /></td>}
			<td>
				{number !== null && <span class="number num">{number}</span>}<a class="strong" href={`/problems/${p.id}`}>{p.title[lang] ?? p.title.en}</a>{p.hidden && <span class="tag">{t("hidden")}</span>}
				{number !== null && p.teaches && <p class="teaches">{p.teaches[lang]}</p>}
				{number !== null && !p.solved && first.length > 0 && <p class="teaches">{t("needs_first")}{first.map((n, i) => <>{i > 0 && ", "}<a href={`/problems/${n.id}`}>{n.title[lang]}</a></>)}</p>}
			</td>
			<td><span class={`level ${p.difficulty}`}>{word("level_", p.difficulty)}</span></td>
			<td class="wide">{p.tags.map((x) => <button key={x} type="button" class="tag" onClick={() => setQuery({ tag: x })}>{x}</button>)}</td>
			{user && <td class="n">{p.tier && <TierMark tier={p.tier} />} <Meter value={p.best_efficiency} label={t("best")} /></td>}
			<td class="n wide">{p.attempts ? <>{percent(p.accepted / p.attempts)} <span class="faint">{p.accepted}/{p.attempts}</span></> : <span class="faint">–</span>}</td>
		</tr>
	);
}

export default function ProblemsPage() {
	const user = useUser();
	const { query } = usePlace();
	const { data, error, reload } = useLoad(api.problems, "problems");
	const search = useRef<HTMLInputElement>(null);
	useTitle(t("problems"));
	useKeys({ "/": () => search.current?.focus() });
	if (error) return <div class="page"><ErrorBox error={error} retry={reload} /></div>;
	if (!data) return <Waiting />;

	const q = query.get("q") ?? "", level = query.get("level") ?? "", tag = query.get("tag") ?? "", state = query.get("state") ?? "";
	const order = orders[query.get("sort") ?? ""];
	const sort = order ? query.get("sort") : null;
	const tags = [...new Set(data.items.flatMap((p) => p.tags))].sort();
	const found = data.items.filter((p) =>
		(!q || [p.id, p.title.en, p.title.zh, ...p.tags].some((x) => x?.toLowerCase().includes(q.toLowerCase()))) && (!level || p.difficulty === level) && (!tag || p.tags.includes(tag)) &&
		(!state || (state === "solved") === p.solved));
	const whole = new Map(byPaths(data).map((g) => [g.path?.id ?? null, g.items]));
	const span = user ? 6 : 4;
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
						{order
							? <tbody>{[...found].sort(order).map((p) => <Row key={p.id} problem={p} number={null} />)}</tbody>
							: byPaths({ items: found, paths: data.paths }).map(({ path, items }) => {
								const all = whole.get(path?.id ?? null) ?? items;
								return (
									<tbody key={path?.id ?? ""}>
										{(path || whole.size > 1) && <PathHead path={path} all={all} span={span} />}
										{items.map((p) => <Row key={p.id} problem={p} number={all.indexOf(p) + 1} />)}
									</tbody>
								);
							})}
					</table>
				</TableBox>
			)}
		</div>
	);
}
