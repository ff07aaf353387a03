// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Stops a tree with GNU timeout(1): a signal to it does at any time what the
 * end of its time does.
 */

import { serve, type StartArgs, type StopArgs } from "../_serve.ts";

let child: Deno.ChildProcess;

await serve({
  start({ command, args, env, graceMs }: StartArgs) {
    child = new Deno.Command("timeout", {
      args: ["-k", `${graceMs / 1000}`, "60", command, ...args],
      env,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    return child.pid;
  },
  async stop({ killSignal }: StopArgs) {
    const startedAt = performance.now();
    child.kill(killSignal);
    await child.status;
    return performance.now() - startedAt;
  },
});
