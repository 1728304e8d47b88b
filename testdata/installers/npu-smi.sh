#!/bin/bash
# SIMULATED npu-smi of driver @VERSION@: idle chips of HBM products, one line for
# each function on the bus. Layouts and exit codes: shared facts, host.md 1.
version=@VERSION@ npu=@NPU@
bus=()
for d in /sys/bus/pci/devices/*; do
  case $(cat "$d/device" 2>/dev/null) in 0xd80[0-9]) bus+=("$(echo "${d##*/}" | tr a-f A-F)") ;; esac
done
case ${1:-} in
'') exit 215 ;;
-h | --help | -v | info | set | clear | upgrade) ;;
*) echo "Command or option is not found."; exit 211 ;;
esac
if [ ! -e /dev/davinci_manager ] || ! { : </dev/davinci_manager; } 2>/dev/null && [ ! -r /dev/davinci_manager ]; then
  echo "dcmi module initialize failed. ret is -8005"
  exit 187
fi
pair() { printf '\t%-30s : %s\n' "$1" "$2"; }
table() {
  local wide=$1 l t
  l=$(printf '%*s' 27 '' | tr ' ' -) t=$(printf '%*s' "$wide" '' | tr ' ' -)
  echo "+$(printf '%*s' $((44 + wide)) '' | tr ' ' -)+"
  printf '| %-*s|\n' $((43 + wide)) "npu-smi $version                            Version: $version"
  echo "+$l+---------------+$t+"
  printf '| %-26s| %-14s| %-*s|\n' 'NPU   Name' Health $((wide - 1)) 'Power(W)    Temp(C)           Hugepages-Usage(page)'
  printf '| %-26s| %-14s| %-*s|\n' Chip Bus-Id $((wide - 1)) 'AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)'
  for i in "${!bus[@]}"; do
    echo "+$l+---------------+$t+" | tr - =
    printf '| %-5d %-20s| %-14s| %-*s|\n' "$i" "$npu" OK $((wide - 1)) "$(printf '%-11s %-17s %-5s/ %s' 93.2 37 0 0)"
    printf '| %-26d| %-14s| %-*s|\n' 0 "${bus[i]}" $((wide - 1)) "$(printf '%-11s %-5s/ %-10s %-5s/ %s' 0 0 0 2871 65536)"
  done
  echo "+$l+---------------+$t+" | tr - =
  echo "+$l+---------------+$t+"
  printf '| NPU     Chip              | Process id    | %-*s|\n' $((wide - 1)) 'Process name             Process memory(MB)'
  echo "+$l+---------------+$t+" | tr - =
  for i in "${!bus[@]}"; do
    printf '| %-*s|\n' $((43 + wide)) "No running processes found in NPU $i"
    echo "+$l+---------------+$t+" | tr - =
  done
}
case $* in
-v) echo "npu-smi version: $version" ;;
info) case $version in 2[0-5].*) table 52 ;; *) table 70 ;; esac ;;
'info -l')
  pair 'Total Count' ${#bus[@]}
  for i in "${!bus[@]}"; do echo; pair 'NPU ID' "$i"; pair 'Chip Count' 1; done ;;
'info -m')
  printf '\t%-30s %-30s %-30s %-30s\n' 'NPU ID' 'Chip ID' 'Chip Logic ID' 'Chip Name'
  for i in "${!bus[@]}"; do
    printf '\t%-30s %-30s %-30s %-30s\n' "$i" 0 "$i" "Ascend $npu"
    printf '\t%-30s %-30s %-30s %-30s\n' "$i" 1 - Mcu
  done ;;
'info -t board -i '*)
  set -- $*
  pair 'NPU ID' "$5"; pair 'Software Version' "$version"
  pair 'Firmware Version' "$(sed -n 's/^Version=//p' /usr/local/Ascend/firmware/version.info 2>/dev/null)"
  pair Compatibility "$([ "$(id -u)" = 0 ] && echo OK || echo 'NOT SUPPORT')"
  pair 'Board ID' 0x30; pair 'PCIe Bus Info' "${bus[$5]}"
  if [ "${6:-}" = -c ]; then pair 'Chip Type' Ascend; pair 'Chip Name' "$npu"; pair 'Chip Version' V1; else pair 'Chip Count' 1; fi ;;
'info -t health -i '*) pair 'Health Status' OK; pair 'Error Code' NA; pair 'Error Information' NA ;;
*) echo "Command or option is not found."; exit 211 ;;
esac
