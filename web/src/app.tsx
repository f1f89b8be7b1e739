// The frame around every page, and which page an address shows.
import { useEffect, useState } from "preact/hooks";
import { api } from "./api";
import { isMac, useKeys } from "./hooks";
import { language, setLanguage, t, useLanguage } from "./i18n";
import { go, match, usePlace } from "./router";
import { atLeast, setUser, useSite, useUser } from "./session";
import { useStore } from "./store";
import { setTheme, theme, type Theme } from "./theme";
import { Icon } from "./ui/icons";
import { Dialog, lazy, signInUrl } from "./ui/parts";

const Problems = lazy(() => import("./pages/problems"));
const Problem = lazy(() => import("./pages/problem"));
const Statement = lazy(() => import("./pages/statement"));
const Leaderboard = lazy(() => import("./pages/leaderboard"));
const Submissions = lazy(() => import("./pages/submissions"));
const Submission = lazy(() => import("./pages/submission"));
const User = lazy(() => import("./pages/user"));
const SignIn = lazy(() => import("./pages/sign-in"));
const Settings = lazy(() => import("./pages/settings"));
const Groups = lazy(() => import("./pages/groups"));
const Manage = lazy(() => import("./pages/manage"));

type Params = Record<string, string>;
const routes: readonly (readonly [pattern: string, who: "all" | "user" | "staff", show: (p: Params) => preact.ComponentChild])[] = [
	["/", "all", () => <Problems />],
	["/problems", "all", () => <Problems />],
	["/problems/:id", "all", (p) => <Problem id={p["id"] as string} />],
	["/problems/:id/leaderboard", "all", (p) => <Leaderboard id={p["id"] as string} />],
	["/problems/:id/edit", "staff", (p) => <Statement id={p["id"] as string} />],
	["/submissions", "user", () => <Submissions />],
	["/submissions/:id", "user", (p) => <Submission id={p["id"] as string} />],
	["/users/:name", "user", (p) => <User name={p["name"] as string} />],
	["/sign-in", "all", () => <SignIn key="in" />],
	["/register", "all", () => <SignIn key="new" register />],
	["/settings", "all", () => <Settings />],
	["/groups", "user", () => <Groups />],
	["/groups/:id", "user", (p) => <Groups id={p["id"] as string} />],
	["/manage", "staff", () => <Manage />],
];

function NotFound() {
	return <div class="page narrow"><h1>404</h1><p>{t("not_found")}</p><p><a href="/problems">{t("problems")}</a></p></div>;
}

function Page() {
	const { path } = usePlace();
	const user = useUser();
	for (const [pattern, who, show] of routes) {
		const params = match(pattern, path);
		if (!params) continue;
		if (who !== "all" && !user) return <div class="page narrow"><h1>{t("sign_in_first")}</h1><p><a class="button primary" href={signInUrl()}>{t("sign_in")}</a></p></div>;
		if (who === "staff" && !atLeast(user, "instructor")) return <NotFound />;
		return <>{show(params)}</>;
	}
	return <NotFound />;
}

function Keys({ onClose }: { onClose(): void }) {
	const mod = isMac ? "⌘" : "Ctrl";
	const rows: [string[], string][] = [
		[[mod, "Enter"], t("key_submit")], [[mod, "'"], t("key_samples")], [["Esc", "Tab"], t("key_leave")], [[mod, "F"], t("key_find")], [["/"], t("key_search")],
		[["g", "p"], t("problems")], [["g", "s"], t("submissions")], [["←", "→"], t("key_arrows")], [["?"], t("key_help")],
	];
	return (
		<Dialog title={t("keys")} onClose={onClose}>
			<table class="keys"><tbody>{rows.map(([keys, what]) => <tr key={what}><th scope="row">{keys.map((k) => <kbd key={k}>{k}</kbd>)}</th><td>{what}</td></tr>)}</tbody></table>
		</Dialog>
	);
}

const nextTheme: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

function Header({ onHelp }: { onHelp(): void }) {
	const site = useSite();
	const user = useUser();
	const lang = useLanguage();
	const chosen = useStore(theme);
	const { path } = usePlace();
	const at = (p: string) => (path === p || path.startsWith(p + "/") || (p === "/problems" && path === "/") ? "page" as const : undefined);
	const signOut = () => void api.signOut().then(() => { setUser(null); go("/problems"); }, () => undefined);
	return (
		<header class="top">
			<a class="brand" href="/problems"><svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true"><path d="M4 26 15 9h13" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" stroke-linejoin="round" /><circle cx="20" cy="18" r="3" fill="currentColor" /></svg>{site.name}</a>
			<nav aria-label={t("main_nav")}>
				<a href="/problems" aria-current={at("/problems")}>{t("problems")}</a>
				{user && <a href="/submissions" aria-current={at("/submissions")}>{t("submissions")}</a>}
				{user && <a href="/groups" aria-current={at("/groups")}>{t("groups")}</a>}
				{atLeast(user, "instructor") && <a href="/manage" aria-current={at("/manage")}>{t("manage")}</a>}
			</nav>
			<span class="space" />
			<div class="tools">
				<button type="button" class="quiet" onClick={() => void setLanguage(lang === "en" ? "zh" : "en")} lang={lang === "en" ? "zh-CN" : "en"}>{lang === "en" ? "中文" : "English"}</button>
				<button type="button" class="quiet square" onClick={() => setTheme(nextTheme[chosen])} aria-label={t("theme_now", { name: t(`theme_${chosen}`) })} title={t("theme_now", { name: t(`theme_${chosen}`) })}><Icon name={chosen === "dark" ? "moon" : chosen === "light" ? "sun" : "half"} /></button>
				<button type="button" class="quiet square help" onClick={onHelp} aria-label={t("keys")} title={t("keys")}>?</button>
				{user ? <><a href={`/users/${user.name}`} class="me">{user.display || user.name}</a><button type="button" class="quiet" onClick={signOut}>{t("sign_out")}</button></> : <a class="button" href="/sign-in">{t("sign_in")}</a>}
			</div>
		</header>
	);
}

export function App() {
	useLanguage();
	const [help, setHelp] = useState(false);
	const [g, setG] = useState(0);
	const after = (path: string) => () => { if (Date.now() - g < 1500) go(path); };
	useKeys({ "?": () => setHelp(true), g: () => setG(Date.now()), p: after("/problems"), s: after("/submissions") });
	useEffect(() => { document.title = document.title || "judge"; }, [language]);
	return (
		<>
			<a class="skip" href="#main">{t("skip")}</a>
			<Header onHelp={() => setHelp(true)} />
			<main id="main" tabIndex={-1}><Page /></main>
			{help && <Keys onClose={() => setHelp(false)} />}
		</>
	);
}
