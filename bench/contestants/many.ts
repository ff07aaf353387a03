// Copyright 2026 the @proc/group authors. MIT license.

/** Many groups at once, with this package or with `Deno.Command` alone. */

import { delay } from "@std/async/delay";
import { serve } from "../_serve.ts";
import { MANY_WAYS, type Started } from "../ways/many.ts";

const start = MANY_WAYS[Deno.args[0]!]!;
let started: Started[] = [];
let waits: Promise<unknown>[] = [];

/** Time of each read of a small file, one every five milliseconds. */
async function readFor(ms: number): Promise<number[]> {
  const file = new URL("../peers.json", import.meta.url);
  const times: number[] = [];
  for (const endAt = performance.now() + ms; performance.now() < endAt;) {
    const startedAt = performance.now();
    await Deno.readTextFile(file);
    times.push(performance.now() - startedAt);
    await delay(5);
  }
  return times;
}

await serve({
  start({ count, env }: { count: number; env: Record<string, string> }) {
    const startedAt = performance.now();
    started = Array.from({ length: count }, () => start(env));
    return performance.now() - startedAt;
  },
  wait() {
    waits = started.map(({ gone }) => gone());
  },
  read({ ms }: { ms: number }) {
    return readFor(ms);
  },
  async stop() {
    const startedAt = performance.now();
    await Promise.all(started.map(({ stop }) => stop()));
    const ms = performance.now() - startedAt;
    await Promise.all(waits);
    return ms;
  },
});
