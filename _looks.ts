// Copyright 2026 the @proc/group authors. MIT license.

/** Looking at a target, and who must be there although no look shows him. */

import type { ProcessInfo, ScanQuery, Snapshot } from "./_platform/platform.ts";
import { isLive } from "./_platform/stat.ts";
import type { Target } from "./_target.ts";

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

/** What was asked for, the snapshot, and the live members that it shows. */
export interface Look {
  readonly query: ScanQuery;
  readonly snapshot: Snapshot;
  readonly members: ProcessInfo[];
}

/**
 * Looks at a target. The leader's process group may end during a look because
 * the last one in it moves to another, as a shell with job control does. He
 * cannot be told from a stranger who was given the number, so there is one more
 * look, which comes after that end.
 */
export async function lookAt(
  target: Target,
  query: () => ScanQuery,
): Promise<Look> {
  const look = await lookOnce(target, query());
  if (look.members.length > 0 || !target.platform.holdsIdentity) return look;
  const isDoubtful = target.signal(0) === "gone" &&
    showsAnybody(look.snapshot, target);
  return isDoubtful ? await lookOnce(target, query()) : look;
}

async function lookOnce(target: Target, query: ScanQuery): Promise<Look> {
  const snapshot = await target.platform.scan(query);
  return { query, snapshot, members: target.members(snapshot) };
}

/** Whether somebody lives under the target's number, whoever it is. */
function showsAnybody({ processes }: Snapshot, { pgid }: Target): boolean {
  return processes.some((process) =>
    isLive(process) && (process.sid === pgid || process.pgid === pgid)
  );
}

/**
 * What a look at nobody but the members must find out. Once the leader's group
 * is gone only marks tell whose the session is.
 */
export function memberQuery(target: Target): ScanQuery {
  const { query, platform } = target;
  const marks = query.marks && platform.holdsIdentity &&
    target.signal(0) === "gone";
  return { ...query, marks };
}

/** One look after another at the same target. */
export class Looks {
  readonly #target: Target;
  #dead: ReadonlySet<number> = new Set();

  constructor(target: Target) {
    this.#target = target;
  }

  /** Looks once more, at the members and what else the query asks for. */
  async look(query: () => ScanQuery): Promise<Look> {
    const look = await lookAt(this.#target, query);
    if (look.members.length > 0 || !mayMiss(look.snapshot)) return look;
    return { ...look, members: this.#missing(look.snapshot) };
  }

  /**
   * Where only the dead were seen, and others than before, somebody may have
   * forked before he died and be the one who was overlooked.
   */
  #missing(snapshot: Snapshot): ProcessInfo[] {
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
