// Copyright 2026 the @proc/group authors. MIT license.

// Looks for what spawning, killing and waiting leave behind: memory beyond what
// plain Deno.Command leaves, descriptors, zombies.
//
//   deno run -A bench/leak.ts [cycles]
//
// Each contestant runs in a process of its own, once to warm up and once to
// measure. Exits with 1 if something is left.

import { killGroup, spawnGroup, waitGone } from "../mod.ts";

const NULL = { stdin: "null", stdout: "null", stderr: "null" } as const;

/** What a spawned command may add, in bytes, beyond plain Deno.Command. */
const ALLOWANCE = 5_000_000;

const [cycles = "4000", contestant] = Deno.args;

interface Growth {
  bytes: number;
  descriptors: number;
  zombies: number;
}

async function plain(): Promise<void> {
  const child = new Deno.Command("sleep", { args: ["30"], ...NULL }).spawn();
  child.kill("SIGKILL");
  await child.status;
}

async function group(): Promise<void> {
  const group = spawnGroup("sleep", ["30"], NULL);
  killGroup(group, "SIGKILL");
  await waitGone(group);
  await group.status;
}

function descriptors(): number {
  return [...Deno.readDirSync("/proc/self/fd")].length;
}

function zombies(): number {
  const path = `/proc/self/task/${Deno.pid}/children`;
  const pids = Deno.readTextFileSync(path).split(" ").filter(Boolean);
  return pids.filter((pid) => {
    try {
      return /\) Z /.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
    } catch {
      return false;
    }
  }).length;
}

async function measure(cycle: () => Promise<void>): Promise<Growth> {
  for (let i = 0; i < Number(cycles); i++) await cycle();
  const before = { bytes: settledBytes(), descriptors: descriptors() };
  for (let i = 0; i < Number(cycles); i++) await cycle();
  return {
    bytes: settledBytes() - before.bytes,
    descriptors: descriptors() - before.descriptors,
    zombies: zombies(),
  };
}

/** Resident memory without what the garbage collector had not got to yet. */
function settledBytes(): number {
  (globalThis as { gc?: () => void }).gc?.();
  return Deno.memoryUsage().rss;
}

async function runAlone(contestant: string): Promise<Growth> {
  const own = Deno.readTextFileSync("/proc/self/cmdline").split("\0");
  const script = own.findIndex((argument) => argument.endsWith("leak.ts"));
  const output = await new Deno.Command(Deno.execPath(), {
    args: [
      ...own.slice(1, script),
      // The young generation grows by megabytes when more survives for a
      // moment, which is no leak: it keeps its size here.
      "--v8-flags=--expose-gc,--max-semi-space-size=2",
      own[script]!,
      cycles,
      contestant,
    ],
    stdin: "null",
    stderr: "inherit",
  }).output();
  return JSON.parse(new TextDecoder().decode(output.stdout));
}

if (contestant) {
  const cycle = contestant === "group" ? group : plain;
  console.log(JSON.stringify(await measure(cycle)));
} else {
  const [expected, actual] = [await runAlone("plain"), await runAlone("group")];
  console.log(`${cycles} cycles more, after as many to warm up:`);
  console.log("Deno.Command", expected);
  console.log("spawnGroup  ", actual);
  const isClean = actual.bytes <= Math.max(expected.bytes, 0) + ALLOWANCE &&
    actual.descriptors <= expected.descriptors && actual.zombies === 0;
  console.log(isClean ? "clean" : "something is left");
  Deno.exit(isClean ? 0 : 1);
}
