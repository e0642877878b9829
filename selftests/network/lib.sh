# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # what it sets is for the tests, and $len and $mbit are theirs
#
# What the network tests share. A test is a function case_NAME; run_cases runs those
# asked for, each over a network of its own, and prints TAP. In a test, a line that
# fails by `expect` or `must` fails the test.

net_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../vm/topo.sh
. "$net_here/../vm/topo.sh"
flow=${DLCP_TEST_BIN:-$net_here/../../build/selftests}/flow
fence=${flow%/*}/fence
dlcp=$net_here/../../build/user/dlcp
dlcp_tc=$net_here/../../tc-scripts/dlcp-tc

# Simulated processors are slow: rates and sizes are divided by this
case ${DLCP_LAB:-}${DLCP_LAB_DEBUG:-} in
uml) slow=1 ;;
qemuyes) slow=8 ;;
*) slow=4 ;;
esac

note() { printf '# %s\n' "$*"; }
fail() {
	note "$*"
	failed=yes
}

# must CMD...: what has to work for the test to go on
must() {
	"$@" && return
	fail "failed: $*"
	exit 1
}

# expect A OP B: numbers, with the operators of test(1); or strings, = and !=
expect() {
	test "$1" "$2" "$3" || fail "line ${BASH_LINENO[0]}: expected $1 $2 $3 ${4:+($4)}"
}

# Where computing takes no time, a look at something every 0.1 s would miss most
case ${DLCP_LAB_TIME:-} in
inf-cpu) nap=0.01 most=2000 ;;
*) nap=0.1 most=600 ;;
esac

# wait_for CMD...: until it succeeds, up to $most times
wait_for() {
	local tries
	for ((tries = 0; tries < most; tries++)); do
		"$@" && return
		sleep $nap
	done
	fail "did not come true in $tries tries: $*"
	exit 1
}

# skip WHY: the test cannot be run here
skip() {
	echo "ok $number - $name # SKIP $*"
	exit 4
}

# need DRIVER...: load them. Of those that are built in most have a folder there.
need() {
	local driver
	for driver; do
		modprobe -q "$driver" || [ -e "/sys/module/$driver" ] || skip "this kernel has no $driver"
	done
}

all_exist() {
	local file
	for file; do
		[ -e "$file" ] || return 1
	done
}

# in the background, in host $1, its output in $tmp/$2
start() {
	local host=$1 out=$2
	shift 2
	ip netns exec "h$host" "$@" >"$tmp/$out" 2>&1 &
	started+=($!)
}

# Until all that was started is over; fails if one of them did
finish() {
	local pid
	for pid in "${started[@]}"; do
		wait "$pid" || fail "a program failed: $(cat "$tmp"/*)"
	done
	started=()
}

# field FILE LINE-PATTERN N: a field of the lines that match; the sum if there are many
field() { awk -v n="$3" "/$2/"' { sum += $n } END { printf "%.0f\n", sum }' "$tmp/$1"; }

# count HOST COUNTER
count() { in_host "$1" awk -v name="$2" '$1 == name { print $2 }' /proc/net/dlcp/snmp; }

# rules NAMESPACE RULESET
rules() { must ip netns exec "$1" nft -f - <<<"$2"; }

# only_answers NAMESPACE [RULE]: a stateful firewall. Without their questions for neighbours, IPv6's hosts hear nobody
only_answers() {
	rules "$1" "table inet filter {
		chain in {
			type filter hook input priority 0; policy drop;
			ct state established accept; ${2:-}
			icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept;
		}
	}"
}

segment=1448	# bytes of a message in each packet

# wire_us BYTES [MBIT]: us for so many bytes, in packets of 1514, at so many Mbit/s ($mbit)
wire_us() { echo $(($1 * 8 / ${2:-$mbit} * 1514 / segment)); }

# us from the start of the sender (its output is $tmp/send) until the end of the last
# message (the receiver's is $tmp/recv)
duration() {
	local start
	start=$(awk '/^sender/ { print 1000 * $3 }' "$tmp/send")
	awk -v start="$start" '/^message/ { end = 1000 * $6 } END { printf "%.0f", end - start }' "$tmp/recv"
}

# share COUNT MBIT: $percent of what links of so much in all could have carried of messages
# of $len bytes
share() {
	local took
	took=$(duration)
	percent=$((100 * $(wire_us $(($1 * len)) "$2") / took))
	note "$1 messages took $took us: $percent % of $2 Mbit/s"
}

# Bytes delivered to the receiver, in all
delivered() { in_host 1 "$dlcp" show -t conns | awk 'NR > 1 && $3 != "LISTEN" { print $18 }'; }

# in_ms MS MBIT: of some ms, less than 1000, as per cent of what links of so much carry then
in_ms() {
	local bytes start now
	start=$(date +%s%N)
	bytes=$(delivered)
	sleep "$(printf '0.%03d' "$1")"
	now=$(date +%s%N)
	bytes=$(($(delivered) - bytes))
	echo $((100 * $(wire_us $bytes "$2") * 1000 / (now - start)))
}

# all_within BOUND: each message lost no more of its bytes, and has its report
all_within() {
	expect "$(awk -v bound="$1" '/^message/ { if ($10 + $11 + $12 > bound * $8) bad++ } END { print bad + 0 }' "$tmp/recv")" = 0
	expect "$(grep -c ^message "$tmp/recv")" = "$(grep -c ^report "$tmp/send")"
	note "$(grep -c ^message "$tmp/recv") messages, $(field recv ^message 12) bytes missing"
}

# exchange ADDRESS [key=value...]: host 0 sends to host 1, over one connection messages that
# bear no loss, over another those that do. $under, if set, is a program that runs the sender.
exchange() {
	exchange_begin "$@"
	exchange_end
}

exchange_begin() {
	start 1 recv "$flow" recv 5000 2 len=$len connected="$tmp/up"
	wait_for all_exist "$tmp/up"
	start 0 exact "${under[@]}" "$flow" send "$1" 5000 len=$len count=2 key=1 "${@:2}"
	start 0 bounded "${under[@]}" "$flow" send "$1" 5000 len=$len count=2 key=11 bound=$bound "${@:2}"
}

exchange_end() {
	finish
	expect "$(grep -c ^message "$tmp/recv")" = 4
	expect "$(grep -c '^message [12] .* missing 0 0 0$' "$tmp/recv")" = 2
	expect "$(awk '/^message/ && $12 > max { max = $12 } END { print max + 0 }' "$tmp/recv")" \
		-le $((len * bound / 1000000))
	# Receipts and reports agree
	expect "$(field recv ^message 12)" = $(($(field exact ^report 6) + $(field bounded ^report 6)))
	note "$(field recv ^message 12) bytes missing of $((2 * len)), $(count 0 LostPackets) packets lost"
	rm "$tmp/up"
}

# exchange_tcp ADDRESS: as much over TCP, which the same network has to carry
exchange_tcp() {
	start 1 tcp_recv "$flow" tcp-recv 5001 connected="$tmp/tcp_up"
	wait_for all_exist "$tmp/tcp_up"
	start 0 tcp_send "$flow" tcp-send "$1" 5001 len=$len count=4
	finish
	expect "$(cat "$tmp/tcp_recv")" = "bytes $((4 * len))"
	rm "$tmp/tcp_up"
}

under=() bound=50000

run_case() {
	(
		failed='' started=()
		tmp=$(mktemp -d)
		trap 'jobs -p | xargs -r kill -KILL 2>/dev/null; rm -rf "$tmp"; topo_down' EXIT
		"case_$1"
		[ -z "$failed" ]
	)
}

# run_cases CASE... -- CHOSEN...
run_cases() {
	local cases=() number=0 bad=0 name program
	for program in "$flow" "$fence" "$dlcp"; do
		[ -x "$program" ] || {
			echo "Bail out! there is no ${program##*/}: make user, make -C selftests/network"
			return 1
		}
	done
	while [ "$1" != -- ]; do
		cases+=("$1")
		shift
	done
	shift
	[ $# = 0 ] || cases=("$@")
	echo "1..${#cases[@]}"
	for name in "${cases[@]}"; do
		number=$((number + 1))
		run_case "$name"
		case $? in
		0) echo "ok $number - $name" ;;
		4) ;;
		*)
			echo "not ok $number - $name"
			bad=1
			;;
		esac
	done
	return $bad
}
