// Copyright 2026 the @proc/group authors. MIT license.

/** Many groups at once: what waiting for them costs. */

import { delay } from "@std/async/delay";
import { Contestant } from "../_contestant.ts";
import {
  census,
  cleanUp,
  cpuTime,
  MARK,
  newMark,
  sizeOf,
  standing,
} from "../_procfs.ts";
import { median, quantile } from "../_stats.ts";
import { OURS } from "../_stoppers.ts";

/** One contestant with so many groups. */
export interface ManyResult {
  readonly contestant: string;
  readonly groups: number;
  /** Time to start one, on average. */
  readonly spawnMs: number;
  /** CPU time of the process and its helpers while it waits, each second. */
  readonly idleCpuMsPerSecond: number;
  /** How long that was measured. */
  readonly idleSeconds: number;
  readonly threads: number;
  /** Resident memory that one more group takes in the parent. */
  readonly bytesPerGroup: number;
  /** Time to read a small file while waiting: median and 99th percentile. */
  readonly readMs: number;
  readonly readP99Ms: number;
  /** Time to stop all. */
  readonly stopMs: number;
  readonly survivors: number;
}

const COUNTS = [1, 10, 100, 1000];
/** How long it only waits; longest where it matters most. */
const idleMs = (groups: number): number => groups >= 1000 ? 5000 : 2000;
const READ_MS = 1000;
const MODULE = "contestants/many.ts";

const CONTESTANTS: readonly [name: string, way: string, flags?: string[]][] = [
  [OURS.ffi, "spawnGroup"],
  [OURS.portable, "spawnGroup", ["--deny-ffi"]],
  ["Deno.Command", "Deno.Command"],
];

/** Runs each contestant with each number of groups, in a process of its own. */
export async function runMany(
  counts: readonly number[] = COUNTS,
): Promise<ManyResult[]> {
  const results: ManyResult[] = [];
  for (const groups of counts) {
    for (const [name, way, flags] of CONTESTANTS) {
      await using contestant = Contestant.deno(name, MODULE, flags, [way]);
      results.push(await runOne(contestant, groups));
    }
  }
  return results;
}

async function runOne(
  contestant: Contestant,
  groups: number,
): Promise<ManyResult> {
  const warmUp = newMark();
  const mark = newMark();
  try {
    await startAll(contestant, 1, warmUp);
    await contestant.ask("stop");
    const { rssBytes } = sizeOf(contestant.pid);
    const spawnMs = await startAll(contestant, groups, mark) / groups;
    const known = await standing(mark, { size: groups, sleeps: groups });
    const waiting = await measureWaiting(contestant, idleMs(groups));
    const stop = await contestant.ask<number>("stop");
    const { alive } = await census(mark, known);
    return {
      contestant: contestant.name,
      groups,
      spawnMs,
      ...waiting,
      bytesPerGroup: Math.max(0, waiting.rssBytes - rssBytes) / groups,
      stopMs: stop.value,
      survivors: alive.length,
    };
  } finally {
    await cleanUp(warmUp);
    await cleanUp(mark);
  }
}

async function startAll(
  contestant: Contestant,
  count: number,
  mark: string,
): Promise<number> {
  const args = { count, env: { [MARK]: mark } };
  return (await contestant.ask<number>("start", args)).value;
}

async function measureWaiting(contestant: Contestant, ms: number): Promise<{
  idleCpuMsPerSecond: number;
  idleSeconds: number;
  threads: number;
  rssBytes: number;
  readMs: number;
  readP99Ms: number;
}> {
  await contestant.ask("wait");
  await delay(500);
  const before = totalCpuMs(contestant.pid);
  await delay(ms);
  const cpuMs = totalCpuMs(contestant.pid) - before;
  const size = sizeOf(contestant.pid);
  const { value } = await contestant.ask<number[]>("read", { ms: READ_MS });
  return {
    idleCpuMsPerSecond: cpuMs / (ms / 1000),
    idleSeconds: ms / 1000,
    ...size,
    readMs: median(value),
    readP99Ms: quantile(value, 0.99),
  };
}

function totalCpuMs(pid: number): number {
  const { ownMs, childrenMs } = cpuTime(pid);
  return ownMs + childrenMs;
}
