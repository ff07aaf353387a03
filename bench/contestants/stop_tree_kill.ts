// Copyright 2026 the @proc/group authors. MIT license.

/** Stops a tree with tree-kill, which looks for children with ps(1). */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { serve, type StartArgs, type StopArgs } from "../_serve.ts";
import { peer } from "../_peers.ts";

const { default: treeKill } = await import(peer("tree-kill"));
const kill: (pid: number, signal: string) => Promise<void> = promisify(
  treeKill,
);
let child: ChildProcess;
let exit: Promise<unknown>;

await serve({
  start({ command, args, env }: StartArgs) {
    child = spawn(command, args, {
      env: { ...Deno.env.toObject(), ...env },
      stdio: "ignore",
    });
    exit = once(child, "exit");
    return child.pid;
  },
  async stop({ killSignal }: StopArgs) {
    const startedAt = performance.now();
    await kill(child.pid!, killSignal);
    await exit;
    return performance.now() - startedAt;
  },
});
