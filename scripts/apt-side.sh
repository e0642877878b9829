# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # cache is set by lib.sh
# Packages of other Debian releases, unpacked into the cache and not installed.
# Source it after lib.sh.

# Where each kernel is, and PyTorch 2.6: sets of suites, one per line, best first. 6.12's backport
# comes before Debian 13's own, whose build tools want a newer C library than Debian 12 has.
suites_of() {
	case $1 in
	6.1) echo "bookworm bookworm-updates bookworm-security" ;;
	6.12) printf '%s\n' "bookworm-backports" "trixie trixie-updates trixie-security" ;;
	torch-2.6) echo "trixie trixie-updates trixie-security" ;;
	esac
}

# mirror_of LABEL: the mirror this machine already uses, whatever form its source
# lists have. No address is written into this tree.
mirror_of() {
	apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" "LABEL: $1" | sed -n 1p
}

# write_sources DIR SUITE...
write_sources() {
	local dir=$1 suite main security uri
	shift
	main=$(mirror_of Debian)
	if [ -z "$main" ]; then
		refresh_package_lists
		main=$(mirror_of Debian)
	fi
	security=$(mirror_of Debian-Security)
	[ -n "$main" ] || die "apt knows no Debian mirror"
	for suite; do
		uri=$main
		case $suite in
		*-security) uri=$security ;;
		esac
		[ -z "$uri" ] || echo "deb [signed-by=$keyring] $uri $suite main"
	done >"$dir/sources.list"
}

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# apt_side VERSION TOOL ARGS...: apt-get or apt-cache with lists, status and
# cache of its own, so that the system's package state is neither read nor changed.
apt_side() {
	local dir=$cache/apt/$1 tool=$2
	shift 2
	"$tool" -o "Dir::Etc::SourceList=$dir/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null \
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
		-o "Dir::State=$dir/state" -o Dir::State::status=/dev/null \
		-o "Dir::Cache=$dir/cache" -o APT::Sandbox::User=root "$@"
}

# apt_side_update VERSION [PACKAGE]: read the package lists of the first set of suites that has
# it, a kernel without.
apt_side_update() {
	local ver=$1 package=${2:-linux-image-cloud-amd64} dir=$cache/apt/$1 suites
	mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial"
	while read -ra suites; do
		write_sources "$dir" "${suites[@]}"
		if apt_side "$ver" apt-get update >"$dir/update.log" 2>&1 &&
			[ -n "$(apt_side "$ver" apt-cache show "$package" 2>/dev/null)" ]; then
			return
		fi
	done < <(suites_of "$ver")
	cat "$dir/update.log" >&2
	die "no Debian release this machine can reach has $package for $ver"
}

# depends_of VERSION PACKAGE: "name version" of the newest one's exactly versioned dependencies.
depends_of() {
	apt_side "$1" apt-cache show --no-all-versions "$2" 2>/dev/null |
		sed -n 's/^Depends: //p' | tr , '\n' |
		sed -n 's/^ *\(linux-[^ ]*\) (= \([^)]*\)).*/\1 \2/p'
}

# fetch_debs VERSION DIR PACKAGE[=VERSION]...: unpack them into DIR/root.
fetch_debs() {
	local ver=$1 dir=$2
	shift 2
	mkdir -p "$dir/debs" "$dir/root"
	(cd "$dir/debs" && quietly "$dir/download.log" apt_side "$ver" apt-get download "$@")
	for deb in "$dir"/debs/*.deb; do
		dpkg -x "$deb" "$dir/root"
	done
	rm -r "$dir/debs"
}
