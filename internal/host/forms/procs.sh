for p; do
  case $p in '' | *[!0-9]*) continue ;; esac
  cd "/proc/$p" 2>/dev/null || continue
  o=$(stat -c '%u	%U' . 2>/dev/null) && s=$(tr '\n' ' ' <stat 2>/dev/null) && [ -n "$s" ] || continue
  printf 'p\t%s\t%s\t%s\t%s\t' "$p" "$o" "$s" "$(tr '\n\t' '  ' <cgroup 2>/dev/null)"
  head -c 4096 cmdline 2>/dev/null | tr '\0\n\t\r' '    '
  echo
done
printf 'boot\t%s\n' "$(grep '^btime ' /proc/stat)"
printf 'hz\t%s\n' "$(getconf CLK_TCK 2>/dev/null)"
