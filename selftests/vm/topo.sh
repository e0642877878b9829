# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # topo_<option> is set by _topo_options
#
# Networks inside one machine, for tests, demo and benchmarks alike. Source it
# (bash only: busybox's shell prefers an `ip` of its own) and run it as root in the lab.
#
#   topo_star N [key=value...]    hosts h0..hN-1 around a switch
#   topo_pair [key=value...]      hosts h0 and h1 on one cable
#   topo_leaf_spine N [key=value...]  N hosts at each of two leaves, four spines between them
#       rate=10gbit   each link's rate; 0: as fast as it goes
#       delay=25us    one way from a host to the switch (pair: to the other host)
#       queue=1000    packets a switch port holds (pair: 100000)
#       loss=0        per cent of the packets, at every port
#       ecn=0         1: RED marks above mark=65 packets, as a DCTCP switch does
#       ports=queue   star: bare: nothing at the switch ports, for tc-scripts/dlcp-tc
#       nic=0         star: 1: a host's own link has the rate, too, and fq_codel above it
#       spines=4      leaf_spine: 1 to 16
#       spine_rate=   leaf_spine: of the links between leaves and spines (rate)
#       hash6=1       leaf_spine: IPv6 goes by ports; 0: by flow label
#       offload=0     1: leave GSO, TSO and GRO on; a "packet" may then be 64 KB
#       rails=1       pair: 2: another cable, between eth1 and eth1, with 10.0.1.(i+1) and
#                     fd00:1::(i+1)
#       mtu=1500
#   in_host I CMD...              run it there; in_switch CMD...
#   topo_loss PERCENT [I...]      change the loss, towards some hosts or all
#   topo_sysctl KEY=VALUE...      in every host; host_sysctl I KEY=VALUE... in one
#   topo_drops I                  packets the switch dropped in front of host I
#   topo_spine S [rate=R] [loss=PERCENT]  change a spine's links; loss=100: it is dead, and
#                                 routing does not notice. No words: as it was
#   topo_rail R [rate=R] [loss=PERCENT]  change a pair's cable R, both ways, likewise
#   topo_rail_bytes R             bytes that went through it, both ways
#   topo_spine_bytes S            bytes that went through it, both ways
#   topo_down                     remove all of it
#
# Addresses are 10.0.0.(i+1)/24 and fd00::(i+1)/64 (the last part decimal in both), on eth0.
#
# Where the pieces are, and why:
# - the delay is on the hosts' egress and not on the switch ports, because netem counts a
#   packet that it delays against its limit: the "32-packet queue" would be a dozen;
# - with nic=1 it is where packets come to the switch: netem takes them from their socket,
#   which would not know how many wait above its host's link (TCP Small Queues);
# - neighbours and the bridge's table are fixed: a lost ARP request costs a second.

topo_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
topo_hosts=0
topo_switch=sw

_topo_fail() {
	echo "topo: $*" >&2
	return 1
}

# _topo_options DEFAULTS... -- GIVEN...: set topo_<key>, refusing unknown keys.
_topo_options() {
	local word known=' ' given=''
	for word; do
		if [ "$word" = -- ]; then
			given=yes
			continue
		fi
		case $word in
		*=*) ;;
		*) _topo_fail "not key=value: $word" || return ;;
		esac
		[ -n "$given" ] || known+="${word%%=*} "
		case $known in
		*" ${word%%=*} "*) ;;
		*) _topo_fail "unknown option $word" || return ;;
		esac
		declare -g "topo_${word%%=*}=${word#*=}"
	done
}

# _topo_mac VARIABLE I. No subshell here or below: with 64 hosts they would cost seconds.
_topo_mac() { printf -v "$1" '02:00:00:00:00:%02x' $(($2 + 1)); }

# --- building blocks; a topology is a function that calls these
#
# To start a program costs user-mode Linux about 30 ms, so what can be said to one
# program in one go is collected and said in one go.

# topo_namespaces NS...: name spaces in which nothing is said that was not asked for.
topo_namespaces() {
	local conf=net.ipv6.conf
	sysctl -q -w net.core.devconf_inherit_init_net=1 \
		$conf.all.disable_ipv6=0 $conf.default.disable_ipv6=0 \
		$conf.all.accept_dad=0 $conf.default.accept_dad=0 \
		$conf.all.router_solicitations=0 $conf.default.router_solicitations=0 || return
	printf 'netns add %s\n' "$@" | ip -batch -
	topo_cables='' topo_ends=()
}

# topo_cable NS-A IF-A NS-B IF-B; then topo_lay_cables once for all of them.
topo_cable() {
	topo_cables+="link add name $2 netns $1 mtu $topo_mtu type veth"
	topo_cables+=" peer name $4 netns $3 mtu $topo_mtu"$'\n'
	topo_ends+=("$1/$2" "$3/$4")
}

topo_lay_cables() {
	ip -batch - <<<"$topo_cables" || return
	[ "$topo_offload" = 1 ] || "$topo_here/no-offload" "${topo_ends[@]}"
}

# The next three print commands for `tc -batch`.

# topo_egress IF [netem arguments...]: what leaves that interface is delayed.
topo_egress() {
	local dev=$1
	shift
	[ "$topo_delay" != 0 ] || [ $# != 0 ] || return 0
	echo "qdisc replace dev $dev root netem limit 100000 delay $topo_delay $*"
}

# topo_port_fifo IF LOSS, topo_port_red IF: a switch port: a rate, and a queue in front of it.
topo_port_fifo() {
	local rate=
	[ "$topo_rate" = 0 ] || rate="rate $topo_rate"
	echo "qdisc replace dev $1 root handle 1: netem limit $topo_queue $rate loss $2%"
}

# RED looks at an average; with burst = min / avpkt it is the shortest tc can
# ask for, so that this is DCTCP's single threshold.
topo_port_red() {
	local frame=$((topo_mtu + 14)) min
	min=$((topo_mark * frame))
	echo "qdisc replace dev $1 root handle 1: tbf rate $topo_rate" \
		"burst $((2 * frame)) limit $((topo_queue * frame))"
	echo "qdisc replace dev $1 parent 1:1 handle 2: red ecn bandwidth $topo_rate" \
		"min $min max $((min + frame)) probability 1 avpkt $frame burst $topo_mark" \
		"limit $((topo_queue * frame))"
}

# Where everyone is, as commands for ip; the host itself being in it does no harm.
# With a MAC given, all are behind that one, a router.
_topo_neighbours() {
	local i mac
	topo_neighbours=''
	for ((i = 0; i < $1; i++)); do
		mac=${2:-}
		[ -n "$mac" ] || _topo_mac mac "$i"
		topo_neighbours+="neigh replace 10.0.0.$((i + 1)) lladdr $mac dev eth0"$'\n'
		topo_neighbours+="neigh replace fd00::$((i + 1)) lladdr $mac dev eth0"$'\n'
	done
}

_topo_host() {
	local i=$1 mac
	_topo_mac mac "$i"
	ip -n "h$i" -batch - <<-END
		link set lo up
		link set eth0 address $mac up
		addr add 10.0.0.$((i + 1))/24 dev eth0
		addr add fd00::$((i + 1))/64 dev eth0 nodad
		$topo_neighbours
	END
}

# --- topologies

topo_star() {
	local n=$1 i
	shift
	_topo_options rate=10gbit delay=25us queue=1000 loss=0 ecn=0 mark=65 offload=0 mtu=1500 \
		ports=queue nic=0 -- "$@" || return
	[ "$n" -ge 1 ] && [ "$n" -le 250 ] || _topo_fail "1 to 250 hosts" || return
	[ "$topo_ecn$topo_nic" = 00 ] || [ "$topo_rate" != 0 ] ||
		_topo_fail "ecn=1 and nic=1 want a rate" || return
	topo_kind=star
	_topo_neighbours "$n"
	# shellcheck disable=SC2046 # a list of names
	topo_namespaces $topo_switch $(seq -f h%.0f 0 $((n - 1))) || return
	topo_hosts=$n
	for ((i = 0; i < n; i++)); do
		topo_cable "h$i" eth0 $topo_switch "p$i"
	done
	topo_lay_cables && _topo_star_switch "$n" || return
	for ((i = 0; i < n; i++)); do
		_topo_host "$i" && _topo_star_egress "$i" "$topo_loss" || return
	done
}

_topo_star_switch() {
	local n=$1 i mac link='' fdb='' tc=''
	for ((i = 0; i < n; i++)); do
		_topo_mac mac "$i"
		link+="link set p$i master br0 up"$'\n'
		fdb+="fdb replace $mac dev p$i master static"$'\n'
		tc+="$(_topo_star_port "$i" "$topo_loss")"$'\n'
		[ "$topo_nic" != 0 ] || continue
		link+="link add d$i type ifb"$'\n'"link set d$i up"$'\n'
		tc+="qdisc add dev p$i ingress"$'\n'
		tc+="filter add dev p$i ingress matchall action mirred egress redirect dev d$i"$'\n'
	done
	ip -n $topo_switch -batch - <<-END || return
		link set lo up
		link add name br0 mtu $topo_mtu type bridge stp_state 0 mcast_snooping 0
		link set br0 up
		$link
	END
	bridge -n $topo_switch -batch - <<<"$fdb" && tc -n $topo_switch -batch - <<<"$tc"
}

_topo_star_port() {
	if [ "$topo_ports" = bare ]; then
		:
	elif [ "$topo_ecn" = 0 ]; then
		topo_port_fifo "p$1" "$2"
	else
		topo_port_red "p$1"
	fi
}

# A RED port has no loss of its own: there it happens on the way to the switch.
_topo_star_egress() {
	local loss=''
	[ "$topo_ecn" = 0 ] || loss="loss $2%"
	if [ "$topo_nic" = 0 ]; then
		# shellcheck disable=SC2086 # two words or none
		topo_egress eth0 $loss | tc -n "h$1" -batch -
	else
		_topo_own_link "$1" "$loss"
	fi
}

# _topo_own_link I [netem arguments]: host I's link has the rate, and what comes out of it is
# delayed.
_topo_own_link() {
	local frame=$((topo_mtu + 14))
	tc -n "h$1" -batch - <<-END || return
		qdisc replace dev eth0 root handle 1: tbf rate $topo_rate burst $((2 * frame)) limit $((10000 * frame))
		qdisc replace dev eth0 parent 1:1 handle 2: fq_codel
	END
	# shellcheck disable=SC2086 # words
	tc -n $topo_switch qdisc replace dev "d$1" root netem limit 100000 delay "$topo_delay" $2
}

# Leaves and spines route, by the ports of a packet; the delay is the hosts', as ever. The
# hosts take all others for neighbours, which are behind the leaf's MAC.
topo_leaf_spine() {
	local n=$1 i s
	shift
	_topo_options rate=10gbit spine_rate='' delay=25us queue=1000 loss=0 spines=4 hash6=1 \
		offload=0 mtu=1500 -- "$@" || return
	[ "$n" -ge 1 ] && [ "$n" -le 100 ] || _topo_fail "1 to 100 hosts at a leaf" || return
	[ "$topo_spines" -ge 1 ] && [ "$topo_spines" -le 16 ] || _topo_fail "1 to 16 spines" || return
	: "${topo_spine_rate:=$topo_rate}"
	topo_kind=leaf_spine topo_ecn=0 topo_per_leaf=$n
	_topo_neighbours $((2 * n)) 02:00:00:00:01:00
	# shellcheck disable=SC2046 # lists of names
	topo_namespaces leaf0 leaf1 $(seq -f spine%.0f 0 $((topo_spines - 1))) \
		$(seq -f h%.0f 0 $((2 * n - 1))) || return
	topo_hosts=$((2 * n))
	for ((i = 0; i < 2 * n; i++)); do
		topo_cable "h$i" eth0 leaf$((i / n)) "p$i"
	done
	for ((s = 0; s < topo_spines; s++)); do
		topo_cable leaf0 "u$s" "spine$s" l0
		topo_cable leaf1 "u$s" "spine$s" l1
	done
	topo_lay_cables && _topo_leaf 0 && _topo_leaf 1 || return
	for ((s = 0; s < topo_spines; s++)); do
		_topo_make_spine "$s" && topo_spine "$s" || return
	done
	for ((i = 0; i < 2 * n; i++)); do
		_topo_host "$i" && topo_egress eth0 | tc -n "h$i" -batch - || return
	done
}

# What both kinds of router are told. Everyone's MAC is the same, and so is the address
# of who is at the other end of a cable between routers.
_topo_router() {
	ip netns exec "$1" sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
		net.ipv4.conf.all.send_redirects=0 net.ipv4.fib_multipath_hash_policy=1 \
		"net.ipv6.fib_multipath_hash_policy=$topo_hash6"
}

_topo_link() {
	printf 'link set %s address 02:00:00:00:01:00 up\n' "$1"
	printf 'neigh replace %s lladdr 02:00:00:00:01:00 dev %s\n' 10.1.0.1 "$1" fd01::1 "$1"
}

_topo_leaf() {
	local leaf=$1 i s mac text='' tc='' hops='' hops6=''
	for ((s = 0; s < topo_spines; s++)); do
		text+="$(_topo_link "u$s")"$'\n'
		hops+=" nexthop via 10.1.0.1 dev u$s onlink" hops6+=" nexthop via fd01::1 dev u$s onlink"
	done
	for ((i = 0; i < topo_hosts; i++)); do
		if [ $((i / topo_per_leaf)) = "$leaf" ]; then
			_topo_mac mac "$i"
			text+="link set p$i address 02:00:00:00:01:00 up"$'\n'
			text+="route add 10.0.0.$((i + 1))/32 dev p$i"$'\n'
			text+="route add fd00::$((i + 1))/128 dev p$i"$'\n'
			text+="neigh replace 10.0.0.$((i + 1)) lladdr $mac dev p$i"$'\n'
			text+="neigh replace fd00::$((i + 1)) lladdr $mac dev p$i"$'\n'
			tc+="$(topo_port_fifo "p$i" "$topo_loss")"$'\n'
		else
			text+="route add 10.0.0.$((i + 1))/32$hops"$'\n'
			text+="route add fd00::$((i + 1))/128$hops6"$'\n'
		fi
	done
	_topo_router "leaf$leaf" && ip -n "leaf$leaf" -batch - <<<"link set lo up"$'\n'"$text" &&
		tc -n "leaf$leaf" -batch - <<<"$tc"
}

_topo_make_spine() {
	local i leaf text
	text="link set lo up"$'\n'"$(_topo_link l0)"$'\n'"$(_topo_link l1)"$'\n'
	for ((i = 0; i < topo_hosts; i++)); do
		leaf=$((i / topo_per_leaf))
		text+="route add 10.0.0.$((i + 1))/32 via 10.1.0.1 dev l$leaf onlink"$'\n'
		text+="route add fd00::$((i + 1))/128 via fd01::1 dev l$leaf onlink"$'\n'
	done
	_topo_router "spine$1" && ip -n "spine$1" -batch - <<<"$text"
}

topo_pair() {
	local i r
	_topo_options rate=10gbit delay=25us queue=100000 loss=0 offload=0 mtu=1500 rails=1 -- "$@" ||
		return
	[ "$topo_rails" -ge 1 ] && [ "$topo_rails" -le 4 ] || _topo_fail "1 to 4 rails" || return
	topo_ecn=0 topo_kind=pair
	_topo_neighbours 2
	topo_namespaces h0 h1 || return
	topo_hosts=2
	for ((r = 0; r < topo_rails; r++)); do
		topo_cable h0 "eth$r" h1 "eth$r"
	done
	topo_lay_cables || return
	for i in 0 1; do
		_topo_host $i && _topo_pair_egress $i "$topo_loss" || return
	done
	for ((r = 1; r < topo_rails; r++)); do
		_topo_more_rails $r 0 1 && _topo_more_rails $r 1 0 && topo_rail $r loss="$topo_loss" || return
	done
}

# The addresses of host I on another cable, and where the other host is
_topo_more_rails() {
	ip -n "h$2" -batch - <<-END
		link set eth$1 address 02:00:00:00:0$1:0$2 up
		addr add 10.0.$1.$(($2 + 1))/24 dev eth$1
		addr add fd00:$1::$(($2 + 1))/64 dev eth$1 nodad
		neigh replace 10.0.$1.$(($3 + 1)) lladdr 02:00:00:00:0$1:0$3 dev eth$1
		neigh replace fd00:$1::$(($3 + 1)) lladdr 02:00:00:00:0$1:0$3 dev eth$1
	END
}

_topo_pair_egress() { _topo_cable_end "$1" eth0 "$topo_rate" "$2"; }

# Host I's end of a cable: _topo_cable_end I IF RATE LOSS
_topo_cable_end() {
	local words=()
	[ "$3" = 0 ] || words=(rate "$3")
	tc -n "h$1" qdisc replace dev "$2" root netem limit "$topo_queue" delay "$topo_delay" \
		"${words[@]}" loss "$4%"
}

# --- using them

in_host() {
	local i=$1
	shift
	ip netns exec "h$i" "$@"
}

in_switch() { ip netns exec $topo_switch "$@"; }

# In a pair, "towards host I" is on the other one's side; behind RED ports it is the
# loss of what host I sends.
topo_loss() {
	local loss=$1 i
	shift
	[ $# != 0 ] || {
		# shellcheck disable=SC2046 # a list of numbers
		set -- $(seq 0 $((topo_hosts - 1)))
		topo_loss=$loss
	}
	for i; do
		case $topo_kind$topo_ecn in
		pair*) _topo_pair_egress $((1 - i)) "$loss" ;;
		star0) topo_port_fifo "p$i" "$loss" | tc -n $topo_switch -batch - ;;
		star1) _topo_star_egress "$i" "$loss" ;;
		esac || return
	done
}

# _topo_rate_loss [rate=] [loss=]: into the caller's $rate and $loss
_topo_rate_loss() {
	local word
	for word; do
		case $word in
		rate=* | loss=*) printf -v "${word%%=*}" %s "${word#*=}" ;;
		*) _topo_fail "unknown option $word" || return ;;
		esac
	done
}

# Both directions: loss and rate are at the ports towards the spine and at its own.
topo_spine() {
	local s=$1 rate=$topo_spine_rate loss=0 port
	_topo_rate_loss "${@:2}" || return
	local topo_rate=$rate
	for port in leaf0/u$s leaf1/u$s; do
		topo_port_fifo "${port#*/}" "$loss" | tc -n "${port%/*}" -batch - || return
	done
	{ topo_port_fifo l0 0 && topo_port_fifo l1 0; } | tc -n "spine$s" -batch -
}

topo_rail() {
	local r=$1 rate=$topo_rate loss=0
	_topo_rate_loss "${@:2}" || return
	_topo_cable_end 0 "eth$r" "$rate" "$loss" && _topo_cable_end 1 "eth$r" "$rate" "$loss"
}

topo_rail_bytes() {
	{
		tc -n h0 -s qdisc show dev "eth$1"
		tc -n h1 -s qdisc show dev "eth$1"
	} | awk '$1 == "Sent" { sum += $2 } END { print sum + 0 }'
}

topo_spine_bytes() {
	tc -n "spine$1" -s qdisc show | awk '$1 == "Sent" { sum += $2 } END { print sum + 0 }'
}

# A name space other than the first may choose only what is allowed to all.
_topo_allow_congestion() {
	local word dir=/proc/sys/net/ipv4
	for word; do
		case $word in
		net.ipv4.tcp_congestion_control=*)
			modprobe -q "tcp_${word#*=}" || true
			cat $dir/tcp_available_congestion_control >$dir/tcp_allowed_congestion_control
			;;
		esac
	done
}

host_sysctl() {
	local i=$1
	shift
	_topo_allow_congestion "$@"
	ip netns exec "h$i" sysctl -q -w "$@"
}

topo_sysctl() {
	local i
	for ((i = 0; i < topo_hosts; i++)); do
		host_sysctl "$i" "$@" || return
	done
}

topo_drops() {
	tc -n $topo_switch -s qdisc show dev "p$1" root | sed -n 's/.*dropped \([0-9]*\),.*/\1/p'
}

topo_down() {
	local names
	names=$(ip netns list | sed -n 's/^\(h[0-9]*\|sw\|leaf[01]\|spine[0-9]*\)\( .*\)\?$/\1/p')
	[ -n "$names" ] || return 0
	sed 's/^/netns pids /' <<<"$names" | ip -batch - | xargs -r kill -KILL
	sed 's/^/netns delete /' <<<"$names" | ip -batch -
	topo_hosts=0
}
