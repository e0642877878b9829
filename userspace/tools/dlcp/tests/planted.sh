# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034 # bad is for who sources it
#
# For tests that plant faults: source it where the module is, after topo.sh. $out is a folder, $bad
# whether a test failed.

# shellcheck source=../../../tests/wait.sh
. tests/wait.sh
O=${O:-../build/user}
out=$(mktemp -d)
bad=0

network()
{
	topo_pair rate=0 delay=0 offload=1 || exit 1
	tc -n h0 qdisc del dev eth0 root 2>/dev/null
	tc -n h1 qdisc del dev eth0 root 2>/dev/null
	topo_sysctl net.dlcp.udp_port=6253
	python3 tools/dlcp/tests/set_clock.py 1 || exit 1
}

result()
{
	if [ "$1" = 0 ]; then
		echo "ok $2"
	else
		awk '{ print "# " $0 }' "$out/said"
		echo "not ok $2"
		bad=1
	fi
}

# said LEVEL NAME TYPE: a finding that begins with LEVEL and NAME, and what to type below it
said() { grep -A1 -E "^$1 +$2 " "$out/said" | grep -qE -- "type: +.*$3"; }

check() { in_host 0 "$O/dlcp" check -W 1 "$@" >"$out/said" 2>&1; }

# finds STATUS LEVEL NAME TYPE [ARGUMENT...]
finds()
{
	local status=$1 level=$2 name=$3 type=$4
	shift 4
	check "$@"
	[ $? = "$status" ] && said "$level" "$name" "$type"
}

# clean: no finding is wrong or bad
clean() { check "$@" && grep -q '^0 wrong, 0 bad' "$out/said"; }
