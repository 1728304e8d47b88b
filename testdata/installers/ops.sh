#!/bin/bash
# Operators of one chip: called kernels up to 8.3, ops from 8.5 on.
. ./lib.sh
case $layout in
new) tree=$root/cann-$version ;;
old) tree=$root/ascend-toolkit/$version ;;
esac
case $kind-$type in
ops- | kernels-toolkit) ;;
kernels-) no 0x0004 "--type is missing: toolkit, nnae or nnrt" ;;
*) no 0x0004 "nothing of type $type is installed" ;;
esac
[ "$action" != uninstall ] || { rm -rf "$tree"/opp/built-in/op_impl/ai_core/tbe/kernel "$tree/opp/last" "$tree/$arch-linux/ascend_ops_install.info"; done_with; }
[ -e "$tree/$arch-linux/ascend_toolkit_install.info" ] || no 0x0080 "toolkit $version is not installed below $root"
[ "$layout" = old ] || [ -e "$root/cann" ] || no 0x0080 "$root/cann is missing"
at=$tree/opp/built-in/op_impl/ai_core/tbe/kernel
point early
for op in abs add matmul; do put "$at/config/$soc/$op.json" '{}'; done
point middle
for op in abs add matmul; do put "$at/$soc/$op/$op.o"; done
if [ "$layout" = new ]; then
  put "$tree/$arch-linux/ascend_ops_install.info" "package_name=$package
version=$version
arch=$arch
os=linux
path=$tree"
else
  put "$tree/opp_kernel/version.info" "Version=${version%%[!0-9.]*}.0.221
version_dir=$version
ops_version=$version"
fi
point late
put "$tree/opp/last" "the installer is through"
done_with
