// Two panes beside each other with a handle between: by mouse, finger or arrow keys. Narrow screens show one at a time (see `show`).
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { t } from "../i18n";

const clamp = (x: number) => Math.max(20, Math.min(80, x));

export function Split({ name, left, right, show }: { name: string; left: ComponentChildren; right: ComponentChildren; show: "left" | "right" }) {
	const box = useRef<HTMLDivElement>(null);
	const [share, setShare] = useState(() => clamp(Number(localStorage.getItem(`split:${name}`)) || 48));
	const set = (x: number) => {
		const v = clamp(x);
		setShare(v);
		localStorage.setItem(`split:${name}`, v.toFixed(1));
	};
	const drag = (e: PointerEvent) => {
		const handle = e.currentTarget as HTMLElement;
		const r = box.current?.getBoundingClientRect();
		if (!r) return;
		e.preventDefault();
		handle.setPointerCapture(e.pointerId);
		const move = (m: PointerEvent) => set(((m.clientX - r.left) / r.width) * 100);
		const end = () => {
			handle.removeEventListener("pointermove", move);
			handle.removeEventListener("pointerup", end);
			handle.removeEventListener("pointercancel", end);
		};
		handle.addEventListener("pointermove", move);
		handle.addEventListener("pointerup", end);
		handle.addEventListener("pointercancel", end);
	};
	const key = (e: KeyboardEvent) => {
		const step = e.key === "ArrowLeft" ? -4 : e.key === "ArrowRight" ? 4 : 0;
		if (step) {
			e.preventDefault();
			set(share + step);
		}
	};
	return (
		<div ref={box} class={`split show-${show}`} style={{ "--share": `${share}%` }}>
			<div class="pane">{left}</div>
			<div class="handle" role="separator" tabIndex={0} aria-orientation="vertical" aria-label={t("resize")} aria-valuemin={20} aria-valuemax={80}
				aria-valuenow={Math.round(share)} onPointerDown={drag} onKeyDown={key} onDblClick={() => set(48)} />
			<div class="pane">{right}</div>
		</div>
	);
}
