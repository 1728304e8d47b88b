#!/bin/sh
# What the driver does when a laid host boots: modules and nodes are there when
# it is wholly installed, and gone when it is not. Simulated.
rm -f /dev/davinci* /dev/devmm_svm /dev/hisi_hdc
modules=$(grep -v '^drv_' /proc/modules)
node() { mknod "/dev/$1" c 237 "$2" && chown @USER@:@GROUP@ "/dev/$1" && chmod @MODE@ "/dev/$1"; }
if grep -qs '^Driver_Install_Status=complete' /etc/ascend_install.info; then
  n=0
  for d in /sys/bus/pci/devices/*/device; do
    case $(cat "$d") in 0xd80[0-9] | 0xd500) node davinci$n $n; n=$((n + 1)) ;; esac
  done
  node davinci_manager 200; node devmm_svm 201; node hisi_hdc 202
  modules="$modules
$(for m in drv_pcie_host drv_pcie_hdc_host drv_seclib_host drv_vascend; do echo "$m 61440 2 - Live 0x0000000000000000 (O)"; done)"
fi
printf '%s\n' "$modules" >/.laid/proc/modules.new
cat /.laid/proc/modules.new >/.laid/proc/modules # into the same file: /proc has it mounted
rm /.laid/proc/modules.new
