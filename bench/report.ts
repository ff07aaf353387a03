// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Runs the long experiments and writes `report.md` and its charts into this
 * folder. Takes less than ten minutes on two cores.
 *
 * Arguments: names of experiments to run only these (the others stay as in the
 * last run), `--quick` for a fifth of the rounds, `--render` to write the last
 * run again.
 */

import { build, type Programs } from "./_build.ts";
import { environment } from "./_environment.ts";
import { render, type Section } from "./_section.ts";
import { runMany } from "./experiments/many.ts";
import { FULL, runPty } from "./experiments/pty.ts";
import { runReap } from "./experiments/reap.ts";
import { runSignal } from "./experiments/signal.ts";
import { runSpawn } from "./experiments/spawn.ts";
import { runStartup } from "./experiments/startup.ts";
import { runWait } from "./experiments/wait.ts";
import { runPairs } from "./pairs.ts";
import { manySection } from "./sections/many.ts";
import { ptySection } from "./sections/pty.ts";
import { reapSection } from "./sections/reap.ts";
import { signalSection } from "./sections/signal.ts";
import { spawnSection } from "./sections/spawn.ts";
import { startupSection } from "./sections/startup.ts";
import { waitSection } from "./sections/wait.ts";

/** What the experiments need. */
interface Setup {
  readonly programs: Programs;
  readonly directory: string;
  readonly quick: boolean;
}

/** Each experiment; the order is that of the run. */
const EXPERIMENTS = {
  signal: ({ quick }: Setup) => runSignal(quick ? 5 : 30),
  wait: ({ programs, quick }: Setup) => runWait(programs, quick ? 1 : 5),
  reap: ({ programs, quick }: Setup) => runReap(programs, quick ? 0.2 : 1),
  pairs: ({ programs, quick }: Setup) =>
    runPairs(programs.floor, quick ? 5 : 30, [1, 10, 100]),
  spawn: ({ programs, quick }: Setup) => runSpawn(programs, quick ? 5 : 25),
  many: ({ quick }: Setup) => runMany(quick ? [1, 100] : undefined),
  pty: ({ programs, directory, quick }: Setup) =>
    runPty(programs, directory, quick ? { ...FULL, rounds: 1 } : FULL),
  startup: ({ quick }: Setup) => runStartup(quick ? 3 : 20),
};

type Experiments = typeof EXPERIMENTS;
type Name = keyof Experiments;
type Results = { [K in Name]: Awaited<ReturnType<Experiments[K]>> };

/** What a run leaves, so that it can be written again. */
interface Saved {
  environment: string[];
  seconds: number;
  results: Results;
}

const here = new URL("./", import.meta.url);
const savedFile = new URL("results.json", here);

/** Runs the named experiments, one after the other. */
async function runAll(names: readonly Name[], quick: boolean): Promise<Saved> {
  const directory = await Deno.makeTempDir();
  try {
    const programs = await build(directory);
    if (programs === null) {
      throw new Error("Cannot run: there is no C compiler");
    }
    const startedAt = performance.now();
    const results: Partial<Record<Name, unknown>> = {};
    for (const name of names) {
      const begunAt = performance.now();
      results[name] = await EXPERIMENTS[name]({ programs, directory, quick });
      const seconds = ((performance.now() - begunAt) / 1000).toFixed(0);
      console.error(`${name}: ${seconds} s`);
    }
    return {
      environment: await environment(programs.compiler),
      seconds: (performance.now() - startedAt) / 1000,
      results: results as Results,
    };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function sections(results: Results): Promise<Section[]> {
  return [
    await reapSection(results.reap, results.pairs),
    await waitSection(results.wait),
    await signalSection(results.signal),
    await spawnSection(results.spawn),
    await manySection(results.many),
    await ptySection(results.pty),
    await startupSection(results.startup),
  ];
}

/** Writes the report and its charts. */
async function write({ environment, seconds, results }: Saved): Promise<void> {
  const all = await sections(results);
  await Deno.mkdir(new URL("charts", here), { recursive: true });
  for (const { charts } of all) {
    for (const [name, svg] of Object.entries(charts)) {
      await Deno.writeTextFile(new URL(`charts/${name}.svg`, here), svg);
    }
  }
  const text = [
    "# How fast each way of reaping works",
    `Written by \`deno task bench:report\` in ${
      Math.round(seconds)
    } s, not by ` +
    "hand. Every comparison is side by side in one run, its contestants in " +
    "turns. Times are medians of n runs. What a contestant leaves alive is " +
    "counted by a mark in the environment, and ended afterwards.",
    environment.map((line) => `- ${line}`).join("\n"),
    ...all.map(render),
  ];
  await Deno.writeTextFile(
    new URL("report.md", here),
    text.join("\n\n") + "\n",
  );
}

async function load(): Promise<Saved | null> {
  try {
    return JSON.parse(await Deno.readTextFile(savedFile));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

async function runAndSave(args: readonly string[]): Promise<Saved> {
  const named = args.filter((arg): arg is Name => arg in EXPERIMENTS);
  const last = named.length > 0 ? await load() : null;
  const names = named.length > 0 ? named : Object.keys(EXPERIMENTS) as Name[];
  const saved = await runAll(names, args.includes("--quick"));
  saved.results = { ...last?.results, ...saved.results };
  saved.seconds = Math.max(saved.seconds, last?.seconds ?? 0);
  await Deno.writeTextFile(savedFile, JSON.stringify(saved, null, 1) + "\n");
  return saved;
}

async function main(args: readonly string[]): Promise<void> {
  const saved = args.includes("--render")
    ? await load()
    : await runAndSave(args);
  if (saved === null) throw new Error("Cannot render: there was no run");
  await write(saved);
}

if (import.meta.main) await main(Deno.args);
