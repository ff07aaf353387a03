// Copyright 2026 the @proc/group authors. MIT license.

// Starts trees of processes of many kinds, stops them at random moments in all
// ways that there are, and looks for what is left: for minutes, five by default.
//
//   deno task soak [MINUTES] [--linux | --portable]
//
// Both implementations get half of the time unless one is named. The exit status
// is 1 if anything was left, failed or took too long.

import {
  killGroup,
  spawnGroup,
  type StopReport,
  SurvivorsError,
} from "../process_group.ts";
import { alive, lookAtThisProcess, textOf } from "../tests/_util.ts";
import { killProcess, type Outcome, TREES, WAYS } from "./_soak_kinds.ts";

/** Groups that live at the same time. */
const AT_ONCE = 8;

/** Trials between two looks at what is left; nothing runs while it is looked at. */
const ROUND = 48;

/** Every process ends by itself after so many seconds. */
const LIFE_S = 60;

/** Time that a busy machine may add to what is promised. */
const LENIENCE_MS = 3000;

/** All arguments of all trees start like this; digits that nobody else has. */
const prefix = `${LIFE_S}.${Deno.pid}${Date.now() % 1_000_000}`;

/** What was tried under one name, and what came of it. */
class Tally {
  tried = 0;
  forced = 0;
  escaped = 0;
  slowestMs = 0;
  late = 0;
  failed = 0;
  left = 0;
}

class Soak {
  readonly trees = new Map(
    Object.keys(TREES).map((name) => [name, new Tally()]),
  );
  readonly ways = new Map(Object.keys(WAYS).map((name) => [name, new Tally()]));
  readonly problems: string[] = [];
  tried = 0;
  #before: Held | null = null;
  #recent: Recent[] = [];

  /** Runs until the time is over; what is left is looked for in between. */
  async run(name: string, minutes: number): Promise<void> {
    const endAt = performance.now() + minutes * 60_000;
    // What the first round leaves for all others, such as a guard, is no leak.
    this.#before = null;
    do {
      const trials = Array.from({ length: ROUND }, (_, i) => i);
      const next = async () => {
        while (trials.pop() !== undefined) await this.#try();
      };
      await Promise.all(Array.from({ length: AT_ONCE }, next));
      await this.#look();
      progress(name, this.tried, this.problems.length, endAt);
    } while (performance.now() < endAt);
  }

  async #try(): Promise<void> {
    const [tree, way] = [pick(TREES), pick(WAYS)];
    const both = [this.trees.get(tree)!, this.ways.get(way)!];
    const graceMs = [0, 50, 150][Math.floor(Math.random() * 3)]!;
    const controller = new AbortController();
    const unique = `${prefix}${`${this.tried++}`.padStart(6, "0")}7`;
    for (const tally of both) tally.tried++;
    const group = spawnGroup("bash", ["-c", TREES[tree]!(`sleep ${unique}`)], {
      stdin: "null",
      stdout: Math.random() < 0.5 ? "piped" : "null",
      stderr: "null",
      signal: controller.signal,
      graceMs,
    });
    await pause();
    const start = performance.now();
    try {
      const outcome = await WAYS[way]!({ group, controller, graceMs });
      this.#note(both, outcome);
      await group[Symbol.asyncDispose]();
      await group.status;
      if (killGroup(group, "SIGTERM")) {
        throw new Error("It took a signal after all");
      }
    } catch (error) {
      for (const tally of both) tally.failed++;
      this.problems.push(`${tree}, ${way}: ${error}`);
    }
    const ms = performance.now() - start;
    for (const tally of both) {
      tally.slowestMs = Math.max(tally.slowestMs, ms);
      // A deadline has up to 60 ms, a wait 30 and the grace period of its own.
      if (ms > 2 * graceMs + 2000 + 260 + LENIENCE_MS) tally.late++;
    }
    this.#recent.push({ unique, both, what: `${tree}, ${way}` });
  }

  #note(both: readonly Tally[], outcome: Outcome): void {
    if (outcome === null) return;
    for (const tally of both) {
      if (outcome.forced) tally.forced++;
      tally.escaped += outcome.escaped.length;
    }
    if (outcome.survivors.length > 0) {
      throw new SurvivorsError(outcome as StopReport);
    }
  }

  /** Finds out whose processes were left, and ends them. */
  async #blame(): Promise<void> {
    for (const { unique, both, what } of this.#recent) {
      const pids = await alive(unique);
      if (pids.length === 0) continue;
      for (const tally of both) tally.left += pids.length;
      this.problems.push(`${what}: left ${await describe(pids)}`);
      for (const pid of pids) killProcess(pid);
    }
  }

  /** Looks at everything, when nothing is to be there. */
  async #look(): Promise<void> {
    const pids = await alive(prefix);
    if (pids.length > 0) {
      this.problems.push(
        `${pids.length} processes left: ${await describe(pids)}`,
      );
      for (const pid of pids) killProcess(pid);
    }
    const now = await held();
    this.#before ??= now;
    const zombies = now.zombies - this.#before.zombies;
    const descriptors = now.descriptors - this.#before.descriptors;
    if (zombies > 0) this.problems.push(`${zombies} zombies left`);
    if (descriptors > 0) this.problems.push(`${descriptors} descriptors left`);
    this.#before = now;
  }
}

/** A trial since the last look. */
interface Recent {
  readonly unique: string;
  readonly both: readonly Tally[];
  readonly what: string;
}

interface Held {
  readonly descriptors: number;
  readonly zombies: number;
}

/** `$PPID` is this process. */
const HELD = `ls /proc/$PPID/fd | wc -l
for pid in $(cat /proc/$PPID/task/*/children); do
  grep -s '^State:.Z' /proc/$pid/status
done | wc -l`;

/** Least of several counts: the runtime closes some of its own a moment later. */
async function held(): Promise<Held> {
  let [descriptors, zombies] = [Infinity, Infinity];
  for (let i = 0; i < 3; i++) {
    const [files, dead] = (await lookAtThisProcess(HELD)).trim().split("\n");
    descriptors = Math.min(descriptors, Number(files));
    zombies = Math.min(zombies, Number(dead));
  }
  return { descriptors, zombies };
}

async function describe(pids: number[]): Promise<string> {
  const list = await textOf(
    "ps",
    "-o",
    "pid,ppid,pgid,sid,stat,args",
    "-p",
    `${pids}`,
  );
  return list.trim();
}

function pick(of: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(of);
  return names[Math.floor(Math.random() * names.length)]!;
}

/** Any moment: before anything runs, while it starts, or when it stands. */
async function pause(): Promise<void> {
  const ms = [0, 5, 40, 200][Math.floor(Math.random() * 4)]! * Math.random();
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}

let lastProgress = -Infinity;

function progress(
  name: string,
  tried: number,
  problems: number,
  endAt: number,
): void {
  const isTerminal = Deno.stderr.isTerminal();
  const now = performance.now();
  if (now - lastProgress < (isTerminal ? 500 : 15_000)) return;
  lastProgress = now;
  const seconds = Math.max(0, Math.round((endAt - now) / 1000));
  const line =
    `${name}: ${tried} trees, ${problems} problems, ${seconds} s to go`;
  const text = isTerminal ? `\r\x1b[K${line}` : `${line}\n`;
  Deno.stderr.writeSync(new TextEncoder().encode(text));
}

function print(name: string, soak: Soak): void {
  if (Deno.stderr.isTerminal()) console.error();
  for (
    const [title, tallies] of [["tree", soak.trees], [
      "way",
      soak.ways,
    ]] as const
  ) {
    console.log(`\n${name}, by ${title}`);
    console.table(Object.fromEntries(
      [...tallies].map(([name, { slowestMs, ...tally }]) => [
        name,
        { ...tally, "slowest ms": Math.round(slowestMs) },
      ]),
    ));
  }
  const late = [...soak.trees.values()].reduce(
    (sum, { late }) => sum + late,
    0,
  );
  if (late > 0) soak.problems.push(`${late} took too long`);
  console.log(`${name}: ${soak.tried} trees, ${soak.problems.length} problems`);
  for (const problem of soak.problems.slice(0, 20)) console.log(`  ${problem}`);
}

const flags = Deno.args.filter((arg) => arg.startsWith("--"));
const minutes = Number(Deno.args.find((arg) => !arg.startsWith("--")) ?? 5);
if (
  !(minutes > 0) ||
  flags.some((flag) => !["--linux", "--portable"].includes(flag))
) {
  console.error("Usage: deno task soak [MINUTES] [--linux | --portable]");
  Deno.exit(2);
}
const names = flags.length > 0
  ? flags.map((flag) => flag.slice(2))
  : ["linux", "portable"];
let problems = 0;
for (const name of names) {
  // The portable implementation is the one where there is no permission for FFI.
  if (name === "portable") Deno.permissions.revokeSync({ name: "ffi" });
  const soak = new Soak();
  await soak.run(name, minutes / names.length);
  print(name, soak);
  problems += soak.problems.length;
}
if (problems > 0) Deno.exit(1);
