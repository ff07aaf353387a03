// Copyright 2026 the @proc/group authors. MIT license.

/** Pseudo-terminals: how fast, how complete, and whom they hold up. */

import type { Programs } from "../_build.ts";
import { Contestant } from "../_contestant.ts";
import { peerName, peerVersion } from "../_peers.ts";
import { median, quantile } from "../_stats.ts";

/** One contestant. */
export interface PtyResult {
  readonly contestant: string;
  /** Median of megabytes (10^6) per second. */
  readonly megabytesPerSecond: number;
  /** Most bytes that were missing at the end of one such run. */
  readonly lostBytes: number;
  /** Median round trip of one byte, and the 99th percentile. */
  readonly roundTripMs: number;
  readonly roundTripP99Ms: number;
  /** Of so many programs that print 200 KB and end, how many were cut short. */
  readonly cut: number;
  readonly fastExits: number;
  /** Longest pause of the event loop while a write of 1 MiB is stuck. */
  readonly stuckMs: number;
}

/** How much is done. */
export interface PtySizes {
  readonly bytes: number;
  readonly rounds: number;
  readonly roundTrips: number;
  readonly fastExits: number;
}

/** The whole experiment. */
export const FULL: PtySizes = {
  bytes: 32e6,
  rounds: 7,
  roundTrips: 1000,
  fastExits: 60,
};

const FAST_EXIT_BYTES = 200_000;
const MODULE = "contestants/pty.ts";

/** Runs all contestants; the C program has no event loop and no writes. */
export async function runPty(
  programs: Programs,
  directory: string,
  sizes: PtySizes = FULL,
): Promise<PtyResult[]> {
  const contestants = [
    Contestant.deno("this package", MODULE, [], ["pty"]),
    Contestant.deno("script(1)", MODULE, [], ["script"]),
    ...await startNodePty(directory),
  ];
  try {
    const speeds = await runThroughput(programs, contestants, sizes);
    const results = [await runFloor(programs, speeds.pop()!, sizes)];
    for (const [i, contestant] of contestants.entries()) {
      results.push(await runOne(programs, contestant, speeds[i]!, sizes));
    }
    return results;
  } finally {
    for (const contestant of contestants) {
      await contestant[Symbol.asyncDispose]();
    }
  }
}

/** One run: how long it took and what arrived. */
interface Transfer {
  readonly ms: number;
  readonly bytes: number;
}

/** All contestants in turns, and the C program last. */
async function runThroughput(
  { tools }: Programs,
  contestants: readonly Contestant[],
  { bytes, rounds }: PtySizes,
): Promise<Transfer[][]> {
  const speeds: Transfer[][] = [...contestants.map(() => []), []];
  for (let round = -1; round < rounds; round++) {
    for (const [i, contestant] of contestants.entries()) {
      const args = { tools, bytes };
      const { value } = await contestant.ask<Transfer>("throughput", args);
      if (round >= 0) speeds[i]!.push(value);
    }
    const [total, us] = await runTools(tools, 0, "spew", `${bytes}`);
    if (round >= 0) speeds.at(-1)!.push({ ms: us! / 1000, bytes: total! });
  }
  return speeds;
}

async function runOne(
  { tools }: Programs,
  contestant: Contestant,
  transfers: readonly Transfer[],
  { bytes, roundTrips, fastExits }: PtySizes,
): Promise<PtyResult> {
  const { value: times } = await contestant.ask<number[]>("roundTrip", {
    tools,
    rounds: roundTrips,
  });
  const { value: exits } = await contestant.ask<{ cut: number }>("fastExit", {
    tools,
    bytes: FAST_EXIT_BYTES,
    runs: fastExits,
  });
  const { value: stuckMs } = await contestant.ask<number>("stuckWrite");
  return {
    contestant: contestant.name,
    ...speedOf(transfers, bytes),
    roundTripMs: median(times),
    roundTripP99Ms: quantile(times, 0.99),
    cut: exits.cut,
    fastExits,
    stuckMs,
  };
}

async function runFloor(
  { tools }: Programs,
  transfers: readonly Transfer[],
  { bytes, roundTrips, fastExits }: PtySizes,
): Promise<PtyResult> {
  const [us] = await runTools(tools, roundTrips, "echo");
  let cut = 0;
  for (let run = 0; run < fastExits; run++) {
    const [total] = await runTools(tools, 0, "spew", `${FAST_EXIT_BYTES}`);
    if (total! < FAST_EXIT_BYTES) cut++;
  }
  return {
    contestant: "C, read loop",
    ...speedOf(transfers, bytes),
    roundTripMs: us! / 1000,
    roundTripP99Ms: NaN,
    cut,
    fastExits,
    stuckMs: NaN,
  };
}

function speedOf(
  transfers: readonly Transfer[],
  bytes: number,
): Pick<PtyResult, "megabytesPerSecond" | "lostBytes"> {
  return {
    megabytesPerSecond: median(transfers.map((t) => t.bytes / t.ms / 1000)),
    lostBytes: Math.max(...transfers.map((t) => bytes - t.bytes)),
  };
}

/** The C read loop around one of the tools; the numbers that it prints. */
async function runTools(
  tools: string,
  rounds: number,
  ...command: string[]
): Promise<number[]> {
  const { stdout } = await new Deno.Command(tools, {
    args: ["pty", `${rounds}`, tools, ...command],
  }).output();
  return new TextDecoder().decode(stdout).split(" ").map(Number);
}

/** Installs and starts node-pty; none where Node, npm or a compiler is missing. */
async function startNodePty(directory: string): Promise<Contestant[]> {
  const name = `node-pty@${peerVersion("node-pty")}`;
  try {
    const { success } = await new Deno.Command("npm", {
      args: ["install", "--prefix", directory, "--silent", "--no-fund", name],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).output();
    if (!success) return [];
  } catch {
    return [];
  }
  const script = new URL("../contestants/node_pty.mjs", import.meta.url);
  const contestant = new Contestant(peerName("node-pty"), "node", [
    script.pathname,
    directory,
  ], "null");
  return [contestant];
}
