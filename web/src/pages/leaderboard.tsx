// Who is nearest to the roof, by problem and device, of all or of a class.
import { api } from "../api";
import { ago, micros, score } from "../format";
import { useLoad, usePages, useTitle } from "../hooks";
import { t, useLanguage } from "../i18n";
import { setQuery, usePlace } from "../router";
import { deviceName, useSite, useUser } from "../session";
import { Choice, Empty, ErrorBox, Meter, More, TableBox, Waiting } from "../ui/parts";

export default function LeaderboardPage({ id }: { id: string }) {
	const lang = useLanguage();
	const site = useSite();
	const user = useUser();
	const { query } = usePlace();
	const problem = useLoad(api.problem(id, lang), `problem:${id}`);
	const groups = useLoad((s) => (user ? api.groups(s) : Promise.resolve({ items: [] })), `groups:${user?.name ?? ""}`);
	const device = query.get("device") ?? site.devices[0]?.id ?? "";
	const group = query.get("group") ?? "";
	const { items, error, reload, ...more } = usePages((cursor, s) => api.leaderboard(id, { device, group, cursor })(s), `board:${id}:${device}:${group}`);
	const title = problem.data?.title[lang] ?? id;
	useTitle(`${t("leaderboard")}: ${title}`);
	return (
		<div class="page">
			<p class="crumb"><a href={`/problems/${id}`}>{title}</a></p>
			<h1>{t("leaderboard")}</h1>
			<div class="filters">
				<Choice compact label={t("device")} value={device} onValue={(v) => setQuery({ device: v })} options={site.devices.map((d) => [d.id, deviceName(d)])} />
				{(groups.data?.items.length ?? 0) > 0 && <Choice compact label={t("group")} value={group} onValue={(v) => setQuery({ group: v })} options={[["", t("everybody")], ...(groups.data?.items ?? []).map((g) => [String(g.id), g.name] as const)]} />}
			</div>
			{error ? <ErrorBox error={error} retry={reload} /> : !items ? <Waiting /> : !items.length ? <Empty>{t("no_ranks")}</Empty> : <>
				<TableBox label={t("leaderboard")}>
					<table>
						<thead><tr><th class="n">{t("rank")}</th><th>{t("user")}</th><th class="n">{t("efficiency")}</th><th class="n">{t("time")}</th><th class="n">{t("score")}</th><th class="wide">{t("when")}</th></tr></thead>
						<tbody>{items.map((r) => (
							<tr key={r.user} class={r.user === user?.name ? "chosen" : undefined}>
								<td class="n">{r.rank}</td><td><a href={`/users/${r.user}`}>{r.display || r.user}</a>{r.user === user?.name && <span class="tag">{t("you")}</span>}</td>
								<td class="n"><Meter value={r.efficiency} /></td><td class="n">{micros(r.time_us)}</td><td class="n">{score(r.score)}</td><td class="faint wide nowrap">{ago(r.when, lang)}</td>
							</tr>
						))}</tbody>
					</table>
				</TableBox>
				<More {...more} />
			</>}
		</div>
	);
}
