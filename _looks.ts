// Copyright 2026 the @proc/group authors. MIT license.

/** Who must be there although no look has shown him. */

import type { ProcessInfo, Snapshot } from "./_platform/platform.ts";
import type { Target } from "./_stop.ts";

/** Stands for members that exist but cannot be listed. */
export function unlisted(target: Target): ProcessInfo[] {
  if (target.signal(0) === "gone") return [];
  return [{
    pid: target.pgid,
    ppid: 0,
    pgid: target.pgid,
    sid: 0,
    state: "?",
    command: "",
    startTime: 0,
  }];
}

/**
 * Stands for members that fork and exit faster than they can be looked at. The
 * kernel knows their group then, and no zombie is the reason.
 */
export function overlooked(target: Target, snapshot: Snapshot): ProcessInfo[] {
  if (!mayMiss(snapshot)) return [];
  const isSeen = snapshot.processes.some(({ pgid }) => pgid === target.pgid);
  return isSeen ? [] : unlisted(target);
}

/** One look after another at the same target. */
export class Looks {
  readonly #target: Target;
  #dead: ReadonlySet<number> = new Set();

  constructor(target: Target) {
    this.#target = target;
  }

  /**
   * The live members. Where only the dead were seen, and others than before,
   * somebody may have forked before he died and be the one who was overlooked.
   */
  members(snapshot: Snapshot): ProcessInfo[] {
    const members = this.#target.members(snapshot);
    if (members.length > 0 || !mayMiss(snapshot)) return members;
    const dead = this.#target.dead(snapshot);
    const known = this.#dead;
    this.#dead = new Set(dead.map(({ pid }) => pid));
    const isSteady = dead.every(({ pid }) => known.has(pid));
    return isSteady ? [] : unlisted(this.#target);
  }
}

/** Whether a process that forks and exits all the time may not be shown. */
function mayMiss({ complete, members }: Snapshot): boolean {
  return !complete && members === "procfs";
}
