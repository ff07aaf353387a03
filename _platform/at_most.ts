// Copyright 2026 the @proc/group authors. MIT license.

/** Waits for a promise to settle, whatever comes of it, at most `ms` (some seconds). */
export async function atMost(
  promise: Promise<unknown>,
  ms: number,
): Promise<void> {
  const { promise: timeUp, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([promise, timeUp]).catch(() => {
    // Whoever started it is told.
  });
  clearTimeout(timer);
}
