// The shapes of /api/v1. Times are ISO 8601 strings in UTC.

export type Language = "en" | "zh";
export type Role = "student" | "assistant" | "instructor" | "admin";
export type Verdict = "AC" | "WA" | "CE" | "RE" | "IMA" | "RACE" | "UB" | "DL" | "TLE" | "MLE" | "OLE" | "NW" | "IM" | "RV" | "SE";
export type State = "queued" | "running" | "done" | "cancelled";
export type Tier = "bronze" | "silver" | "gold";
/** JSON has no infinity and no NaN: those come as strings. */
export type Figure = number | "inf" | "-inf" | "nan" | null;

export interface List<T> { items: T[]; next?: string | null }
export interface User { name: string; display: string; role: Role; language: Language; created: string; disabled?: boolean }
export interface Device { id: string; name: string; kind: "gpu" | "emulated" }
export interface Site {
	name: string;
	version: string;
	registration: "open" | "invite" | "closed";
	languages: Language[];
	devices: Device[];
	user: User | null;
	limits: { source_bytes: number; submissions_per_minute: number; upload_bytes: number };
}
export interface Token { id: number; name: string; created: string; expires: string | null; last_used: string | null; token?: string }
export interface Solved { problem: string; efficiency: number | null; time_us: number | null; device: string; submission: number | null }
export interface Day { day: string; submissions: number; accepted: number }
export interface Profile { user: User; solved: Solved[]; activity: Day[] }

export type Text = Record<Language, string>;
/** A problem to be solved first. */
export interface Need { id: string; title: Text; solved: boolean }
export interface Path { id: string; title: Text; about: Text }
export interface ProblemItem {
	id: string;
	version: string;
	title: Text;
	difficulty: string;
	tags: string[];
	position: number;
	hidden?: boolean;
	solved: boolean;
	tried?: boolean;
	best_efficiency: number | null;
	attempts: number;
	accepted: number;
	path: string | null;
	order: number | null;
	teaches: Text | null;
	needs: Need[];
	tier: Tier | null;
}
export interface Problems extends List<ProblemItem> { paths: Path[] }
/** `base` names the text that was read: it is given back with another one. */
export interface Statement {
	problem: string;
	language: Language;
	text: string | null;
	base: string | null;
	version: string;
	edition: number;
	by: string | null;
	created: string | null;
}
export interface Argument { name: string; role: string; type: string; shape?: string[] | null }
export interface Score { correct: number; efficiency: number; full_at: number; tiers: Partial<Record<Tier, number>> }
export interface Problem extends ProblemItem {
	statement_html: string;
	languages: Language[];
	starter: string;
	entry: string;
	arguments: Argument[];
	limits: Record<string, number | null>;
	score: Score;
	rules: Record<string, number | string | boolean | Record<string, number> | null>;
	timing: { name: string; device: string; sizes: Record<string, number> }[];
	hints: number;
	devices: string[];
}
export interface Rank {
	rank: number;
	user: string;
	display: string;
	mine?: boolean;
	efficiency: number | null;
	time_us: number | null;
	score: number | null;
	submission: number | null;
	when: string;
}
export interface Point { submission: number | null; mine: boolean; efficiency: number | null; time_us: number; bytes: number; flops: number; case: string }
export interface Points extends List<Point> { /** peak_flops: null where nothing timed tells of it. */
	roof: { peak_gbs: number | null; peak_flops: number | null } | null }

export interface Wrong { tensor: string; index: number; expected: Figure; got: Figure; bound: Figure }
export interface Fault {
	kind?: string;
	detail?: string;
	kernel?: string | null;
	file?: string;
	line?: number;
	block?: number[];
	thread?: number[];
	address?: string;
	bytes?: number;
}
export interface Case {
	name: string;
	visible: boolean;
	timing?: boolean;
	gpu?: boolean;
	stage: string;
	verdict: Verdict | null;
	why?: string | null;
	sizes?: Record<string, number> | null;
	error_ratio?: Figure;
	time_us?: number | null;
	floor_us?: number | null;
	efficiency?: number | null;
	output?: string | null;
	wrong?: Wrong[] | null;
	fault?: Fault | null;
}
export interface Diagnostic { file?: string; severity: "error" | "warning" | "note"; line: number; column: number; text: string }
export interface Book {
	case?: string;
	launches: number;
	weights?: string | null;
	weight_passes?: number | null;
	intermediate_bytes: number;
	sectors_per_request?: number | null;
	store_sectors_per_request?: number | null;
	load_efficiency?: number | null;
	shared_conflicts: number;
	shared_wavefronts: number;
	dram_read_bytes: number;
	dram_write_bytes: number;
	occupancy?: number | null;
	limiter?: string | null;
	scratch_bytes?: number;
	host_copy_bytes?: number;
}
export interface Clocks { sm_mhz: number; memory_mhz: number; temperature: number; watts: number | null; throttle: number }
export interface Measurement {
	sets: number;
	passes: number;
	low_us: number | null;
	high_us: number | null;
	spread: number | null;
	cold_us: number | null;
	disturbed: boolean;
	before: Clocks;
	after: Clocks;
}
export interface Hardware {
	note: string | null;
	launches: number;
	measured_us: number | null;
	modelled_us: number | null;
	counters: Record<string, { gpu: number | null; emulated: number | null }>;
}
export interface Timing {
	name: string;
	gpu?: boolean;
	measurement?: Measurement | null;
	sizes: Record<string, number>;
	time_us: number;
	floor_us: number;
	efficiency: number;
	limiter?: string | null;
	reference_us?: number | null;
	cublas_us?: number | null;
	bytes?: number | null;
	flops?: number | null;
}
export interface Line { line: number; share: number; instructions: number; requests: number; sectors: number; conflicts: number }
export interface Progress { stage: string; done: number; total: number }
export interface JudgingShort {
	id: number;
	submission: number;
	problem: string;
	version: string;
	state: State;
	place: number | null;
	attempt: number;
	reason: "submit" | "rejudge";
	device: string;
	created: string;
	started: string | null;
	finished: string | null;
	verdict: Verdict | null;
	text: string | null;
	score: number | null;
	efficiency: number | null;
	tier: Tier | null;
	time_us: number | null;
	progress: Progress | null;
}
export interface Judging extends JudgingShort {
	cases?: Case[];
	diagnostics?: Diagnostic[];
	book?: Book | null;
	timing?: Timing[];
	lines?: Line[];
	advice?: string[];
	note?: string | null;
	seed?: string | null;
	worker?: string | null;
	modelled?: boolean | null;
	device_name?: string | null;
	driver?: string | null;
	read_gbs?: number | null;
	hardware?: Hardware | null;
	notes?: string[];
}
export type Scope = "full" | "samples";
export interface Submission {
	id: number;
	user: string;
	problem: string;
	name: string;
	created: string;
	device: string;
	scope: Scope;
	size: number;
	source?: string;
	judging: JudgingShort;
	judgings?: JudgingShort[];
}

export interface Group { id: number; name: string; code?: string; members: number; created: string }
export interface Assignment {
	id: number;
	group: number;
	group_name: string;
	problem: string;
	title: string | null;
	opens: string | null;
	deadline: string;
	best: { score: number | null; submission: number } | null;
}
export interface Extension { user: string; display: string; deadline: string }
export interface Rejudge {
	id: number;
	created: string;
	by: string;
	total: number;
	done: number;
	changed: { submission: number; before: Verdict | null; after: Verdict | null; score_before: number | null; score_after: number | null }[];
}
export interface Worker { name: string; state: string; judging: number | null; started: string | null; seen: string | null; graded: number; failed: number; alive: boolean }
export interface Queue { queued: number; running: number; system_errors: number; items: Submission[]; workers: Worker[] }
export interface DeviceHealth extends Device { in_service: boolean; note: string | null; since: string | null; checked: string | null }
export interface Message { file?: string | null; line?: number | null; field?: string | null; text: string }
