// A source text or PTX in the editor, whose code is loaded when the first is shown.
import { useEffect, useRef } from "preact/hooks";
import type { CodeView, CodeViewOptions } from "../editor/view";

export function Code({ options, view, class: cls }: { options: CodeViewOptions; view?: (v: CodeView | null) => void; class?: string }) {
	const box = useRef<HTMLDivElement>(null);
	const latest = useRef(options);
	latest.current = options;
	useEffect(() => {
		let made: CodeView | null = null;
		let gone = false;
		void import("../editor/view").then(({ createCodeView }) => {
			if (gone || !box.current) return;
			made = createCodeView(box.current, {
				...latest.current,
				onChange: (text) => latest.current.onChange?.(text),
				onLine: (line) => latest.current.onLine?.(line),
			});
			view?.(made);
		});
		return () => {
			gone = true;
			view?.(null);
			made?.destroy();
		};
	}, []);
	return <div ref={box} class={`code ${cls ?? ""}`} />;
}
