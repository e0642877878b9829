# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by the scripts of this directory and by the lab. Source it; it runs nothing.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${DLCP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/dlcp}
prog=${0##*/}

log() { printf '%s: %s\n' "$prog" "$*" >&2; }
die() { log "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# Run a command as root: as we are, or through sudo.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo -- "$@"
	fi
}

# with_lock NAME CMD...: one at a time in the cache. Several labs may start at
# once on a fresh machine, and only one of them should build the kernel.
with_lock() {
	local name=$1
	shift
	mkdir -p "$cache/locks"
	(
		if ! flock -n 9; then
			log "waiting for another process ($name)"
			flock 9
		fi
		"$@" 9>&-
	) 9>"$cache/locks/$name"
}

# quietly LOGFILE CMD...: keep the output for the one case in which it matters.
quietly() {
	local out=$1
	shift
	if ! "$@" >"$out" 2>&1; then
		tail -n 40 "$out" >&2
		die "failed: $* (all of it in $out)"
	fi
}

# Package lists may be missing altogether, as in a fresh container.
refresh_package_lists() {
	log "reading the package lists"
	as_root apt-get update -q >/dev/null
}

# build_dir TARGET: where scripts/build-module builds for a kernel, or for a folder of headers
build_dir() {
	case $1 in
	/*) echo "$top/build/kdir-$(cat "$1/include/config/kernel.release")" ;;
	*) echo "$top/build/${1/:/-}" ;;
	esac
}

# no_headers RELEASE: to build for
no_headers() {
	log "there are no headers for the running kernel, $1"
	log "install them: apt-get install linux-headers-$1 (in Fedora and RHEL kernel-devel-$1)"
	exit 1
}

# Where it is, if it is there.
virtiofsd_program() {
	local file
	for file in /usr/libexec/virtiofsd /usr/lib/qemu/virtiofsd; do
		[ ! -x "$file" ] || { echo "$file" && return; }
	done
	command -v virtiofsd || true
}

# lab_bed uml|uml-debug|qemu-debug|qemu-VERSION: the lab's options for it, into the caller's array lab_options.
# shellcheck disable=SC2034 # lab_options is the caller's
lab_bed() {
	case $1 in
	uml) lab_options=(--bed uml) ;;
	uml-debug) lab_options=(--bed uml --debug) ;;
	qemu-debug) lab_options=(--bed qemu --debug --smp 2) ;;
	qemu-*) lab_options=(--bed qemu --kernel "${1#qemu-}" --smp 2) ;;
	*) die "unknown BED $1" ;;
	esac
}

# config_text plain|debug|clang|32|smp: the wanted options of a kernel that scripts/fetch
# builds. A control packet is made on the stack, which is more than 32 bits warn of. The
# kernel for several processors goes without what counts how often each line runs: it is slow enough.
config_text() {
	local dir=$top/selftests/vm/config
	case $1 in
	debug) cat "$dir/uml.config" "$dir/debug.config" ;;
	32) sed 's/^CONFIG_64BIT=y/CONFIG_FRAME_WARN=2048/' "$dir/uml.config" ;;
	smp)
		{
			cat "$dir/smp.config"
			sed '1,/^# --- modules/d' "$dir/uml.config"
			grep -v 'KERNEL_STACK_ORDER\|KCOV\|GCOV' "$dir/debug.config"
		} | grep '^CONFIG_'
		;;
	*) cat "$dir/uml.config" ;;
	esac
}
