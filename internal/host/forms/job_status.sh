# DIR: "exited N", "running", "lost" or "ready", then the end of the log.
cd "$1" 2>/dev/null || exit 3
alive() {
  read -r pid start <pid && read -r stat <"/proc/$pid/stat" || return 1
  case ${stat##*) } in Z*) return 1 ;; esac
  n=0; for w in ${stat##*) }; do n=$((n+1)); [ $n != 20 ] || [ "$w" = "$start" ] || return 1; done
} 2>/dev/null
if [ ! -e pid ]; then echo ready
elif alive && [ ! -e status ]; then echo running
elif [ -e status ]; then echo "exited $(cat status)" # also when it ended while we looked
else echo lost
fi
tail -c 65536 log 2>/dev/null
exit 0
