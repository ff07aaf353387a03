// Copyright 2026 the @proc/group authors. MIT license.

/** Ways to signal a tree, from one process to all of it. */

import { killGroup, type ProcessGroup, spawnGroup } from "../../mod.ts";
import { killpg, pidfdOpen, pidfdSignalGroup } from "../_libc.ts";
import type { Tree } from "../_trees.ts";

/** Sends one signal. */
export type Send = (signal: SignalName) => unknown;

/** One of the signals that are sent here. */
export type SignalName = keyof typeof NUMBERS;

/** Linux signal numbers of what is sent here. */
const NUMBERS = { SIGCONT: 18, SIGSTOP: 19, SIGKILL: 9 } as const;

const SILENT = { stdin: "null", stdout: "null", stderr: "null" } as const;

/** The same tree twice, since a group of this package is a tree of its own. */
export interface SignalTargets extends AsyncDisposable {
  readonly child: Deno.ChildProcess;
  readonly group: ProcessGroup;
}

/** Starts a tree with `Deno.Command` and one with this package. */
export function startTargets(
  { command, args }: Pick<Tree, "command" | "args">,
  env: Record<string, string>,
): SignalTargets {
  const child = new Deno.Command(command, {
    args: [...args],
    env,
    ...SILENT,
    detached: true,
  }).spawn();
  const group = spawnGroup(command, [...args], { env, ...SILENT });
  return {
    child,
    group,
    async [Symbol.asyncDispose]() {
      Deno.kill(-child.pid, "SIGKILL");
      await child.status;
      await group[Symbol.asyncDispose]();
    },
  };
}

/** All ways by name. The first is the baseline. */
export function signalWays(
  { child, group }: SignalTargets,
): Record<string, Send> {
  const pgid = child.pid;
  const pidfd = pidfdOpen(pgid);
  return {
    "child.kill()": (signal) => child.kill(signal),
    "killGroup()": (signal) => killGroup(group, signal),
    "Deno.kill(-pgid)": (signal) => Deno.kill(-pgid, signal),
    "FFI killpg(3)": (signal) => killpg(pgid, NUMBERS[signal]),
    "FFI pidfd of the group": (signal) =>
      pidfdSignalGroup(pidfd, NUMBERS[signal]),
    "kill(1)": (signal) =>
      run("kill", ["-s", signal.slice(3), "--", `-${pgid}`]),
    "walk of ps(1)": (signal) => walkPs(pgid, signal),
    "walk of procfs": (signal) => walkProcfs(pgid, signal),
  };
}

async function run(command: string, args: string[]): Promise<string> {
  const { stdout } = await new Deno.Command(command, { args }).output();
  return new TextDecoder().decode(stdout);
}

/** Signals all descendants, one by one, as ps(1) tells parents. */
async function walkPs(root: number, signal: Deno.Signal): Promise<void> {
  const text = await run("ps", ["-A", "-o", "pid=,ppid="]);
  const lines = text.trimEnd().split("\n");
  signalDescendants(
    root,
    lines.map((line) => line.trim().split(/\s+/).map(Number)),
    signal,
  );
}

/** The same, as procfs tells parents through Deno's file API. */
function walkProcfs(root: number, signal: Deno.Signal): void {
  const pairs: number[][] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const text = Deno.readTextFileSync(`/proc/${name}/stat`);
      const rest = text.slice(text.lastIndexOf(")") + 4);
      pairs.push([Number(name), parseInt(rest)]);
    } catch {
      // It ended while it was looked at.
    }
  }
  signalDescendants(root, pairs, signal);
}

function signalDescendants(
  root: number,
  pairs: readonly number[][],
  signal: Deno.Signal,
): void {
  const children = Map.groupBy(pairs, ([, ppid]) => ppid);
  const queue = [root];
  for (const pid of queue) {
    Deno.kill(pid, signal);
    queue.push(...(children.get(pid) ?? []).map(([child]) => child!));
  }
}
