# Forks as fast as it can: a binary tree of processes, each of which sleeps in
# the end. Usage: storm.sh DEPTH LENGTH [setsid]. With "setsid", the second
# child of each process leads a session of its own.
depth=$1 length=$2 mode=${3:-}
if [ "$depth" -gt 0 ]; then
  sh "$0" $((depth - 1)) "$length" "$mode" &
  if [ "$mode" = setsid ]; then
    setsid sh "$0" $((depth - 1)) "$length" "$mode" &
  else
    sh "$0" $((depth - 1)) "$length" "$mode" &
  fi
fi
exec sleep "$length"
