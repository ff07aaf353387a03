// Copyright 2026 the @proc/group authors. MIT license.

/** What the tests of the implementation on libc share. */

import { linux } from "../_platform/linux.ts";
import type {
  Leader,
  ProcessInfo,
  Snapshot,
  SpawnRequest,
} from "../_platform/platform.ts";
import { readProcess } from "../_platform/procfs.ts";
import { isPortable, readUntil, skipIf } from "./_util.ts";

/** Options of a test that takes the implementation on libc. */
export const FFI: { timeout: number; ignore: boolean } = {
  timeout: 60_000,
  ...skipIf(isPortable, "it needs FFI"),
};

/** Group of the leader that was started last; nobody else has its number. */
export let lastGroup = 1_000_000;

/** A leader that is started on libc, with nothing to read or write. */
export function start(
  command: string,
  args: string[] = [],
  options: Partial<SpawnRequest> = {},
): Leader {
  return linux.spawn({
    command,
    args,
    cwd: undefined,
    clearEnv: false,
    env: {},
    uid: undefined,
    gid: undefined,
    stdin: "null",
    stdout: "null",
    stderr: "null",
    group: ++lastGroup,
    outlive: false,
    ...options,
  });
}

/** A running leader that has said "ready". */
export async function startReady(script: string): Promise<Leader> {
  const leader = start("sh", ["-c", script], { stdout: "piped" });
  await readUntil(leader.stdout!, "ready");
  return leader;
}

/** Kills a leader and lets go of it. */
export async function end(leader: Leader): Promise<void> {
  leader.signalGroup("SIGKILL");
  await leader.status;
  await leader.stdout?.cancel();
  await leader.release();
}

/** The process as procfs shows it. */
export function look(pid: number): ProcessInfo {
  const process = readProcess(pid);
  if (process === null) throw new Error(`There is no process ${pid}`);
  return process;
}

/** A snapshot that shows these processes. */
export function snapshotOf(
  processes: ProcessInfo[],
  marks: [number, number[]][] = [],
): Snapshot {
  return {
    processes,
    marks: new Map(marks),
    members: "procfs",
    escapees: "environ",
  };
}
