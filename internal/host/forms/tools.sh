set -f; IFS=:
for n; do
  for d in $PATH; do
    if [ -n "$d" ] && [ -f "$d/$n" ] && [ -x "$d/$n" ]; then printf '%s %s\n' "$n" "$d/$n"; break; fi
  done
done
exit 0
