// PTX for the highlighter: comments, directives, registers, opcodes, numbers, labels.
import type { StreamParser } from "@codemirror/language";

export const assembly: StreamParser<{ block: boolean; start: boolean }> = {
	name: "assembly",
	startState: () => ({ block: false, start: true }),
	token(stream, state) {
		if (stream.sol()) state.start = true;
		if (state.block) {
			if (stream.skipTo("*/")) {
				stream.match("*/");
				state.block = false;
			} else stream.skipToEnd();
			return "comment";
		}
		if (stream.eatSpace()) return null;
		if (stream.match("//")) {
			stream.skipToEnd();
			return "comment";
		}
		if (stream.match("/*")) {
			if (!stream.match(/^[^*]*\*\//)) state.block = true;
			return "comment";
		}
		if (stream.match(/^"(?:[^"\\]|\\.)*"/)) return "string";
		if (stream.match(/^(?:0[xXfFdD][0-9a-fA-F]+U?|-?\d[\d.eE+-]*)/)) return "number";
		if (stream.match(/^@!?%?U?P?\w+/)) return "meta";
		if (stream.match(/^[$\w]+:/)) return "labelName";
		if (stream.match(/^\.\w+/)) return state.start ? "keyword" : "typeName";
		if (stream.match(/^%[\w.]+/)) return "variableName";
		if (stream.match(/^[A-Za-z_$][\w$.]*/)) {
			const first = state.start;
			state.start = false;
			return first ? "keyword" : null;
		}
		stream.next();
		return null;
	},
};
