# [ID COMMAND]: makes the folder of a job and prints it, or lists the folders
# there are. 3: no such command, 4: the login has no home.
if [ "$(id -u)" = 0 ]; then d=/var/lib/ascendctl/scratch
else
  case $XDG_STATE_HOME in /*) d=$XDG_STATE_HOME/ascendctl/scratch ;; *) d=$HOME/.local/state/ascendctl/scratch; [ -n "$HOME" ] || exit 4 ;; esac
fi
if [ $# = 0 ]; then
  for j in "$d"/????????; do [ ! -d "$j/work" ] || printf '%s\n' "$j"; done
  exit 0
fi
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
command -v "$2" >/dev/null 2>&1 || exit 3
umask 077
mkdir -p -- "$d" && mkdir -- "$d/$1" "$d/$1/work" && printf '%s\n' "$d/$1"
