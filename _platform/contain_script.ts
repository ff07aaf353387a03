// Copyright 2026 the @proc/group authors. MIT license.

/**
 * What runs a command in a PID namespace: two POSIX shell scripts around
 * unshare(1), for dash, bash and busybox alike.
 *
 * ```text
 * outer shell          leads the session; exits with the command's status
 * ├─ unshare           makes the namespaces and waits for the init
 * │  └─ init           process 1 inside: runs the command, reaps orphans
 * │     └─ command
 * └─ reporter          hands the command's status to the outer shell
 * ```
 *
 * The group's leader must exit when the command does, though daemons of it may
 * still run, as in any group. But unshare(1) exits only with the init, which
 * takes all of the namespace with it. So the init reports the status through a
 * pipe, and if somebody is left, the reporter ends `unshare` alone: that lets
 * the outer shell exit, and the init stays for as long as somebody is inside.
 *
 * All but the command belong to the leader's process group, so that a signal
 * to it reaches the command as ever. They catch what they can and go on: a
 * signal with a handler, unlike one that is ignored, is back to its default in
 * the command. SIGKILL ends them all, and with the init the kernel ends every
 * process of the namespace, wherever it went.
 */

/** What a shell can catch, except for what stops or continues a process. */
const CATCHABLE =
  "1 2 3 4 5 6 7 8 10 11 12 13 14 15 16 23 24 25 26 27 28 29 30 31";

/** Numbers of the signals that tell the init to look whether it is alone. */
const SIGCHLD = 17;
const SIGURG = 23;

/**
 * Arguments: the path of `unshare`, the path of `sh`, the script of the init,
 * the options of `unshare` that depend on the user, then the command. The
 * shells' own complaints, such as "Terminated", are nobody's business and must
 * not get into the command's standard error.
 *
 * Descriptor 4 is the write end of the pipe to the reporter, 7 both ends of
 * another, by which the reporter says that it is there, and which is silent
 * from then on: the init waits by reading from it.
 *
 * A signal that comes while the init starts would be lost, for an init takes
 * none and `unshare` blocks some. So the reporter is there before, and sends it
 * again as soon as the command is there to get it.
 *
 * Without a status, `unshare` has failed, and said so, or a signal came before
 * the command: the status is 125, or that of whoever dies of the signal. The
 * number of `unshare` is given back as soon as the outer shell has reaped it,
 * so it is only signalled if it is that shell's child.
 */
export const outerScript: string = `
begun=
for n in ${CATCHABLE}; do
  trap '[ "$begun" ] || exit '"$((n + 128))" "$n"
done
unshare=$1 sh=$2 init=$3 options=$4
shift 4
exec 3>&1 5>&2 6<&0 2>/dev/null
begun=1
: | {
  exec 7<>/proc/self/fd/0
  read -r pid rest </proc/self/stat
  echo "$pid"
  read -r go <&7
  exec "$unshare" $options --pid --fork --mount-proc \\
    "$sh" -c "$init" proc-group-init "$@" \\
    4>&1 <&6 >&3 2>&5 3>&- 5>&- 6<&-
} | {
  early=
  for n in ${CATCHABLE}; do
    trap 'hit=1 early="$early '"$n"'"' "$n"
  done
  exec >/dev/null 3>&- 5>&- 6<&-
  get() {
    while hit=; ! read -r first second; do
      [ "$hit" ] && continue
      set -- $early
      exit "$((\${1:--3} + 128))"
    done
  }
  get
  pid=$first
  echo go >/proc/$pid/fd/7
  get
  set -- $early
  for n; do kill "-$n" 0; done
  get
  if [ "$second" -gt 1 ]; then
    read -r stat </proc/$pid/stat
    case $stat in *") "?" $$ "*) kill -9 "$pid" ;; esac
  fi
  exit "$first"
}
`;

/**
 * The init; its arguments are the command. It says when the command is there,
 * and reports its status and how many processes there are, itself included.
 * Until then it has no handlers, so that none is in the way of a signal to the
 * command between its fork and its exec.
 *
 * If there are others, it waits for them. Each orphan is its child in the end,
 * so a SIGCHLD tells of the last one's end as well, where the shell lets go of
 * `read` for that; `jobs` makes it reap. Bash does not let go, so it looks
 * every five seconds. Whoever stops the group sends SIGURG to have it look at
 * once. It starts no program meanwhile: that would look like a leftover.
 */
export const initScript: string = `
exec 5>&2 2>/dev/null
(echo up >&4; exec "$@" 2>&5 4>&- 5>&- 7<&-)
code=$?
trap : ${SIGCHLD} ${SIGURG}
exec </dev/null >/dev/null 5>&-
jobs || (:)
set -- /proc/[0-9]*
echo "$code $#" >&4
[ $# -gt 1 ] || exit "$code"
exec 0<&7 4>&- 7<&-
while jobs || (:); set -- /proc/[0-9]*; [ $# -gt 1 ]; do
  read -r -t 5 line || [ $? -ne 2 ] || read -r line
done
`;
