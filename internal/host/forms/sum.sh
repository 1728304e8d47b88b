command -v sha256sum >/dev/null || { echo 'the host has no sha256sum' >&2; exit 1; }
s=$(sha256sum <"$1") && echo "${s%% *}"
