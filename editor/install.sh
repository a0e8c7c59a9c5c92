#!/bin/sh
# Bundle the JSON editor of the page into web/static/vendor; quick when it is there already.
# Without Node.js 20 or newer this says so and succeeds: the page then uses a plain text area.
set -u
cd "$(dirname "$0")" || exit 1

without() {
	echo "The JSON view will be a plain text area: $1"
	exit 0
}

# The bundle carries what it was made from; it is made anew when that changed.
made=../web/static/vendor/editor.js
stamp=../web/static/vendor/.made-from
from=$(cat editor.js package.json package-lock.json | cksum)
if [ -e $made ] && [ "$(cat $stamp 2>/dev/null)" = "$from" ]; then
	# The tests of the page also want axe-core, which is among the same packages.
	if [ -e node_modules/axe-core ] || ! command -v npm >/dev/null 2>&1; then
		exit 0
	fi
fi
command -v npm >/dev/null 2>&1 || without "npm is not here (https://nodejs.org/)"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' ||
	without "Node.js is older than 20 (https://nodejs.org/)"
echo "bundling the JSON editor of the page"
npm ci --no-audit --no-fund --ignore-scripts --loglevel=error >/dev/null || without "npm could not install the packages"
npm run --silent build -- --log-level=warning || without "esbuild could not bundle it"
echo "$from" >$stamp
