// Copyright 2026 the @proc/group authors. MIT license.

import { C, SIZEOF } from "./constants.ts";
import { libc } from "./libc.ts";
import { signalName } from "./signals.ts";

/** Clock ticks in which procfs tells start times, per second. */
const TICKS_PER_SECOND = 100;

/** Offsets in `siginfo_t` on 64-bit Linux. */
const SI_CODE = 8;
const SI_PID = 16;
const SI_STATUS = 24;

/**
 * Reaps this one child, which must have been started by this package; null
 * while it runs. A child that somebody else has reaped failed for all we know.
 */
export function reap(pid: number): Deno.CommandStatus | null {
  const info = new Uint8Array(SIZEOF.siginfo_t);
  const options = C.WEXITED | C.WNOHANG;
  if (libc().waitid(C.P_PID, pid, info, options) === -1) {
    return { success: false, code: 1, signal: null };
  }
  const view = new DataView(info.buffer);
  if (view.getInt32(SI_PID, true) === 0) return null;
  const status = view.getInt32(SI_STATUS, true);
  if (view.getInt32(SI_CODE, true) === C.CLD_EXITED) {
    return { success: status === 0, code: status, signal: null };
  }
  const signal = signalName(status) ?? null;
  return { success: false, code: 128 + status, signal };
}

const time = new BigInt64Array(2);

/** The time since boot in clock ticks, as start times are told. */
export function bootTicks(): number {
  libc().clock_gettime(C.CLOCK_BOOTTIME, time);
  const [seconds, nanoseconds] = [Number(time[0]), Number(time[1])];
  return seconds * TICKS_PER_SECOND +
    Math.floor(nanoseconds * TICKS_PER_SECOND / 1e9);
}
