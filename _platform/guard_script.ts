// Copyright 2026 the @proc/group authors. MIT license.

/**
 * The guard's program: a POSIX shell script that outlives this process by some
 * tenths of a second and stops what it has left behind.
 *
 * It needs `sh` and its builtins, and uses `grep` and `sleep` where there are:
 * without `sleep` its pauses are spent on scanning, without `grep` there is no
 * sweep for the mark. It is written for dash, bash and busybox alike, and is a
 * string, not a file, since a module may come from anywhere.
 *
 * Arguments: `$1` the name of the parent's mark, `$2` the program `grep`, `$3`
 * the program `sleep`, both empty where they may not be used. Standard input
 * holds lines:
 *
 * - `+ PID AGE`: the session that PID leads was started AGE ticks ago,
 * - `@ PID TICK`: it was started by that tick since boot,
 * - `- PID`: it is over, and its number may be anybody's,
 * - `q`: nothing is left to be guarded.
 *
 * A tick is 1/100 second of the clock by which procfs tells start times. The
 * end of the input means that the parent is dead.
 *
 * If `$4` is not empty, descriptor 3 is what ends with the parent, and standard
 * input is left alone until then, so that no line wakes this program up. A line
 * `=` there asks to read on up to a line `=`, before the pipe is full; `q` is
 * said there.
 *
 * What a shell evaluates here are numbers only, taken from a path of procfs or
 * matched by a regular expression that admits nothing else: the names of
 * commands are not to be trusted and never get into a variable that counts.
 */

/**
 * What could end the guard with its parent is ignored, and descriptors that
 * came down from the parent's own parent without CLOEXEC are closed: a pipe or
 * a lock must not be held longer than the parent would have held it.
 */
const PREPARE = `
trap '' HUP INT QUIT TERM TSTP TTIN TTOU PIPE
exec 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-
[ "$4" ] || exec 3<&-
PATH=/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin
mark=$1 grep=$2 sleep=$3 quiet=$4
nl='
'
list= total=0 gone=0 round=0
`;

/**
 * `now` sets `t` to the ticks since boot, or to nothing without procfs. The 1
 * before the digits after the point keeps `08` from being an octal number.
 *
 * In a container `/proc/uptime` may count from the container's start while
 * start times still count from the machine's boot (lxcfs does that). The
 * difference is measured once, on a process that was born a moment ago.
 *
 * A procfs of another PID namespace shows numbers that mean other processes,
 * so it is as good as none.
 */
const CLOCK = `
now() {
  t=
  read -r t rest </proc/uptime && t=$((\${t%.*} * 100 + 1\${t#*.} - 100))
}
proc=
read -r self rest </proc/self/stat && [ "$self" = "$$" ] && now && proc=1
lag=0
if [ "$proc" ]; then
  set -- $(read -r stat </proc/self/stat && echo "\${stat##*) }")
  lag=$((\${20:-0} - t))
  [ "$lag" -gt 0 ] || lag=0
fi
`;

/**
 * `S_<pid>` holds the last tick at which the leader can have been born, or
 * nothing once the session is over. `list` is appended to only, `L_<pid>` says
 * that a number is in it, and it is made anew when most of it is over: a
 * removal costs the same with ten groups as with ten thousand.
 */
const REGISTER = `
announce() {
  [ "$proc" ] && now
  register "$1" $((\${t:-0} + lag - \${2:-0}))
}
register() {
  eval "S_$1=$2" 'listed=\${L_'"$1-}"
  [ "$listed" ] && return
  eval "L_$1=1"
  list="$list $1" total=$((total + 1))
}
forget() {
  eval 'born=\${S_'$1'-}'
  [ "$born" ] || return
  eval "S_$1="
  gone=$((gone + 1))
  [ "$gone" -gt 64 ] && [ $((gone * 2)) -gt "$total" ] && tidy
}
tidy() {
  old=$list list= total=0 gone=0
  for pid in $old; do
    eval 'born=\${S_'$pid'-}'
    if [ "$born" ]; then
      list="$list $pid" total=$((total + 1))
    else
      unset "S_$pid" "L_$pid"
    fi
  done
}
`;

/**
 * A command's name may hold spaces, parentheses and newlines, 15 bytes in all.
 * So a line of `stat` counts only by what follows the name up to the end of the
 * line, and only if there is more of it than a name could imitate: the state,
 * ppid, pgrp, session, fifteen more, the start time, and the rest.
 *
 * `probe` asks `grep` on this shell's own files whether it can do what is
 * needed: `-o` for members, `-z` for marks. Lists of announced numbers are cut
 * into alternatives of a length that the regular expression takes at ease.
 */
const PATTERNS = `
head='[)] [A-Za-z] -?[0-9]+ [0-9]+ ' tail=' (-?[0-9]+ ){15}[0-9]+( -?[0-9]+)+ ?$'
probe() {
  found= swept=
  [ "$grep" ] && command -v "$grep" >/dev/null || grep=
  [ "$grep" ] || return
  found=$("$grep" -Hoas -E "$head[0-9]+$tail" /proc/$$/stat)
  GUARD=1 "$grep" -qzxas -F GUARD=1 /proc/self/environ && swept=1
}
split() {
  part= n=0 parts=
  for pid in $list; do
    eval 'born=\${S_'$pid'-}'
    [ "$born" ] || continue
    part="$part|$pid" n=$((n + 1))
    [ "$n" -lt 500 ] || { parts="$parts $part" part= n=0; }
  done
  parts="$parts $part"
}
`;

/**
 * `members` fills `lines` with one line for each process of an announced
 * session, the pid in a path before it. `marked` are the paths of processes
 * that carry the parent's mark; each may lead a session, of which all the
 * others descend from it, so it counts as announced. What `grep` returns is no
 * verdict: processes vanish while it reads.
 */
const SCAN = `
members() {
  lines=
  for part in $parts; do
    lines="$lines$nl$("$grep" -Hoas -E "$head(\${part#?})$tail" /proc/[0-9]*/stat)"
  done
}
members_slowly() {
  lines=
  for dir in /proc/[0-9]*; do
    last=
    while read -r stat; do last=$stat; done <"$dir/stat"
    last=\${last##*) }
    set -- $last
    case $4 in '' | *[!0-9]*) continue ;; esac
    eval 'born=\${S_'$4'-}'
    [ "$born" ] && lines="$lines$nl$dir/stat:) $last"
  done
}
scan() {
  round=$((round + 1)) marked=
  [ "$swept" ] && marked=$("$grep" -lzxas -F "$mark=1" /proc/[0-9]*/environ)
  for path in $marked; do
    pid=\${path#/proc/} pid=\${pid%%/*}
    eval "K_$pid=$round" 'born=\${S_'$pid'-}'
    [ "$born" ] || announce "$pid"
  done
  if [ "$found" ]; then split; members; else members_slowly; fi
  judge
  choose
}
`;

/**
 * A number may have gone to a stranger since it was announced. A session is
 * ours if its leader is still there, even as a zombie, and was born by the
 * announcement; if the leader is gone, because one member was born by then or
 * carries the mark, for all of a session are of one descent. A leader that is
 * younger makes it a stranger's, for no process is given the number of a
 * session that still has members.
 */
const JUDGE = `
judge() {
  IFS=$nl
  for line in $lines; do
    IFS=' '
    set -- $line
    pid=\${1#/proc/} pid=\${pid%%/*}
    eval 'born=\${S_'$5'-} verdict=\${V_'$5'-} seen=\${K_'$pid'-}'
    if [ "$pid" = "$5" ]; then
      [ "\${21}" -le "$born" ] && verdict=own || verdict=stranger
    elif [ "$verdict" != stranger ]; then
      [ "\${21}" -le "$born" ] || [ "$seen" = "$round" ] && verdict=own
    fi
    eval "V_$5=$verdict"
  done
  IFS=" $nl"
}
`;

/**
 * `targets` are the arguments of `kill`: each process group of our sessions
 * once, negative, then each marked process elsewhere. Nobody is named twice,
 * for a second SIGTERM means something else to many programs. Zombies are not
 * alive, unless only the first of several threads has ended.
 */
const CHOOSE = `
choose() {
  targets=
  IFS=$nl
  for line in $lines; do
    IFS=' '
    set -- $line
    pid=\${1#/proc/} pid=\${pid%%/*}
    eval 'verdict=\${V_'$5'-} seen=\${G_'$4'-}'
    state=$2
    [ "\${19}" -gt 1 ] && state=S
    case $state$verdict in [!ZXx]own) ;; *) continue ;; esac
    eval "H_$pid=$round"
    [ "$4" -gt 1 ] && [ "$seen" != "$round" ] || continue
    eval "G_$4=$round"
    targets="$targets -$4"
  done
  IFS=" $nl"
  for path in $marked; do
    pid=\${path#/proc/} pid=\${pid%%/*}
    eval 'seen=\${H_'$pid'-}'
    [ "$seen" = "$round" ] || targets="$targets $pid"
  done
}
`;

/**
 * SIGTERM and SIGCONT to all, 0.4 s of grace that ends when all are gone, then
 * SIGKILL until two scans in a row find nobody, for 5 s at most: what is in the
 * middle of an exec shows no environment for a moment. The rounds are limited
 * for a clock that stands still.
 */
const FINISH = `
pause() {
  [ "$sleep" ] && "$sleep" "$1"
}
finish() {
  scan
  [ "$targets" ] && kill -TERM $targets
  [ "$targets" ] && kill -CONT $targets
  now
  until=$((t + 40))
  while [ "$targets" ] && [ "$t" -lt "$until" ] && [ "$round" -lt 50 ]; do
    pause 0.03
    scan
    now
  done
  until=$((t + 500)) quiet=0
  while quiet=$((quiet + 1)); do
    [ "$targets" ] && quiet=0 && kill -KILL $targets
    [ "$quiet" -lt 2 ] && [ "$t" -lt "$until" ] && [ "$round" -lt 400 ] || break
    pause 0.02
    scan
    now
  done
}
`;

/**
 * Without procfs (macOS) a session is its leader's process group, and nothing
 * tells a stranger from it but that the parent did not stand down.
 */
const FINISH_BY_NUMBER = `
each() {
  alive=
  for pid in $list; do
    eval 'born=\${S_'$pid'-}'
    [ "$born" ] && kill "$1" "-$pid" && alive=1
  done
}
finish_by_number() {
  each -TERM
  each -CONT
  n=0
  while each -0; [ "$alive" ] && [ "$n" -lt 8 ]; do
    n=$((n + 1))
    pause 0.05
  done
  each -KILL
}
`;

/**
 * A line that was cut short by the parent's death is none: `read` fails for
 * it, and half a number would be a stranger's.
 */
const MAIN = `
listen() {
  while read -r op pid tick; do
    case $pid$tick in *[!0-9]*) continue ;; esac
    case $op in
    +) [ "$pid" -gt 1 ] && announce "$pid" "$tick" ;;
    @) [ "$pid" -gt 1 ] && register "$pid" "$tick" ;;
    -) forget "$pid" ;;
    =) [ "$quiet" ] && return ;;
    q) exit 0 ;;
    esac
  done
}
while [ "$quiet" ] && read -r op <&3; do
  case $op in
  =) listen ;;
  q) exit 0 ;;
  esac
done
quiet=
listen
if [ "$proc" ]; then probe; finish; else finish_by_number; fi
`;

/** The whole script, for `sh -c`. */
export const guardScript: string = PREPARE + CLOCK + REGISTER + PATTERNS +
  SCAN + JUDGE + CHOOSE + FINISH + FINISH_BY_NUMBER + MAIN;
