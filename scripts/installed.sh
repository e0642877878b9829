# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The module as it is installed below DESTDIR, and how it goes. Source it after lib.sh.

root=${DESTDIR:-}

# update_modules RELEASE: without the kernel's own list there is nothing to compute dependencies from.
update_modules() {
	[ ! -e "$root/lib/modules/$1/modules.order" ] || depmod ${root:+-b "$root"} "$1"
}

# What scripts/install-module put there, for every kernel
remove_plain() {
	local file release
	for file in "$root"/lib/modules/*/updates/{dlcp,dlcp_diag}.ko*; do
		[ -e "$file" ] || continue
		rm "$file"
		log "removed $file"
		release=${file#"$root"/lib/modules/}
		release=${release%%/*}
		(cd "$root/" && rmdir -p --ignore-fail-on-non-empty "lib/modules/$release/updates")
		update_modules "$release"
	done
}

# packaged PATTERN: a file of Debian's package, which apt-get removes
packaged() { [ -z "$root" ] && have dpkg && dpkg -S "$1" >/dev/null 2>&1; }

refuse_package() {
	! packaged '/usr/src/dlcp-*/dkms.conf' ||
		die "the package dlcp-dkms is installed, and two modules would be: apt-get purge dlcp-dkms"
}

dkms_status() {
	if [ -z "$root" ] && have dkms; then
		dkms status -m dlcp
	fi
}

# Versions that DKMS has, and the kernels that one of them is installed for
dkms_versions() { dkms_status | sed -n 's#^dlcp\(/\|, \)\([^,:]*\)[,:].*#\2#p' | sort -u; }
dkms_kernels() { dkms_status | sed -n 's#^dlcp\(/\|, \)[^,]*, \([^,]*\), .*: installed.*#\2#p' | sort -u; }

# remove_dkms VERSION: from all kernels, with its source
remove_dkms() {
	dkms remove "dlcp/$1" --all >&2
	rm -rf "/usr/src/dlcp-$1"
	log "removed dlcp $1 from DKMS"
}
