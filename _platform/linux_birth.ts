// Copyright 2026 the @proc/group authors. MIT license.

/** When processes were born, in the time of procfs. */

import { C } from "./constants.ts";
import { libc } from "./libc.ts";
import { readProcess } from "./procfs.ts";

/** Clock ticks in which procfs tells start times, per second. */
const TICKS_PER_SECOND = 100;

/** Clock ticks since boot, the first and the last that something may be at. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

const time = new BigInt64Array(2);

/** The time since boot in clock ticks, as start times are told. */
export function bootTicks(): number {
  libc().clock_gettime(C.CLOCK_BOOTTIME, time);
  const [seconds, nanoseconds] = [Number(time[0]), Number(time[1])];
  return seconds * TICKS_PER_SECOND +
    Math.floor(nanoseconds * TICKS_PER_SECOND / 1e9);
}

/** Undefined before the first group, false where each birth is looked up. */
let clocksAgree: boolean | undefined;

/**
 * When a child was born, in procfs's time. Right after a start procfs makes its
 * reader wait until the program is loaded, several times as long as the start
 * itself takes, so the clock before and after is taken instead. The first child
 * shows whether procfs goes by that clock: in a sandbox it may not.
 */
export function knowBirth(pid: number, born: Span): Span {
  if (clocksAgree) return born;
  const startTime = readStartTime(pid);
  if (startTime === null) return { from: 0, to: Infinity };
  clocksAgree ??= born.from <= startTime && startTime <= born.to;
  return { from: startTime, to: startTime };
}

function readStartTime(pid: number): number | null {
  try {
    return readProcess(pid)?.startTime ?? null;
  } catch {
    // With too many files open the child runs all the same.
    return null;
  }
}
