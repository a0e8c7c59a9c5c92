#!/usr/bin/env bash
# Run the README's two commands on a Debian that has nothing but Python, git and make, from a clone
# of what is committed:
#
#   make fresh                          as root
#   make fresh FRESH=-u                 as a user without rights
#   make fresh FRESH="-u trixie"        on another edition (default: bookworm)
#   tools/fresh.sh bookworm 'make test PYTEST=tests/browser'    another command
#
# It needs a container program (podman or docker), or root and mmdebstrap.
set -euo pipefail
user=root
[ "${1:-}" = -u ] && { user=learner; shift; }
suite=${1:-bookworm}
commands=${2:-'make demo </dev/null && make test'}
packages=python3,python3-venv,git,make,ca-certificates
project=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
home=/home/$user
inside="cd $home/humanmcp && $commands"

in_container() {
	"$1" run --rm --init --volume "$project:/source:ro" "debian:$suite-slim" bash -euc "
		apt-get update -qq && apt-get install -y -qq --no-install-recommends ${packages//,/ } >/dev/null
		[ $user = root ] && install -d -m 700 $home || useradd --create-home $user
		git -c safe.directory=/source clone -q /source $home/humanmcp
		[ $user = root ] || chown -R $user: $home/humanmcp
		setpriv --reuid $user --regid $user --init-groups env -i HOME=$home USER=$user LANG=C.UTF-8 \
			PATH=\"\$PATH\" bash -c \"$inside\""
}

in_folder() {
	root=$(mktemp -d /var/tmp/fresh.XXXXXX)
	trap 'rm -rf --one-file-system "$root"' EXIT
	mmdebstrap --quiet --variant=minbase --include=$packages "$suite" "$root"
	# Packages are fetched as this machine fetches them: with its names and its certificates.
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
	rm -rf "$root/etc/ssl/certs" && cp -rL /etc/ssl/certs "$root/etc/ssl/certs"
	if [ $user = root ]; then
		install -d -m 700 "$root$home"
	else
		chroot "$root" useradd --create-home $user
	fi
	git clone -q --no-hardlinks "$project" "$root$home/humanmcp"
	[ $user = root ] || chroot "$root" chown -R $user: "$home/humanmcp"
	export root home user inside
	# shellcheck disable=SC2016 # the inner shell expands them
	unshare --mount --pid --fork --kill-child bash -euc '
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs tmpfs "$root/tmp"
		chmod 1777 "$root/tmp"
		certificates=/etc/ssl/certs/ca-certificates.crt
		exec chroot "$root" setpriv --reuid "$user" --regid "$user" --init-groups env -i \
			HOME="$home" USER="$user" LANG=C.UTF-8 \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			SSL_CERT_FILE=$certificates PIP_CERT=$certificates REQUESTS_CA_BUNDLE=$certificates \
			NODE_EXTRA_CA_CERTS=$certificates NPM_CONFIG_CAFILE=$certificates bash -c "$inside"'
}

if command -v podman >/dev/null; then
	in_container podman
elif command -v docker >/dev/null && docker info >/dev/null 2>&1; then
	in_container docker
elif command -v mmdebstrap >/dev/null && [ "$(id -u)" = 0 ]; then
	in_folder
else
	echo "This needs podman or docker, or root and mmdebstrap (Debian: apt-get install mmdebstrap)."
	exit 2
fi
