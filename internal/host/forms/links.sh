# LINKS: "=target" for each, "-" for what is no link, "!" for what cannot be said
# in one line. Why there is no link stands on stderr.
n='
'
for f; do
  shift
  if [ ! -L "$f" ]; then
    echo -
    set -- "$@" "$f"
  elif t=$(readlink -- "$f") && case $t in *"$n"*) false ;; esac; then printf '=%s\n' "$t"
  else echo '!'
  fi
done
[ $# = 0 ] || ls -d -- "$@" >/dev/null
exit 0
