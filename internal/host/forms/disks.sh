# PATHS: a line of df for each, or for its nearest parent that exists. 125: not
# each of many has one.
for p; do
  shift
  while [ ! -e "$p" ]; do
    case $p in */*) p=${p%/*}; [ -n "$p" ] || p=/ ;; *) p=. ;; esac
  done
  set -- "$@" "$p"
done
df -Pk -- "$@" || { [ $# -gt 1 ] && exit 125; exit 1; }
echo inodes
df -Pi -- "$@" 2>/dev/null # not every file system counts them
echo mounts
cat /proc/mounts 2>/dev/null
exit 0
