# Functions of the program that asks. The main shell evaluates them, the one
# that runs as root, and the one that answers many quick questions. They run
# under dash, bash, busybox sh and zsh. Names start with asc_, so that no
# question can mean one of them. fd 4: the stream of answers.
asc_nl='
'
# asc_have NAME: is there such a command? A file that may not be executed is
# there: running it says why not. (command -v would find functions of ours.)
asc_have() {
case $1 in
*/*) [ -e "$1" ] || case $(ls -d -- "$1" 2>&1 >/dev/null) in *"No such file"* | *"Not a directory"*) return 1 ;; esac; return 0 ;;
esac
asc_I=$IFS; IFS=:; asc_f=1
for asc_d in $PATH; do
if [ -e "$asc_d/$1" ] && [ ! -d "$asc_d/$1" ]; then asc_f=0; break; fi
done
IFS=$asc_I; return $asc_f
}
# asc_end PID: kills it and all below it; PID last, because who waits for it
# ends this.
asc_end() {
asc_z=" $1 "; asc_o=
while [ "$asc_z" != "$asc_o" ]; do
asc_o=$asc_z
for asc_f in /proc/[0-9]*/stat; do
read -r asc_p asc_b <"$asc_f" || continue
set -- ${asc_b##*) } # the name may hold blanks
case $asc_z in *" $asc_p "*) ;; *" $2 "*) asc_z=" $asc_p$asc_z" ;; esac
done
done
kill -9 $asc_z
}
# asc_t SECONDS ARGV: runs with a time limit. Where timeout(1) is missing or
# would leave children behind, asc_end does its work.
asc_t() {
asc_n=$1; shift
if [ $asc_T = 1 ]; then timeout -k 2 "$asc_n" "$@"; return; fi
"$@" & asc_p=$!
(sleep "$asc_n"; asc_end $asc_p) >/dev/null 2>&1 4>&- 5>&- 6>&- & asc_w=$!
wait $asc_p; asc_r=$?
kill $asc_w 2>/dev/null; return $asc_r
}
# asc_up: seconds since boot, to tell how long a command took.
asc_up() { asc_u=-; read -r asc_u asc_b </proc/uptime; } 2>/dev/null
asc_s() { printf '%s S %s\n' "$asc_N" "$1" >&4; }
# asc_e WORD STDERR: ends a section.
asc_e() { printf '\n%s X\n%s\n%s E %s\n' "$asc_N" "$2" "$asc_N" "$1" >&4; }
# asc_q NUMBER COMMAND SECONDS ARGV: one section. The answer goes to the stream
# as it comes, at most 1 MiB; exit code and stderr are kept in asc_x.
asc_q() {
if asc_done "$1"; then return; fi
asc_s "$1"; asc_c=$2; asc_m=$3; shift 3
if [ "${asc_c##*/}" = npu-smi ] && [ $asc_h = 1 ]; then asc_e hung; return; fi
if ! asc_have "$asc_c" </dev/null >/dev/null 2>&1; then asc_e absent; return; fi
asc_up; asc_a=$asc_u
asc_x=$({ { asc_y=$({ asc_t "$asc_m" "$@" 4>&- 5>&- 6>&-; echo $? >&6; } 2>&1 >&5 </dev/null | head -c 65536)
printf %s "$asc_y" >&6; } 5>&1 | head -c 1048577 >&4; } 6>&1)
asc_up
case $asc_x in *"$asc_nl"*) asc_y=${asc_x#*"$asc_nl"} ;; *) asc_y= ;; esac
asc_x=${asc_x%%"$asc_nl"*}
if [ "${asc_c##*/}" = npu-smi ]; then case $asc_x in 124 | 137 | 143) asc_h=1 ;; esac; fi
asc_e "$asc_x $asc_a $asc_u" "$asc_y"
}
# asc_j: as asc_q, for a section of many questions. It is only put in company;
# alone it fails, and each of its questions is put instead.
asc_j() { asc_done "$1"; }
asc_done() { case $asc_nl$asc_K$asc_nl in *"$asc_nl$1$asc_nl"*) return 0 ;; esac; return 1; }
# asc_many SECONDS BYTES: asc_S, quick questions, in one process under one time
# limit. asc_K are the numbers it came through; if one hangs the rest is left.
asc_many() {
asc_K=$({ { export asc_N; asc_t "$1" sh -c "asc_P=$asc_P$asc_nl$asc_L${asc_nl}asc_quick$asc_nl$asc_S" 4>&- </dev/null 2>/dev/null; } |
head -c "$2" >&4 6>&-; } 6>&1)
}
# asc_quick: from now on questions have no time limit of their own, and their
# answers no bound.
asc_quick() {
exec 4>&1
asc_v=$asc_N; unset asc_N; asc_N=$asc_v # not in the environment of commands
asc_q() {
asc_i=$1; asc_s "$1"
asc_x=0; asc_y=
if ! asc_have "$2"; then asc_e absent
else
shift 3; asc_up; asc_a=$asc_u
asc_y=$(exec 2>&1 >&4 4>&- 6>&-; asc_go "$@"); asc_x=$?
asc_up; asc_e "$asc_x $asc_a $asc_u" "$asc_y"
fi
echo "$asc_i" >&6
}
asc_j() { # not through when it was killed
asc_i=$1; shift
asc_q "$asc_i" "$@" 6>/dev/null
[ "$asc_x" -ge 124 ] || echo "$asc_i" >&6
}
}
asc_go() {
if [ "$1 $2" = 'sh -c' ]; then asc_v=$3; shift 4; eval "$asc_v"; else exec "$@"; fi
}
# asc_elevate decides once how to become root: u is root already, w sudo
# without a password, p with the one we were given, n not at all.
asc_elevate() {
if [ "$(id -u)" = 0 ]; then asc_R=u; return; fi
if ! asc_have sudo; then asc_R=n; asc_Y='no sudo'; return; fi
asc_R=w; asc_Y=$(sudo -n true 2>&1 </dev/null) && return
if [ -n "$asc_W" ]; then asc_R=p; asc_Y=$(printf '%s\n' "$asc_W" | asc_sudo true 2>&1) && return; fi
asc_R=n
}
asc_sudo() {
if [ $asc_R = p ]; then sudo -S -p '' -- env LC_ALL=C "PATH=$PATH" "$@"; else sudo -n -- env LC_ALL=C "PATH=$PATH" "$@"; fi
}
# asc_root NUMBERS: asc_S as root, all of it by one sudo. The program goes
# through stdin; a password that sudo did not ask for stands before asc_go.
asc_root() {
case $asc_R in
u) eval "$asc_S"; return ;;
n) asc_x=0 ;;
*) asc_Y=$({ [ $asc_R = w ] || printf '%s\n' "$asc_W"
printf '%s\n' asc_go "asc_N=$asc_N asc_T=$asc_T asc_h=$asc_h asc_P=$asc_P asc_K=" 'exec 4>&1' \
"asc_L=\$(cat <<'asc_L'" "$asc_L" asc_L ')' 'eval "$asc_L"' "$asc_S" 'exit $((9 + asc_h))'
} | asc_sudo sh -c 'while read -r l && [ "$l" != asc_go ]; do :; done; exec sh -s' 2>&1 >&4); asc_x=$? ;;
esac
case $asc_x in 9) return ;; 10) asc_h=1; return ;; esac
for asc_i in $1; do asc_s "$asc_i"; asc_e noroot "$asc_Y"; done # the first answer counts
}
