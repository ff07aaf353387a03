// Copyright 2026 the @proc/group authors. MIT license.

/**
 * How long the call takes that starts a program. What it costs in a process
 * with much memory is in the report.
 */

import { thisPackage } from "./_this_package.ts";
import { SPAWN_WAYS } from "./ways/spawn.ts";

for (const [i, [way, spawn]] of Object.entries(SPAWN_WAYS).entries()) {
  Deno.bench({
    name: way === "spawnGroup" ? thisPackage : way,
    group: "start a program",
    baseline: i === 0,
    n: 100,
    warmup: 10,
    async fn(b) {
      b.start();
      const ended = spawn("true", []);
      b.end();
      await ended();
    },
  });
}
