case $(ls -d -- "$1" 2>&1 >/dev/null) in *'Permission denied'*) echo "$1: Permission denied" >&2; exit 1 ;; esac
if [ -d "$1" ] && { [ ! -r "$1" ] || [ ! -x "$1" ]; }; then echo "$1: Permission denied" >&2; exit 1; fi
n='
'
for f in PATTERN; do
  case $f in *"$n"*) continue ;; esac # would look like two paths
  if [ -e "$f" ] || [ -L "$f" ]; then printf '%s\n' "$f"; fi
done
