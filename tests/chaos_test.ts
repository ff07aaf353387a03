// Copyright 2026 the @proc/group authors. MIT license.

// A program that is killed at any moment. `bench/chaos.ts` does it more often.

import { assertEquals } from "@std/assert";
import { runChaos } from "./_chaos.ts";
import { isPortable, skipIf } from "./_util.ts";

const TRIALS = 30;

Deno.test(
  "spawnGroup() leaves nothing when the program is killed at any moment",
  {
    ...skipIf(Deno.build.os !== "linux", "there is no procfs"),
    timeout: 300_000,
  },
  async () => {
    const denyFfi = isPortable;
    const trials = await runChaos(TRIALS, { denyFfi, atOnce: 6 });
    assertEquals(trials.length, TRIALS);
    assertEquals(trials.filter((trial) => trial.left.length > 0), []);
  },
);
