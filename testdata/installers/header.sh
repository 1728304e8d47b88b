# The header of a simulated package. makeself reads this file and what it prints
# is the start of the archive. That of makeself refuses options it does not know;
# this one takes makeself's own and hands all others to the installer.
cat >"$archname" <<END
#!/bin/bash
# SIMULATED package, for tests: nothing of the vendor is in it.
label='$LABEL' script='$SCRIPT'
MD5="$MD5sum"
SHA="$SHAsum"
filesizes="$filesizes"
skip="$SKIP"
END
cat >>"$archname" <<'END'
me=$0 quiet= noexec= keep= dir= options=()
payload() { tail -n "+$((skip + 1))" "$me"; }
whole() {
  [ "$(payload | wc -c)" = "$filesizes" ] && [ "$(payload | md5sum | cut -c -32)" = "$MD5" ] &&
    [ "$(payload | sha256sum | cut -c -64)" = "$SHA" ] || { echo "$label: the archive is damaged" >&2; return 1; }
}
for o; do
  case $o in
  --help | -h) echo "$label
makeself:  --help --info --list --check --noexec --extract=DIR --keep --nox11
installer: --install --full --run --devel --upgrade --uninstall --pre-check --quiet --version
           --install-path=DIR --install-for-all --install-username=U --install-usergroup=G
           --chip= --feature= --type= --pylocal --setenv --docker-root= --whitelist= --blacklist= --install-scene="
    exit 0 ;;
  --info) echo "$label: $filesizes bytes, md5 $MD5, runs $script"; exit 0 ;;
  --list) payload | gzip -cd | tar -tvf -; exit ;;
  --check) whole || exit 2; echo "$label: the archive is whole"; exit 0 ;;
  --noexec) noexec=1 ;;
  --keep) keep=1 ;;
  --extract=*) dir=${o#*=} keep=1 noexec=1 ;;
  --nox11) ;;
  --quiet) quiet=1; options+=("$o") ;;
  *) options+=("$o") ;;
  esac
done
[ "$quiet" ] || echo "$label"
whole || exit 1
umask 022
set -o pipefail
if [ "$dir" ]; then mkdir -p "$dir"; else dir=$(mktemp -d "${TMPDIR:-/tmp}/selfgz$$XXXXXX"); fi || exit 1
[ "$keep" ] || trap 'cd /; rm -rf "$dir"' EXIT
payload | gzip -cd | tar --no-same-owner -xf - -C "$dir" || { echo "$label: it cannot be unpacked in $dir" >&2; exit 1; }
[ -z "$noexec" ] || exit 0
cd "$dir" || exit 1
"$script" "${options[@]}"
exit
END
