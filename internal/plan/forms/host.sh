# What a plan does on the host, as functions. Every call may end at any command
# and be made again; what comes under a name comes by rename, complete.
LC_ALL=C; export LC_ALL
umask 077
tmp=.ascendctl-new
no() { printf '%s\n' "$*" >&2; exit 1; }
flush() { sync -- "$@" 2>/dev/null || sync; }
digest() { s=$(sha256sum) && echo "${s%% *}"; }
there() { [ -e "$1" ] || [ -L "$1" ]; }
real() { [ -d "$1" ] && [ ! -L "$1" ]; } # a folder, not a link to one

# absent PATH: for certain. Not being allowed to look is an error.
absent() {
  there "$1" && return 1
  e=$(ls -d -- "$1" 2>&1 >/dev/null)
  case $e in *'No such file'* | *'Not a directory'*) return 0 ;; esac
  no "$e"
}

# look PATH: "TYPE MODE UID GID SIZE SHA256 USER GROUP", or "absent". The sum of
# a link is that of its target.
look() {
  absent "$1" && { echo absent; return; }
  if [ -L "$1" ]; then h=$(readlink -n -- "$1" | digest) && stat -c "l 0 %u %g %s $h %U %G" -- "$1"
  elif [ -f "$1" ]; then h=$(digest <"$1") && stat -c "f %a %u %g %s $h %U %G" -- "$1"
  elif [ -d "$1" ]; then stat -c 'd %a %u %g 0 - %U %G' -- "$1"
  else stat -c 'o %a %u %g 0 - %U %G' -- "$1"
  fi
}

# whole PATH: as look, and the sum of a folder is that of all that is in it.
whole() {
  if real "$1"; then
    h=$(cd -- "$1" && { find . -printf '%y %m %U %G %l %p\0' | sort -z; find . -type f -exec sha256sum {} + | sort; } | digest)
    stat -c "d %a %u %g 0 $h %U %G" -- "$1"
  else look "$1"
  fi
}

# looks [FN PATH]...: the answer of look or whole for each, or "?".
looks() {
  while [ $# -gt 0 ]; do
    a=$("$1" "$2" 2>/dev/null) || a='?'
    printf '%s\n' "$a"; shift 2
  done
}

# where [DIR]: the folder of journals, the boot id, missing programs, all journals.
where() {
  if [ "$1" ]; then d=$1
  elif [ "$(id -u)" = 0 ]; then d=/var/lib/ascendctl/journal
  else
    case $XDG_STATE_HOME in /*) d=$XDG_STATE_HOME/ascendctl/journal ;; *) [ "$HOME" ] || no 'the login has neither XDG_STATE_HOME nor HOME'; d=$HOME/.local/state/ascendctl/journal ;; esac
  fi
  m=; for c in flock sha256sum stat find comm sort cp mv sync; do command -v $c >/dev/null || m="$m $c"; done
  printf '%s\n' "$d" "$(cat /proc/sys/kernel/random/boot_id)" "$m"
  for j in "$d"/*/journal; do
    [ -f "$j" ] || continue
    i=${j%/journal}; printf '# %s\n' "${i##*/}"; cat -- "$j" || exit
  done
}

# birth PID: its start time in ticks since boot.
birth() { read -r st <"/proc/$1/stat" && set -- ${st##*) } && shift 19 && echo "$1"; } 2>/dev/null

# holder: the process that lives as long as this run, which is the nearest
# ancestor that is neither shell nor sudo: ascendctl itself, or the sshd of the
# connection.
holder() {
  p=$$
  while read -r st <"/proc/$p/stat"; do
    n=${st#*(}; n=${n%)*}
    case $n in sh | dash | bash | ash | busybox | zsh | ksh* | mksh | fish | csh | tcsh | sudo | su | doas | env | timeout | setsid | nohup) ;; *) break ;; esac
    set -- ${st##*) }; p=$2
  done 2>/dev/null
  echo "$p"
}

# lock DIR TOKEN PID WHO...: takes the lock, or says who has it and ends with 4.
# A lock whose process or boot is gone is taken over, and printed.
lock() {
  d=$1 token=$2 pid=$3; shift 3
  mkdir -p -- "$d" && exec 9>"$d/guard" && flock -w 10 9 || exit
  now=$(cat /proc/sys/kernel/random/boot_id)
  if read -r t boot p start who 2>/dev/null <"$d/lock" && [ "$t" != "$token" ]; then
    if [ "$boot" = "$now" ] && [ "$(birth "$p")" = "$start" ]; then echo "$p $who"; exit 4; fi
    echo "$p $who"
  fi
  [ "$pid" ] || pid=$(holder)
  echo "$token $now $pid $(birth "$pid" || echo -) $*" >"$d/lock.new" && flush "$d/lock.new" && mv -f -- "$d/lock.new" "$d/lock"
}

held() { read -r t rest 2>/dev/null <"$1/lock" && [ "$t" = "$2" ] || { echo 'the lock is no longer ours' >&2; exit 5; }; }

unlock() { exec 9>"$1/guard" && flock -w 10 9 && held "$1" "$2" && rm -f -- "$1/lock"; }

# append DIR ID TOKEN BYTES: stdin goes to the end of the journal, all or nothing.
append() {
  held "$1" "$3"
  j=$1/$2/journal
  mkdir -p -- "$1/$2/saved" "$1/$2/kept" || exit
  { [ ! -e "$j" ] || cat -- "$j" || exit; cat; } >"$j.new" || exit
  old=0; [ ! -e "$j" ] || old=$(wc -c <"$j") || exit
  [ "$(wc -c <"$j.new")" -eq $((old + $4)) ] || no 'the line came in part'
  flush "$j.new" && mv -f -- "$j.new" "$j" && flush "$1/$2"
}

# begin DIR ID TOKEN BYTES [HOW N PATH]...: the line first, then the old states.
begin() {
  append "$1" "$2" "$3" "$4" || exit
  j=$1/$2; shift 4
  while [ $# -gt 0 ]; do save "$j" "$1" "$2" "$3" || exit; shift 3; done
}

# save J HOW N PATH: keeps how PATH was before anybody of this plan touched it.
save() {
  s=$1/saved/$3
  rm -f -- "$s.mine" "$s.left"
  [ ! -e "$s.was" ] || return 0
  rm -rf -- "$s" || exit
  case $2 in dir | gone | tree) was=$(look "$4") ;; *) was=$(whole "$4") ;; esac || exit
  case $2-$was in
  tree-*) list "$4" >"$s.before" || exit; flush "$s.before" ;;
  *-absent | dir-d* | gone-*) ;;
  path-o* | shared-o*) no "$4 is neither file nor link nor folder" ;;
  path-* | shared-*) cp -a -- "$4" "$s" && { [ -L "$s" ] || flush "$s"; } || exit ;;
  dir-*) no "$4 is not a folder" ;;
  esac
  echo "$was" >"$s.was.new" && flush "$s.was.new" && mv -f -- "$s.was.new" "$s.was"
}

# finish DIR ID TOKEN BYTES [HOW N PATH]...: how the act left things, then the line.
finish() {
  d=$1 i=$2 k=$3 b=$4 j=$1/$2; shift 4
  while [ $# -gt 0 ]; do
    s=$j/saved/$2
    case $1 in
    tree) list "$3" >"$s.after.new" || exit; mv -f -- "$s.after.new" "$s.after" || exit ;;
    dir | gone) ;;
    *) whole "$3" >"$s.left.new" || exit; mv -f -- "$s.left.new" "$s.left" || exit ;;
    esac
    shift 3
  done
  append "$d" "$i" "$k" "$b"
}

# list PATH: a line for each name in a tree.
list() {
  absent "$1" && return
  nl='
'
  odd=$(find "$1" \( -name "*$nl*" -o -lname "*$nl*" \) -print -quit) || exit
  [ -z "$odd" ] || no "a name with a line break in $1"
  find "$1" \( -type d -printf '%y\t%m\t%U\t%G\t0\t-\t-\t%p\n' \) -o \( -type l -printf '%y\t%m\t%U\t%G\t0\t-\t%l\t%p\n' \) -o -printf '%y\t%m\t%U\t%G\t%s\t%T@\t-\t%p\n' | sort
}

# changes J N PATH: what differs from before: "-" was, "+" came by the act, "?"
# came later.
changes() {
  s=$1/saved/$2
  [ -e "$s.was" ] || return 0
  list "$3" >"$s.now" || exit
  comm -23 "$s.before" "$s.now" | sed 's/^/-/'
  comm -13 "$s.before" "$s.now" >"$s.new"
  if [ -e "$s.after" ]; then
    comm -12 "$s.new" "$s.after" | sed 's/^/+/'
    comm -23 "$s.new" "$s.after" | sed 's/^/?/'
  else sed 's/^/+/' "$s.new"
  fi
}

strip() { xargs -0 -r rm -f --; }
stripdirs() { xargs -0 -r rmdir -- 2>/dev/null; return 0; }

# mend: stdin "OP MODE UID GID TARGET PATH", tab-separated. What cannot be
# mended is seen by the next look.
mend() {
  t=$(printf '\t')
  while IFS=$t read -r op mode uid gid target p; do
    case $op in
    mkdir) mkdir -- "$p" && chown "$uid:$gid" -- "$p"; chmod "$mode" -- "$p" ;;
    link) ln -sfn -- "$target" "$p" && chown -h "$uid:$gid" -- "$p" ;;
    own) chown -h "$uid:$gid" -- "$p"; [ -L "$p" ] || chmod "$mode" -- "$p" ;;
    esac
  done 2>/dev/null
  return 0
}

# mine J [N PATH]...: marks what still is as we left it, before an uninstaller
# changes it.
mine() {
  j=$1; shift
  while [ $# -gt 0 ]; do
    s=$j/saved/$1
    if [ -e "$s.left" ] && [ ! -e "$s.mine" ]; then
      now=$(whole "$2") || exit
      [ "$now" != "$(cat "$s.left")" ] || : >"$s.mine" || exit
    fi
    shift 2
  done
}

# restore J HOW N PATH LINE: puts PATH back. Prints "kept PLACE" for what others
# have put there since, "left" for what stays.
restore() {
  s=$1/saved/$3 p=$4 t=$4$tmp
  [ -e "$s.was" ] || return 0
  was=$(cat "$s.was") || exit
  absent "$t" || rm -rf -- "$t" || exit
  case $2 in
  dir) undir; return ;;
  gone) regain "$1" "$3"; return ;;
  esac
  now=$(whole "$p") || exit
  [ "$now" != "$was" ] || return 0
  if [ -e "$s.left" ] && [ ! -e "$s.mine" ] && [ "$now" != "$(cat "$s.left")" ]; then
    if [ "$5" ] && [ -f "$p" ]; then dropline "$5"; return; fi
    [ "$2" != shared ] || return 0
    aside "$1" "$3" || exit
  fi
  if [ "$was" = absent ]; then rm -rf -- "$p"; return; fi
  # A full disk has room for one more name.
  cp -a -- "$s" "$t" || { rm -rf -- "$t"; cp -al -- "$s" "$t"; } || exit
  settle
}

# settle: $t becomes $p.
settle() {
  if real "$p" || real "$t"; then rm -rf -- "$p" || exit; fi
  mv -fT -- "$t" "$p" && flush "${p%/*}/"
}

# aside J N: what lies at $p goes into the journal, for it is somebody's.
aside() {
  absent "$p" && return
  rm -rf -- "$1/kept/$2" && mv -T -- "$p" "$1/kept/$2" && echo "kept $1/kept/$2"
}

# dropline LINE: takes the line out of $p and leaves the rest as others made it.
dropline() {
  cp -p -- "$p" "$t" && { grep -vxF -e "$1" -- "$p" >"$t" || [ $? = 1 ]; } && mv -fT -- "$t" "$p"
}

undir() {
  if [ "$was" = absent ]; then
    real "$p" || return 0
    rmdir -- "$p" 2>/dev/null || echo left
    return
  fi
  set -- $was
  real "$p" || mkdir -- "$p" || exit
  [ "$(look "$p")" = "$was" ] || { chown "$3:$4" -- "$p" && chmod "$2" -- "$p"; }
}

same() { [ "$(stat -c %d -- "$1")" = "$(stat -c %d -- "$2")" ]; }

# take J N PATH: PATH moves into the journal.
take() {
  s=$1/saved/$2 p=$3
  if there "$s.back"; then if absent "$p"; then mv -T -- "$s.back" "$s"; else rm -rf -- "$s.back"; fi || exit; fi
  absent "$p" && return
  if there "$s"; then rm -rf -- "$p"; return; fi
  if same "$p" "$1"; then mv -T -- "$p" "$s" && flush "$1/saved" "${p%/*}/"; return; fi
  rm -rf -- "$s.new" && cp -a -- "$p" "$s.new" && flush "$s.new" && mv -T -- "$s.new" "$s" && rm -rf -- "$p"
}

# regain J N: $p moves back. With $s.back on its way, $p is either whole or not there.
regain() {
  if there "$s"; then
    aside "$1" "$2" || exit
    if same "$s" "${p%/*}/"; then mv -T -- "$s" "$p"; return; fi
    mv -T -- "$s" "$s.back" || exit
  fi
  there "$s.back" || return 0
  if absent "$p"; then cp -a -- "$s.back" "$t" && mv -T -- "$t" "$p" || exit; fi
  rm -rf -- "$s.back"
}

# place PATH MODE OWNER BYTES: stdin becomes PATH. "-" is as it is or usual.
place() {
  p=$1 t=$1$tmp
  ! real "$p" || no "$p: Is a directory"
  rm -rf -- "$t" && cat >"$t" || exit
  [ "$(wc -c <"$t")" -eq "$4" ] || no 'the content came in part'
  dress "$2" "$3" 0644 && flush "$t" && mv -fT -- "$t" "$p" && flush "${p%/*}/"
}

# dress MODE OWNER NEW: $t gets its owner and mode, or those of the $p it replaces.
dress() {
  if [ "$2" != - ]; then chown "$2" -- "$t"; elif [ -e "$p" ]; then chown --reference="$p" -- "$t"; fi || exit
  if [ "$1" != - ]; then chmod "$1" -- "$t"; elif [ -e "$p" ]; then chmod --reference="$p" -- "$t"; else chmod "$3" -- "$t"; fi
}

# owner PATH MODE OWNER: of a file that lies there already.
owner() {
  if [ "$3" != -  ]; then chown -h "$3" -- "$1" || exit; fi
  [ "$2" = - ] || chmod "$2" -- "$1"
}

folder() { # PATH MODE OWNER
  if real "$1"; then owner "$1" "$2" "$3"; return; fi
  m=$2; [ "$m" != - ] || m=0755
  mkdir -- "$1" && owner "$1" "$m" "$3"
}

link() { # PATH TARGET
  p=$1 t=$1$tmp
  ! real "$p" || no "$p: Is a directory"
  rm -rf -- "$t" && ln -s -- "$2" "$t" && mv -fT -- "$t" "$p" && flush "${p%/*}/"
}

twin() { # FROM PATH
  p=$2 t=$2$tmp
  rm -rf -- "$t" && cp -a -- "$1" "$t" && settle
}

# line PATH MODE TEXT: TEXT becomes the last line of PATH.
line() {
  p=$1 t=$1$tmp
  [ ! -L "$p" ] || no "$p is a link: name the file it leads to"
  rm -rf -- "$t" || exit
  if absent "$p"; then printf '%s\n' "$3" >"$t" && chmod "$2" -- "$t"
  else
    cp -p -- "$p" "$t" && { [ -z "$(tail -c 1 -- "$p")" ] || echo; printf '%s\n' "$3"; } >>"$t"
  fi && flush "$t" && mv -fT -- "$t" "$p"
}

hasline() { [ -f "$1" ] || { absent "$1" && exit 3; }; grep -qxF -e "$2" -- "$1"; }

forget() { rm -rf -- "$1/saved"; }
