// Copyright 2026 the @proc/group authors. MIT license.

/** Waiting until nobody is left, and when that is known. */

import { Looks } from "./_looks.ts";
import type { ScanQuery, Snapshot } from "./_platform/platform.ts";
import type { Target } from "./_target.ts";

/** Waits until a target has no live member, without signalling anybody. */
export async function waitUntilGone(
  target: Target,
  signal: AbortSignal,
): Promise<void> {
  const looks = new Looks(target);
  let empty = 0;
  for (let round = 0; !target.gone; round++) {
    // The group cannot be gone while its leader lives, so nothing is polled.
    if (target.exited) await abortable(target.exited, signal);
    const { query, snapshot, members } = await looks.look(() =>
      waitQuery(target, empty)
    );
    signal.throwIfAborted();
    empty = members.length === 0 ? empty + 1 : 0;
    if (isGone(target, empty, snapshot)) {
      if (snapshot.failed) return;
      target.setGone();
      // Whether somebody has left it is not known before marks were looked at.
      const escapees = query.marks ? target.escapees(snapshot).length : 0;
      const isKnown = query.marks === target.query.marks;
      if (isKnown && escapees === 0) await target.settle();
      return;
    }
    if (empty > 0) continue;
    const ms = target.lookAgainMs ?? Infinity;
    await target.platform.ended(members, { ms, round, signal });
    signal.throwIfAborted();
  }
}

/**
 * Marks cost more than members, and tell something at the end only: whose the
 * session is once the leader's group is gone, and who has left it.
 */
function waitQuery(target: Target, empty: number): ScanQuery {
  const { query } = target;
  const atEnd = empty > 0 || target.signal(0) === "gone";
  return { ...query, marks: query.marks && atEnd };
}

/**
 * Whether nobody is left, after so many scans in a row that showed no member. A
 * process that forks and exits during a scan can hide its child from that one,
 * so there must be two, unless the scan is complete or the kernel knows no such
 * process group.
 */
export function isGone(
  target: Target,
  empty: number,
  { complete }: Snapshot,
): boolean {
  if (empty !== 1) return empty > 1;
  return complete === true || target.signal(0) === "gone";
}

/** Rejects with the signal's reason if it aborts before the promise settles. */
async function abortable<T>(
  promise: Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
