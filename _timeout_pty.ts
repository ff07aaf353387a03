// Copyright 2026 the @proc/group authors. MIT license.

/** How the timeout command runs a command on a terminal of its own. */

import { libcAvailable } from "./_platform/libc.ts";
import { attach, userSize } from "./_pty_attach.ts";
import { killGroup } from "./process_group.ts";
import { type Pty, spawnPty } from "./pty.ts";
import type { TimeoutRun } from "./_timeout_args.ts";
import type { PtyRun } from "./_timeout_job.ts";

/** Starts the command and connects its terminal with standard input and output. */
export function startOnPty(request: TimeoutRun): PtyRun {
  const pty = spawnPty(request.command, [...request.args], {
    outlive: request.keepLeftovers,
    contain: request.contain,
    ...(libcAvailable() ? userSize() : {}),
  });
  return { pty, status: connect(pty) };
}

async function connect(pty: Pty): Promise<Deno.CommandStatus> {
  try {
    // The command passes signals on itself.
    await attach(pty, { handlesSignals: false });
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
    // Nobody reads any more, which a pipe would have told the command.
    killGroup(pty, "SIGHUP");
  }
  return await pty.status;
}
