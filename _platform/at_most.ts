// Copyright 2026 the @proc/group authors. MIT license.

import { delay } from "@std/async/delay";

/** Waits for a promise to settle, whatever comes of it, at most `ms`. */
export async function atMost(
  promise: Promise<unknown>,
  ms: number,
): Promise<void> {
  const timer = new AbortController();
  const timeUp: Promise<void> = delay(ms, { signal: timer.signal });
  await Promise.race([promise, timeUp]).catch(() => {
    // How it ends makes no difference.
  });
  timer.abort();
  await timeUp.catch(() => {
    // Cut short.
  });
}
