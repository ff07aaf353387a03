// Copyright 2026 the @proc/group authors. MIT license.

/** Ways to have many programs at once. */

import { spawnGroup, stopGroup, waitGone } from "../../mod.ts";

/** A started program: how to wait for its end and how to stop it. */
export interface Started {
  gone(): Promise<unknown>;
  stop(): Promise<unknown>;
}

const SILENT = { stdin: "null", stdout: "null", stderr: "null" } as const;

/** All ways by name. The first is the baseline. */
export const MANY_WAYS: Record<
  string,
  (env: Record<string, string>) => Started
> = {
  "Deno.Command"(env) {
    const options = { args: ["60"], env, ...SILENT };
    const child = new Deno.Command("sleep", options).spawn();
    return {
      gone: () => child.status,
      stop() {
        child.kill();
        return child.status;
      },
    };
  },
  spawnGroup(env) {
    const group = spawnGroup("sleep", ["60"], { env, ...SILENT });
    return { gone: () => waitGone(group), stop: () => stopGroup(group) };
  },
};
