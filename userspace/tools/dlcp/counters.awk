# SPDX-License-Identifier: GPL-2.0
# The tables of Documentation/counters.md as lines { "NAME", "TEXT" }, of C. Where a row has
# several counters and a text with as many parts, each has its own; two may share one.
/^## Tracepoints/ { exit }
/^\| `/ {
	split($0, cell, /\|/)
	text = cell[3]
	gsub(/ *\(\[[^]]*\]\([^)]*\)[^)]*\)/, "", text)
	gsub(/[`\\"]/, "", text)
	gsub(/^ +| +$/, "", text)
	parts = split(text, part, /; */)
	names = 0
	while (match(cell[2], /`[A-Za-z]+`/)) {
		name[names++] = substr(cell[2], RSTART + 1, RLENGTH - 2)
		cell[2] = substr(cell[2], RSTART + RLENGTH)
	}
	each = names % parts ? 0 : names / parts
	for (i = 0; i < names; i++)
		printf "\t{ \"%s\", \"%s\" },\n", name[i], each ? part[int(i / each) + 1] : text
}
