// Copyright 2026 the @proc/group authors. MIT license.

/** Stops a tree with execa's `killDescendants`. */

import { serve, type StartArgs, type StopArgs } from "../_serve.ts";
import { peer } from "../_peers.ts";

const { execa } = await import(peer("execa"));
// deno-lint-ignore no-explicit-any
let subprocess: any;

await serve({
  start({ command, args, env, graceMs }: StartArgs) {
    subprocess = execa(command, args, {
      env,
      stdio: "ignore",
      reject: false,
      killDescendants: true,
      forceKillAfterDelay: graceMs,
    });
    return subprocess.pid;
  },
  async stop({ killSignal }: StopArgs) {
    const startedAt = performance.now();
    subprocess.kill(killSignal);
    await subprocess;
    return performance.now() - startedAt;
  },
});
