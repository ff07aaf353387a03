// Copyright 2026 the @proc/group authors. MIT license.

/** Who is who in a contained group, and what its callers may ask for. */

import { findUnshare } from "./_platform/contain.ts";
import { platformFor } from "./_platform/mod.ts";
import type { ProcessInfo } from "./_platform/platform.ts";
import { isLive } from "./_platform/stat.ts";

/** First signals that the shells around a contained command are made for. */
const FIRST_SIGNALS: readonly Deno.Signal[] = ["SIGTERM", "SIGINT", "SIGKILL"];

/** A contained group, as far as a snapshot shows it alive. */
export interface Household {
  /** The shell that leads the group; null once it has exited. */
  readonly leader: ProcessInfo | null;
  /** The command and all that descends from it, in whatever session. */
  readonly inside: ProcessInfo[];
  /** Who only runs the command and holds the namespace. */
  readonly helpers: ProcessInfo[];
}

/**
 * Finds the processes of a contained group. An orphan in a PID namespace is
 * given to its init, so all of them descend from the leader's session.
 */
export function findHousehold(
  processes: readonly ProcessInfo[],
  pgid: number,
): Household {
  const children = Map.groupBy(processes, ({ ppid }) => ppid);
  const childrenOf = ({ pid }: ProcessInfo) => children.get(pid) ?? [];
  const family = new Set(
    processes.filter(({ pgid: group, sid }) => group === pgid || sid === pgid),
  );
  // What is added during the loop is visited by it, too.
  for (const process of family) {
    for (const child of childrenOf(process)) family.add(child);
  }
  const leader =
    [...family].find((process) => process.pid === pgid && isLive(process)) ??
      null;
  const helpers = leader
    ? childrenOf(leader).flatMap((child) => [child, ...childrenOf(child)])
    : holdersOf([...family].filter(isLive), childrenOf);
  return {
    leader,
    inside: [...family].filter((process) =>
      isLive(process) && process !== leader && !helpers.includes(process)
    ),
    helpers: helpers.filter(isLive),
  };
}

/**
 * The namespace's init once the leader has exited: older than all inside, and
 * nobody's child in the family, or that of an `unshare` which was not ended.
 */
function holdersOf(
  family: ProcessInfo[],
  childrenOf: (process: ProcessInfo) => ProcessInfo[],
): ProcessInfo[] {
  const pids = new Set(family.map(({ pid }) => pid));
  const [oldest] = family.filter(({ ppid }) => !pids.has(ppid)).sort((a, b) =>
    a.startTime - b.startTime || a.pid - b.pid
  );
  if (oldest === undefined) return [];
  return oldest.command === "unshare"
    ? [oldest, ...childrenOf(oldest)]
    : [oldest];
}

/** Whether a contained group may be stopped with this signal first. */
export function isContainedSignal(signal: Deno.Signal): boolean {
  return FIRST_SIGNALS.includes(signal);
}

/** Gives a first signal for a contained group back, else throws. */
export function checkContainedSignal(signal: Deno.Signal): Deno.Signal {
  if (isContainedSignal(signal)) return signal;
  throw new RangeError(
    `Cannot use killSignal for a contained group: current value is "${signal}", not one of ${
      FIRST_SIGNALS.join(", ")
    }`,
  );
}

/** Whether a command can be contained here; never asks for a permission. */
export function isContainable(): boolean {
  try {
    const { name } = platformFor();
    const all = Deno.permissions.querySync({ name: "run" });
    if (name === "portable" && all.state !== "granted") return false;
    findUnshare({ uid: undefined, gid: undefined }, { ask: false });
    return true;
  } catch (error) {
    if (
      error instanceof Deno.errors.NotSupported ||
      error instanceof Deno.errors.NotCapable
    ) return false;
    throw error;
  }
}
