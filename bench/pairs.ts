// Copyright 2026 the @proc/group authors. MIT license.

/**
 * How near this package comes to a C program that waits on pidfds: kills flat
 * groups and waits until they are gone, in pairs that alternate.
 *
 *     deno run -A --import-map=std_from_npm.json bench/pairs.ts 30
 */

import { build } from "./_build.ts";
import { digits, median, time } from "./_stats.ts";
import { pairStoppers, type StopOptions } from "./_stoppers.ts";
import { runOnce } from "./experiments/reap.ts";
import { flat } from "./_trees.ts";

/** Medians of one size of group, and of the ratios pair by pair. */
export interface PairResult {
  readonly members: number;
  readonly pairs: number;
  readonly waitMs: number;
  readonly stopMs: number;
  readonly floorMs: number;
  readonly waitRatio: number;
  readonly stopRatio: number;
}

const OPTIONS: StopOptions = {
  killSignal: "SIGKILL",
  graceMs: 0,
  limitMs: 10_000,
};

/** Runs so many pairs for each number of members. */
export async function runPairs(
  floor: string,
  pairs: number,
  sizes: readonly number[],
): Promise<PairResult[]> {
  const results: PairResult[] = [];
  for (const members of sizes) {
    results.push(await runSize(floor, pairs, members));
  }
  return results;
}

async function runSize(
  floor: string,
  pairs: number,
  members: number,
): Promise<PairResult> {
  const stoppers = pairStoppers(floor);
  const times = {
    wait: [] as number[],
    stop: [] as number[],
    floor: [] as number[],
  };
  const order = ["wait", "floor", "stop"] as const;
  try {
    // The first three warm up the caches and the compiler.
    for (let pair = -3; pair < pairs; pair++) {
      for (const key of pair % 2 === 0 ? order : order.toReversed()) {
        const run = await runOnce(stoppers[key], flat(members), OPTIONS);
        if (run.early > 0) throw new Error(`${key} was too early`);
        if (pair >= 0) times[key].push(run.ms);
      }
    }
  } finally {
    for (const key of order) await stoppers[key][Symbol.asyncDispose]();
  }
  const ratio = (ours: number[]) =>
    median(ours.map((ms, i) => ms / times.floor[i]!));
  return {
    members,
    pairs,
    waitMs: median(times.wait),
    stopMs: median(times.stop),
    floorMs: median(times.floor),
    waitRatio: ratio(times.wait),
    stopRatio: ratio(times.stop),
  };
}

if (import.meta.main) {
  const pairs = Number(Deno.args[0] ?? 30);
  const sizes = (Deno.args[1] ?? "1,10,100").split(",").map(Number);
  const directory = await Deno.makeTempDir();
  try {
    const programs = await build(directory);
    if (programs === null) throw new Error("Cannot compare: there is no cc");
    console.log("members  C, pidfds  killGroup + waitGone  stopGroup");
    for (const row of await runPairs(programs.floor, pairs, sizes)) {
      console.log(
        `${row.members}`.padStart(7),
        time(row.floorMs).padStart(10),
        `${time(row.waitMs)} (x ${digits(row.waitRatio)})`.padStart(21),
        `${time(row.stopMs)} (x ${digits(row.stopRatio)})`.padStart(19),
      );
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
