// Copyright 2026 the @proc/group authors. MIT license.

/** Waiting until gone: how soon, how truly and at what cost. */

import { delay } from "@std/async/delay";
import type { Programs } from "../_build.ts";
import { makeCgroup } from "../_cgroup.ts";
import { Contestant, TooSlowError } from "../_contestant.ts";
import {
  cleanUp,
  cpuTime,
  MARK,
  newMark,
  sizeOf,
  standing,
} from "../_procfs.ts";
import { createLines } from "../_serve.ts";
import { median } from "../_stats.ts";
import { OURS } from "../_stoppers.ts";
import { slow } from "../_trees.ts";

/** One way of waiting. */
export interface WaitResult {
  readonly method: string;
  readonly n: number;
  /** Median time from the signal until it said that all are gone. */
  readonly saidMs: number;
  /** Median of that time less the time until the last one had ended. */
  readonly errorMs: number;
  /** CPU time while it waited five seconds for a group that lives. */
  readonly idleCpuMs: number;
  /** Threads more than a Deno that waits for nothing. */
  readonly threads: number;
}

const IDLE_MS = 5000;
const LIMIT_MS = 15_000;

const MODULE = "contestants/wait.ts";

/** What the report calls each method; flags beyond all permissions. */
const METHODS: readonly [name: string, method: string, flags?: string[]][] = [
  [OURS.ffi, "waitGone"],
  [OURS.portable, "waitGone", ["--deny-ffi"]],
  ["status of the leader", "status"],
  ["signal 0 every 1 ms", "signal 0, 1 ms"],
  ["signal 0 every 10 ms", "signal 0, 10 ms"],
  ["signal 0 every 100 ms", "signal 0, 100 ms"],
  ["signal 0, backoff to 0.5 s", "signal 0, backoff"],
  ["procfs through Deno, 10 ms pause", "procfs, Deno"],
  ["procfs through libc, 10 ms pause", "procfs, libc"],
  ["pidfds on epoll", "pidfds"],
  ["subreaper, waitpid", "subreaper"],
  ["cgroup.events", "cgroup.events"],
];

/** When things happened, in milliseconds since 1970. */
interface Times {
  killedAt: number;
  goneAt: number;
  endedAt: number;
}

/** One method, and what came of it so far. */
interface Entry {
  readonly name: string;
  readonly contestant: Contestant;
  readonly times: Times[];
  /** It did not say "gone" in time, as where nobody reaps zombies. */
  gaveUp: boolean;
  idleCpuMs: number;
  threads: number;
}

/** A tree that stands. */
interface Standing {
  readonly mark: string;
  readonly members: number[];
}

/** Runs all methods so many times, in turns; then all at once, idle. */
export async function runWait(
  programs: Programs,
  rounds: number,
): Promise<WaitResult[]> {
  const entries = METHODS.filter(isPossible).map(startEntry);
  try {
    for (let round = -1; round < rounds; round++) {
      for (const entry of entries) {
        if (entry.gaveUp) continue;
        const times = await runOnce(programs, entry);
        if (round >= 0 && times !== null) entry.times.push(times);
      }
    }
    await runIdle(entries.filter(({ gaveUp }) => !gaveUp));
    return entries.map(summarize);
  } finally {
    for (const { contestant } of entries) {
      await contestant[Symbol.asyncDispose]();
    }
  }
}

function startEntry([name, method, flags]: (typeof METHODS)[number]): Entry {
  return {
    name,
    contestant: Contestant.deno(name, MODULE, flags, [method]),
    times: [],
    gaveUp: false,
    idleCpuMs: NaN,
    threads: NaN,
  };
}

function summarize({ name, times, idleCpuMs, threads }: Entry): WaitResult {
  return {
    method: name,
    n: times.length,
    saidMs: median(times.map((t) => t.goneAt - t.killedAt)),
    errorMs: median(times.map((t) => t.goneAt - t.endedAt)),
    idleCpuMs,
    threads,
  };
}

async function stand({ contestant }: Entry): Promise<Standing> {
  const mark = newMark();
  const { command, args } = slow;
  const env = { [MARK]: mark };
  await contestant.ask("start", { command, args, env });
  return { mark, members: await standing(mark, slow) };
}

/** One tree; null if the method gave no answer. */
async function runOnce(
  programs: Programs,
  entry: Entry,
): Promise<Times | null> {
  const { mark, members } = await stand(entry);
  const watcher = new Deno.Command(programs.tools, {
    args: ["watch", ...members.map(String)],
    stdout: "piped",
  }).spawn();
  const lines = createLines(watcher.stdout);
  try {
    await lines.next();
    const said = await killAndWait(entry, members);
    if (said === null) return null;
    const last = await lines.next();
    await entry.contestant.ask("forget");
    return { ...said, endedAt: Number(last.value) / 1e6 };
  } finally {
    await cleanUp(mark);
    await lines.return(undefined);
    await watcher.status;
  }
}

async function killAndWait(
  entry: Entry,
  members: number[],
): Promise<Omit<Times, "endedAt"> | null> {
  const { contestant } = entry;
  try {
    const args = { members };
    return (await contestant.ask<Times>("killAndWait", args, LIMIT_MS)).value;
  } catch (error) {
    if (!(error instanceof TooSlowError)) throw error;
    entry.gaveUp = true;
    await contestant[Symbol.asyncDispose]();
    return null;
  }
}

/** All of them wait five seconds, at the same time. */
async function runIdle(entries: readonly Entry[]): Promise<void> {
  await using idle = Contestant.deno("idle", MODULE, [], ["status"]);
  const trees = await Promise.all(entries.map(stand));
  try {
    for (const [i, { contestant }] of entries.entries()) {
      await contestant.ask("watch", { members: trees[i]!.members });
    }
    await delay(500);
    const before = entries.map(totalCpuMs);
    await delay(IDLE_MS);
    const usual = sizeOf(idle.pid).threads;
    for (const [i, entry] of entries.entries()) {
      entry.idleCpuMs = totalCpuMs(entry) - before[i]!;
      const { threads } = sizeOf(entry.contestant.pid);
      entry.threads = Math.max(0, threads - usual);
    }
  } finally {
    for (const [i, entry] of entries.entries()) {
      await killAndWait(entry, trees[i]!.members);
      if (!entry.gaveUp) await entry.contestant.ask("forget");
      await cleanUp(trees[i]!.mark);
    }
  }
}

function totalCpuMs({ contestant }: Entry): number {
  const { ownMs, childrenMs } = cpuTime(contestant.pid);
  return ownMs + childrenMs;
}

/** A cgroup can only be made where version 2 is mounted and writable. */
function isPossible([, method]: (typeof METHODS)[number]): boolean {
  if (method !== "cgroup.events") return true;
  const cgroup = makeCgroup();
  if (cgroup !== null) Deno.removeSync(cgroup);
  return cgroup !== null;
}
