#!/usr/bin/env bash
# What action.yml runs: installs humanmcp apart from everything else, and checks files. The exit
# status is that of `humanmcp check`; matcher.json makes its lines annotations in the files.
set -euo pipefail
shopt -s globstar nullglob

venv="${RUNNER_TEMP:?}/humanmcp"
if [ ! -d "$venv" ]; then
	python3 -m venv "$venv"
	"$venv"/[Bbs]*/pip install --quiet --disable-pip-version-check "$PACKAGE"
fi
check=("$venv"/[Bbs]*/humanmcp check)
[ -z "$METHOD" ] || check+=(--method "$METHOD")
[ -z "$REVISION" ] || check+=(--revision "$REVISION")

files=()
while IFS= read -r pattern; do
	[ -z "$pattern" ] || files+=($pattern) # shellcheck disable=SC2206 # a pattern becomes its files
done <<<"$FILES"
if [ ${#files[@]} = 0 ]; then
	echo "::error::There is no file that fits: $FILES"
	exit 2
fi

echo "::add-matcher::$(dirname "$0")/matcher.json"
[ -z "$SARIF" ] || "${check[@]}" --sarif -- "${files[@]}" >"$SARIF" || [ $? = 1 ]
"${check[@]}" --lang en -- "${files[@]}"
