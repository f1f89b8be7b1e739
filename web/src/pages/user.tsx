// A user: what they solved, and when they worked.
import { api } from "../api";
import { micros, when } from "../format";
import { useLoad, useTitle } from "../hooks";
import { t, useLanguage, word } from "../i18n";
import { useUser } from "../session";
import { Calendar } from "../ui/calendar";
import { Empty, ErrorBox, Meter, TableBox, Waiting } from "../ui/parts";

export default function UserPage({ name }: { name: string }) {
	const lang = useLanguage();
	const me = useUser();
	const { data, error, reload } = useLoad(api.profile(name), `user:${name}`);
	useTitle(data?.user.display ?? name);
	if (error) return <div class="page"><ErrorBox error={error} retry={reload} /></div>;
	if (!data) return <Waiting />;
	return (
		<div class="page">
			<h1>{data.user.display || data.user.name}</h1>
			<p class="meta"><code>{data.user.name}</code> · {word("role_", data.user.role)} · {t("since", { when: when(data.user.created, lang) })}{me?.name === name && <> · <a href="/settings">{t("settings")}</a></>}</p>
			<Calendar activity={data.activity} />
			<h2>{t("solved_n", { n: new Set(data.solved.map((s) => s.problem)).size })}</h2>
			{data.solved.length === 0 ? <Empty>{t("none_solved")}</Empty> : (
				<TableBox label={t("solved")}>
					<table>
						<thead><tr><th>{t("problem")}</th><th>{t("device")}</th><th class="n">{t("efficiency")}</th><th class="n">{t("time")}</th><th class="n">{t("submission")}</th></tr></thead>
						<tbody>{data.solved.map((s) => <tr key={s.problem + s.device}><td><a href={`/problems/${s.problem}`}>{s.problem}</a></td><td class="faint">{s.device}</td><td class="n"><Meter value={s.efficiency} /></td><td class="n">{micros(s.time_us)}</td><td class="n">{s.submission ? <a href={`/submissions/${s.submission}`}>{s.submission}</a> : "–"}</td></tr>)}</tbody>
					</table>
				</TableBox>
			)}
		</div>
	);
}
