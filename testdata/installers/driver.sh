#!/bin/bash
. ./lib.sh
user=${user:-HwHiAiUser} group=${group:-$user} kernel=$(uname -r) home=$root/driver info=/etc/ascend_install.info

remove() {
  rm -rf "$home" /usr/local/dcmi /usr/local/sbin/npu-smi /usr/bin/hccn_tool /usr/bin/msnpureport /etc/ascend_driver.conf \
    /etc/ld.so.conf.d/ascend_driver_so.conf /usr/lib/systemd/system/host_sys_init.service
  rm -f "/lib/modules/$kernel/updates/"*_host.ko
  rmdir "/lib/modules/$kernel/updates" "$root" 2>/dev/null
  if [ -e $info ]; then
    sed -i '/^Driver_/d; /^User/d' $info
    [ -s $info ] || rm -f $info
  fi
  ldconfig
  # Nothing uses the chips: the modules are unloaded, and their nodes go.
  rm -f /dev/davinci* /dev/devmm_svm /dev/hisi_hdc
  [ ! -e /.laid/boot.d/host_sys_init ] || /.laid/boot.d/host_sys_init
}
if [ "$action" = uninstall ]; then remove; done_with; fi

id -u "$user" >/dev/null 2>&1 && getent group "$group" >/dev/null || no 0x0091 "user or group is missing: set username and usergroup, $user:$group"
[ "$user" != root ] || no 0x0091 "root cannot own the driver"
for tool in groups awk chattr lsattr ldconfig lspci ifconfig modprobe udevadm modinfo useradd readlink; do
  command -v $tool >/dev/null || no 0x0001 "the tool $tool is missing"
done
command -v update-rc.d >/dev/null || command -v chkconfig >/dev/null || no 0x0001 "neither update-rc.d nor chkconfig is there"
[ -e "/lib/modules/$kernel/build" ] || no 0x0001 "/lib/modules/$kernel/build: No such file or directory"
[ -w "${root%/*}" ] || no 0x0003 "$root cannot be written"
[ "$action" != pre-check ] || done_with
running=; [ ! -e /dev/davinci_manager ] || running=1

# The version is readable long before all is in place, and the status last.
[ ! -e $info ] || sed -i '/^Driver_Install_Status=/d' $info
mkdir -p "$root" && chmod 755 "$root"
put "$home/version.info" "Version=$version
ascendhal_version=7.35.23
aicpu_version=1.0
tdt_version=1.0
log_version=1.0
prof_version=2.0
dvppkernels_version=1.1
tsfw_version=1.0
Innerversion=$inner
compatible_version=$branches
compatible_version_fw=$firmware
package_version=$version"
field $info Driver_Install_Type "$action"
field $info UserName "$user"
field $info UserGroup "$group"
field $info Driver_Install_Path_Param "$root"
field $info Driver_Install_For_All "$([ "$all" ] && echo yes || echo no)"
field $info Driver_Install_Mode normal
point early
for lib in driver/libascend_hal.so driver/libdrvdsmi_host.so common/libc_sec.so libdcmi.so; do put "$home/lib64/$lib"; done
put /usr/local/dcmi/libdcmi.so
put /etc/ascend_driver.conf "# simulated"
put /etc/ld.so.conf.d/ascend_driver_so.conf "$home/lib64/common
$home/lib64/driver
$home/lib64"
for tool in hccn_tool msnpureport upgrade-tool; do prog "$home/tools/$tool" "#!/bin/sh
echo SIMULATED ${tool}; exit 1"; done
ln -sfn "$home/tools/hccn_tool" /usr/bin/hccn_tool
ln -sfn "$home/tools/msnpureport" /usr/bin/msnpureport
mkdir -p "$home/script" /usr/local/sbin
cp lib.sh meta "$home/script" && sed 's|^\. ./lib.sh|cd "${0%/*}" \&\& set -- --uninstall --quiet \&\& . ./lib.sh|' install.sh >"$home/script/uninstall.sh" || no 0x0001 "cannot write $home/script"
chmod 500 "$home/script/uninstall.sh"
sed "s/@VERSION@/$version/; s/@NPU@/$npu/" npu-smi.sh >/usr/local/sbin/npu-smi && chmod 755 /usr/local/sbin/npu-smi || no 0x0001 "cannot write npu-smi"
point middle
for module in drv_pcie drv_pcie_hdc drv_seclib drv_vascend; do put "/lib/modules/$kernel/updates/${module}_host.ko"; done
put /usr/lib/systemd/system/host_sys_init.service "[Unit]
Description=SIMULATED loader of the NPU driver
[Service]
Type=oneshot
ExecStart=/usr/bin/true
RemainAfterExit=yes
[Install]
WantedBy=multi-user.target"
[ ! -d /.laid/boot.d ] || { sed "s/@USER@/$user/; s/@GROUP@/$group/; s/@MODE@/$([ "$all" ] && echo 666 || echo 660)/" boot.sh >/.laid/boot.d/host_sys_init && chmod 755 /.laid/boot.d/host_sys_init; }
depmod "$kernel" 2>/dev/null
ldconfig
point late
field $info Driver_Install_Status complete
# A driver that is in use stays in the kernel until the machine restarts.
if [ "$running" ]; then done_with 2; fi
done_with
