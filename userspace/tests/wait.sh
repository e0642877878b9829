# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests in shell: source it in userspace/.

# wait_for CMD...: until it is true. After a minute that is said, and the status is 1.
wait_for()
{
	local end=$((SECONDS + 60))
	until "$@"; do
		[ $SECONDS -lt $end ] || {
			echo "# not within a minute: $*"
			return 1
		}
		sleep 0.1
	done
}

# listening FILE: a server says there that it listens
listening() { grep -qs listening "$1"; }

# remove_module: who used it may take a moment to go
remove_module() { rmmod dlcp 2>/dev/null; }
