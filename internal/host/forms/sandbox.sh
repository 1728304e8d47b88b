if command -v systemd-detect-virt >/dev/null; then
  printf 'virt=%s\n' "$(systemd-detect-virt 2>/dev/null)"
  printf 'container=%s\n' "$(systemd-detect-virt -c 2>/dev/null)"
fi
[ ! -e /.dockerenv ] || echo mark=docker
[ ! -e /run/.containerenv ] || echo mark=podman
printf 'cgroup=%s\n' "$(tr '\n' ' ' </proc/1/cgroup 2>/dev/null)"
printf 'version=%s\n' "$(head -n 1 /proc/version 2>/dev/null)"
printf 'cmdline=%s\n' "$(head -n 1 /proc/cmdline 2>/dev/null)"
