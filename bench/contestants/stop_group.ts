// Copyright 2026 the @proc/group authors. MIT license.

/** Stops a tree with this package. */

import {
  killGroup,
  type ProcessGroup,
  spawnGroup,
  stopGroup,
  waitGone,
} from "../../mod.ts";
import { serve, type StartArgs, type StopArgs } from "../_serve.ts";

let group: ProcessGroup;

await serve({
  start({ command, args, env }: StartArgs) {
    group = spawnGroup(command, args, {
      env,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    });
    return group.pid;
  },
  async stop({ killSignal, graceMs }: StopArgs) {
    const startedAt = performance.now();
    await stopGroup(group, { killSignal, graceMs });
    return performance.now() - startedAt;
  },
  /** What the C program on pidfds does: one signal, and wait. */
  async killAndWait({ killSignal }: StopArgs) {
    const startedAt = performance.now();
    killGroup(group, killSignal);
    await waitGone(group);
    return performance.now() - startedAt;
  },
  async forget() {
    await group[Symbol.asyncDispose]();
  },
});
