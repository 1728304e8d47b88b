#!/usr/bin/env bash
# The demo: gets ONNX Runtime, serves the trained digits model on the CPU,
# sends its real test images with 8 clients, compares the accuracy with the
# model's README, stops the server. Uses only what a user would type.
set -euo pipefail
cd "$(dirname "$0")/../.."
model=testdata/models/digits
work=$(mktemp -d)
server=
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
say() { printf '\n$ %s\n' "$*"; }

say ascendctl data fetch onnxruntime
./ascendctl data fetch onnxruntime

# Port 0: the system chooses a free one, and serve says which.
say ascendctl serve --recipe cpu-demo --listen 127.0.0.1:0 --ready-file ready.json
./ascendctl serve --recipe cpu-demo --listen 127.0.0.1:0 --ready-file "$work/ready.json" &
server=$!
for _ in $(seq 300); do
  [ -s "$work/ready.json" ] && break
  kill -0 "$server" 2>/dev/null || { wait "$server"; exit 1; }
  sleep 0.1
done
url=$(sed -n 's/^ *"url": "\(.*\)",*$/\1/p' "$work/ready.json")
[ -n "$url" ] || { echo "demo: serve did not become ready in 30 s" >&2; exit 1; }

bench="--model digits --data image=$model/images.npy --labels $model/labels.npy --concurrency 8 --requests 7200"
say ascendctl bench "$url" $bench --save bench.json
./ascendctl bench "$url" $bench --save "$work/bench.json"

kill -TERM "$server"
wait "$server"
server=

want=$(sed -n 's/^accuracy: //p' $model/README.md)
got=$(sed -n 's/^ *"percent": \([0-9.]*\),*$/\1 %/p' "$work/bench.json")
if [ "$got" != "$want" ]; then
  echo "demo: accuracy $got, the model's README says $want" >&2
  exit 1
fi
