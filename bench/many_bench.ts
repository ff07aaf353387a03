// Copyright 2026 the @proc/group authors. MIT license.

/** A hundred programs at once: starting all, and stopping all. */

import { thisPackage } from "./_this_package.ts";
import { MANY_WAYS } from "./ways/many.ts";

const COUNT = 100;

for (const [i, [way, start]] of Object.entries(MANY_WAYS).entries()) {
  const name = way === "spawnGroup" ? thisPackage : way;
  const startAll = () => Array.from({ length: COUNT }, () => start({}));
  Deno.bench({
    name,
    group: `start ${COUNT}`,
    baseline: i === 0,
    n: 5,
    warmup: 1,
    async fn(b) {
      b.start();
      const started = startAll();
      b.end();
      await Promise.all(started.map(({ stop }) => stop()));
    },
  });
  Deno.bench({
    name,
    group: `stop ${COUNT}`,
    baseline: i === 0,
    n: 5,
    warmup: 1,
    async fn(b) {
      const started = startAll();
      b.start();
      await Promise.all(started.map(({ stop }) => stop()));
      b.end();
    },
  });
}
