// Figures as people read them. Pure; `lang` only chooses separators and the names of days.

const NONE = "–";

export function percent(x: number | null | undefined, digits = 0): string {
	if (x === null || x === undefined || !Number.isFinite(x)) return NONE;
	const p = x * 100;
	return `${p.toFixed(p !== 0 && Math.abs(p) < 10 && digits === 0 ? 1 : digits)} %`;
}

/** Three significant digits, no exponent between 0.001 and a million. */
export function short(x: number): string {
	if (x === 0) return "0";
	const a = Math.abs(x);
	if (a < 1e-3 || a >= 1e6) return x.toExponential(2).replace("e+", "e");
	return a >= 100 ? Math.round(x).toString() : x.toPrecision(3);
}

const scaled = (x: number, unit: string, step: [number, string][]) => {
	for (const [size, prefix] of step) if (Math.abs(x) >= size) return `${(x / size).toPrecision(3)} ${prefix}${unit}`;
	return `${Number.isInteger(x) ? x : x.toPrecision(3)} ${unit}`;
};

export const bytes = (x: number | null | undefined) =>
	x === null || x === undefined ? NONE : scaled(x, "B", [[999.5e9, "T"], [999.5e6, "G"], [999.5e3, "M"], [999.5, "k"]].map(([s, p]) => [(s as number) / 0.9995, p as string]));

export function micros(us: number | null | undefined, digits = 3): string {
	if (us === null || us === undefined) return NONE;
	if (us >= 999.5e3) return `${(us / 1e6).toPrecision(digits)} s`;
	if (us >= 999.5) return `${(us / 1e3).toPrecision(digits)} ms`;
	if (us < 0.9995) return `${(us * 1e3).toPrecision(digits)} ns`;
	return `${us.toPrecision(digits)} µs`;
}

export const flops = (x: number) => scaled(x, "FLOP/s", [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"]]);

export const count = (x: number | null | undefined, lang = "en") => (x === null || x === undefined ? NONE : new Intl.NumberFormat(lang).format(x));

export const times = (x: number | null | undefined) => (x === null || x === undefined || !Number.isFinite(x) ? NONE : `${x >= 100 ? Math.round(x) : x.toPrecision(x < 10 ? 2 : 3)}×`);

export const score = (x: number | null | undefined) => (x === null || x === undefined ? NONE : (Math.floor(x * 10 + 1e-9) / 10).toFixed(1));

export const sizes = (s: Record<string, number> | null | undefined) => (s ? Object.entries(s).map(([k, v]) => `${k}=${v}`).join(" ") : "");

/** A value of a tensor: enough digits to tell two floats apart. */
export function value(v: number | string | null | undefined): string {
	if (v === null || v === undefined) return NONE;
	if (typeof v === "string") return v;
	return Number.isInteger(v) && Math.abs(v) < 1e9 ? v.toString() : Number(v.toPrecision(9)).toString();
}

export function when(iso: string, lang: string): string {
	return new Intl.DateTimeFormat(lang === "zh" ? "zh-CN" : "en-GB", { dateStyle: "medium", timeStyle: "short" }).format(new Date(iso));
}

export function ago(iso: string, lang: string, now = Date.now()): string {
	const s = (new Date(iso).getTime() - now) / 1000;
	const f = new Intl.RelativeTimeFormat(lang, { numeric: "auto", style: "short" });
	const a = Math.abs(s);
	if (a < 60) return f.format(Math.trunc(s), "second");
	if (a < 3600) return f.format(Math.trunc(s / 60), "minute");
	if (a < 86400) return f.format(Math.trunc(s / 3600), "hour");
	if (a < 30 * 86400) return f.format(Math.trunc(s / 86400), "day");
	return new Intl.DateTimeFormat(lang === "zh" ? "zh-CN" : "en-GB", { dateStyle: "medium" }).format(new Date(iso));
}
