// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Kills a program that starts and stops groups, at any moment, and measures
 * how long its processes and its guard outlive it.
 */

import {
  alive,
  forEachOf,
  fromRoot,
  importMap,
  readUntil,
  uniqueSleep,
} from "./_util.ts";

/** What became of one killed program. */
export interface Trial {
  /** Milliseconds from its first line to the kill. */
  readonly killedAfterMs: number;
  /** Milliseconds from the kill until no process of it was left. */
  readonly treesMs: number;
  /** Milliseconds from then until no guard of it was left. */
  readonly guardMs: number;
  /** Pids of what was left when the time was over. */
  readonly left: readonly number[];
}

/** How long a trial waits for what was left. */
const PATIENCE_MS = 6000;

/** Half of the kills come while the guard and the first groups start. */
function moment(): number {
  return Math.random() * (Math.random() < 0.5 ? 40 : 400);
}

/** Runs trials, some at a time. */
export async function runChaos(
  count: number,
  options: {
    denyFfi: boolean;
    atOnce?: number;
    onTrial?: (trial: Trial) => void;
  },
): Promise<Trial[]> {
  const { denyFfi, atOnce = 3, onTrial } = options;
  const trials: Trial[] = [];
  await forEachOf(Array.from({ length: count }), atOnce, async () => {
    const trial = await runTrial(denyFfi);
    trials.push(trial);
    onTrial?.(trial);
  });
  return trials;
}

async function runTrial(denyFfi: boolean): Promise<Trial> {
  const unique = uniqueSleep(30);
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      ...importMap,
      "-A",
      ...(denyFfi ? ["--deny-ffi"] : []),
      fromRoot("tests/testdata/guard_chaos.ts"),
      unique,
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const [mark = ""] = (await readUntil(child.stdout, "\n")).split("\n");
  // An empty text would be found in every process of the machine.
  if (!/^PROC_GROUP_PARENT_[0-9a-f]{16}$/.test(mark)) {
    throw new Error(`Cannot know the guard by "${mark}"`);
  }
  const killedAfterMs = moment();
  await new Promise((resolve) => setTimeout(resolve, killedAfterMs));
  child.kill("SIGKILL");
  const killed = performance.now();
  await Promise.all([child.status, child.stdout.cancel()]);
  const trees = await waitForNone(unique);
  const gone = performance.now();
  const guards = await waitForNone(mark);
  return {
    killedAfterMs,
    treesMs: gone - killed,
    guardMs: performance.now() - gone,
    left: [...trees, ...guards],
  };
}

/** Waits until no process has the text; gives the pids of those that stay. */
async function waitForNone(text: string): Promise<number[]> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const pids = await alive(text);
    if (pids.length === 0 || performance.now() > end) return pids;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
