// Copyright 2026 the @proc/group authors. MIT license.

import { linux } from "./linux.ts";
import type { Leader, SpawnRequest } from "./platform.ts";
import { PtyDevice, type Size } from "./pty_device.ts";
import { ReactorGroup } from "./reactor.ts";

/** The leader of a session, and this process's side of its terminal. */
export interface PtyLeader {
  readonly leader: Leader;
  readonly device: PtyDevice;
}

/**
 * Starts a command on a new terminal. The session, the size and the settings
 * are there before the command runs, and nothing stays open if it cannot.
 */
export function spawnOnPty(
  request: SpawnRequest,
  terminal: { readonly size: Size; readonly echo: boolean },
): PtyLeader {
  const reactor = new ReactorGroup();
  const device = new PtyDevice(reactor, terminal.size, terminal.echo);
  try {
    const { path } = device;
    return {
      leader: linux.spawn({ ...request, terminal: { path, reactor } }),
      device,
    };
  } catch (error) {
    device.close();
    throw error;
  }
}
