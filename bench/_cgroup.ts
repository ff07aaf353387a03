// Copyright 2026 the @proc/group authors. MIT license.

/** A cgroup of its own for a tree, where version 2 is mounted and writable. */

import { delay } from "@std/async/delay";

/** Where systems mount version 2: alone, or beside version 1. */
const ROOTS = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/** Makes a cgroup; null where that is not possible. */
export function makeCgroup(): string | null {
  for (const root of ROOTS) {
    try {
      Deno.statSync(`${root}/cgroup.procs`);
      return Deno.makeTempDirSync({ dir: root, prefix: "bench-" });
    } catch {
      // Not mounted here, or not writable.
    }
  }
  return null;
}

/** The command that first moves into the cgroup. */
export function inCgroup(
  cgroup: string,
  command: string,
  args: readonly string[],
): [command: string, args: string[]] {
  const script = 'echo $$ >"$0/cgroup.procs" && exec "$@"';
  return ["sh", ["-c", script, cgroup, command, ...args]];
}

/** Removes it; possible only once its zombies are reaped. */
export async function removeCgroup(cgroup: string): Promise<void> {
  for (let i = 0; i < 100; i++) {
    try {
      Deno.removeSync(cgroup);
      return;
    } catch {
      await delay(50);
    }
  }
}
