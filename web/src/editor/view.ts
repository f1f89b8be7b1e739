// The editor. It lives in a shadow root: there CodeMirror's styles are adopted style sheets, which a Content-Security-Policy
// without inline styles allows.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { cpp } from "@codemirror/lang-cpp";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics, type Diagnostic as Mark } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, RangeSet, StateEffect, StateField, type Extension } from "@codemirror/state";
import {
	crosshairCursor, Decoration, drawSelection, EditorView, gutter, GutterMarker, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars,
	keymap, lineNumbers, MatchDecorator, rectangularSelection, ViewPlugin, type DecorationSet, type ViewUpdate,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Diagnostic } from "../types";
import { assembly } from "./assembly";

/** One line's share of the work, for the gutter; `title` says it in words. */
export interface Heat { line: number; share: number; label: string; title: string }

export interface CodeViewOptions {
	text: string;
	label: string;
	language: "cuda" | "assembly" | "text";
	readOnly?: boolean;
	/** In the language of the page: CodeMirror's own words. */
	phrases?: Record<string, string>;
	/** The profile gutter's heading, for those who listen. */
	heatLabel?: string;
	onChange?(text: string): void;
	/** The line that the cursor is on, from 1. */
	onLine?(line: number): void;
}

export interface CodeView {
	text(): string;
	set(text: string): void;
	focus(): void;
	diagnose(list: readonly Diagnostic[]): void;
	heat(lines: readonly Heat[]): void;
	/** Marks lines (from 1), and brings the first of them into view. */
	mark(lines: readonly number[], scroll: boolean): void;
	goTo(line: number, column?: number): void;
	destroy(): void;
}

const highlight = HighlightStyle.define([
	{ tag: [tags.keyword, tags.controlKeyword, tags.definitionKeyword, tags.modifier, tags.operatorKeyword], color: "var(--c-keyword)" },
	{ tag: [tags.typeName, tags.standard(tags.typeName), tags.namespace], color: "var(--c-type)" },
	{ tag: [tags.string, tags.character, tags.special(tags.string)], color: "var(--c-string)" },
	{ tag: [tags.number, tags.bool, tags.null], color: "var(--c-number)" },
	{ tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--c-comment)", fontStyle: "italic" },
	{ tag: [tags.processingInstruction, tags.meta, tags.macroName], color: "var(--c-meta)" },
	{ tag: [tags.function(tags.variableName), tags.function(tags.definition(tags.variableName))], color: "var(--c-function)" },
	{ tag: tags.labelName, color: "var(--c-function)" },
	{ tag: tags.invalid, color: "var(--bad)" },
]);

const look = EditorView.theme({
	"&": { height: "100%", fontSize: "13px", color: "var(--ink)", backgroundColor: "var(--code)" },
	".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", fontVariantLigatures: "none" },
	".cm-content": { caretColor: "var(--ink)", padding: "6px 0" },
	"&.cm-focused": { outline: "none" },	// the host shows the focus, above everything
	"&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--select)" },
	".cm-cursor": { borderLeftColor: "var(--ink)" },
	".cm-gutters": { backgroundColor: "var(--code)", color: "var(--faint)", border: "none" },
	".cm-lineNumbers .cm-gutterElement": { minWidth: "3ch", padding: "0 10px 0 6px" },
	".cm-activeLine": { backgroundColor: "var(--line)" },
	".cm-activeLineGutter": { backgroundColor: "var(--line)", color: "var(--ink)" },
	".cm-linked": { backgroundColor: "var(--linked)" },
	".cm-cuda": { color: "var(--c-cuda)" },
	".cm-selectionMatch": { backgroundColor: "var(--match)" },
	".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--match)", outline: "1px solid var(--edge)" },
	".cm-heat": { width: "62px", color: "var(--muted)", fontSize: "11px", paddingRight: "4px" },
	".cm-heat .cm-gutterElement": { position: "relative", textAlign: "right", padding: "0 4px 0 0" },
	".cm-heat-bar": { position: "absolute", left: "0", top: "2px", bottom: "2px", backgroundColor: "var(--heat)", borderRadius: "2px" },
	".cm-heat-text": { position: "relative" },
	".cm-panels": { backgroundColor: "var(--raised)", color: "var(--ink)", borderColor: "var(--edge)" },
	".cm-panels.cm-panels-bottom": { borderTop: "1px solid var(--edge)" },
	".cm-panel.cm-search": { fontFamily: "var(--sans)", padding: "6px 8px" },
	".cm-textfield, .cm-button": { font: "inherit", color: "var(--ink)", backgroundColor: "var(--paper)", backgroundImage: "none", border: "1px solid var(--control)", borderRadius: "4px" },
	".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--edge)", borderRadius: "6px", fontFamily: "var(--sans)", fontSize: "13px" },
	".cm-diagnostic": { padding: "4px 10px", whiteSpace: "pre-wrap", maxWidth: "60ch" },
	".cm-diagnostic-error": { borderLeft: "3px solid var(--bad)" },
	".cm-diagnostic-warning": { borderLeft: "3px solid var(--warn)" },
	".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1px", textUnderlineOffset: "3px" },
	".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn) 1px", textUnderlineOffset: "3px" },
	".cm-gutter-lint": { width: "14px" },
	".cm-lint-marker": { width: "10px", height: "10px", content: "none", borderRadius: "50%", marginTop: "5px" },
	".cm-lint-marker-error": { content: "none", backgroundColor: "var(--bad)" },
	".cm-lint-marker-warning": { content: "none", backgroundColor: "var(--warn)" },
	".cm-lint-marker-info": { content: "none", backgroundColor: "var(--accent)" },
});

// What CUDA adds to C++.
const cudaWords = /\b(__(?:global|device|host|shared|constant|managed|restrict|forceinline|launch_bounds|syncthreads|syncwarp)(?:__)?\w*|threadIdx|blockIdx|blockDim|gridDim|warpSize)\b/g;
const cudaMarks = new MatchDecorator({ regexp: cudaWords, decoration: Decoration.mark({ class: "cm-cuda" }) });
const cuda = ViewPlugin.fromClass(class {
	marks: DecorationSet;
	constructor(v: EditorView) { this.marks = cudaMarks.createDeco(v); }
	update(u: ViewUpdate) { this.marks = cudaMarks.updateDeco(u, this.marks); }
}, { decorations: (p) => p.marks });

class HeatMarker extends GutterMarker {
	constructor(readonly heat: Heat) { super(); }
	override eq(o: HeatMarker) { return o.heat.label === this.heat.label && o.heat.title === this.heat.title; }
	override toDOM() {
		const el = document.createElement("div");
		const bar = document.createElement("span");
		bar.className = "cm-heat-bar";
		bar.style.width = `${Math.max(2, this.heat.share * 100)}%`;
		const text = document.createElement("span");
		text.className = "cm-heat-text";
		text.textContent = this.heat.label;
		el.title = this.heat.title;
		el.append(bar, text);
		return el;
	}
}

const setHeat = StateEffect.define<readonly Heat[]>();
const heatField = StateField.define<RangeSet<GutterMarker>>({
	create: () => RangeSet.empty,
	update(set, tr) {
		for (const e of tr.effects) {
			if (!e.is(setHeat)) continue;
			const doc = tr.state.doc;
			return RangeSet.of(e.value.filter((h) => h.line >= 1 && h.line <= doc.lines).map((h) => new HeatMarker(h).range(doc.line(h.line).from)), true);
		}
		return set.map(tr.changes);
	},
});
// An empty gutter takes no room: it's there only while there are figures.
const heatGutter = gutter({ class: "cm-heat", markers: (v) => v.state.field(heatField) });

const setMarks = StateEffect.define<readonly number[]>();
const linkedLine = Decoration.line({ class: "cm-linked" });
const markField = StateField.define<DecorationSet>({
	create: () => Decoration.none,
	update(set, tr) {
		for (const e of tr.effects) {
			if (!e.is(setMarks)) continue;
			const doc = tr.state.doc;
			return Decoration.set(e.value.filter((n) => n >= 1 && n <= doc.lines).map((n) => linkedLine.range(doc.line(n).from)), true);
		}
		return set.map(tr.changes);
	},
	provide: (f) => EditorView.decorations.from(f),
});

function languageOf(o: CodeViewOptions): Extension {
	return o.language === "cuda" ? [cpp(), cuda] : o.language === "text" ? [EditorView.lineWrapping] : [StreamLanguage.define(assembly)];
}

export function createCodeView(parent: HTMLElement, o: CodeViewOptions): CodeView {
	const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
	const box = document.createElement("div");
	box.style.cssText = "height:100%";
	root.append(box);
	let line = 0;
	const heatPlace = new Compartment();
	const view = new EditorView({
		parent: box,
		root,
		state: EditorState.create({
			doc: o.text,
			extensions: [
				o.phrases ? EditorState.phrases.of(o.phrases) : [],
				heatField, markField, heatPlace.of([]),
				lineNumbers(), highlightSpecialChars(), history(), drawSelection(), rectangularSelection(), crosshairCursor(), bracketMatching(),
				search(), highlightSelectionMatches(), highlightActiveLine(), highlightActiveLineGutter(),
				o.language === "cuda" ? lintGutter() : [],
				EditorState.tabSize.of(4), EditorState.allowMultipleSelections.of(true), indentUnit.of("    "),
				// A view that is only read stays focusable, so that keys move in it; Tab leaves it at once.
				o.readOnly ? EditorState.readOnly.of(true) : [indentOnInput(), keymap.of([indentWithTab])],
				keymap.of([...defaultKeymap.filter((k) => k.key !== "Mod-Enter"), ...historyKeymap, ...searchKeymap]),
				languageOf(o), syntaxHighlighting(highlight), look,
				EditorView.contentAttributes.of({ "aria-label": o.label, tabindex: "0", ...(o.readOnly ? { "aria-readonly": "true" } : {}) }),
				EditorView.updateListener.of((u) => {
					if (u.docChanged) o.onChange?.(u.state.doc.toString());
					if (!u.selectionSet) return;
					const now = u.state.doc.lineAt(u.state.selection.main.head).number;
					if (now !== line) {
						line = now;
						o.onLine?.(now);
					}
				}),
			],
		}),
	});

	const position = (n: number, column: number) => {
		const l = view.state.doc.line(Math.max(1, Math.min(n, view.state.doc.lines)));
		return Math.min(l.from + Math.max(0, column - 1), l.to);
	};

	return {
		text: () => view.state.doc.toString(),
		set: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
		focus: () => view.focus(),
		diagnose(list) {
			const marks: Mark[] = list.filter((d) => d.line >= 1 && d.line <= view.state.doc.lines).map((d) => {
				const l = view.state.doc.line(d.line);
				const from = d.column > 0 ? position(d.line, d.column) : l.from + (l.text.length - l.text.trimStart().length);
				const end = /^\w+/.exec(view.state.sliceDoc(from, l.to))?.[0].length;
				return { from, to: d.column > 0 && end ? from + end : l.to, severity: d.severity === "note" ? "info" : d.severity, message: d.text };
			});
			view.dispatch(setDiagnostics(view.state, marks));
		},
		heat: (lines) => view.dispatch({ effects: [setHeat.of(lines), heatPlace.reconfigure(lines.length ? heatGutter : [])] }),
		mark(lines, scroll) {
			const first = lines[0];
			const effects: StateEffect<unknown>[] = [setMarks.of(lines)];
			if (scroll && first !== undefined) effects.push(EditorView.scrollIntoView(position(first, 1), { y: "center" }));
			view.dispatch({ effects });
		},
		goTo(n, column = 1) {
			const at = position(n, column);
			view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
			view.focus();
		},
		destroy() {
			view.destroy();
			box.remove();
		},
	};
}
