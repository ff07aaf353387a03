// Copyright 2026 the @proc/group authors. MIT license.

/** Signalling: how long it takes, and whom it reaches. */

import { delay } from "@std/async/delay";
import { Contestant } from "../_contestant.ts";
import {
  cleanUp,
  findMarked,
  MARK,
  newMark,
  standing,
  statFields,
} from "../_procfs.ts";
import { median } from "../_stats.ts";
import { mixed, type Tree } from "../_trees.ts";

/** One way of signalling a tree of one size. */
export interface SignalResult {
  readonly way: string;
  /** Children of the leader. */
  readonly members: number;
  readonly n: number;
  /** Median time until the call came back. */
  readonly ms: number;
  /** How many of the tree's processes the signal reached. */
  readonly reached: number;
  /** How many processes the tree has. */
  readonly size: number;
}

const SIZES = [10, 100];
const CGROUP_ROUNDS = 5;
const MODULE = "contestants/signal.ts";

/** A signal takes effect when its receiver runs next. */
const EFFECT_MS = 50;

/** Signals trees of both sizes in every way, so many times. */
export async function runSignal(rounds: number): Promise<SignalResult[]> {
  const results: SignalResult[] = [];
  for (const members of SIZES) {
    await using contestant = Contestant.deno("signals", MODULE);
    const tree = mixed(members);
    const base = { members, size: tree.size };
    for (const result of await runWays(contestant, tree, rounds)) {
      results.push({ ...base, ...result });
    }
    const cgroup = await runCgroup(contestant, tree);
    if (cgroup !== null) results.push({ ...base, ...cgroup });
  }
  return results;
}

type WayResult = Omit<SignalResult, "members" | "size">;

async function runWays(
  contestant: Contestant,
  tree: Tree,
  rounds: number,
): Promise<WayResult[]> {
  const mark = newMark();
  const { command, args, size, sleeps } = tree;
  const env = { [MARK]: mark };
  try {
    const { value: { ways } } = await contestant.ask<{ ways: string[] }>(
      "start",
      { command, args, env },
    );
    const pids = await standing(mark, {
      size: 2 * size,
      sleeps: 2 * sleeps,
    });
    const reached = new Map<string, number>();
    for (const way of ways) {
      await contestant.ask("send", { way, signal: "SIGSTOP" });
      reached.set(way, await countStopped(pids));
      for (const pid of pids) Deno.kill(pid, "SIGCONT");
    }
    const times = await timeWays(contestant, ways, rounds);
    await contestant.ask("stop");
    return ways.map((way) => ({
      way,
      n: rounds,
      ms: median(times.get(way)!),
      reached: reached.get(way)!,
    }));
  } finally {
    await cleanUp(mark);
  }
}

/** SIGCONT to those that run changes nothing, so one tree does for all. */
async function timeWays(
  contestant: Contestant,
  ways: readonly string[],
  rounds: number,
): Promise<Map<string, number[]>> {
  const times = new Map(ways.map((way) => [way, [] as number[]]));
  for (let round = -2; round < rounds; round++) {
    for (const way of ways) {
      const args = { way, signal: "SIGCONT" };
      const { value } = await contestant.ask<number>("send", args);
      if (round >= 0) times.get(way)!.push(value);
    }
  }
  return times;
}

async function countStopped(pids: readonly number[]): Promise<number> {
  await delay(EFFECT_MS);
  return pids.filter((pid) => statFields(pid)[0] === "T").length;
}

/** A cgroup can only be killed, so each time needs a tree of its own. */
async function runCgroup(
  contestant: Contestant,
  tree: Tree,
): Promise<WayResult | null> {
  const times: number[] = [];
  let reached = tree.size;
  for (let round = 0; round < CGROUP_ROUNDS; round++) {
    const mark = newMark();
    try {
      const { command, args, size } = tree;
      const env = { [MARK]: mark };
      const { value: possible } = await contestant.ask<boolean>(
        "startInCgroup",
        { command, args, env },
      );
      if (!possible) return null;
      await standing(mark, tree);
      times.push((await contestant.ask<number>("killCgroup")).value);
      await delay(EFFECT_MS);
      reached = Math.min(reached, size - (await findMarked(mark)).length);
    } finally {
      await cleanUp(mark);
      await contestant.ask("removeCgroup");
    }
  }
  return { way: "cgroup.kill", n: times.length, ms: median(times), reached };
}
