#!/bin/bash
. ./lib.sh
home=$root/firmware info=/etc/ascend_install.info
if [ "$action" = uninstall ]; then
  rm -rf "$home"
  rmdir "$root" 2>/dev/null
  if [ -e $info ]; then
    sed -i '/^Firmware_/d' $info
    [ -s $info ] || rm -f $info
  fi
  done_with
fi
# It is written into the chips by the driver's tool.
[ -x "$root/driver/tools/upgrade-tool" ] || no 0x0080 "the driver is not installed"
point early
mkdir -p "$home/script" "$home/image"
put "$home/image/npu.bin"
cp lib.sh meta "$home/script" && sed 's|^\. ./lib.sh|cd "${0%/*}" \&\& set -- --uninstall --quiet \&\& . ./lib.sh|' install.sh >"$home/script/uninstall.sh" || no 0x0001 "cannot write $home/script"
chmod 500 "$home/script/uninstall.sh"
point middle
field $info Firmware_Install_Path_Param "$root"
field $info Firmware_Install_Type "$action"
put "$home/version.info" "Version=$version
firmware_version=1.0
package_version=$release
compatible_version_drv=[24.1,24.1.],[25.0,25.0.],[25.2,25.2.],[25.3,25.3.],[25.5,25.5.],[26.0,26.0.]"
point late
done_with
