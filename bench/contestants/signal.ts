// Copyright 2026 the @proc/group authors. MIT license.

/** Signals trees in every way that there is from within Deno. */

import { inCgroup, makeCgroup, removeCgroup } from "../_cgroup.ts";
import { serve, type StartArgs } from "../_serve.ts";
import {
  type Send,
  type SignalName,
  type SignalTargets,
  signalWays,
  startTargets,
} from "../ways/signal.ts";

let targets: SignalTargets;
let ways: Record<string, Send>;
let cgroup: string | null = null;
let child: Deno.ChildProcess | undefined;

await serve({
  start({ command, args, env }: StartArgs) {
    targets = startTargets({ command, args }, env);
    ways = signalWays(targets);
    return {
      ways: Object.keys(ways),
      pids: [targets.child.pid, targets.group.pid],
    };
  },
  async send({ way, signal }: { way: string; signal: SignalName }) {
    const startedAt = performance.now();
    await ways[way]!(signal);
    return performance.now() - startedAt;
  },
  /** A tree in a cgroup of its own; false where none can be made. */
  startInCgroup({ command, args, env }: StartArgs) {
    cgroup = makeCgroup();
    if (cgroup === null) return false;
    const [first, rest] = inCgroup(cgroup, command, args);
    const options = { args: rest, env, stdin: "null", stdout: "null" } as const;
    child = new Deno.Command(first, options).spawn();
    return true;
  },
  async killCgroup() {
    const startedAt = performance.now();
    Deno.writeTextFileSync(`${cgroup}/cgroup.kill`, "1");
    const ms = performance.now() - startedAt;
    await child!.status;
    return ms;
  },
  removeCgroup: () => removeCgroup(cgroup!),
  stop: () => targets[Symbol.asyncDispose](),
});
