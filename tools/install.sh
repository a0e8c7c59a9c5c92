#!/bin/sh
# Install the programs of the distribution that some tests drive: sh tools/install.sh nginx haproxy
# Without the rights for it, this says what to type and succeeds: those tests are then skipped, each
# with the reason.
set -u
PATH=$PATH:/usr/sbin

missing=
for program in "$@"; do
	command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
done
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing$missing from the distribution"
	apt-get update -qq
	# shellcheck disable=SC2086 # several words
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
for program in $missing; do
	command -v "$program" >/dev/null 2>&1 ||
		echo "Its tests will be SKIPPED: there is no $program (Debian: sudo apt-get install $program)"
done
