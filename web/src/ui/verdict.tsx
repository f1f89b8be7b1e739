// A verdict is always an icon, a word and a colour: never colour alone.
import { t, word } from "../i18n";
import type { JudgingShort, State, Tier, Verdict } from "../types";
import { Icon, type IconName } from "./icons";

type Tone = "good" | "bad" | "warn" | "idle";
const looks: Record<Verdict, [IconName, Tone]> = {
	AC: ["check", "good"], WA: ["cross", "bad"], CE: ["code", "warn"], RE: ["warn", "bad"], IMA: ["ban", "bad"], RACE: ["race", "bad"],
	UB: ["warn", "bad"], DL: ["ban", "bad"], TLE: ["clock", "bad"], MLE: ["memory", "bad"], OLE: ["memory", "bad"], NW: ["cross", "bad"],
	IM: ["ban", "bad"], RV: ["ban", "bad"], SE: ["gear", "warn"],
};

export const verdictName = (v: Verdict) => word("v_", v);
export const tone = (v: Verdict | null): Tone => (v ? looks[v]?.[1] ?? "bad" : "idle");

export function VerdictMark({ verdict, long = true }: { verdict: Verdict; long?: boolean }) {
	const [icon, mood] = looks[verdict] ?? ["warn", "bad"];
	return (
		<span class={`verdict ${mood}`} title={verdictName(verdict)}>
			<Icon name={icon} />
			{long ? <span>{verdictName(verdict)}</span> : <abbr title={verdictName(verdict)}>{verdict}</abbr>}
		</span>
	);
}

export const stateName = (s: State) => word("state_", s);
export const stageName = (s: string) => word("stage_", s);

/** What a judging came to, or where it stands. */
export function Outcome({ judging }: { judging: Pick<JudgingShort, "state" | "verdict"> }) {
	if (judging.state === "done" && judging.verdict) return <VerdictMark verdict={judging.verdict} />;
	return (
		<span class="verdict idle">
			<Icon name={judging.state === "cancelled" ? "ban" : "dots"} />
			<span>{stateName(judging.state)}</span>
		</span>
	);
}

export function TierMark({ tier }: { tier: Tier }) {
	return <span class={`tier ${tier}`}><Icon name="medal" size={14} />{word("tier_", tier)}</span>;
}

export function SolvedMark({ solved, tried }: { solved: boolean; tried: boolean }) {
	if (solved) return <span class="verdict good" title={t("solved")}><Icon name="check" /><span class="hidden">{t("solved")}</span></span>;
	if (tried) return <span class="verdict idle" title={t("tried")}><Icon name="dots" /><span class="hidden">{t("tried")}</span></span>;
	return <span class="hidden">{t("untried")}</span>;
}
