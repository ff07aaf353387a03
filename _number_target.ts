// Copyright 2026 the @proc/group authors. MIT license.

import { overlooked, unlisted } from "./_looks.ts";
import { platformFor } from "./_platform/mod.ts";
import type {
  Platform,
  ProcessInfo,
  ScanQuery,
  SignalResult,
  Snapshot,
} from "./_platform/platform.ts";
import { signalGroupNumber } from "./_platform/portable.ts";
import { isLive } from "./_platform/stat.ts";
import type { Target } from "./_target.ts";

/**
 * Highest value of pid_t. The system is given its 32 low bits, so that 2 ** 40
 * would be 0, which is the caller's own group, and 2 ** 32 + 1 everybody.
 */
const MAX_PID = 2 ** 31 - 1;

/** A process group that the caller knows by its number alone. */
export class NumberTarget implements Target {
  readonly platform: Platform = platformFor();
  readonly pgid: number;
  /** The caller vouches for the number. */
  readonly certain = true;
  readonly exited = undefined;
  readonly query: ScanQuery = { marks: false, since: 0 };
  #gone = false;

  constructor(pgid: number) {
    this.pgid = checkPgid(pgid, this.platform);
  }

  get gone(): boolean {
    return this.#gone;
  }

  isGuarded(): boolean {
    return false;
  }

  signal(signal: Deno.Signal | number): SignalResult {
    if (this.#gone) return "gone";
    const result = signalGroupNumber(this.pgid, signal);
    if (result === "gone") this.#gone = true;
    return result;
  }

  members(snapshot: Snapshot): ProcessInfo[] {
    if (this.#gone) return [];
    if (snapshot.members === "signal0") return unlisted(this);
    const members = snapshot.processes.filter((process) =>
      process.pgid === this.pgid && isLive(process)
    );
    return members.length > 0 ? members : overlooked(this, snapshot);
  }

  dead(snapshot: Snapshot): ProcessInfo[] {
    return snapshot.processes.filter((process) =>
      process.pgid === this.pgid && !isLive(process)
    );
  }

  escapees(): ProcessInfo[] {
    return [];
  }

  setGone(): void {
    this.#gone = true;
  }

  settle(): Promise<void> {
    this.setGone();
    return Promise.resolve();
  }
}

/** Throws unless the value can be the id of somebody else's process group. */
function checkPgid(pgid: unknown, platform: Platform): number {
  if (typeof pgid !== "number") {
    const value = pgid instanceof Deno.ChildProcess
      ? "a Deno.ChildProcess, which leads no group"
      : `${Deno.inspect(pgid)}, neither a group nor a number`;
    throw new TypeError(
      `Cannot use target as process group: current value is ${value}`,
    );
  }
  if (!Number.isInteger(pgid) || pgid <= 1 || pgid > MAX_PID) {
    throw new RangeError(
      `Cannot use pgid as process group: current value is ${pgid}, not an integer from 2 to ${MAX_PID}`,
    );
  }
  if (pgid === platform.ownGroup() || pgid === Deno.pid) {
    throw new RangeError(
      `Cannot use pgid as process group: current value is ${pgid}, the caller's own group`,
    );
  }
  return pgid;
}
