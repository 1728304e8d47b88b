# PART NAME SHA256 MODE: PART gets its name if it is what was sent; if not, its
# sum is printed and it goes.
s=$(sha256sum <"$1") || exit
if [ "${s%% *}" != "$3" ]; then
  echo "${s%% *}"
  [ "$1" = "$2" ] || rm -f -- "$1"
  exit 1
fi
chmod "$4" "$1" || exit
[ "$1" = "$2" ] || mv -f -- "$1" "$2"
