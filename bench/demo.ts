// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Starts the same small tree again and again, stops it in different ways and
 * prints what is still alive after each. Run with `deno task demo`.
 */

import { delay } from "@std/async/delay";
import { spawnGroup, stopGroup } from "../mod.ts";

/** A shell with three children and one grandchild; bounded by itself. */
const tree = (length: string) =>
  `sleep ${length} & sh -c 'sleep ${length}; :' & sleep ${length}; :`;

/** How many processes the tree has. */
const TREE_SIZE = 5;

/** A shell that becomes a sleep, with a daemon in a session of its own. */
const withDaemon = (length: string) =>
  `setsid sleep ${length} & exec sleep ${length}`;

/** How many processes that has. */
const WITH_DAEMON_SIZE = 2;

let trees = 0;

interface Outcome {
  ms: number;
  note?: string;
}

interface Row extends Outcome {
  way: string;
  left: Survivor[];
}

interface Survivor {
  pid: number;
  name: string;
}

/** Kills one process, as `Deno.ChildProcess` does. */
function byChildKill(length: string): Promise<Outcome> {
  return killChild(tree(length), length, TREE_SIZE);
}

/** The same, where a daemon was started. */
function daemonByChildKill(length: string): Promise<Outcome> {
  return killChild(withDaemon(length), length, WITH_DAEMON_SIZE);
}

async function killChild(
  script: string,
  length: string,
  size: number,
): Promise<Outcome> {
  const child = new Deno.Command("sh", { args: ["-c", script] }).spawn();
  await standing(length, size);
  const startedAt = performance.now();
  child.kill();
  await child.status;
  return { ms: performance.now() - startedAt };
}

/** Aborts the `signal` of `Deno.Command` and waits for the output. */
async function bySignal(length: string): Promise<Outcome> {
  const controller = new AbortController();
  const output = new Deno.Command("sh", {
    args: ["-c", tree(length)],
    stdout: "piped",
    signal: controller.signal,
  }).output();
  await standing(length, TREE_SIZE);
  const startedAt = performance.now();
  controller.abort();
  const first = await Promise.race([output, delay(2000)]);
  const ms = performance.now() - startedAt;
  return first ? { ms } : { ms, note: "output() hangs, given up" };
}

/** Stops the group. */
function byGroup(length: string): Promise<Outcome> {
  return stop(tree(length), length, TREE_SIZE);
}

/** The same, where a daemon was started. */
function daemonByGroup(length: string): Promise<Outcome> {
  return stop(withDaemon(length), length, WITH_DAEMON_SIZE);
}

async function stop(
  script: string,
  length: string,
  size: number,
): Promise<Outcome> {
  await using group = spawnGroup("sh", ["-c", script]);
  await standing(length, size);
  const { durationMs } = await stopGroup(group);
  return { ms: durationMs };
}

/** Kills a program that has started the tree, and can do nothing any more. */
async function killParent(
  kind: "command" | "group",
  length: string,
): Promise<Outcome> {
  const importMap = new URL("../std_from_npm.json", import.meta.url);
  const parent = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--allow-all",
      `--import-map=${importMap}`,
      import.meta.url,
      kind,
      length,
    ],
    stdin: "null",
  }).spawn();
  await standing(length, TREE_SIZE);
  const startedAt = performance.now();
  parent.kill("SIGKILL");
  await parent.status;
  const end = startedAt + 1500;
  while (performance.now() < end && (await alive(length)).length > 0) {
    await delay(10);
  }
  return { ms: performance.now() - startedAt };
}

/** The program that is killed by {@linkcode killParent}. */
async function beParent(kind: string, length: string): Promise<void> {
  const args = ["-c", tree(length)];
  const child = kind === "group"
    ? spawnGroup("sh", args)
    : new Deno.Command("sh", { args }).spawn();
  await child.status;
}

/** Runs one way on a tree of its own, and ends what it leaves behind. */
async function row(
  way: string,
  stop: (length: string) => Promise<Outcome>,
): Promise<Row> {
  const length = `61.${Deno.pid}${trees++}`;
  const outcome = await stop(length);
  const left = await alive(length);
  for (const { pid } of left) kill(pid);
  return { way, left, ...outcome };
}

/** Waits until the whole tree stands. */
async function standing(length: string, size: number): Promise<void> {
  for (let i = 0; i < 200; i++) {
    if ((await alive(length)).length === size) return;
    await delay(10);
  }
}

/** The live processes that have the unique length in their arguments. */
async function alive(length: string): Promise<Survivor[]> {
  const lines = Deno.build.os === "linux" ? await readProcfs() : await runPs();
  return lines.flatMap(({ pid, state, args }) => {
    if (state === "Z" || !args.includes(`sleep ${length}`)) return [];
    return { pid, name: args.startsWith("sh ") ? "sh" : "sleep" };
  });
}

interface Line {
  pid: number;
  state: string;
  args: string;
}

async function readProcfs(): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = await Deno.readTextFile(`/proc/${name}/stat`);
      const args = await Deno.readTextFile(`/proc/${name}/cmdline`);
      lines.push({
        pid: Number(name),
        state: stat.slice(stat.lastIndexOf(")") + 2)[0]!,
        args: args.replaceAll("\0", " "),
      });
    } catch {
      // It ended while it was looked at.
    }
  }
  return lines.sort((a, b) => a.pid - b.pid);
}

async function runPs(): Promise<Line[]> {
  const { stdout } = await new Deno.Command("ps", {
    args: ["-A", "-o", "pid=", "-o", "stat=", "-o", "args="],
  }).output();
  return new TextDecoder().decode(stdout).split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\S)\S*\s+(.*)$/.exec(line);
    if (!match) return [];
    return { pid: Number(match[1]), state: match[2]!, args: match[3]! };
  });
}

function kill(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

function print(rows: Row[]): void {
  const width = Math.max(...rows.map((row) => row.way.length));
  console.log(`${"stopped with".padEnd(width)}      took  still alive`);
  for (const { way, ms, note, left } of rows) {
    const names = left.map(({ pid, name }) => `${pid} ${name}`).join(", ");
    const time = `${Math.round(ms)} ms`.padStart(8);
    console.log(
      `${way.padEnd(width)}  ${time}  ${names || "nobody"}${
        note ? ` (${note})` : ""
      }`,
    );
  }
}

async function showAll(): Promise<void> {
  print([
    await row("child.kill()", byChildKill),
    await row("Deno.Command's signal", bySignal),
    await row("stopGroup(group)", byGroup),
    await row("a daemon: child.kill()", daemonByChildKill),
    await row("a daemon: stopGroup(group)", daemonByGroup),
    await row(
      "parent killed: Deno.Command",
      (length) => killParent("command", length),
    ),
    await row(
      "parent killed: spawnGroup",
      (length) => killParent("group", length),
    ),
  ]);
}

if (import.meta.main) {
  const [kind, length = ""] = Deno.args;
  await (kind ? beParent(kind, length) : showAll());
  // The hanging output() would keep the event loop alive.
  Deno.exit(0);
}
