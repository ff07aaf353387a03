// Copyright 2026 the @proc/group authors. MIT license.

/** The whole job: stop a tree and know that it is gone. */

import { delay } from "@std/async/delay";
import type { Programs } from "../_build.ts";
import { TooSlowError } from "../_contestant.ts";
import { census, cleanUp, findMarked, newMark, standing } from "../_procfs.ts";
import { median } from "../_stats.ts";
import { allStoppers, type StopOptions, type Stopper } from "../_stoppers.ts";
import { chain, escapees, flat, jobs, stubborn, type Tree } from "../_trees.ts";

/** One contestant on one shape of tree. */
export interface ReapResult {
  readonly contestant: string;
  readonly n: number;
  /** Median time until it said that it was done; the limit if it never did. */
  readonly ms: number;
  readonly gaveUp: boolean;
  /** Most processes that were alive a quarter of a second later. */
  readonly survivors: number;
  /** Most that were alive when it said that it was done. */
  readonly early: number;
  /** Median number of zombies at that moment. */
  readonly zombies: number;
  /** Mean CPU time of the contestant and its helpers. */
  readonly cpuMs: number;
}

/** All contestants on one shape of tree. */
export interface ReapTable {
  readonly tree: string;
  readonly results: readonly ReapResult[];
}

interface Run {
  ms: number;
  cpuMs: number;
  survivors: number;
  early: number;
  zombies: number;
  gaveUp: boolean;
}

const OPTIONS: StopOptions = {
  killSignal: "SIGTERM",
  graceMs: 1000,
  limitMs: 8000,
};

/** Who was signalled and has not died by then will not do so. */
const DYING_MS = 250;

const SHAPES: readonly { tree: Tree; rounds: number }[] = [
  { tree: flat(1), rounds: 9 },
  { tree: flat(10), rounds: 9 },
  { tree: flat(100), rounds: 5 },
  { tree: flat(1000), rounds: 3 },
  { tree: chain(100), rounds: 3 },
  { tree: jobs, rounds: 5 },
  { tree: stubborn, rounds: 3 },
  { tree: escapees, rounds: 5 },
];

/** Runs all contestants on all shapes; `scale` 0.2 takes a fifth of the rounds. */
export async function runReap(
  programs: Programs | null,
  scale = 1,
): Promise<ReapTable[]> {
  const stoppers = allStoppers(programs);
  const tables: ReapTable[] = [];
  try {
    // The first tree of each contestant warms it up.
    for (const stopper of stoppers) await runOnce(stopper, flat(10), OPTIONS);
    for (const { tree, rounds } of SHAPES) {
      const n = Math.max(1, Math.round(rounds * scale));
      tables.push(await runShape(tree, n, stoppers));
    }
  } finally {
    for (const stopper of stoppers) await stopper[Symbol.asyncDispose]();
  }
  return tables;
}

/** All contestants in turns. One that gave up has no second chance. */
async function runShape(
  tree: Tree,
  rounds: number,
  stoppers: readonly Stopper[],
): Promise<ReapTable> {
  const runs = stoppers.map((): Run[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [i, stopper] of stoppers.entries()) {
      if (runs[i]!.some((run) => run.gaveUp)) continue;
      runs[i]!.push(await runOnce(stopper, tree, OPTIONS));
    }
  }
  const results = stoppers.map(({ name }, i) => summarize(name, runs[i]!));
  return { tree: tree.name, results };
}

/** One tree: starts it, stops it, counts what is left, and ends that. */
export async function runOnce(
  stopper: Stopper,
  tree: Tree,
  options: StopOptions,
): Promise<Run> {
  const mark = newMark();
  try {
    await stopper.start(tree, mark, options);
    const known = await standing(mark, tree);
    const stopped = await stopOrGiveUp(stopper, options);
    const { alive, zombies } = await census(mark, known);
    const early = alive.length;
    if (early > 0) await delay(DYING_MS);
    const survivors = early === 0 ? 0 : (await findMarked(mark)).length;
    return { ...stopped, survivors, early, zombies };
  } finally {
    await cleanUp(mark);
  }
}

async function stopOrGiveUp(
  stopper: Stopper,
  options: StopOptions,
): Promise<Omit<Run, "survivors" | "early" | "zombies">> {
  try {
    return { ...await stopper.stop(options), gaveUp: false };
  } catch (error) {
    if (!(error instanceof TooSlowError)) throw error;
    return { ms: options.limitMs, cpuMs: NaN, gaveUp: true };
  }
}

function summarize(contestant: string, runs: Run[]): ReapResult {
  const cpu = runs.reduce((sum, run) => sum + run.cpuMs, 0) / runs.length;
  return {
    contestant,
    n: runs.length,
    ms: median(runs.map((run) => run.ms)),
    gaveUp: runs.some((run) => run.gaveUp),
    survivors: Math.max(...runs.map((run) => run.survivors)),
    early: Math.max(...runs.map((run) => run.early)),
    zombies: Math.round(median(runs.map((run) => run.zombies))),
    cpuMs: cpu,
  };
}
