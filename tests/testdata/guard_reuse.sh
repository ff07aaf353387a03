# Copyright 2026 the @proc/group authors. MIT license.
# Runs as PID 1 of a PID namespace, where numbers can be given out again. Lets
# the guard, whose script is $1, learn of two groups, one of which ends and
# leaves its number to a stranger.

next() { echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid; }

# Whether the guard has read all lines: it sleeps, and not for a child's sake.
is_idle() {
  read -r _ _ state _ <"/proc/$guard/stat"
  children=$(cat "/proc/$guard/task/$guard/children")
  [ "$state" = S ] && [ -z "$children" ]
}

exec 8> >(exec setsid sh -c "$1" guard NO_MARK grep sleep >/dev/null 2>&1)
guard=$!
next 2000
setsid sleep 40 8>&- &
first=$!
setsid sleep 41 8>&- &
ours=$!
echo "+ $first 0" >&8
echo "+ $ours 0" >&8
idle=0 looks=0
while [ "$idle" -lt 3 ] && [ "$looks" -lt 100 ]; do
  sleep 0.03
  looks=$((looks + 1)) idle=$((idle + 1))
  is_idle || idle=0
done
kill -KILL "$first"
wait "$first" 2>/dev/null
next "$first"
setsid sleep 42 8>&- &
[ $! = "$first" ] && echo "number is reused"
until [ "$(ps -o sid= -p "$first")" -eq "$first" ]; do sleep 0.01; done
exec 8>&-
wait "$guard"
kill -0 "$ours" 2>/dev/null && echo "ours lives" || echo "ours is gone"
kill -0 "$first" 2>/dev/null && echo "stranger lives" || echo "stranger is gone"
