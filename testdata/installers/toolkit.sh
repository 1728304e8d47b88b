#!/bin/bash
. ./lib.sh
case $layout in
new) tree=$root/cann-$version ;;
old) tree=$root/ascend-toolkit/$version ;;
esac
record=/etc/Ascend/ascend_cann_install.info
kit=$root/ascend-toolkit

# point_to TREE: what follows the release that was installed last.
point_to() {
  if [ "$layout" = new ]; then
    ln -sfn "${1##*/}" "$root/cann"
    mkdir -p "$kit"
    # Releases up to 8.3 have made a folder of it, which stays theirs.
    [ -d "$kit/latest" ] && [ ! -L "$kit/latest" ] || ln -sfn "../${1##*/}" "$kit/latest"
    return
  fi
  [ ! -L "$kit/latest" ] || rm "$kit/latest"
  mkdir -p "$kit/latest/var"
  for part in runtime compiler opp toolkit tools python bin lib64; do ln -sfn "../${1##*/}/$part" "$kit/latest/$part"; done
}
if [ "$action" = uninstall ]; then
  chmod -R u+w "$tree" 2>/dev/null
  rm -rf "$tree"
  [ "$layout" = new ] || rm -f "$kit/${version%.*}"
  last=
  case $layout in new) set -- "$root"/cann-*/ ;; old) set -- "$kit"/[0-9]*.*/ ;; esac
  for other; do
    [ ! -d "$other" ] || [ -L "${other%/}" ] || last=${other%/}
  done
  if [ "$last" ]; then point_to "$last"
  elif [ "$layout" = new ]; then
    rm -f "$root/cann"
    [ ! -L "$kit/latest" ] || rm -f "$kit/latest" "$kit/set_env.sh"
  else rm -rf "$kit/latest" "$kit/set_env.sh"; fi
  if ! ls -d "$root"/cann-* "$kit"/[0-9]* >/dev/null 2>&1; then
    ! as_root || rm -rf /etc/Ascend
    rmdir "$kit" "$root" 2>/dev/null
  fi
  done_with
fi
mkdir -p "$root" && [ -w "$root" ] || no 0x0003 "$root cannot be written"
[ "$action" != pre-check ] || done_with
[ -e /usr/local/Ascend/driver/version.info ] || say WARNING "no driver is installed on this machine"
case $layout in new) share=$tree/share/info ;; old) share=$tree ;; esac
for part in runtime compiler opp toolkit hccl; do
  put "$share/$part/version.info" "Version=${version%%[!0-9.]*}.0.221
version_dir=$version
timestamp=20260601_000000000"
done
point early
mkdir -p "$tree/tools/ccec_compiler/bin" "$tree/opp/built-in/op_impl/ai_core/tbe/op_tiling/lib/linux/$arch" "$tree/tools/aml/lib64" "$tree/devlib" "$tree/lib64/plugin/opskernel"
for f in lib64/libascendcl.so lib64/libruntime.so devlib/libascend_hal.so python/site-packages/acl.so opp/built-in/op_impl/ai_core/tbe/impl/__init__.py; do put "$tree/$f"; done
prog "$tree/bin/atc" "#!/bin/sh
echo SIMULATED atc; exit 1"
put "$tree/$arch-linux/install.conf" "Install_Mode=$action
Quiet_Mode=$([ "$quiet" ] && echo y || echo n)
Install_For_All=$([ "$all" ] && echo y || echo n)
Install_UserName=$(id -un)
whitelist=no"
cp lib.sh meta "$tree" && sed 's|^\. ./lib.sh|cd "${0%/*}" \&\& set -- --uninstall --quiet --install-path="'"$root"'" \&\& . ./lib.sh|' install.sh >"$tree/cann_uninstall.sh" &&
  chmod 500 "$tree/cann_uninstall.sh" || no 0x0001 "cannot write $tree"
point middle
sed "s|/usr/local/Ascend/\(cann-\|ascend-toolkit\)|$root/\1|g" set_env.sh >"$tree/set_env.new" && chmod "$([ "$all" ] && echo 444 || echo 440)" "$tree/set_env.new" || no 0x0001 "cannot write $tree"
mkdir -p "$kit"
if [ "$layout" = new ]; then
  mv -f "$tree/set_env.new" "$tree/set_env.sh"
  mkdir -p "$tree/bin" && ln -sfn ../set_env.sh "$tree/bin/setenv.bash"
  put "$kit/set_env.sh" ". $root/cann/set_env.sh"
else
  mv -f "$tree/set_env.new" "$kit/set_env.sh"
  ln -sfn "./$version" "$kit/${version%.*}"
fi
point_to "$tree"
if [ "$layout" = old ]; then
  put "$kit/latest/platform.ini" product_type=dc
  put "$kit/latest/version.cfg" "$(for part in runtime compiler hccl opp toolkit; do echo "${part}_running_version=[${version%%[!0-9.]*}.0.221:$version]"; done)"
fi
if as_root; then
  put $record "Toolkit_Install_Path_Param=$root
Toolkit_Version=$version"
fi
put "$tree/$arch-linux/ascend_toolkit_install.info" "package_name=Ascend-cann-toolkit
version=$version
innerversion=$inner
compatible_version=$branches
arch=$arch
os=linux
path=$tree"
point late
put "$tree/share/last" "the installer is through"
done_with
