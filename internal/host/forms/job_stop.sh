# DIR: ends what runs. The session is that of the pid, if it is still the same.
cd "$1" || exit
read -r pid start <pid 2>/dev/null || exit 0
mine() {
  for f in /proc/[0-9]*/stat; do
    read -r stat <"$f" || continue
    p=${stat%% *}
    set -- ${stat##*) }
    [ "$4" = "$pid" ] && [ "$1" != Z ] && echo "$p"
  done
} 2>/dev/null
read -r stat 2>/dev/null <"/proc/$pid/stat" || exit 0
n=0; for w in ${stat##*) }; do n=$((n+1)); [ $n != 20 ] || [ "$w" = "$start" ] || exit 0; done
# Without setsid the job shares the session of the login: its pid alone then.
set -- ${stat##*) }
if [ "$4" != "$pid" ]; then mine() { [ ! -e "/proc/$pid" ] || echo "$pid"; }; fi
kill -TERM $(mine) 2>/dev/null
for i in 1 2 3 4 5; do [ -n "$(mine)" ] || exit 0; sleep 1; done
kill -KILL $(mine) 2>/dev/null
exit 0
