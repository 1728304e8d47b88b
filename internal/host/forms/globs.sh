# Folders: says of which the login may not see the content. What the patterns
# after this match follows, and an empty line after each.
n='
'
ls -d -- "$@" >/dev/null
c() { if [ -d "$1" ] && { [ ! -r "$1" ] || [ ! -x "$1" ]; }; then echo "glob: $1: Permission denied" >&2; fi; }
g() {
case $f in *"$n"*) return ;; esac # would look like two paths
if [ -e "$f" ] || [ -L "$f" ]; then printf '%s\n' "$f"; fi
}
