# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # cache is set by lib.sh
# Packages of other Debian releases, unpacked into the cache and not installed.
# Source it after lib.sh.

# suites_of SET: the suites of a set, which has package lists of its own. A set is a Debian release,
# `newest`, where new kernels appear first, or a single suite (sid, bookworm-backports). With
# -arm64 after its name it has the packages of that architecture, too.
suites_of() {
	case ${1%-arm64} in
	bullseye) echo "bullseye bullseye-security" ;;
	bookworm | trixie) echo "${1%-arm64} ${1%-arm64}-updates ${1%-arm64}-security" ;;
	newest) echo "trixie-backports sid" ;;
	*) echo "${1%-arm64}" ;;
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

# apt_side SET TOOL ARGS...: apt-get or apt-cache with lists, status and
# cache of its own, so that the system's package state is neither read nor changed.
apt_side() {
	local dir=$cache/apt/$1 tool=$2 more=()
	[ "$1" = "${1%-arm64}" ] || more=(-o APT::Architectures::=amd64 -o APT::Architectures::=arm64)
	shift 2
	"$tool" -o "Dir::Etc::SourceList=$dir/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null \
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
		-o "Dir::State=$dir/state" -o Dir::State::status=/dev/null \
		-o "Dir::Cache=$dir/cache" -o APT::Sandbox::User=root "${more[@]}" "$@"
}

# apt_side_update SET: read the package lists of the set, at most once in an hour.
apt_side_update() {
	local set=$1 dir=$cache/apt/$1 suites
	[ -z "$(find "$dir/updated" -mmin -60 2>/dev/null)" ] || return 0
	mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial"
	read -ra suites < <(suites_of "$set")
	write_sources "$dir" "${suites[@]}"
	if ! apt_side "$set" apt-get update --error-on=any >"$dir/update.log" 2>&1; then
		cat "$dir/update.log" >&2
		log "cannot read the package lists of $set"
		return 1
	fi
	touch "$dir/updated"
}

# closure_of SET PACKAGE...: these and all that they need, on a system that has nothing
closure_of() {
	local set=$1
	shift
	apt_side "$set" apt-get install -s -q --no-install-recommends "$@" |
		sed -n 's/^Inst \([^ ]*\) .*(\([^ ]*\) .*/\1=\2/p'
}

# fetch_debs SET DIR PACKAGE[=VERSION]...: unpack them into DIR/root.
fetch_debs() {
	local set=$1 dir=$2
	shift 2
	mkdir -p "$dir/debs" "$dir/root"
	(cd "$dir/debs" && quietly "$dir/download.log" apt_side "$set" apt-get download "$@")
	for deb in "$dir"/debs/*.deb; do
		dpkg -x "$deb" "$dir/root"
	done
	rm -r "$dir/debs"
}
