// Where things lie on the plots. Pure.

/** The lower and upper power of ten (or of `base`) around positive values. */
export function decades(values: readonly number[], base = 10): [number, number] {
	const v = values.filter((x) => x > 0 && Number.isFinite(x));
	if (!v.length) return [1, base];
	const lo = Math.pow(base, Math.floor(Math.log(Math.min(...v)) / Math.log(base) + 1e-9));
	const hi = Math.pow(base, Math.ceil(Math.log(Math.max(...v)) / Math.log(base) - 1e-9));
	return lo === hi ? [lo, hi * base] : [lo, hi];
}

/** What the roof allows at an intensity (flop a byte): memory's slope, then the flat top. */
export interface Roof { peak_gbs: number; peak_flops: number }
export const roofAt = (roof: Roof, intensity: number) => Math.min(roof.peak_flops, intensity * roof.peak_gbs * 1e9);

export const ridge = (roof: Roof) => roof.peak_flops / (roof.peak_gbs * 1e9);

/** A kernel on the roofline: intensity of the work that nobody can avoid, and the rate at which it was done. */
export const pointAt = (p: { bytes: number; flops: number; time_us: number }) => ({ x: p.flops / p.bytes, y: p.flops / (p.time_us * 1e-6) });

/** The batch size of a timing case: the size called M, or B. */
export const batchOf = (sizes: Record<string, number>) => sizes["M"] ?? sizes["B"] ?? null;

/** Round figures on a logarithmic axis: 1, 2, 5, 10 ... between the two. */
export function steps(lo: number, hi: number): number[] {
	const out: number[] = [];
	for (let e = Math.floor(Math.log10(lo)); e <= Math.log10(hi); e++) for (const m of [1, 2, 5]) {
		const v = Number((m * Math.pow(10, e)).toPrecision(1));
		if (v >= lo && v <= hi) out.push(v);
	}
	return out;
}
