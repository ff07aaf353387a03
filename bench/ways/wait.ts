// Copyright 2026 the @proc/group authors. MIT license.

/** Ways to learn that a process group is gone. */

import { delay } from "@std/async/delay";
import { spawnGroup, waitGone } from "../../mod.ts";
import { inCgroup, makeCgroup, removeCgroup } from "../_cgroup.ts";
import {
  becomeSubreaper,
  readStats,
  reapMember,
  waitForPids,
} from "../_libc.ts";

/** What to start. */
export interface WaitCommand {
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
}

/** A group that was started, with its way of waiting. */
export interface Waited {
  readonly pid: number;
  /** Waits until it is gone; some ways must be told the members. */
  wait(members: number[]): Promise<unknown>;
  /** Lets go of what is left when all processes have ended. */
  forget(): Promise<unknown>;
}

/** Pause between two scans, in milliseconds. */
const SCAN_PAUSE_MS = 10;

const SILENT = { stdin: "null", stdout: "null", stderr: "null" } as const;

/** A group of `Deno.Command`, and how to wait for it. */
type Wait = (
  pid: number,
  status: Promise<unknown>,
  members: number[],
) => Promise<unknown>;

/** All ways by name. */
export const WAIT_WAYS: Record<string, (command: WaitCommand) => Waited> = {
  "status": detached((_pid, status) => status),
  "signal 0, 1 ms": detached((pid) => poll(pid, 1, 1)),
  "signal 0, 10 ms": detached((pid) => poll(pid, 10, 10)),
  "signal 0, 100 ms": detached((pid) => poll(pid, 100, 100)),
  "signal 0, backoff": detached((pid) => poll(pid, 1, 500)),
  "procfs, Deno": detached((pid) => scanUntilGone(pid, readWithDeno)),
  "procfs, libc": detached((pid) => scanUntilGone(pid, readStats)),
  "pidfds": detached((_pid, _status, members) => waitForPids(members)),
  "subreaper": (command) => {
    becomeSubreaper();
    return detached(reapUntilGone)(command);
  },
  "cgroup.events": startInCgroup,
  "waitGone": startGroup,
};

function detached(wait: Wait): (command: WaitCommand) => Waited {
  return ({ command, args, env }) => {
    const options = { args, env, ...SILENT, detached: true };
    const { pid, status } = new Deno.Command(command, options).spawn();
    return {
      pid,
      wait: (members) => wait(pid, status, members),
      forget: () => status,
    };
  };
}

function startGroup({ command, args, env }: WaitCommand): Waited {
  const group = spawnGroup(command, args, { env, ...SILENT });
  return {
    pid: group.pid,
    wait: () => waitGone(group),
    forget: () => group[Symbol.asyncDispose](),
  };
}

/** The leader moves into a cgroup of its own before it becomes the command. */
function startInCgroup({ command, args, env }: WaitCommand): Waited {
  const cgroup = makeCgroup();
  if (cgroup === null) throw new Error("Cannot make a cgroup");
  const [first, rest] = inCgroup(cgroup, command, args);
  const start = detached(() => watchCgroup(cgroup));
  const started = start({ command: first, args: rest, env });
  return {
    ...started,
    async forget() {
      await started.forget();
      await removeCgroup(cgroup);
    },
  };
}

/** Asks the kernel with signal 0; zombies count as there. */
async function poll(
  pid: number,
  firstMs: number,
  longestMs: number,
): Promise<void> {
  for (let ms = firstMs;; ms = Math.min(2 * ms, longestMs)) {
    try {
      // The types know names only; the runtime takes numbers as well.
      Deno.kill(-pid, 0 as unknown as Deno.Signal);
    } catch {
      return;
    }
    await delay(ms);
  }
}

async function scanUntilGone(
  pid: number,
  read: () => Iterable<[number, string]>,
): Promise<void> {
  while (hasMember(pid, read())) await delay(SCAN_PAUSE_MS);
}

function hasMember(
  session: number,
  stats: Iterable<[number, string]>,
): boolean {
  for (const [, text] of stats) {
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ", 4);
    const [state, , , sid] = fields;
    if (Number(sid) === session && state !== "Z" && state !== "X") return true;
  }
  return false;
}

function* readWithDeno(): Generator<[number, string]> {
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      yield [Number(name), Deno.readTextFileSync(`/proc/${name}/stat`)];
    } catch {
      // It ended while it was looked at.
    }
  }
}

/** Deno reaps the leader; those that were adopted are reaped here. */
async function reapUntilGone(
  pid: number,
  status: Promise<unknown>,
): Promise<void> {
  await status;
  for (;;) {
    const result = reapMember(pid);
    if (result === "none") return;
    if (result === "running") await delay(5);
  }
}

async function watchCgroup(cgroup: string): Promise<void> {
  const file = `${cgroup}/cgroup.events`;
  using watcher = Deno.watchFs(file);
  const isEmpty = () => Deno.readTextFileSync(file).includes("populated 0");
  if (isEmpty()) return;
  for await (const _ of watcher) {
    if (isEmpty()) return;
  }
}
