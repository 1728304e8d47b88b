# Runs under dash, bash, busybox sh and zsh. Names start with asc_ so that no
# question can mean one of them. exec 4: the stream of answers.
[ -z "${ZSH_VERSION-}" ] || emulate sh
LC_ALL=C; PATH=${PATH:-/usr/bin:/bin}:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL PATH
exec 4>&1
asc_nl='
'
asc_h=0
# asc_L also goes to the shell that runs as root.
# asc_have NAME: is there such a command? A file that may not be executed is
# there: running it says why not. (command -v would find functions of ours.)
# asc_t SECONDS ARGV: runs with a time limit, also without timeout(1).
asc_L='
asc_have() {
case $1 in
*/*) case $(ls -d -- "$1" 2>&1 >/dev/null) in *"No such file"* | *"Not a directory"*) return 1 ;; esac; return 0 ;;
esac
asc_I=$IFS; IFS=:; asc_f=1
for asc_d in $PATH; do
if [ -e "$asc_d/$1" ] && [ ! -d "$asc_d/$1" ]; then asc_f=0; break; fi
done
IFS=$asc_I; return $asc_f
}
asc_t() {
asc_n=$1; shift
if [ $asc_T = 1 ]; then timeout -k 2 "$asc_n" "$@"; return; fi
"$@" & asc_p=$!
(sleep "$asc_n"; kill -9 $asc_p) >/dev/null 2>&1 4>&- 5>&- 6>&- & asc_w=$!
wait $asc_p; asc_r=$?
kill $asc_w 2>/dev/null; return $asc_r
}
'
asc_T=0; timeout -k 2 9 true >/dev/null 2>&1 && asc_T=1 # old busybox has another syntax
asc_L="asc_T=$asc_T$asc_L"
eval "$asc_L"
# asc_elevate decides once how to become root: u is root already, w sudo
# without a password, p with the one we were given, n not at all.
asc_elevate() {
if [ "$(id -u)" = 0 ]; then asc_R=u; return; fi
if ! asc_have sudo; then asc_R=n; asc_Y='no sudo'; return; fi
asc_R=w; asc_Y=$(sudo -n true 2>&1 </dev/null) && return
if [ -n "$asc_W" ]; then asc_R=p; asc_Y=$(asc_sudo true 2>&1) && return; fi
asc_R=n
}
# The shell in between keeps a password sudo did not ask for from the command.
asc_sudo() {
case $asc_R in
u) "$@" ;;
w) sudo -n -- env LC_ALL=C "PATH=$PATH" "$@" ;;
p) printf '%s\n' "$asc_W" | sudo -S -p '' -- env LC_ALL=C "PATH=$PATH" sh -c 'exec "$@" </dev/null' sh "$@" ;;
esac
}
asc_have_as() {
if [ "$asc_g" = r ]; then asc_sudo sh -c "$asc_L"'asc_have "$1"' sh "$1"; else asc_have "$1"; fi
}
asc_run() {
if [ "$asc_g" = r ]; then asc_sudo sh -c "$asc_L"'asc_t "$@"' sh "$asc_m" "$@"; else asc_t "$asc_m" "$@"; fi
}
asc_e() { printf '\n%s X\n%s\n%s E %s\n' "$asc_N" "$2" "$asc_N" "$1" >&4; }
# asc_q INDEX COMMAND SECONDS u|r ARGV: one section. The answer goes to the
# stream as it comes, at most 1 MiB; exit code and stderr are kept in asc_x.
asc_q() {
printf '%s S %s\n' "$asc_N" "$1" >&4
asc_c=$2; asc_m=$3; asc_g=$4; shift 4
if [ "$asc_g" = r ] && [ $asc_R = n ]; then asc_e noroot "$asc_Y"; return; fi
if [ "${asc_c##*/}" = npu-smi ] && [ $asc_h = 1 ]; then asc_e hung; return; fi
if ! asc_have_as "$asc_c" </dev/null >/dev/null 2>&1; then asc_e absent; return; fi
asc_x=$({ { asc_y=$({ asc_run "$@" 4>&- 5>&- 6>&-; echo $? >&6; } 2>&1 >&5 </dev/null | head -c 65536)
printf %s "$asc_y" >&6; } 5>&1 | head -c 1048577 >&4; } 6>&1)
case $asc_x in *"$asc_nl"*) asc_s=${asc_x#*"$asc_nl"} ;; *) asc_s= ;; esac
asc_x=${asc_x%%"$asc_nl"*}
if [ "${asc_c##*/}" = npu-smi ]; then case $asc_x in 124 | 137 | 143) asc_h=1 ;; esac; fi
asc_e "$asc_x" "$asc_s"
}
