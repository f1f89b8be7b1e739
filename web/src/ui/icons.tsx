// Small line icons; all are decoration beside words, so hidden from screen readers.
const paths = {
	check: "M3.5 8.5 6.5 11.5 12.5 4.5",
	cross: "M4 4 12 12M12 4 4 12",
	warn: "M8 2.5 14 13H2ZM8 6.5v3M8 11.3v.2",
	clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 5v3.2l2 1.6",
	memory: "M4 4h8v8H4ZM6 2v2M10 2v2M6 12v2M10 12v2M2 6h2M2 10h2M12 6h2M12 10h2",
	ban: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM4 4l8 8",
	race: "M2.5 5h8M8 2.5 10.5 5 8 7.5M13.5 11h-8M8 8.5 5.5 11 8 13.5",
	code: "M5.5 4 2 8l3.5 4M10.5 4 14 8l-3.5 4",
	dots: "M4 8h.1M8 8h.1M12 8h.1",
	gear: "M8 10.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4ZM8 1.8v2M8 12.2v2M1.8 8h2M12.2 8h2M3.6 3.6 5 5M11 11l1.4 1.4M12.4 3.6 11 5M5 11l-1.4 1.4",
	play: "M5 3.5v9l7-4.5Z",
	send: "M2.5 8h9M8 4l4 4-4 4",
	upload: "M8 10.5V3M5 5.5 8 2.5l3 3M3 10.5V13h10v-2.5",
	undo: "M3 6.5h6.5a3.5 3.5 0 0 1 0 7H6M5.5 4 3 6.5 5.5 9",
	sun: "M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6ZM8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M12.6 3.4l-1.1 1.1M4.5 11.5l-1.1 1.1",
	moon: "M13 9.6A5.5 5.5 0 0 1 6.4 3 5.5 5.5 0 1 0 13 9.6Z",
	half: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 2v12",
	arrow: "M4 8h8M9 5l3 3-3 3",
	down: "M4 6l4 4 4-4",
	medal: "M8 13.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM5.8 7 3.5 2.5M10.2 7l2.3-4.5",
	bulb: "M6 11.5h4M6.5 13.5h3M5.8 9.6a3.8 3.8 0 1 1 4.4 0v1.9H5.8Z",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
	return (
		<svg class="icon" width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.6"
			stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">
			<path d={paths[name]} />
		</svg>
	);
}
