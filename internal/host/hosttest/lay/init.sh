# Inside the root: puts the description in place and stays as process 1.
set -e
PATH=/usr/sbin:/usr/bin:/sbin:/bin; export PATH
cd /
ip link set lo up
while read -r f; do # stubs take their places; what stood there stays callable
  if [ -L "$f" ]; then ln -sf "$(readlink -f "$f")" "/.laid/real/${f##*/}"; rm "$f"
  elif [ -e "$f" ]; then mv "$f" "/.laid/real/${f##*/}"; fi
done </.laid/moved
tar --numeric-owner --exclude=./.laid -xpf - <&3
exec 3<&-
ldconfig 2>/dev/null || true
while read -r p flags; do # a mount of the description is one here too
  mkdir -p "$p"
  mount --bind "$p" "$p"
  [ -z "$flags" ] || mount -o "remount,bind,$flags" "$p"
done </.laid/mounts
while read -r before uid; do # the next process gets the pid after this one
  echo "$before" >/proc/sys/kernel/ns_last_pid
  setpriv --reuid "$uid" --clear-groups sleep infinity </dev/null >/dev/null 2>&1 &
done </.laid/procs
cd /.laid/proc
for f in $(find . -type f); do
  f=${f#./}
  case $f in sys/* | self/*) ;; *) [ ! -f "/proc/$f" ] || mount --bind "$f" "/proc/$f" ;; esac
done
mount --bind sys /proc/sys
mkdir -p /run/sshd
echo ready
# Process 1 buries every child, and lives until the test closes the other end.
exec perl -e '$SIG{CHLD} = "IGNORE"; 1 while <STDIN>' >/dev/null
