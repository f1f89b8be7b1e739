// Every string a person reads, in their language. A key that a dictionary lacks, or a parameter that a call lacks, is a compile error.
import { store, useStore } from "../store";
import { speak } from "../api";
import type { Language } from "../types";
import type { en } from "./en";

export type Key = keyof typeof en;
export type Dictionary = Readonly<Record<Key, string>>;

// "{n} {n|run|runs} of {all}" needs n and all.
type Names<S extends string> = S extends `${string}{${infer P}}${infer R}` ? (P extends `${infer N}|${string}` ? N : P) | Names<R> : never;
type Values<K extends Key> = Names<(typeof en)[K]>;
type Rest<K extends Key> = [Values<K>] extends [never] ? [] : [Record<Values<K>, string | number>];

/** Each language by its own name. */
export const languageNames: Record<Language, string> = { en: "English", zh: "中文" };

let words: Dictionary;
export const language = store<Language>("en");

export function fill(text: string, values: Record<string, string | number> = {}): string {
	return text.replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name: string, one?: string, other?: string) =>
		one !== undefined ? (Number(values[name]) === 1 ? one : other ?? "") : String(values[name] ?? ""));
}

export function t<K extends Key>(key: K, ...values: Rest<K>): string {
	return fill(words[key], values[0]);
}

/** A word that the server names by a code, such as a verdict: the code itself where the dictionary hasn't got it. */
export function word(prefix: string, code: string): string {
	return (words as Record<string, string>)[prefix + code] ?? code;
}

export async function setLanguage(lang: Language): Promise<void> {
	words = lang === "zh" ? (await import("./zh")).zh : (await import("./en")).en;
	document.documentElement.lang = lang === "zh" ? "zh-CN" : "en";
	localStorage.setItem("language", lang);
	speak(lang);
	language.set(lang);
}

export function firstLanguage(): Language {
	const kept = localStorage.getItem("language");
	if (kept === "en" || kept === "zh") return kept;
	return navigator.languages.some((l) => l.startsWith("zh")) ? "zh" : "en";
}

export const useLanguage = () => useStore(language);
