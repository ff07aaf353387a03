// Copyright 2026 the @proc/group authors. MIT license.

/** Starting a program from a process that holds much memory. */

import type { Programs } from "../_build.ts";
import { Contestant } from "../_contestant.ts";
import { sizeOf } from "../_procfs.ts";
import { median } from "../_stats.ts";
import { OURS } from "../_stoppers.ts";

/** One way at one size of the parent. */
export interface SpawnResult {
  readonly way: string;
  /** Resident memory of the parent. */
  readonly rssBytes: number;
  /** What the size was meant to be, in gigabytes. */
  readonly gigabytes: number;
  readonly n: number;
  /** Median time for which the call stops everything else. */
  readonly stallMs: number;
  /** Median time until the program itself ran. */
  readonly untilRunsMs: number;
}

const GIGABYTES = [0.05, 1, 2, 4];
const BASE_BYTES = 0.05e9;
const MODULE = "contestants/spawn.ts";

/**
 * What forks stands apart: it leaves all pages of the parent write-protected,
 * for which whoever comes next would pay.
 */
const PROCESSES: readonly { name: string; flags: string[]; ways: string[] }[] =
  [
    {
      name: OURS.ffi,
      flags: [],
      ways: ["Deno.Command", "spawnGroup", "setsid(1)"],
    },
    {
      name: OURS.portable,
      flags: ["--deny-ffi"],
      ways: ["Deno.Command, detached", "spawnGroup"],
    },
  ];

/** Runs every way so many times at every size. */
export async function runSpawn(
  programs: Programs,
  rounds: number,
): Promise<SpawnResult[]> {
  const results: SpawnResult[] = [];
  for (const gigabytes of GIGABYTES) {
    for (const process of PROCESSES) {
      results.push(...await runProcess(programs, process, gigabytes, rounds));
    }
  }
  return results;
}

async function runProcess(
  programs: Programs,
  { name, flags, ways }: (typeof PROCESSES)[number],
  gigabytes: number,
  rounds: number,
): Promise<SpawnResult[]> {
  await using contestant = Contestant.deno(name, MODULE, flags);
  const bytes = Math.max(0, gigabytes * 1e9 - BASE_BYTES);
  await contestant.ask("grow", { bytes });
  const file = await Deno.makeTempFile();
  try {
    const { value } = await contestant.ask<
      { stall: number[]; untilRuns: number[] }[]
    >("run", { ways, rounds, tools: programs.tools, file });
    const { rssBytes } = sizeOf(contestant.pid);
    return value.map((times, i) => ({
      way: ways[i] === "spawnGroup" ? name : ways[i]!,
      rssBytes,
      gigabytes,
      n: times.stall.length,
      stallMs: median(times.stall),
      untilRunsMs: median(times.untilRuns),
    }));
  } finally {
    await Deno.remove(file);
  }
}
