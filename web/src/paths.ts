// The paths through the problems, and what comes next on them. Pure.
import type { Path, ProblemItem, Problems } from "./types";

/** Problems that belong together; `path` is null for those of no path, which come last. */
export interface Group { path: Path | null; items: ProblemItem[] }

export function byPaths({ items, paths }: Pick<Problems, "items" | "paths">): Group[] {
	const known = new Set(paths.map((p) => p.id));
	const groups: Group[] = paths.map((path) => ({ path, items: items.filter((p) => p.path === path.id).sort((a, b) => (a.order ?? 0) - (b.order ?? 0)) }));
	groups.push({ path: null, items: items.filter((p) => !p.path || !known.has(p.path)).sort((a, b) => a.position - b.position) });
	return groups.filter((g) => g.items.length);
}

export interface Next { problem: ProblemItem; path: Path | null }

/** What to solve after `id`: the first unsolved that follows and whose needs are met; else the first such of all; else any that is unsolved. */
export function nextProblem(all: Pick<Problems, "items" | "paths">, id: string): Next | null {
	const line = byPaths(all).flatMap((g) => g.items.map((problem) => ({ problem, path: g.path })));
	const at = line.findIndex((x) => x.problem.id === id);
	const open = [...line.slice(at + 1), ...line.slice(0, at + 1)].filter((x) => !x.problem.solved && x.problem.id !== id);
	return open.find((x) => x.problem.needs.every((n) => n.solved || n.id === id)) ?? open[0] ?? null;
}
