// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Ways to start a program, in a process that has grown to a chosen size. How
 * long the call takes is how long nothing else can run in this process.
 */

import { serve } from "../_serve.ts";
import { SPAWN_WAYS } from "../ways/spawn.ts";

interface RunArgs {
  readonly ways: string[];
  readonly rounds: number;
  readonly tools: string;
  readonly file: string;
}

/** Times of one way, in milliseconds, round by round. */
interface Times {
  readonly stall: number[];
  readonly untilRuns: number[];
}

const CHUNK_BYTES = 2 ** 26;

const ballast: Uint8Array[] = [];

/** Wall-clock time in milliseconds, comparable between processes. */
function wallMs(): number {
  return performance.timeOrigin + performance.now();
}

async function runOnce(
  way: string,
  { tools, file }: RunArgs,
  times: Times,
): Promise<void> {
  const calledAt = wallMs();
  const ended = SPAWN_WAYS[way]!(tools, ["stamp", file]);
  times.stall.push(wallMs() - calledAt);
  await ended();
  const ranAt = Number(await Deno.readTextFile(file)) / 1e6;
  times.untilRuns.push(ranAt - calledAt);
}

await serve({
  /** Takes memory and writes to each page of it, so that it is resident. */
  grow({ bytes }: { bytes: number }) {
    for (let size = 0; size < bytes; size += CHUNK_BYTES) {
      ballast.push(new Uint8Array(CHUNK_BYTES).fill(1));
    }
  },
  /** All ways in turns; the first two rounds warm up. */
  async run(args: RunArgs) {
    const times = args.ways.map((): Times => ({ stall: [], untilRuns: [] }));
    for (let round = -2; round < args.rounds; round++) {
      for (const [i, way] of args.ways.entries()) {
        const target = round < 0 ? { stall: [], untilRuns: [] } : times[i]!;
        await runOnce(way, args, target);
      }
    }
    return times;
  },
});
