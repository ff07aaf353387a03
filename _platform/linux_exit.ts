// Copyright 2026 the @proc/group authors. MIT license.

import { C, SIZEOF } from "./constants.ts";
import { libc } from "./libc.ts";
import { signalName } from "./signals.ts";

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
