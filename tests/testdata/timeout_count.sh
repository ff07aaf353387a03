# Copyright 2026 the @proc/group authors. MIT license.
# Counts how often it gets the signal $1 (a name), then dies of it.
count=0
trap 'count=$((count + 1))' "$1"
echo ready
round=0
while [ "$count" -eq 0 ] && [ "$round" -lt 200 ]; do
  sleep 0.1
  round=$((round + 1))
done
# One that comes twice comes within this time.
for _ in 1 2 3 4 5 6; do sleep 0.1; done
echo "saw $count"
trap - "$1"
kill -s "$1" $$
