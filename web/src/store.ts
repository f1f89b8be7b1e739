// A value that components follow.
import { useEffect, useState } from "preact/hooks";

export interface Store<T> { get(): T; set(v: T): void; subscribe(f: () => void): () => void }

export function store<T>(value: T): Store<T> {
	const all = new Set<() => void>();
	return {
		get: () => value,
		set(v) {
			value = v;
			for (const f of [...all]) f();
		},
		subscribe(f) {
			all.add(f);
			return () => { all.delete(f); };
		},
	};
}

export function useStore<T>(s: Store<T>): T {
	const [, again] = useState(0);
	useEffect(() => s.subscribe(() => again((n) => n + 1)), [s]);
	return s.get();
}
