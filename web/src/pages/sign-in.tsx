// Signing in, and making an account.
import { useState } from "preact/hooks";
import { api, ApiError } from "../api";
import { useTitle } from "../hooks";
import { language, setLanguage, t } from "../i18n";
import { go, usePlace } from "../router";
import { loadSite, setUser, useSite } from "../session";
import { errorText, Field } from "../ui/parts";

function useForm(send: () => Promise<void>) {
	const [error, setError] = useState<unknown>(null);
	const [busy, setBusy] = useState(false);
	const onSubmit = async (e: Event) => {
		e.preventDefault();
		setBusy(true);
		setError(null);
		try {
			await send();
		} catch (x) {
			setError(x);
		}
		setBusy(false);
	};
	const field = error instanceof ApiError ? error.field : null;
	const at = (name: string) => (field === name ? errorText(error) : null);
	return { onSubmit, busy, at, general: error !== null && field === null ? errorText(error) : null };
}

/** Only pages of this site: "//elsewhere" is none. */
const target = (next: string | null) => (next && /^\/(?![/\\])/.test(next) ? next : "/problems");

export default function SignInPage({ register = false }: { register?: boolean }) {
	const site = useSite();
	const next = usePlace().query.get("next");
	const [name, setName] = useState("");
	const [display, setDisplay] = useState("");
	const [password, setPassword] = useState("");
	const [invite, setInvite] = useState("");
	useTitle(register ? t("register") : t("sign_in"));
	const form = useForm(async () => {
		const user = register
			? await api.register({ name, password, language: language.get(), ...(display ? { display } : {}), ...(invite ? { invite: invite.trim() } : {}) })
			: await api.signIn(name, password);
		setUser(user);
		if (!register && user.language !== language.get()) await setLanguage(user.language);
		await loadSite();
		go(target(next));
	});
	const closed = register && site.registration === "closed";
	const more = next ? `?next=${encodeURIComponent(next)}` : "";
	return (
		<div class="page narrow">
			<h1>{register ? t("register") : t("sign_in")}</h1>
			{closed ? <p>{t("registration_closed")}</p> : (
				<form class="form" onSubmit={form.onSubmit}>
					<Field label={t("user_name")} value={name} onValue={setName} error={form.at("name")} hint={register ? t("user_name_hint") : undefined} required autocomplete="username" name="name" maxLength={32} />
					{register && <Field label={t("display_name")} value={display} onValue={setDisplay} error={form.at("display")} hint={t("optional")} autocomplete="name" name="display" maxLength={80} />}
					<Field label={t("password")} type="password" value={password} onValue={setPassword} error={form.at("password")} hint={register ? t("password_hint") : undefined} required autocomplete={register ? "new-password" : "current-password"} name="password" />
					{register && site.registration === "invite" && <Field label={t("invite")} value={invite} onValue={setInvite} error={form.at("invite")} required name="invite" />}
					{form.general && <p class="field-error" role="alert">{form.general}</p>}
					<div class="actions start"><button type="submit" class="primary" disabled={form.busy}>{register ? t("register") : t("sign_in")}</button></div>
				</form>
			)}
			<p class="faint">{register ? <>{t("have_account")} <a href={`/sign-in${more}`}>{t("sign_in")}</a></> : site.registration !== "closed" && <>{t("no_account")} <a href={`/register${more}`}>{t("register")}</a></>}</p>
		</div>
	);
}
