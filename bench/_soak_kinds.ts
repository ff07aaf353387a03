// Copyright 2026 the @proc/group authors. MIT license.

/** What the soak starts, and how it stops that. */

import {
  killGroup,
  type ProcessGroup,
  stopGroup,
  type StopReport,
  waitGone,
} from "../process_group.ts";
import { DeadlineExceededError, withDeadline } from "../timeout.ts";

/** Scripts of bash, made of the length of a sleep. */
export const TREES: Readonly<Record<string, (sleep: string) => string>> = {
  "one process": (sleep) => `exec ${sleep}`,
  "ends at once": () => ":",
  "chain": (sleep) => `sh -c 'sh -c "sh -c \\"${sleep}; :\\"; :"; :'; :`,
  "many children": (sleep) => `for i in 1 2 3 4 5 6; do ${sleep} & done; wait`,
  "job control": (sleep) => `set -m; ${sleep} & ${sleep} | ${sleep} & ${sleep}`,
  "TERM-proof": (sleep) => `trap '' TERM HUP INT; ${sleep} & ${sleep}; :`,
  "TERM-proof orphan": (sleep) =>
    `(trap '' TERM; ${sleep}; :) >/dev/null 2>&1 & exit 0`,
  "daemons": (sleep) =>
    `setsid ${sleep} & (setsid sh -c 'setsid ${sleep} & ${sleep}' &); ${sleep}`,
  "TERM-proof daemon": (sleep) =>
    `(trap '' TERM; setsid ${sleep} &) ; ${sleep}`,
  "stopped": (sleep) => `${sleep} & kill -STOP $! $$; wait`,
  "forks": (sleep) =>
    `i=0; while [ $((i += 1)) -lt 40 ]; do ${sleep} & done; wait`,
  "comes and goes": (sleep) =>
    `i=0; while [ $((i += 1)) -lt 300 ]; do (: & :) & done; wait; ${sleep}`,
  "leaves the group": (sleep) =>
    `i=0; while [ $((i += 1)) -lt 12 ]; do setsid ${sleep} & done; wait`,
  "another pid all the time": (sleep) =>
    `perl -e '$end = time + 6; while (time < $end) { exit if fork; }' '${sleep}'`,
  "prints": (sleep) => `${sleep} & while echo more; do :; done`,
  "ends by itself": (sleep) => `${sleep} & sleep 0.0$((RANDOM % 90 + 10))`,
};

/** What a way of stopping has to tell. */
export type Outcome =
  | Pick<StopReport, "forced" | "escaped" | "survivors">
  | null;

/** A group that is to be stopped. */
export interface Trial {
  readonly group: ProcessGroup;
  readonly controller: AbortController;
  readonly graceMs: number;
}

/** Each leaves nobody, and tells what it did where it can. */
export const WAYS: Readonly<
  Record<string, (trial: Trial) => Promise<Outcome>>
> = {
  "stop": ({ group }) => stopGroup(group),
  "stop twice": async ({ group }) =>
    (await Promise.all([stopGroup(group), stopGroup(group, { graceMs: 0 })]))[
      0
    ],
  "deadline": async ({ group }) => {
    try {
      return (await withDeadline(group, Math.random() * 60)).report;
    } catch (error) {
      if (error instanceof DeadlineExceededError) return error.report!;
      throw error;
    }
  },
  "abort": async ({ group, controller }) => {
    controller.abort();
    await waitGone(group);
    // An abort tells nobody when the daemons are gone as well.
    return await stopGroup(group);
  },
  "dispose": async ({ group }) => {
    await group[Symbol.asyncDispose]();
    return null;
  },
  "kill, then stop": async ({ group }) => {
    killGroup(group, "SIGKILL");
    return await stopGroup(group);
  },
  "kill the leader": async ({ group }) => {
    let hasExited = false;
    group.status.then(() => hasExited = true);
    await Promise.resolve();
    if (!hasExited) killProcess(group.pid);
    await group.status;
    return await stopGroup(group);
  },
  "wait for it": async ({ group, graceMs }) => {
    const signal = AbortSignal.timeout(30 + graceMs);
    await waitGone(group, { signal }).catch((error) => {
      if (error !== signal.reason) throw error;
    });
    return await stopGroup(group);
  },
};

/** Kills one process, which may have ended already. */
export function killProcess(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
