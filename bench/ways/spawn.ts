// Copyright 2026 the @proc/group authors. MIT license.

/** Ways to start a program. */

import { spawnGroup } from "../../mod.ts";

/** Waits until what was started has ended. */
export type Ended = () => Promise<unknown>;

const SILENT = { stdin: "null", stdout: "null", stderr: "null" } as const;

/** All ways by name. The first is the baseline. */
export const SPAWN_WAYS: Record<
  string,
  (command: string, args: string[]) => Ended
> = {
  "Deno.Command"(command, args) {
    const child = new Deno.Command(command, { args, ...SILENT }).spawn();
    return () => child.status;
  },
  "Deno.Command, detached"(command, args) {
    const options = { args, ...SILENT, detached: true };
    const child = new Deno.Command(command, options).spawn();
    return () => child.status;
  },
  "setsid(1)"(command, args) {
    const options = { args: [command, ...args], ...SILENT };
    const child = new Deno.Command("setsid", options).spawn();
    return () => child.status;
  },
  spawnGroup(command, args) {
    const group = spawnGroup(command, args, SILENT);
    return async () => {
      await group.status;
      await group[Symbol.asyncDispose]();
    };
  },
};
