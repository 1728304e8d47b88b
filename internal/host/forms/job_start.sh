# DIR: starts DIR/run in a session of its own and waits until it has said its pid.
cd "$1" || exit
s=; command -v setsid >/dev/null && s=setsid
nohup $s /bin/sh "$1/run" </dev/null >/dev/null 2>&1 &
for i in 1 2 3 4 5 6 7 8 9 10; do
  [ ! -e pid ] || exit 0
  sleep 0.1 2>/dev/null || sleep 1
  [ $i -lt 5 ] || sleep 1
done
echo 'the job did not start' >&2
exit 1
