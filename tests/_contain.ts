// Copyright 2026 the @proc/group authors. MIT license.

/** What the tests of contained groups share. */

import {
  canContain,
  type ProcessGroup,
  spawnGroup,
  type SpawnGroupOptions,
} from "../process_group.ts";
import { readUntil, skipIf } from "./_util.ts";

export const isContainable: boolean = await canContain();

/** Options of a test that contains a group. */
export const WAITS: { timeout: number; ignore: boolean } = {
  timeout: 60_000,
  ...skipIf(!isContainable, "PID namespaces cannot be made here"),
};

/** A contained shell, once it has said that its tree stands. */
export async function start(
  script: string,
  options: SpawnGroupOptions = {},
): Promise<ProcessGroup> {
  const group = spawnGroup("sh", ["-c", script], {
    contain: true,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    ...options,
  });
  try {
    await readUntil(group.stdout, "ready\n");
  } catch (error) {
    await group[Symbol.asyncDispose]();
    throw error;
  }
  return group;
}
