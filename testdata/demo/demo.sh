#!/usr/bin/env bash
# The demo: gets ONNX Runtime, serves the trained digits model on the CPU,
# sends its real test images with 8 clients, compares the accuracy with the
# model's README, stops the server. Then the same through the path of an NPU:
# an .om, a worker process, ACL calls. No NPU is there, so the ACL library is the
# double of our tests, which computes on the CPU; everything of it is labelled as
# simulated. Its answers must be those of the first part.
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
ready() {
  for _ in $(seq 300); do
    [ -s "$work/$1" ] && break
    kill -0 "$server" 2>/dev/null || { wait "$server"; exit 1; }
    sleep 0.1
  done
  url=$(sed -n 's/^ *"url": "\(.*\)",*$/\1/p' "$work/$1")
  [ -n "$url" ] || { echo "demo: serve did not become ready in 30 s" >&2; exit 1; }
}
stopped() {
  kill -TERM "$server"
  wait "$server"
  server=
}
load="--model digits --data image=$model/images.npy --labels $model/labels.npy --concurrency 8 --requests"
# One row at a time, so that both backends compute with the same batch; the
# eight digits of the answer are the outputs themselves, not only the winner.
answers() {
  for row in 0 1 2 3 4 5 6 7; do
    printf '{"inputs":[{"name":"image","datatype":"FP32","shape":[1,1,8,8],"data":[%s]}]}' \
      "$(seq -s, "$row" 1 $((row + 63)))" | curl -sS --fail-with-body --data-binary @- "$url/v2/models/digits/infer" |
      sed 's/.*"outputs"://'
  done
}

say ascendctl serve --recipe cpu-demo --listen 127.0.0.1:0 --ready-file ready.json
./ascendctl serve --recipe cpu-demo --listen 127.0.0.1:0 --ready-file "$work/ready.json" &
server=$!
ready ready.json
say ascendctl bench "$url" $load 7200 --save bench.json
./ascendctl bench "$url" $load 7200 --save "$work/bench.json"
answers > "$work/cpu"
stopped

want=$(sed -n 's/^accuracy: //p' $model/README.md)
right() { sed -n 's/^ *"percent": \([0-9.]*\),*$/\1 %/p' "$work/$1"; }
if [ "$(right bench.json)" != "$want" ]; then
  echo "demo: accuracy $(right bench.json), the model's README says $want" >&2
  exit 1
fi

echo
echo "SIMULATED from here on: the double of libascendcl stands in for two NPUs."
double=$(go run ./testdata/demo/double $model/digits.onnx "$work/digits.om")
library=$(./ascendctl version -o json | sed -n '/"onnxruntime"/,/}/s/^ *"file": "\(.*\)",*$/\1/p')
export LD_LIBRARY_PATH=$double FAKEACL_ORT=$library
export FAKEACL_CONFIG='{"devices":2,"latency_us":500,"latency_per_item_us":50}' FAKEACL_REPORT=$work/report
say ascendctl serve digits.om --device 0-1 --acl-lib double/ --listen 127.0.0.1:0 --ready-file om.json
./ascendctl serve "$work/digits.om" --device 0-1 --acl-lib "$double" --lock-dir "$work" --listen 127.0.0.1:0 --ready-file "$work/om.json" &
server=$!
ready om.json
say ascendctl bench "$url" $load 3600 --save om-bench.json
./ascendctl bench "$url" $load 3600 --save "$work/om-bench.json"
answers > "$work/om"
stopped
if ! cmp "$work/cpu" "$work/om" || [ ! -s "$work/om" ] || [ "$(right om-bench.json)" != "$want" ]; then
  echo "demo: the simulated ACL path answers otherwise than the CPU path" >&2
  exit 1
fi
if grep '"event":"violation"' "$work/report"; then
  echo "demo: the double noted a misuse of ACL" >&2
  exit 1
fi
echo
echo "SIMULATED: 8 answers and the accuracy are those of the CPU path, byte by byte; no misuse of ACL was noted."
