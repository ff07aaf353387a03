// Copyright 2026 the @proc/group authors. MIT license.

/**
 * What the tests share: trees that can be told apart, a look at what lives that
 * does not use the code under test, and a count of what is left open.
 */

import { assertEquals } from "@std/assert";
import { spawnGroup, stopGroup } from "../process_group.ts";

/** Whether the code under test cannot use FFI in this run. */
export const isPortable: boolean = Deno.build.os !== "linux" ||
  Deno.permissions.querySync({ name: "ffi" }).state !== "granted";

const root = new URL("../", import.meta.url);

/** Path of a file of the project. */
export function fromRoot(path: string): string {
  return decodeURIComponent(new URL(path, root).pathname);
}

/** How child programs find @std: by the import map of this run, if it has one. */
export const importMap: readonly string[] =
  import.meta.resolve("@std/assert").includes("deno-std")
    ? [`--import-map=${fromRoot("std_from_npm.json")}`]
    : [];

/** Permission flags of a child program that is to use the same implementation. */
export const allFlags: readonly string[] = isPortable
  ? ["-A", "--deny-ffi"]
  : ["-A"];

// A caller's nohup or "&" has signals ignored, which no child can undo, and the
// trees are to obey them. The runtime gives a signal that nobody listens to any
// more its default action.
if (Deno.build.os !== "windows") {
  const listener = () => {};
  for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT"] as const) {
    Deno.addSignalListener(signal, listener);
    Deno.removeSignalListener(signal, listener);
  }
}

let lastSleep = 0;

/** A sleep length of some seconds that no other process has among its arguments. */
export function uniqueSleep(seconds = 40): string {
  return `${seconds}.${Deno.pid}${++lastSleep}${Date.now() % 100_000}7`;
}

/** Options of a test that may not be able to run here; says why. */
export function skipIf(ignore: boolean, why: string): { ignore: boolean } {
  if (ignore) console.warn(`A test is skipped: ${why}`);
  return { ignore };
}

/** Text of bytes. */
export function decode(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes);
}

/** Standard output of a program that is not under test. */
export async function textOf(
  command: string,
  ...args: string[]
): Promise<string> {
  const { stdout } = await new Deno.Command(command, {
    args,
    stdin: "null",
    stderr: "null",
  }).output();
  return decode(stdout);
}

/** Pids of the processes that have the text in their arguments; no zombies. */
export async function alive(text: string): Promise<number[]> {
  // Tests signal what this finds, so it must never find everything.
  if (text.length < 6) {
    throw new TypeError(`Too short to tell a tree: "${text}"`);
  }
  // A child may read what `--deny-ffi` keeps from this process.
  const lines = await textOf("sh", "-c", "grep -Has '' /proc/[0-9]*/cmdline");
  const pids = lines.split("\n").filter((line) => line.includes(text)).map(
    (line) => Number(line.split("/")[2]),
  );
  return [...new Set(pids)].filter((pid) => pid > 1 && pid !== Deno.pid);
}

/**
 * What procfs tells of a process after its name: state, ppid, pgid, sid and
 * more; empty if there is none.
 */
export async function statOf(pid: number): Promise<string[]> {
  const stat = await textOf("grep", "-as", "", `/proc/${pid}/stat`);
  const [, fields] = /.*\) ([A-Za-z] [^)]*)$/s.exec(stat) ?? [];
  return fields?.split(" ") ?? [];
}

/** State of a process as one letter; empty if there is none. */
export async function stateOf(pid: number): Promise<string> {
  const [state = ""] = await statOf(pid);
  return state;
}

/** Whether there is such a process, and no zombie. */
export async function isAlive(pid: number): Promise<boolean> {
  return !["", "Z", "X"].includes(await stateOf(pid));
}

/** Waits until a `sleep` of each of these lengths runs. */
export async function untilAsleep(...lengths: string[]): Promise<void> {
  await until("all sleep", async () => {
    const found = await Promise.all(
      lengths.map((length) => alive(`cmdline:sleep\0${length}`)),
    );
    return found.every((pids) => pids.length > 0);
  });
}

/** Ends what a test has left on purpose, unless a guard is quicker. */
export async function untilKilled(...texts: string[]): Promise<void> {
  await until("all are killed", async () => {
    const pids = (await Promise.all(texts.map(alive))).flat();
    for (const pid of pids) killQuietly(pid);
    return pids.length === 0;
  });
}

function killQuietly(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Fails if one of the texts is an argument of a process that still runs. */
export async function assertNoneAlive(...texts: string[]): Promise<void> {
  for (const text of texts) assertEquals(await alive(text), [], text);
}

/** Waits until a condition holds; fails after `ms` milliseconds. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  ms = 15_000,
): Promise<void> {
  const end = performance.now() + ms;
  while (!await condition()) {
    if (performance.now() > end) throw new Error(`Timed out: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Reads until all texts have come and unlocks the stream; gives all that came. */
export async function readUntil(
  stream: ReadableStream<Uint8Array>,
  ...texts: string[]
): Promise<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let all = "";
  try {
    while (!texts.every((text) => all.includes(text))) {
      const { done, value } = await reader.read();
      if (done) throw new Error(`No ${texts} in ${JSON.stringify(all)}`);
      all += decoder.decode(value, { stream: true });
    }
    return all;
  } finally {
    reader.releaseLock();
  }
}

/** Counts the listeners of a signal from now on. */
export function countListeners(signal: AbortSignal): () => number {
  const listeners: unknown[] = [];
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: unknown[]) => {
    listeners.push(args[1]);
    Reflect.apply(addEventListener, signal, args);
  };
  signal.removeEventListener = (...args: unknown[]) => {
    const index = listeners.indexOf(args[1]);
    if (index >= 0) listeners.splice(index, 1);
    Reflect.apply(removeEventListener, signal, args);
  };
  return () => listeners.length;
}

/** What a child program gave. */
export interface ProgramResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** When a child program that hangs is killed; its trees have ended by then. */
const PROGRAM_LIMIT_MS = 60_000;

/** Runs a program of `tests/testdata/`, with all permissions unless told otherwise. */
export async function runProgram(
  name: string,
  options: {
    flags?: readonly string[];
    args?: readonly string[];
    env?: Record<string, string>;
  } = {},
): Promise<ProgramResult> {
  const { flags = allFlags, args = [], env = {} } = options;
  const path = fromRoot(`tests/testdata/${name}`);
  return await runDeno(["run", "--no-prompt", ...flags, path, ...args], env);
}

/** Runs a subcommand of `deno` in the root of the project. */
export async function runDeno(
  [subcommand = "", ...args]: string[],
  env: Record<string, string> = {},
): Promise<ProgramResult> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [subcommand, ...importMap, ...args],
    cwd: root,
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), PROGRAM_LIMIT_MS);
  const { code, stdout, stderr } = await child.output();
  clearTimeout(timer);
  return { code, stdout: decode(stdout), stderr: decode(stderr) };
}

/** A case of a test: its name, what it does, and whether it cannot run here. */
export type Case = readonly [
  name: string,
  run: () => Promise<void>,
  ignore?: boolean,
];

/**
 * Runs cases as steps of a test, all at once, since each of them waits most of
 * its time. What they leave open is seen at the end of the test.
 */
export async function runAtOnce(
  t: Deno.TestContext,
  cases: readonly Case[],
): Promise<void> {
  await Promise.all(cases.map(([name, fn, ignore = false]) =>
    t.step({
      name,
      fn,
      ignore,
      // Steps that run at once can only be watched together.
      sanitizeOps: false,
      sanitizeResources: false,
      sanitizeExit: false,
    })
  ));
}

/** Does the same with each item, with no more than so many at a time. */
export async function forEachOf<T>(
  items: readonly T[],
  atOnce: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const runAll = async () => {
    for (const item of rest) await run(item);
  };
  await Promise.all(Array.from({ length: atOnce }, runAll));
}

/** Makes each test of the file fail that leaves a descriptor or a zombie. */
export function watchLeaks(): void {
  let known: string[] = [];
  let before: Held;
  Deno.test.beforeAll(async () => {
    // What a few groups leave for all others, such as a guard, is no leak.
    const groups = Array.from({ length: 4 }, () => spawnGroup("true"));
    await Promise.all(groups.map((group) => stopGroup(group)));
    // The children of an earlier file end when they like.
    known = (await textOf("sh", "-c", CHILDREN)).split(" ");
  });
  Deno.test.beforeEach(async () => {
    before = await held(known);
  });
  Deno.test.afterEach(async () => {
    let after = before;
    // The runtime closes some of its own a moment later.
    const isBack = async () => {
      after = await held(known);
      return after.files.length <= before.files.length &&
        after.zombies.length <= before.zombies.length;
    };
    await until("nothing is left open", isBack, 5000).catch(() => {
      assertEquals(after, before);
    });
  });
}

interface Held {
  /** What the open descriptors of this process are. */
  files: string[];
  /** Children that have ended and were not reaped. */
  zombies: string[];
}

/** Prints the pids of the children; `$PPID` is this process. */
const CHILDREN = "cat /proc/$PPID/task/*/children";

/** A child may look at this process without any permission. */
const HELD = `for pid in $(${CHILDREN}); do set -- "$@" /proc/$pid/status; done
grep -ls '^State:.Z' "$@"
echo =
exec readlink /proc/$PPID/fd/*`;

/**
 * What a script prints that looks at this process, `$PPID`. It waits for a line,
 * since the runtime opens a pidfd for it some time after it has started.
 */
export async function lookAtThisProcess(script: string): Promise<string> {
  const child = new Deno.Command("sh", {
    args: ["-c", `read line\n${script}`],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode("\n"));
  const { stdout } = await child.output();
  await writer.close();
  return decode(stdout);
}

async function held(known: string[]): Promise<Held> {
  const text = await lookAtThisProcess(HELD);
  const [zombies = [], files = []] = text.split("=\n").map((part) =>
    part.split("\n").filter((line) => line !== "")
  );
  return {
    files,
    zombies: zombies.filter((path) => !known.includes(path.split("/")[2]!)),
  };
}
