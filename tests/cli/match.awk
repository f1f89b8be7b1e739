# Compare expected lines (first file) with actual ones (second file): see `one`.  Prints what differs, or nothing.
function pattern(line,    n, i, c, out) {
	if (substr(line, 1, 1) == "~")
		return "^" substr(line, 2) "$"
	out = "^"
	n = length(line)
	for (i = 1; i <= n; i++) {
		if (substr(line, i, 5) == "[...]") {
			out = out ".*"
			i += 4
			continue
		}
		c = substr(line, i, 1)
		out = out (index("\\^$.[]|()*+?{}", c) ? "\\" c : c)
	}
	return out "$"
}
function trimmed(line) { sub(/[ \t\r]+$/, "", line); return line }
# Expected lines from i on against actual ones from j on.
function matches(i, j,    k) {
	for (; i <= ne; i++) {
		if (want[i] == "...") {
			if (i == ne)
				return 1
			for (k = j; k <= na; k++)
				if (got[k] ~ pattern(want[i + 1]) && matches(i + 1, k))
					return 1
			furthest(i + 1, na + 1)
			return 0
		}
		if (j > na || got[j] !~ pattern(want[i])) {
			furthest(i, j)
			return 0
		}
		j++
	}
	furthest(i, j)
	return j > na
}
function furthest(i, j) { if (i > bi) { bi = i; bj = j } }
FNR == 1 { file++ }
FILENAME == ARGV[1] || (FILENAME == ARGV[2] && file == 1) { want[++ne] = trimmed($0); next }
{ got[++na] = trimmed($0) }
END {
	ne += 0; na += 0; bi = 0
	if (matches(1, 1))
		exit
	if (bi > ne)
		printf "%s: line %d is one too many: %s\n", what, bj, got[bj]
	else if (bj > na)
		printf "%s: nothing matches: %s\n", what, want[bi]
	else
		printf "%s: line %d is: %s\n  expected: %s\n", what, bj, got[bj], want[bi]
}
