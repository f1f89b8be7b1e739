// A year of days as small squares, weeks as columns, and a table of its months beside it.
import { t, useLanguage } from "../i18n";
import type { Day } from "../types";

const DAY = 86400000;
export const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
const level = (n: number) => (n === 0 ? 0 : n < 3 ? 1 : n < 6 ? 2 : n < 12 ? 3 : 4);

export function Calendar({ activity, now = Date.now() }: { activity: Day[]; now?: number }) {
	const lang = useLanguage();
	const by = new Map(activity.map((d) => [d.day, d]));
	const today = Math.floor(now / DAY) * DAY;
	const weekday = (new Date(today).getUTCDay() + 6) % 7;	// Monday first
	const first = today - weekday * DAY - 52 * 7 * DAY;
	const days = Array.from({ length: Math.round((today - first) / DAY) + 1 }, (_, i) => first + i * DAY);
	const total = activity.reduce((n, d) => n + d.submissions, 0);
	const name = new Intl.DateTimeFormat(lang === "zh" ? "zh-CN" : "en-GB", { month: "short", timeZone: "UTC" });
	return (
		<figure class="calendar">
			<figcaption>{t("activity", { n: total })}</figcaption>
			<div class="table-box" tabIndex={0} role="region" aria-label={t("activity", { n: total })}>
				<svg width={53 * 13 + 2} height={7 * 13 + 20} role="img" aria-label={t("activity", { n: total })}>
					{days.map((d, i) => {
						const a = by.get(dayOf(d));
						const week = Math.floor(i / 7);
						const date = new Date(d);
						return (
							<g key={d}>
								{date.getUTCDate() === 1 && <text x={week * 13} y="10">{name.format(date)}</text>}
								<rect x={week * 13} y={18 + (i % 7) * 13} width="11" height="11" rx="2" class={`day l${level(a?.submissions ?? 0)}`}><title>{`${dayOf(d)}: ${t("day", { n: a?.submissions ?? 0, ok: a?.accepted ?? 0 })}`}</title></rect>
							</g>
						);
					})}
				</svg>
			</div>
			{activity.length > 0 && <details>
				<summary>{t("as_table")}</summary>
				<table><thead><tr><th>{t("day_head")}</th><th class="n">{t("submissions")}</th><th class="n">{t("v_AC")}</th></tr></thead>
					<tbody>{[...activity].reverse().slice(0, 60).map((d) => <tr key={d.day}><td>{d.day}</td><td class="n">{d.submissions}</td><td class="n">{d.accepted}</td></tr>)}</tbody></table>
			</details>}
		</figure>
	);
}
