// Copyright 2026 the @proc/group authors. MIT license.

/** What the experiments must know about processes, read from procfs. */

import { delay } from "@std/async/delay";

/** Environment variable by which the members of a tree are counted. */
export const MARK = "BENCH_TREE";

/** Clock ticks of proc_pid_stat(5) per millisecond. */
const TICKS_PER_MS = 0.1;

/** What is left of a tree. */
export interface Census {
  /** Pids of those that run. */
  readonly alive: readonly number[];
  /** Those that have ended and were not reaped yet, of the known members. */
  readonly zombies: number;
}

/** A mark that no other tree has. */
export function newMark(): string {
  return crypto.randomUUID();
}

/**
 * The live processes that carry the mark: one run of grep, since a thousand
 * files are read by it in a fraction of the time.
 */
export async function findMarked(mark: string): Promise<number[]> {
  return pidsOf((await grep(mark).output()).stdout);
}

/** SIGKILL to all that carry the mark, before anything else can happen. */
export function cleanUpSync(mark: string): void {
  for (let pids = [0]; pids.length > 0;) {
    pids = pidsOf(grep(mark).outputSync().stdout);
    for (const pid of pids) killOne(pid);
  }
}

function grep(mark: string): Deno.Command {
  const script = 'grep -lzxas -- "$1" /proc/[0-9]*/environ';
  return new Deno.Command("sh", {
    args: ["-c", script, "sh", `${MARK}=${mark}`],
    stderr: "null",
  });
}

function pidsOf(output: Uint8Array): number[] {
  const paths = new TextDecoder().decode(output).matchAll(
    /^\/proc\/(\d+)\//gm,
  );
  return [...paths].map(([, pid]) => Number(pid));
}

/** What a tree consists of once it stands. */
export interface Size {
  readonly size: number;
  readonly sleeps: number;
}

/**
 * Waits until all members are there and have become what they are to be: a
 * shell between fork and exec loses signals. Their pids.
 */
export async function standing(
  mark: string,
  { size, sleeps }: Size,
  limitMs = 15_000,
): Promise<number[]> {
  const endAt = performance.now() + limitMs;
  for (;;) {
    const pids = await findMarked(mark);
    if (pids.length >= size && pids.filter(isSleep).length >= sleeps) {
      return pids;
    }
    if (performance.now() > endAt) {
      throw new Error(`Cannot build the tree: ${pids.length} of ${size} stand`);
    }
    await delay(pids.length < 100 ? 5 : 50);
  }
}

function isSleep(pid: number): boolean {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/comm`) === "sleep\n";
  } catch {
    // It ended while it was looked at.
    return false;
  }
}

/** What is left of a tree, at once. */
export async function census(
  mark: string,
  known: readonly number[],
): Promise<Census> {
  const alive = await findMarked(mark);
  const zombies = known.filter((pid) => state(pid) === "Z").length;
  return { alive, zombies };
}

/** Ends all that carries the mark, pid by pid, until nothing is left. */
export async function cleanUp(mark: string): Promise<void> {
  for (let round = 0; round < 20; round++) {
    const pids = await findMarked(mark);
    if (pids.length === 0) return;
    for (const pid of pids) killOne(pid);
    await delay(5);
  }
  throw new Error("Cannot clean up: a marked process is left");
}

/** SIGKILL to one process that may have ended by itself. */
export function killOne(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** CPU time of a process and of the children that it has reaped. */
export interface CpuTime {
  readonly ownMs: number;
  readonly childrenMs: number;
}

/** CPU time so far, in steps of 10 milliseconds. */
export function cpuTime(pid: number): CpuTime {
  const fields = statFields(pid);
  const ticks = (index: number) => Number(fields[index] ?? 0) / TICKS_PER_MS;
  return { ownMs: ticks(11) + ticks(12), childrenMs: ticks(13) + ticks(14) };
}

/** Number of threads and resident memory of a process. */
export function sizeOf(pid: number): { threads: number; rssBytes: number } {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  const field = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1]);
  return { threads: field("Threads"), rssBytes: field("VmRSS") * 1024 };
}

/** State of a process as one letter; undefined if there is none. */
function state(pid: number): string | undefined {
  return statFields(pid)[0];
}

/** The fields of proc_pid_stat(5) from the state on; empty if it is gone. */
export function statFields(pid: number): string[] {
  try {
    const text = Deno.readTextFileSync(`/proc/${pid}/stat`);
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    // It ended and was reaped.
    return [];
  }
}
