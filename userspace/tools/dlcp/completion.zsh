#compdef dlcp
# SPDX-License-Identifier: GPL-2.0
# Completion of dlcp(8) for zsh

_dlcp_netns() {
	local -a names
	names=(${${(f)"$(ip netns list 2>/dev/null)"}%% *})
	compadd -a names
}

_dlcp_counters() {
	local -a names
	names=(${${(f)"$(cat /proc/net/dlcp/snmp 2>/dev/null)"}%% *})
	compadd -a names
}

_dlcp_filters() {
	case $words[CURRENT-1] in
	state) compadd listen init_sent echo_sent established closing closed ;;
	src|dst|sport|dport|uid) _message 'address, port or number' ;;
	*) compadd state src dst sport dport uid ;;
	esac
}

_dlcp_check() {
	_arguments -s \
		{-j,--json}'[JSON]' \
		{-p,--port}'[DLCP port at the peer]:port' \
		{-W,--timeout}'[how long to wait for an answer]:seconds' \
		{-N,--net}'[network namespace]:name:_dlcp_netns' \
		{-h,--help}'[options]' \
		':peer:_hosts'
}

_dlcp_coll-perf() {
	_arguments -s \
		'--rank[this rank]:number' \
		'--world[how many ranks there are]:number' \
		'--master[where rank 0 is]:host:_hosts' \
		{-p,--port}'[DLCP port there]:port' \
		{-b,--minbytes}'[first size]:bytes' \
		{-e,--maxbytes}'[last size]:bytes' \
		{-f,--stepfactor}'[from one size to the next]:number' \
		{-n,--iters}'[rounds]:number' \
		{-w,--warmup-iters}'[rounds before them]:number' \
		'--rate[of a link, in bits per second]:rate' \
		{-j,--json}'[JSON]' \
		{-N,--net}'[network namespace]:name:_dlcp_netns' \
		{-W,--timeout}'[of the group and of operations]:seconds' \
		'--algo[how an all-reduce goes]:name:(auto ring transpose server)' \
		'--loss[bound of the reducing half]:share' \
		'--loss2[bound of the distributing half]:share' \
		'--resync[every so many rounds no second bound]:number' \
		'--correct[what makes up for loss]:name:(feedback average nothing)' \
		'--droppable[share of the smallest]:share' \
		'--critical[share of the largest]:share' \
		'--servers[ranks that serve]:number' \
		'--dedicated[... and do nothing else]' \
		'--same[all ranks have the same input]' \
		'--thc[averages in 4 bits]' \
		'--chunk[longest message]:bytes' \
		'--html[a page with plots]:file:_files' \
		{-h,--help}'[options]' \
		':operation:(all_reduce reduce_scatter all_gather broadcast reduce alltoall)'
}

_dlcp_perf() {
	_arguments -s \
		{-s,--server}'[wait for tests]' \
		{-1,--one-off}'[end after one]' \
		{-p,--port}'[of DLCP and of TCP]:port' \
		{-t,--time}'[send for so long]:seconds' \
		{-n,--bytes}'[send so many]:bytes' \
		{-l,--length}'[of messages]:bytes' \
		'--bound[how much of a message may be missing]:share' \
		'--class[priority]:class:(0 1 2 3 4 5 6 7)' \
		'--early-stop[complete as soon as the bound allows]' \
		{-P,--parallel}'[connections]:number' \
		{-q,--queue}'[messages on their way]:number' \
		{-R,--reverse}'[the server sends]' \
		'--bidir[both send]' \
		'--tcp=-[the same over TCP]::alone:(only)' \
		{-i,--interval}'[between lines]:seconds' \
		{-j,--json}'[JSON]' \
		'--html[a page with plots]:file:_files' \
		{-4,--ipv4}'[IPv4 alone]' \
		{-6,--ipv6}'[IPv6 alone]' \
		{-N,--net}'[network namespace]:name:_dlcp_netns' \
		{-h,--help}'[options]' \
		':host:_hosts'
}

_dlcp_ping() {
	_arguments -s \
		{-4,--ipv4}'[IPv4 alone]' \
		{-6,--ipv6}'[IPv6 alone]' \
		{-c,--count}'[set-ups]:number' \
		{-i,--interval}'[between them]:seconds' \
		{-W,--timeout}'[how long to wait for one]:seconds' \
		{-p,--port}'[DLCP port]:port' \
		{-l,--listen}'[listen there]' \
		{-j,--json}'[JSON]' \
		{-N,--net}'[network namespace]:name:_dlcp_netns' \
		{-h,--help}'[options]' \
		':host:_hosts'
}

_dlcp_kill() {
	_arguments -s \
		{-a,--all}'[all of them]' \
		{-n,--dry-run}'[end none]' \
		{-N,--net}'[network namespace]:name:_dlcp_netns' \
		{-h,--help}'[options]' \
		'*:filter:_dlcp_filters'
}

_dlcp_show() {
	_arguments -s \
		{-d,--devices}'[devices, too]' \
		{-l,--listening}'[listeners alone]' \
		{-P,--paths}'[a line for each path]' \
		{-p,--processes}'[which processes hold the sockets]' \
		{-H,--no-header}'[no titles]' \
		{-j,--json}'[JSON]' \
		{-w,--watch}'[look again and again]:seconds' \
		{-c,--count}'[looks]:number' \
		{-N,--net}'[network namespace]:name:_dlcp_netns' \
		{-t,--table}'[as text]:table:(conns paths devices snmp)' \
		'--from[saved copies]:folder:_directories' \
		{-h,--help}'[options]' \
		'*:filter:_dlcp_filters'
}

_dlcp_stat() {
	_arguments -s \
		{-a,--all}'[zeros, too]' \
		{-j,--json}'[JSON]' \
		'--prometheus[for node_exporter]' \
		{-o,--output}'[file to replace]:file:_files' \
		{-w,--watch}'[look again and again]:seconds' \
		{-c,--count}'[looks]:number' \
		{-N,--net}'[network namespace]:name:_dlcp_netns' \
		'--from[saved copies]:folder:_directories' \
		{-h,--help}'[options]' \
		'*:counter:_dlcp_counters'
}

_dlcp_top() {
	_arguments -s \
		{-d,--delay}'[between looks]:seconds' \
		{-o,--order}'[key]:key:(rate sent received queues rtt lost)' \
		{-N,--net}'[network namespace]:name:_dlcp_netns' \
		'--from[saved copies]:folder:_directories' \
		{-h,--help}'[options]' \
		'*:filter:_dlcp_filters'
}

_dlcp_trace() {
	_arguments -s \
		{-j,--json}'[JSON]' \
		{-S,--summary}'[only the table at the end]' \
		{-k,--key}'[messages of this key]:key' \
		'--slower[those that took longer]:milliseconds' \
		{-c,--count}'[messages]:number' \
		{-t,--time}'[end after]:seconds' \
		'--from[saved trace]:file:_files' \
		{-h,--help}'[options]'
}

_dlcp() {
	local -a commands
	commands=(
		'check:what is wrong with this node, or on the way to another one'
		'coll-perf:how long collectives take among all ranks'
		'kill:end listeners and connections'
		'perf:how fast messages go to a host, over DLCP or TCP'
		'ping:whether a host answers DLCP'
		'show:listeners, connections and paths'
		'stat:counters'
		'top:connections by rate, on the whole screen'
		'trace:where the time of each message went'
		'help:commands'
	)
	if (( CURRENT == 2 )); then
		_describe command commands
		compadd -- --version
	elif (( $+functions[_dlcp_$words[2]] )); then
		shift words
		(( CURRENT-- ))
		_dlcp_$words[1]
	fi
}

_dlcp "$@"
