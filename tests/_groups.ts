// Copyright 2026 the @proc/group authors. MIT license.

/** Groups to do something with, and one that is there all the time. */

import { assert } from "@std/assert";
import {
  listGroup,
  type ProcessGroup,
  spawnGroup,
  type SpawnGroupOptions,
  stopGroup,
} from "../process_group.ts";
import {
  alive,
  isAlive,
  readUntil,
  stateOf,
  uniqueSleep,
  until,
} from "./_util.ts";

/**
 * Has a server run through all tests of the file: what they start beside it
 * must not look like a leak of any single one.
 */
export function keepServer(): void {
  let server: ProcessGroup;
  Deno.test.beforeAll(() => {
    server = spawnGroup("sleep", [uniqueSleep(90)]);
  });
  Deno.test.afterAll(async () => {
    assert(await isAlive(server.pid));
    await stopGroup(server);
  });
}

/** A shell with two children in its group that says when they stand. */
export function spawnTree(
  options: SpawnGroupOptions = {},
): { group: ProcessGroup; unique: string } {
  const unique = uniqueSleep();
  const group = spawnGroup(
    "sh",
    ["-c", `sleep ${unique} & sleep ${unique} & echo ready; wait`],
    { stdout: "piped", ...options },
  );
  return { group, unique };
}

/** Waits until children of a shell have become as many `sleep`s. */
export async function untilSleeping(
  group: ProcessGroup,
  count: number,
): Promise<void> {
  await until("children run", async () => {
    const members = await listGroup(group);
    return members.filter(({ command }) => command === "sleep").length ===
      count;
  });
}

/**
 * A group of one zombie: its parent has left for another session, and `sleep`
 * reaps nobody. Gives the parent's unique argument.
 */
export async function spawnZombie(): Promise<
  { group: ProcessGroup; parent: string }
> {
  const parent = uniqueSleep(20);
  const group = spawnGroup("sh", [
    "-c",
    `(exec 3>&1; sh -c 'echo $$ >&3' & exec setsid sleep ${parent}) & exit 0`,
  ], { stdout: "piped" });
  const pid = parseInt(await readUntil(group.stdout, "\n"));
  await group.stdout.cancel();
  await until("zombie", async () => await stateOf(pid) === "Z");
  await until("parent", async () => (await alive(parent)).length === 1);
  return { group, parent };
}
