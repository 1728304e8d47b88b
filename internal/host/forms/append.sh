# PART AT: stdin goes to the end of PART, which is AT bytes long.
umask 077
if [ "$2" -eq 0 ]; then exec cat >"$1"; fi
[ "$(wc -c <"$1")" -eq "$2" ] || { echo "$1: somebody else writes it" >&2; exit 1; }
exec cat >>"$1"
