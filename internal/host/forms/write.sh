# NAME SIZE MODE: stdin becomes NAME, all of it or nothing.
umask 077
if [ -d "$1" ]; then echo "$1: Is a directory" >&2; exit 1; fi
t=$(mktemp -- "$1.XXXXXX") || exit
trap 'rm -f -- "$t"; exit 1' HUP INT TERM PIPE
if cat >"$t" && n=$(wc -c <"$t") && { [ "$n" -eq "$2" ] || { echo "only $n of $2 bytes came" >&2; false; }; } &&
  chmod "$3" "$t" && mv -f -- "$t" "$1"; then exit 0; fi
rm -f -- "$t"
exit 1
