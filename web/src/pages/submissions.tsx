// Submissions: one's own, or, for those who teach, all; two of them can be compared.
import { useState } from "preact/hooks";
import { api } from "../api";
import { ago, micros, score } from "../format";
import { usePages, useLoad, useTitle } from "../hooks";
import { t, useLanguage } from "../i18n";
import { setQuery, usePlace } from "../router";
import { atLeast, useUser } from "../session";
import type { Verdict } from "../types";
import { Choice, Empty, ErrorBox, Meter, More, TableBox, Waiting } from "../ui/parts";
import { Outcome, verdictName } from "../ui/verdict";

const verdicts: Verdict[] = ["AC", "WA", "CE", "RE", "IMA", "RACE", "UB", "DL", "TLE", "MLE", "OLE", "NW", "IM", "RV", "SE"];

export default function SubmissionsPage() {
	const lang = useLanguage();
	const user = useUser();
	const { query } = usePlace();
	const staff = atLeast(user, "assistant");
	const f = { problem: query.get("problem") ?? "", verdict: query.get("verdict") ?? "", user: query.get("user") ?? "", group: query.get("group") ?? "" };
	const problems = useLoad(api.problems, "problems");
	const { items, error, reload, ...more } = usePages((cursor, s) => api.submissions({ ...f, cursor })(s), `submissions:${JSON.stringify(f)}`);
	const [chosen, setChosen] = useState<number[]>([]);
	useTitle(t("submissions"));
	const choose = (id: number) => setChosen((c) => (c.includes(id) ? c.filter((x) => x !== id) : [...c.slice(-1), id]));
	return (
		<div class="page">
			<h1>{t("submissions")}</h1>
			<div class="filters">
				<Choice compact label={t("problem")} value={f.problem} onValue={(v) => setQuery({ problem: v })} options={[["", t("any_problem")], ...(problems.data?.items ?? []).map((p) => [p.id, p.title[lang] ?? p.title.en] as const)]} />
				<Choice compact label={t("verdict")} value={f.verdict} onValue={(v) => setQuery({ verdict: v })} options={[["", t("any_verdict")], ["pending", t("pending")], ...verdicts.map((v) => [v, verdictName(v)] as const)]} />
				{staff && <input type="search" aria-label={t("user")} placeholder={t("user")} value={f.user} onChange={(e) => setQuery({ user: e.currentTarget.value })} />}
				<span class="space" />
				{chosen.length === 2 ? <a class="button" href={`/submissions/${Math.min(...chosen)}?with=${Math.max(...chosen)}`}>{t("compare")}</a> : <span class="faint small">{t("compare_hint")}</span>}
			</div>
			{error ? <ErrorBox error={error} retry={reload} /> : !items ? <Waiting /> : !items.length ? <Empty>{t("no_submissions")}</Empty> : <>
				<TableBox label={t("submissions")}>
					<table>
						<thead><tr><th class="mark"><span class="hidden">{t("compare")}</span></th><th>#</th>{staff && <th>{t("user")}</th>}<th>{t("problem")}</th><th>{t("verdict")}</th><th class="n">{t("score")}</th><th class="n wide">{t("efficiency")}</th><th class="n wide">{t("time")}</th><th class="wide">{t("device")}</th><th>{t("when")}</th></tr></thead>
						<tbody>{items.map((s) => (
							<tr key={s.id}>
								<td class="mark"><input type="checkbox" checked={chosen.includes(s.id)} onChange={() => choose(s.id)} aria-label={t("choose_n", { n: s.id })} /></td>
								<td><a href={`/submissions/${s.id}`}>{s.id}</a></td>{staff && <td><a href={`/users/${s.user}`}>{s.user}</a></td>}
								<td><a href={`/problems/${s.problem}`}>{s.problem}</a></td>
								<td><Outcome judging={s.judging} />{s.scope === "samples" && <span class="tag">{t("samples")}</span>}</td>
								<td class="n">{score(s.judging.score)}</td><td class="n wide"><Meter value={s.judging.efficiency} /></td><td class="n wide">{micros(s.judging.time_us)}</td>
								<td class="wide faint">{s.device}</td><td class="faint nowrap">{ago(s.created, lang)}</td>
							</tr>
						))}</tbody>
					</table>
				</TableBox>
				<More {...more} />
			</>}
		</div>
	);
}
