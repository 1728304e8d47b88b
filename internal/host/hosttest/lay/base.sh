# ROOT SUITE PACKAGES: a small Debian root that every laid host is a clone of.
# It is built beside its place and renamed, so that half of one never counts.
set -e
new=$1.new
rm -rf "$new"
debootstrap --variant=minbase --include="$3" "$2" "$new"
cd "$new"
rm -rf var/cache/apt/archives/*.deb var/lib/apt/lists/* var/log/* usr/share/doc usr/share/man usr/share/locale usr/share/info
rm -f etc/ssh/ssh_host_* etc/resolv.conf usr/lib/python3*/EXTERNALLY-MANAGED
: >etc/resolv.conf
: >etc/machine-id
printf '#!/bin/sh\nexit 101\n' >usr/sbin/policy-rc.d # packages start no service
chmod 755 usr/sbin/policy-rc.d
mv "$new" "$1"
