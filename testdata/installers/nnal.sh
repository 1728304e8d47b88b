#!/bin/bash
. ./lib.sh
[ "${ASCEND_HOME_PATH:-}" ] || no 0x0080 "source set_env.sh of the toolkit first"
at=$root/nnal/atb
[ "$action" != uninstall ] || { rm -rf "$at/$version"; done_with; }
put "$at/$version/version.info" "Ascend-cann-atb : $version
Ascend-cann-atb Version : $version.B150
Platform : $arch"
point early
for abi in 0 1; do put "$at/$version/atb/cxx_abi_$abi/lib/libatb.so"; done
point middle
cp --remove-destination set_env.sh "$at/set_env.sh" || no 0x0001 "cannot write $at"
ln -sfn "./$version" "$at/latest"
point late
put "$at/$version/last" "the installer is through"
done_with
