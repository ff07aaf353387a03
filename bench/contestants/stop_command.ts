// Copyright 2026 the @proc/group authors. MIT license.

/** Stops a tree with `Deno.Command` alone. */

import { serve, type StartArgs, type StopArgs } from "../_serve.ts";

let child: Deno.ChildProcess;

await serve({
  start({ command, args, env }: StartArgs) {
    child = new Deno.Command(command, {
      args,
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
