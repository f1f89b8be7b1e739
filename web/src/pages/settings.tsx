// One's own account: name, language, theme, password, tokens.
import { useState } from "preact/hooks";
import { api } from "../api";
import { when } from "../format";
import { useLoad, useTitle } from "../hooks";
import { languageNames, setLanguage, t, useLanguage } from "../i18n";
import { setUser, useSite, useUser } from "../session";
import { useStore } from "../store";
import { setTheme, theme } from "../theme";
import { Choice, Empty, ErrorBox, errorText, Field, TableBox, useNotice } from "../ui/parts";

function Tokens() {
	const lang = useLanguage();
	const { data, error, reload } = useLoad(api.tokens, "tokens");
	const [name, setName] = useState("");
	const [days, setDays] = useState("90");
	const [secret, setSecret] = useState<string | null>(null);
	const [failed, setFailed] = useState<unknown>(null);
	const add = (e: Event) => {
		e.preventDefault();
		setFailed(null);
		api.addToken(name, Number(days)).then((x) => { setSecret(x.token ?? null); setName(""); reload(); }, setFailed);
	};
	return (
		<section>
			<h2>{t("tokens")}</h2>
			<p class="faint">{t("tokens_text")}</p>
			{secret && <div class="secret" role="status"><p>{t("token_once")}</p><code tabIndex={0}>{secret}</code></div>}
			{error ? <ErrorBox error={error} retry={reload} /> : data && (data.items.length === 0 ? <Empty>{t("no_tokens")}</Empty> : (
				<TableBox label={t("tokens")}>
					<table>
						<thead><tr><th>{t("name")}</th><th>{t("expires")}</th><th>{t("last_used")}</th><th><span class="hidden">{t("remove")}</span></th></tr></thead>
						<tbody>{data.items.map((x) => <tr key={x.id}><td>{x.name}</td><td class="nowrap">{x.expires ? when(x.expires, lang) : "–"}</td><td class="nowrap">{x.last_used ? when(x.last_used, lang) : t("never")}</td><td class="n"><button type="button" class="quiet" onClick={() => api.dropToken(x.id).then(reload, setFailed)}>{t("remove")}</button></td></tr>)}</tbody>
					</table>
				</TableBox>
			))}
			<form class="form inline-form" onSubmit={add}>
				<Field label={t("token_for")} value={name} onValue={setName} required maxLength={80} />
				<Field label={t("days")} type="number" value={days} onValue={setDays} required min="1" max="3650" />
				<button type="submit">{t("make_token")}</button>
			</form>
			{failed !== null && <p class="field-error" role="alert">{errorText(failed)}</p>}
		</section>
	);
}

export default function SettingsPage() {
	const user = useUser();
	const site = useSite();
	const lang = useLanguage();
	const chosen = useStore(theme);
	const [notice, say] = useNotice();
	const [display, setDisplay] = useState(user?.display ?? "");
	const [old, setOld] = useState("");
	const [password, setPassword] = useState("");
	useTitle(t("settings"));
	const change = async (c: Parameters<typeof api.changeUser>[1]) => {
		try {
			setUser(await api.changeUser(user!.name, c));
			say(t("saved"));
			return true;
		} catch (e) {
			say(errorText(e), true);
			return false;
		}
	};
	return (
		<div class="page narrow">
			<h1>{t("settings")}</h1>
			{notice}
			<section>
				<h2>{t("appearance")}</h2>
				<Choice label={t("language")} value={lang} options={site.languages.map((l) => [l, languageNames[l]])} onValue={(l) => { void setLanguage(l); if (user) void change({ language: l }); }} />
				<Choice label={t("theme")} value={chosen} options={[["system", t("theme_system")], ["light", t("theme_light")], ["dark", t("theme_dark")]]} onValue={setTheme} />
			</section>
			{user && <>
				<section>
					<h2>{t("account")}</h2>
					<form class="form" onSubmit={(e) => { e.preventDefault(); void change({ display }); }}>
						<Field label={t("display_name")} value={display} onValue={setDisplay} maxLength={80} required />
						<div class="actions start"><button type="submit">{t("save")}</button></div>
					</form>
				</section>
				<section>
					<h2>{t("change_password")}</h2>
					<form class="form" onSubmit={async (e) => { e.preventDefault(); if (await change({ old_password: old, password })) { setOld(""); setPassword(""); } }}>
						<input type="text" hidden autocomplete="username" value={user.name} readOnly />
						<Field label={t("old_password")} type="password" value={old} onValue={setOld} required autocomplete="current-password" />
						<Field label={t("new_password")} type="password" value={password} onValue={setPassword} required autocomplete="new-password" hint={t("password_hint")} />
						<div class="actions start"><button type="submit">{t("change_password")}</button></div>
					</form>
				</section>
				<Tokens />
			</>}
		</div>
	);
}
