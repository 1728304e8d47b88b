if [ -L "$1" ]; then readlink -- "$1"; exit; fi
ls -d -- "$1" >/dev/null && echo "$1: No such file: not a link" >&2
exit 1
