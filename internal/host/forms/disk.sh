p=$1
while [ ! -e "$p" ]; do
  case $p in */*) p=${p%/*}; [ -n "$p" ] || p=/ ;; *) p=. ;; esac
done
df -Pk -- "$p" || exit
echo inodes
df -Pi -- "$p" 2>/dev/null # not every file system counts them
echo mounts
cat /proc/mounts 2>/dev/null
exit 0
