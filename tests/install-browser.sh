#!/bin/sh
# Make sure there is a Chromium for the tests of the page. Without one, and no way to get it, this
# says so and succeeds: the tests that need it are then skipped, each with the reason.
set -u
cd "$(dirname "$0")" || exit 1

[ -d browser ] || exit 0 # no test needs one yet

found() {
	command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 ||
		command -v google-chrome >/dev/null 2>&1
}

found && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "installing chromium from the distribution"
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends chromium >/dev/null
fi
found || echo "The tests of the page will be SKIPPED: there is no Chromium (Debian: apt-get install chromium)"
