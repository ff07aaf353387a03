// Copyright 2026 the @proc/group authors. MIT license.

/** Waits until groups are gone. The first argument chooses the way. */

import { serve } from "../_serve.ts";
import { WAIT_WAYS, type WaitCommand, type Waited } from "../ways/wait.ts";

const start = WAIT_WAYS[Deno.args[0]!]!;
let group: Waited;
let waiting: Promise<unknown> | undefined;

/** Wall-clock time in milliseconds, comparable between processes. */
function wallMs(): number {
  return performance.timeOrigin + performance.now();
}

await serve({
  start(command: WaitCommand) {
    group = start(command);
    return group.pid;
  },
  /** Waits from now on, so that waiting itself can be measured. */
  watch({ members }: { members: number[] }) {
    waiting = group.wait(members);
  },
  async killAndWait({ members }: { members: number[] }) {
    const killedAt = wallMs();
    Deno.kill(-group.pid, "SIGTERM");
    await (waiting ?? group.wait(members));
    const goneAt = wallMs();
    waiting = undefined;
    return { killedAt, goneAt };
  },
  forget: () => group.forget(),
});
