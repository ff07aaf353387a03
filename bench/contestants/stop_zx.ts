// Copyright 2026 the @proc/group authors. MIT license.

/** Stops a tree with zx, which starts a shell around each command. */

import { serve, type StartArgs, type StopArgs } from "../_serve.ts";
import { peer } from "../_peers.ts";

const { $ } = await import(peer("zx"));
// deno-lint-ignore no-explicit-any
let promise: any;

await serve({
  start({ command, args, env }: StartArgs) {
    promise = $({
      env: { ...Deno.env.toObject(), ...env },
      stdio: "ignore",
      nothrow: true,
      quiet: true,
    })`${command} ${args}`;
    return promise.pid;
  },
  async stop({ killSignal }: StopArgs) {
    const startedAt = performance.now();
    await promise.kill(killSignal);
    await promise;
    return performance.now() - startedAt;
  },
});
