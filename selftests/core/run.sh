#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# run.sh PROGRAM...: run each, add up what their last lines say.
passed=0 failed=0 skipped=0

for prog; do
	name=${prog##*/}
	out=$prog.log
	"$prog" >"$out" 2>&1
	rc=$?
	last=$(tail -n 1 "$out")
	# shellcheck disable=SC2046 # splitting is the point
	case $last in
	*' passed, '*' failed, '*' skipped')
		set -- $(echo "$last" | tr -dc '0-9 ')
		passed=$((passed + $1)) failed=$((failed + $2))
		skipped=$((skipped + $3))
		[ "$rc" = 0 ] || [ "$2" -gt 0 ] || failed=$((failed + 1))
		;;
	*)
		failed=$((failed + 1))
		;;
	esac
	if [ "$rc" != 0 ]; then
		echo "# $name failed (exit $rc):"
		grep -v '^ok ' "$out" | tail -n 40
	fi
	grep '^# figure' "$out"
	echo "$name: $last"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
