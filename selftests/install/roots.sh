# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Clean roots of Debian, and what is done in them. Source it after scripts/lib.sh.
# shellcheck disable=SC2154,SC2034 # what lib.sh, or the caller, has

archives=$cache/roots/archives
count=0 failed=0

# result NAME STATUS: the end of what it said comes first, if it failed.
result() {
	count=$((count + 1))
	if [ "$2" = 0 ]; then
		echo "ok $count - $1"
	else
		failed=$((failed + 1))
		tail -n 30 "$log" | awk '{ print "# " $0 }'
		echo "not ok $count - $1"
	fi
}

# doc_block PAGE TITLE [N]: the first block of commands in that section, or the Nth
doc_block() {
	sed -n "/^$2/,/^##/p" "$top/$1" |
		awk -v n="${3:-1}" '/^```/ { inside = !inside; block += inside; next } inside && block == n'
}

# choose_root BED LINE: the one of this kernel line is what the functions below are about.
choose_root() {
	line=$2
	root=$top/build/test/$1-$line
	log=$top/build/test/$1-$line.log
	release=$(cat "$("$top/scripts/fetch" "$line")/release")
}

# in_root SCRIPT: bash in the root, with /proc and /dev; what it starts ends with it.
in_root() {
	cp "$1" "$root/run/script"
	# shellcheck disable=SC2016 # for the inner shell
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
		"DLCP_RELEASE=$release" DLCP_URL=/srv/dlcp.git "VERSION=$version" DEBIAN_FRONTEND=noninteractive \
		unshare -mpf --kill-child --propagation private bash -c '
			mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" &&
			mount --bind "$1" "$0/var/cache/apt/archives" &&
			exec chroot "$0" env LD_PRELOAD=/run/release.so bash -eux /run/script' \
		"$root" "$archives" >"$log" 2>&1 </dev/null
}

# in_guest SCRIPT [OPTION-OF-THE-LAB...]: bash in the root, with the kernel of the root
in_guest() {
	cp "$1" "$root/run/guest"
	"$top/selftests/vm/lab" --bed qemu --kernel "$line" --no-module "${@:2}" -- chroot "$root" bash /run/guest >"$log" 2>&1
}

# Everything that is installed but packages, whose names are read first
# shellcheck disable=SC2016 # for the root's shell
files='files() {
	find / -xdev \( -path /proc -o -path /run -o -path /tmp -o -path /root -o -path /srv -o -path /var/cache \
		-o -path /var/log -o -path "/var/lib/dkms*" -o -name __pycache__ \) -prune -o -print |
		grep -v "/lib/modules/[^/]*/modules\." | sort
}
'

# A clean one
make_root() {
	rm -rf "$root"
	mkdir -p "$root" "$archives/partial"
	tar -xf "$("$top/scripts/fetch" "root-$line")" -C "$root" || return
	cp -L /etc/resolv.conf "$root/etc/resolv.conf"
	gcc -O2 -fPIC -shared -o "$root/run/release.so" "$top/selftests/install/release.c"
}

