# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of dlcp(8)

_dlcp_hosts()
{
	[ "${1#-}" != "$1" ] || compgen -A hostname -- "$1"
}

_dlcp()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=

	if [ "$COMP_CWORD" = 1 ]; then
		words='check coll-perf kill perf ping show stat top trace help --version'
	else
		case ${COMP_WORDS[1]}:$before in
		*:-N | *:--net) words=$(ip netns list 2>/dev/null | cut -d' ' -f1) ;;
		stat:-o | stat:--output)
			compopt -o default 2>/dev/null
			return
			;;
		perf:--html | coll-perf:--html)
			compopt -o default 2>/dev/null
			return
			;;
		perf:--class)
			words='0 1 2 3 4 5 6 7'
			;;
		coll-perf:--algo) words='auto ring transpose server' ;;
		coll-perf:--correct) words='feedback average nothing' ;;
		coll-perf:-[befnw] | coll-perf:--min* | coll-perf:--max* | coll-perf:--step* | coll-perf:--iters | coll-perf:--warm* | \
			coll-perf:--ra* | coll-perf:--world | coll-perf:--loss* | coll-perf:--resync | coll-perf:--droppable | \
			coll-perf:--critical | coll-perf:--servers | coll-perf:--chunk) return ;;
		coll-perf:--master)
			words=$(_dlcp_hosts "$word")
			;;
		perf:-t | perf:--time | perf:-n | perf:--bytes | perf:-l | perf:--length | perf:--bound | perf:-P | perf:--parallel | \
			perf:-q | perf:--queue) return ;;
		*:-w | *:--watch | *:-c | *:--count | *:-i | *:--interval | *:-W | *:--timeout | *:-p | *:--port)
			[ "${COMP_WORDS[1]} $before" = 'show -p' ] || return
			;;
		top:-o | top:--order) words='rate sent received queues rtt lost' ;;
		top:-d | top:--delay) return ;;
		trace:--from)
			compopt -o default 2>/dev/null
			return
			;;
		trace:-[kct] | trace:--key | trace:--slower | trace:--time) return ;;
		show:-t | show:--table) words='conns paths devices snmp' ;;
		*:--from)
			compopt -o dirnames 2>/dev/null
			return
			;;
		show:state | kill:state | top:state) words='listen init_sent echo_sent established closing closed' ;;
		show:src | show:dst | show:sport | show:dport | show:uid | kill:src | kill:dst | kill:sport | kill:dport | kill:uid | top:src | top:dst | top:sport | top:dport | top:uid) return ;;
		show:*) words='--devices --listening --paths --processes --no-header --json --watch --count --net --table
			--from --help state src dst sport dport uid' ;;
		kill:*) words='--all --dry-run --net --help state src dst sport dport uid' ;;
		top:*) words='--delay --order --net --from --help state src dst sport dport uid' ;;
		check:*) words="--json --port --timeout --net --help $(_dlcp_hosts "$word")" ;;
		coll-perf:*) words="all_reduce reduce_scatter all_gather broadcast reduce alltoall --rank --world --master --port
			--minbytes --maxbytes --stepfactor --iters --warmup-iters --rate --json --net --timeout --algo --loss --loss2
			--resync --correct --droppable --critical --servers --dedicated --same --thc --chunk --html --help" ;;
		perf:*) words="--server --one-off --port --time --bytes --length --bound --class --early-stop --parallel
			--queue --reverse --bidir --tcp --interval --json --html --ipv4 --ipv6 --net --help
			$(_dlcp_hosts "$word")" ;;
		ping:*) words="--ipv4 --ipv6 --count --interval --timeout --port --listen --json --net --help
			$(_dlcp_hosts "$word")" ;;
		trace:*) words='--json --summary --key --slower --count --time --from --help' ;;
		stat:*) words="--all --json --prometheus --output --watch --count --net --from --help
			$(cut -d' ' -f1 /proc/net/dlcp/snmp 2>/dev/null)" ;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _dlcp dlcp
