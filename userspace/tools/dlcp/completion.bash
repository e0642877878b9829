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
		words='check ping show stat help --version'
	else
		case ${COMP_WORDS[1]}:$before in
		*:-N | *:--net) words=$(ip netns list 2>/dev/null | cut -d' ' -f1) ;;
		*:--from)
			compopt -o dirnames 2>/dev/null
			return
			;;
		*:-w | *:--watch | *:-c | *:--count | *:-i | *:--interval | *:-W | *:--timeout | *:-p | *:--port)
			[ "${COMP_WORDS[1]} $before" = 'show -p' ] || return
			;;
		show:state) words='listen init_sent echo_sent established closing closed' ;;
		show:src | show:dst | show:sport | show:dport | show:uid) return ;;
		show:*) words='--devices --listening --paths --processes --no-header --json --watch --count --net --from
			--help state src dst sport dport uid' ;;
		check:*) words="--json --port --timeout --net --help $(_dlcp_hosts "$word")" ;;
		ping:*) words="--ipv4 --ipv6 --count --interval --timeout --port --listen --json --net --help
			$(_dlcp_hosts "$word")" ;;
		stat:*) words="--all --json --prometheus --watch --count --net --from --help
			$(cut -d' ' -f1 /proc/net/dlcp/snmp 2>/dev/null)" ;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _dlcp dlcp
