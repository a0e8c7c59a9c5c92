#!/bin/sh
# Make sure that there is a Chromium (sh tests/install.sh browser), a PostgreSQL (… postgres), an
# nginx or HAProxy (… nginx, … haproxy), from the distribution. Without one, and no way to get it, this says so and succeeds: the tests that
# need it are then skipped, each with the reason.
set -u

case "$1" in
browser) name=Chromium packages="chromium-headless-shell chromium" ;;
postgres) name=PostgreSQL packages=postgresql ;;
nginx) name=nginx packages="nginx-light nginx" ;;
haproxy) name=HAProxy packages=haproxy ;;
esac

found() {
	case "$1" in
	browser) command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome ;;
	nginx | haproxy) command -v "$1" || ls "/usr/sbin/$1" ;;
	postgres) command -v initdb || ls /usr/lib/postgresql/*/bin/initdb /usr/pgsql-*/bin/initdb ;;
	esac 2>/dev/null | grep -q .
}

# The shell alone does half the work of a whole browser without a screen: it is got where it can be.
best() {
	case "$1" in
	browser) command -v chromium-headless-shell >/dev/null 2>&1 ;;
	*) found "$1" ;;
	esac
}

best "$1" && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	apt-get update -qq
	for package in $packages; do
		echo "installing $package from the distribution"
		DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends "$package" >/dev/null
		found "$1" && exit 0
	done
fi
found "$1" || echo "Its tests will be SKIPPED: there is no $name (Debian: apt-get install $packages)"
