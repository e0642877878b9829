#compdef dlcp
# SPDX-License-Identifier: GPL-2.0
# Completion of dlcp(8) for zsh, from what each command says with --help

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

# _dlcp_value META TEXT: its name, and how it is completed: by the names of a list, "a, b or c ..."
_dlcp_value() {
	reply=":${(L)1}:"
	case "$1 $2" in
	FILE*) reply+=_files ;;
	DIR*) reply+=_directories ;;
	HOST*) reply+=_hosts ;;
	*'(ip netns)') reply+=_dlcp_netns ;;
	*) [[ ! $2 =~ '^(([a-z_]+, )+[a-z_]+( or [a-z_]+)?)' ]] || reply+="(${${match[1]//,/}/ or / })" ;;
	esac
}

_dlcp_command() {
	local said="$($1 $2 --help 2>/dev/null)" line reply
	local -a specs match

	for line in ${(f)"$(sed -E 's/ (-.), --/ \1=--/g; /^ +-/ s/[,;] -/\n -/g' <<<$said)"} ' -h=--help  options'; do
		[[ $line =~ '^ +((-.)=)?(--[a-z0-9-]+(=[a-z]+)?)( ([A-Z][A-Z,.]*))?[ :]*(.*)' ]] || continue
		local short=$match[2] long=$match[3] kind=$match[6] text=$match[7]
		reply=
		[[ -z $kind ]] || _dlcp_value $kind $text
		for line in $short $long; do
			specs+=("($short $long)${line}[$text]$reply")
		done
	done
	case $said in
	*FILTER*) specs+='*:filter:_dlcp_filters' ;;
	*$'\nOPERATION: '*) _dlcp_value OPERATION ${said##*$'\n'OPERATION: }; specs+=$reply ;;
	*'[NAME...]'*) specs+='*:counter:_dlcp_counters' ;;
	*HOST*|*PEER*) specs+=':host:_hosts' ;;
	esac
	_arguments -s $specs
}

_dlcp() {
	local -a commands
	if (( CURRENT == 2 )); then
		commands=(${(f)"$($words[1] help | sed -nE 's/^  ([a-z-]+) +(.*)/\1:\2/p')"} help:commands)
		_describe command commands
		compadd -- --version
	else
		local tool=$words[1]
		shift words
		(( CURRENT-- ))
		_dlcp_command $tool $words[1]
	fi
}

_dlcp "$@"
