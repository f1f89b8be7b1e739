// Server-sent events from the text of a stream, however it's cut into pieces.
export interface ServerEvent { id: string | null; event: string; data: string }

/** Feed it text; it gives the events which that text completes. */
export function eventParser(): (text: string) => ServerEvent[] {
	let rest = "";
	let id: string | null = null;
	let event = "";
	let data: string[] = [];

	function line(text: string, out: ServerEvent[]) {
		if (text === "") {
			if (data.length) out.push({ id, event: event || "message", data: data.join("\n") });
			event = "";
			data = [];
			return;
		}
		const colon = text.indexOf(":");
		if (colon === 0) return;
		const field = colon < 0 ? text : text.slice(0, colon);
		let value = colon < 0 ? "" : text.slice(colon + 1);
		if (value.startsWith(" ")) value = value.slice(1);
		if (field === "data") data.push(value);
		else if (field === "event") event = value;
		else if (field === "id" && !value.includes("\0")) id = value;
	}

	return (text) => {
		const out: ServerEvent[] = [];
		rest += text;
		for (;;) {
			const end = rest.search(/\r\n|\n|\r(?!$)/);	// a \r at the end may be half of \r\n
			if (end < 0) return out;
			const width = rest.startsWith("\r\n", end) ? 2 : 1;
			const complete = rest.slice(0, end);
			rest = rest.slice(end + width);
			line(complete, out);
		}
	};
}
