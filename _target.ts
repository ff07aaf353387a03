// Copyright 2026 the @proc/group authors. MIT license.

import type {
  Platform,
  ProcessInfo,
  ScanQuery,
  SignalResult,
  Snapshot,
} from "./_platform/platform.ts";
import { checkSignal } from "./_platform/signals.ts";

/** What can be stopped and waited for. */
export interface Target {
  readonly platform: Platform;
  /** Its process group. */
  readonly pgid: number;
  /**
   * Whether a guard ends it should this process die; once it is over, whether
   * one would have.
   */
  isGuarded(): boolean;
  /** Whether a stop hangs its terminal up first: SIGHUP, as when one is closed. */
  readonly hangsUp?: boolean;
  /** True once no live member was seen; it is never signalled again. */
  readonly gone: boolean;
  /** True when a signal can only reach this group, never a later namesake. */
  readonly certain: boolean;
  /** Resolves when the leader was reaped; undefined where nobody can know. */
  readonly exited: Promise<unknown> | undefined;
  /** Whether SIGKILL to the leader's group ends all of it, by the kernel. */
  readonly contained?: boolean;
  /** False until the command is there that a first signal is meant for. */
  readonly ready?: boolean;
  /** Longest wait until the next look, in milliseconds; Infinity unless given. */
  readonly lookAgainMs?: number;
  /** What a scan must find out to show members and escapees. */
  readonly query: ScanQuery;
  /** One signal to the process group. */
  signal(signal: Deno.Signal | number): SignalResult;
  /** The live members that a snapshot shows. */
  members(snapshot: Snapshot): ProcessInfo[];
  /** The members that have ended and were not reaped. */
  dead(snapshot: Snapshot): ProcessInfo[];
  /** The live processes with the group's mark that are no members. */
  escapees(snapshot: Snapshot): ProcessInfo[];
  /** Notes that no member is left. */
  setGone(): void;
  /** Neither member nor escapee is left: lets everything go. */
  settle(): Promise<void>;
}

/** One signal to the process group; false if it is gone. */
export function signalOrThrow(
  target: Target,
  signal: Deno.Signal | number,
): boolean {
  const result = target.signal(checkSignal(signal));
  if (result === "denied") {
    throw new Deno.errors.PermissionDenied(
      `Cannot signal process group ${target.pgid}: Operation not permitted`,
    );
  }
  return result === "sent";
}
