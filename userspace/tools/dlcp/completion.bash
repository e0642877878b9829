# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of dlcp(8), from what each command says with --help

# The names of a list in words: "a, b or c ..."
_dlcp_list()
{
	sed -nE 's/^[A-Z]+:? *(([a-z_]+, )+[a-z_]+( or [a-z_]+)?).*/\1/; T; s/,| or / /g; p'
}

# _dlcp_rest HELP WORD: what may stand beside the options
_dlcp_rest()
{
	case $1 in
	*FILTER*) echo state src dst sport dport uid ;;
	*OPERATION:*) grep '^OPERATION:' <<<"$1" | _dlcp_list ;;
	*'[NAME...]'*) cut -d' ' -f1 /proc/net/dlcp/snmp 2>/dev/null ;;
	*HOST* | *PEER*) [ "${2#-}" != "$2" ] || compgen -A hostname -- "$2" ;;
	esac
}

_dlcp()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} said value='' words

	if [ "$COMP_CWORD" = 1 ]; then
		words="help --version $("${COMP_WORDS[0]}" help 2>/dev/null | sed -n 's/^  \([a-z-]*\) .*/\1/p')"
	else
		said=$("${COMP_WORDS[0]}" "${COMP_WORDS[1]}" --help 2>/dev/null)
		[[ ! $before =~ ^--?[a-zA-Z0-9-]+$ ]] ||
			value=$(sed -nE "s/^ (.*[ ,;])?$before(, --[a-z0-9-]+)? ([A-Z])/\3/p" <<<"$said")
		case $before:$value in
		state:) words='listen init_sent echo_sent established closing closed' ;;
		src: | dst: | sport: | dport: | uid:) return ;;
		*:FILE*) compopt -o default 2>/dev/null; return ;;
		*:DIR*) compopt -o dirnames 2>/dev/null; return ;;
		*:HOST*) words=$(compgen -A hostname -- "$word") ;;
		*'(ip netns)') words=$(ip netns list 2>/dev/null | cut -d' ' -f1) ;;
		*:?*) words=$(_dlcp_list <<<"$value") ;;
		*) words="--help $(grep -oE -- '--[a-z0-9-]+' <<<"$said") $(_dlcp_rest "$said" "$word")" ;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _dlcp dlcp
