// Copyright 2026 the @proc/group authors. MIT license.

// Kills a program with groups at random moments, on both implementations, and
// says how long what it had started lived on:
//
//   deno run --allow-all --import-map=std_from_npm.json bench/chaos.ts 200

import { runChaos, type Trial } from "../tests/_chaos.ts";

/** What the README promises for the trees, and again for the guard. */
const LIMIT_MS = 1500;

function median(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function describe(name: string, values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const late = sorted.filter((value) => value > LIMIT_MS).length;
  return `  ${name}: median ${median(sorted).toFixed(0)} ms, slowest ${
    (sorted.at(-1) ?? 0).toFixed(0)
  } ms, ${late} later than ${LIMIT_MS} ms`;
}

function report(name: string, trials: readonly Trial[]): void {
  const leaving = trials.filter((trial) => trial.left.length > 0);
  console.log(
    `${name}: ${trials.length} kills, ${leaving.length} left something`,
  );
  console.log(describe("trees", trials.map((trial) => trial.treesMs)));
  console.log(describe("guard", trials.map((trial) => trial.guardMs)));
  for (const trial of leaving) console.log(JSON.stringify(trial));
}

const count = Number(Deno.args[0] ?? 200);
if (!Number.isInteger(count) || count < 1) {
  console.error(`Cannot run trials: current value is "${Deno.args[0]}"`);
  Deno.exit(2);
}
const onLinux = await runChaos(count, { denyFfi: false });
report("linux", onLinux);
const onPortable = await runChaos(count, { denyFfi: true });
report("portable", onPortable);
if ([...onLinux, ...onPortable].some((trial) => trial.left.length > 0)) {
  Deno.exit(1);
}
