#!/bin/bash
. ./lib.sh
at=$root/Ascend-Docker-Runtime conf=/etc/docker/daemon.json
[ "$scene" != containerd ] || conf=/etc/containerd/config.toml
if [ "$action" = uninstall ]; then
  rm -rf "$at"
  [ ! -e $conf ] || sed -i '/ascend/d' $conf
  done_with
fi
as_root || no 0x0093 "do not have root permission, operation failed"
point early
for f in ascend-docker-runtime ascend-docker-hook ascend-docker-cli ascend-docker-destroy ascend-docker-plugin-install-helper; do prog "$at/$f" "#!/bin/sh
echo SIMULATED $f; exit 1"; done
prog "$at/script/uninstall.sh" "#!/bin/sh
rm -rf $at; [ ! -e $conf ] || sed -i '/ascend/d' $conf"
point middle
[ -e $conf ] || put $conf '{}'
put $conf '{"runtimes": {"ascend": {"path": "'"$at"'/ascend-docker-runtime", "runtimeArgs": []}}}'
point late
done_with
