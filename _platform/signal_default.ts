// Copyright 2026 the @proc/group authors. MIT license.

import { libc, libcAvailable } from "./libc.ts";
import { signalNumber } from "./signals.ts";

/** Gives a signal its default action back, signal(7); false where that cannot be. */
export function restoreDefault(signal: Deno.Signal): boolean {
  if (!libcAvailable()) return false;
  // SIG_DFL is a null pointer.
  libc().signal(signalNumber(signal), null);
  return true;
}
