// Copyright 2026 the @proc/group authors. MIT license.

/** The process trees that are stopped. Each ends by itself after a minute. */

/** A command that becomes a tree of a known size. */
export interface Tree {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Number of processes when it stands, the leader included. */
  readonly size: number;
  /** How many of them have become sleep(1) by then. */
  readonly sleeps: number;
}

const SECONDS = 60;

const FLAT = `i=0
while [ "$i" -lt "$1" ]; do sleep ${SECONDS} & i=$((i + 1)); done
wait`;

const CHAIN = `if [ "$1" -gt 1 ]; then sh -c "$2" sh $(($1 - 1)) "$2"
else sleep ${SECONDS}; fi
:`;

const JOBS = `set -m
for i in 1 2 3 4 5; do (sleep ${SECONDS}; :) & done
wait`;

const STUBBORN =
  `for i in 1 2 3; do (trap '' TERM; exec sleep ${SECONDS}) & done
for i in 1 2 3; do sleep ${SECONDS} & done
wait`;

const ESCAPEES = `for i in 1 2 3; do sleep ${SECONDS} & done
setsid sleep ${SECONDS} &
(setsid sleep ${SECONDS} &)
wait`;

const SLOW = `sh -c 'trap "sleep 0.3; exit" TERM; sleep ${SECONDS} & wait' &
for i in 1 2 3 4 5 6 7 8 9 10; do sleep ${SECONDS} & done
wait`;

/** One shell with so many children. */
export function flat(members: number): Tree {
  return {
    name: `flat, ${members.toLocaleString("en-US")}`,
    command: "sh",
    args: ["-c", FLAT, "sh", `${members}`],
    size: members + 1,
    sleeps: members,
  };
}

/** A shell that starts a shell that starts a shell. */
export function chain(length: number): Tree {
  return {
    name: `chain of ${length}`,
    command: "sh",
    args: ["-c", CHAIN, "sh", `${length - 1}`, CHAIN],
    size: length,
    sleeps: 1,
  };
}

/** Five jobs of two processes, each in a process group of its own. */
export const jobs: Tree = {
  name: "job control",
  command: "bash",
  args: ["-c", JOBS],
  size: 11,
  sleeps: 5,
};

/** Ten children end at once, and one takes 0.3 seconds. */
export const slow: Tree = {
  name: "slow",
  command: "sh",
  args: ["-c", SLOW],
  size: 13,
  sleeps: 11,
};

/** Three of six children ignore SIGTERM. */
export const stubborn: Tree = {
  name: "TERM-proof",
  command: "sh",
  args: ["-c", STUBBORN],
  size: 7,
  sleeps: 6,
};

/** Two of five have left the session; one of them is a daemon. */
export const escapees: Tree = {
  name: "escapees",
  command: "sh",
  args: ["-c", ESCAPEES],
  size: 6,
  sleeps: 5,
};

const MIXED = `set -m; sleep ${SECONDS} & set +m
(setsid sleep ${SECONDS} &)
i=0
while [ "$i" -lt "$1" ]; do sleep ${SECONDS} & i=$((i + 1)); done
wait`;

/** So many children, one more in a job of its own, and one escapee. */
export function mixed(members: number): Tree {
  return {
    name: `mixed, ${members}`,
    command: "bash",
    args: ["-c", MIXED, "bash", `${members}`],
    size: members + 3,
    sleeps: members + 2,
  };
}
