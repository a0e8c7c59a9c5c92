#!/bin/sh
# Install the npm clients that the tests drive humanmcp with; quick when they are there already.
# Without Node.js 20 or newer, and no way to get it, this says so and succeeds: the tests that need
# it are then skipped, each with the reason.
set -u
cd "$(dirname "$0")" || exit 1

new_enough() {
	command -v npm >/dev/null 2>&1 &&
		node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null
}

from_the_distribution() {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
	echo "installing nodejs and npm from the distribution"
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null
}

without() {
	echo "The tests with npm clients will be SKIPPED: $1"
	exit 0
}

new_enough || from_the_distribution
new_enough || without "Node.js 20 or newer with npm is not here (https://nodejs.org/)"
# The tests look for this file; it is gone while the packages are not what package.json asks for.
stamp=node_modules/.installed
if [ -e $stamp ] && cmp -s package-lock.json $stamp; then
	exit 0
fi
rm -f $stamp
echo "installing the npm clients into tests/clients/node/node_modules"
npm ci --no-audit --no-fund --loglevel=error >/dev/null || without "npm could not install the packages"
cp package-lock.json $stamp
