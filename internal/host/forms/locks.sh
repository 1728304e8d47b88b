# /proc/locks names device and inode; only the inode is compared, because the
# device of a file below overlayfs or btrfs is not the one stat tells.
[ -r /proc/locks ] || { echo '/proc/locks cannot be read' >&2; exit 1; }
[ $# -gt 0 ] || set -- /var/lib/dpkg/lock-frontend /var/lib/dpkg/lock /var/lib/apt/lists/lock /var/lib/rpm/.rpm.lock
for f; do
  i=$(stat -c %i -- "$f" 2>/dev/null) || continue
  while read -r n kind mode rw pid where rest; do
    [ "$kind" != '->' ] || continue # waits for it
    case $where in *:*:"$i") ;; *) continue ;; esac
    case $pid in *[!0-9]*) pid=- ;; esac # a lock of an open file has no pid
    c=-
    [ -r "/proc/$pid/comm" ] && read -r c <"/proc/$pid/comm"
    printf '%s %s %s\n' "$f" "$pid" "$c"
  done </proc/locks
done | sort -u
