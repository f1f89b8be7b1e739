// Dark, light, or as the system says.
import { store } from "./store";

export type Theme = "system" | "light" | "dark";
const kept = localStorage.getItem("theme");
export const theme = store<Theme>(kept === "light" || kept === "dark" ? kept : "system");

export function setTheme(t: Theme): void {
	if (t === "system") {
		localStorage.removeItem("theme");
		delete document.documentElement.dataset["theme"];
	} else {
		localStorage.setItem("theme", t);
		document.documentElement.dataset["theme"] = t;
	}
	theme.set(t);
}
