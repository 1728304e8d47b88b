# NAME PART SIZE: what an upload can keep. "whole SHA256", "part BYTES SHA256".
command -v sha256sum >/dev/null || { echo 'the host has no sha256sum' >&2; exit 1; }
if [ -d "$1" ]; then echo "$1: Is a directory" >&2; exit 1; fi
if [ -f "$1" ] && [ "$(wc -c <"$1")" -eq "$3" ]; then s=$(sha256sum <"$1") && echo "whole ${s%% *}"; fi
if [ -f "$2" ]; then s=$(sha256sum <"$2") && echo "part $(wc -c <"$2") ${s%% *}"; fi
exit 0
