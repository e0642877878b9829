# SPDX-License-Identifier: GPL-2.0
# The tables of Documentation/counters.md as a table of C, and the tool's version (-v version=...).
# Where a row has several counters and a text with as many parts, each has its own; two may share one.
BEGIN {
	print "/* By counters.awk */\n#include \"tool.h\"\n"
	printf "const char tool_version[] = \"%s\";\n\n", version
	print "const struct counter_text counter_texts[] = {"
}
END { print "\t{ 0 }\n};" }
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
