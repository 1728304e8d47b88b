# What the installers of all simulated packages have in common. meta tells which
# package this is.
. ./meta
umask 022
root=/usr/local/Ascend action= quiet= all= path= user= group= type= scene=
as_root() { [ "$(id -u)" = 0 ]; }
if as_root; then logs=/var/log/ascend_seclog; else root=$HOME/Ascend logs=$HOME/var/log/ascend_seclog; fi
case $kind in
driver | firmware) log=$logs/ascend_install.log title=$kind ;;
ops) log=$logs/ascend_ops_${chip}_install.log title=Ops ;;
nnal) log=/var/log/cann_atb_log/cann_atb_install.log title=Atb; as_root || log=$HOME/log/cann_atb_log/cann_atb_install.log ;;
*) log=$logs/ascend_${kind}_install.log title=$kind ;;
esac

say() { mkdir -p "${log%/*}" && echo "[$title] [$(date '+%Y-%m-%d %H:%M:%S')] [$1]: $2" >>"$log"; [ "$quiet$1" = 1INFO ] || echo "[$title] [$1]: $2"; }
# no CODE WORDS: ends the installer the vendor's way.
no() { say ERROR "ERR_NO:$1;ERR_DES:$2"; operation failed; exit 1; }
operation() {
  mkdir -p "$logs"
  echo "${action:-?} SUGGESTION $(id -un) $(date '+%Y-%m-%d %H:%M:%S') 127.0.0.1 $file $1 cmdlist=$given" >>"$logs/operation.log"
}

# point NAME: a place where a test of a laid host may hold the installer, to break
# something meanwhile. Elsewhere it is nothing.
point() {
  hold=/.laid/hold/$kind.$1
  [ -e "$hold" ] || return 0
  echo $$ >"$hold.reached"
  while [ -e "$hold" ]; do sleep 0.02; done
}

# put FILE [TEXT]: a file of the package; without a text its content is of no matter.
put() { mkdir -p "${1%/*}" && rm -f "$1" && printf '%s\n' "${2:-simulated $file}" >"$1" || no 0x0001 "cannot write $1"; }
prog() { put "$1" "$2" && chmod 755 "$1"; }
# field FILE KEY VALUE: KEY=VALUE stands in FILE, once.
field() { { [ ! -e "$1" ] || grep -v "^$2=" "$1"; echo "$2=$3"; } >"$1.new"; mv "$1.new" "$1" || no 0x0001 "cannot write $1"; }

given=$*
for o; do
  case $o in
  --install | --full | --run | --devel | --upgrade | --uninstall | --pre-check | --version | --rollback)
    [ -z "$action" ] || no 0x0004 "$o and $action exclude each other"
    action=${o#--} ;;
  --quiet) quiet=1 ;;
  --install-for-all) all=1 ;;
  --install-path=*) path=${o#*=} ;;
  --install-username=*) user=${o#*=} ;;
  --install-usergroup=*) group=${o#*=} ;;
  --type=*) type=${o#*=} ;;
  --install-scene=*) scene=${o#*=} ;;
  --chip=* | --feature=* | --pylocal | --setenv | --docker-root=* | --whitelist=* | --blacklist=* | --debug | --docker | --force | --norebuild | --vnpu_guest | --vnpu_host) ;;
  *) no 0x0004 "unknown option $o" ;;
  esac
done
[ "$action" != version ] || { echo "$version"; exit 0; }
case $kind-$action in
*-) no 0x0004 "say what to do: --install, --full, --upgrade, --uninstall" ;;
driver-install | firmware-install) no 0x0004 "--install is not for this package, --full is" ;;
esac
case $kind in
driver | firmware) as_root || no 0x0093 "do not have root permission, operation failed" ;;
*) [ -z "$user$group" ] || no 0x0004 "--install-username and --install-usergroup are no longer taken" ;;
esac
[ "$(uname -m)" = "$arch" ] || [ "$kind" = firmware ] || no 0x0001 "the package is for $arch, this machine is $(uname -m)"
case $path in
'') ;;
/*) root=${path%/} ;;
*) no 0x0003 "the install path must be absolute: $path" ;;
esac
mkdir -p "$logs" || exit 1
exec 9>"$logs/.lock.$(id -u)"
flock -n 9 || no 0x0094 "another installer is running"
if [ -z "$quiet" ] && [ "$action" != pre-check ] && [ "$kind" != docker-runtime ]; then
  echo "SIMULATED licence agreement. Do you accept it? [Y/N]"
  read -r answer
  case $answer in y | Y) ;; *) no 0x0002 "the licence was not accepted" ;; esac
fi
say INFO "start $action of $file"

# done_with CODE: the last words.
done_with() { say INFO "$action of $file succeeded"; operation success; exit "${1:-0}"; }
