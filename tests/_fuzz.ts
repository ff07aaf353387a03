// Copyright 2026 the @proc/group authors. MIT license.

/**
 * How properties are checked: with the same values in each run of the suite.
 * `FUZZ_SEED` chooses others and `FUZZ_RUNS` multiplies their number. A failure
 * prints its seed, its path and the smallest value that was found to fail.
 */

import type fc from "fast-check";

const DEFAULT_SEED = 20_260_101;

/**
 * Parameters for `fc.assert`. Where one run takes long, no smaller value is
 * looked for, and some of them may go on at once, each in a lane of its own.
 */
export function runs<T>(
  numRuns: number,
  { endOnFailure = false, lane = 0 } = {},
): fc.Parameters<T> {
  const seed = Number(Deno.env.get("FUZZ_SEED") ?? DEFAULT_SEED) + lane;
  const factor = Number(Deno.env.get("FUZZ_RUNS") ?? 1);
  return { seed, numRuns: Math.ceil(numRuns * factor), endOnFailure };
}
