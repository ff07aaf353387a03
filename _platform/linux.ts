// Copyright 2026 the @proc/group authors. MIT license.

/**
 * The implementation for Linux where FFI is granted: programs are started
 * without a fork of this process, waited for without polling, and signalled
 * through descriptors that no other process can get into.
 */

import { type GuardHold, holdGuard } from "./guard.ts";
import { libc, libcAvailable } from "./libc.ts";
import { bootTicks, knowBirth } from "./linux_birth.ts";
import { LinuxLeader } from "./linux_leader.ts";
import { spawnChild, type SpawnedChild } from "./linux_spawn.ts";
import { ended } from "./linux_wait.ts";
import {
  isKnownSame,
  openVerified,
  signalNumbered,
  signalPidfd,
  signalPidfdGroup,
} from "./pidfd.ts";
import type {
  Leader,
  Platform,
  ProcessInfo,
  SignalResult,
  SpawnRequest,
} from "./platform.ts";
import { hasProcfs, scanProcfs } from "./procfs.ts";
import { ReactorGroup } from "./reactor.ts";
import { SharedScan } from "./shared_scan.ts";
import { signalNumber } from "./signals.ts";
import { isLive } from "./stat.ts";

const scans = new SharedScan(scanProcfs);

/** Undefined before it was looked at. */
let procfs: boolean | undefined;

/** Whether this implementation can be used now. Never asks for a permission. */
export function linuxAvailable(): boolean {
  return libcAvailable() && (procfs ??= hasProcfs());
}

/** The implementation on libc. */
export const linux: Platform = {
  name: "linux",
  holdsIdentity: true,
  ownGroup: () => libc().getpgid(0),
  spawn,
  signalGroup,
  signalProcess,
  scan: (query) => scans.request(query),
  ended,
};

function spawn(request: SpawnRequest): Leader {
  // A guard that came after the group would leave it behind if this process
  // died in between.
  const guard = request.outlive ? null : holdGuard("linux");
  const from = bootTicks();
  const child = spawnOrStandDown(request, guard);
  const to = bootTicks();
  guard?.announce(child.pid, to);
  const born = knowBirth(child.pid, { from, to });
  // In a sandbox procfs may go by another clock.
  if (born.to !== to && born.to !== Infinity) {
    guard?.announce(child.pid, born.to);
  }
  return new LinuxLeader(child, {
    group: request.group,
    guard,
    reactor: request.terminal?.reactor ?? new ReactorGroup(),
    born,
  });
}

function spawnOrStandDown(
  request: SpawnRequest,
  guard: GuardHold | null,
): SpawnedChild {
  try {
    return spawnChild(request);
  } catch (error) {
    guard?.standDown();
    throw error;
  }
}

/**
 * One signal to a group that nobody here has started. Its own leader holds its
 * number while it lives, else each member is signalled by itself.
 */
function signalGroup(
  members: readonly ProcessInfo[],
  signal: Deno.Signal | number,
): SignalResult {
  const number = signalNumber(signal);
  const leader = members.find((member) =>
    member.pid === member.pgid && isLive(member)
  );
  const result = leader && signalThroughLeader(leader, number);
  if (result && result !== "gone") return result;
  const results = members.map((member) => signalProcess(member, number));
  return results.find((result) => result === "sent") ??
    results.find((result) => result === "denied") ?? "gone";
}

function signalThroughLeader(
  leader: ProcessInfo,
  signal: number,
): SignalResult {
  return withPidfd(
    leader,
    (pidfd) =>
      signalPidfdGroup(pidfd, signal) ?? signalNumbered(-leader.pid, signal),
    () => signalNumbered(-leader.pid, signal),
  );
}

function signalProcess(
  process: ProcessInfo,
  signal: Deno.Signal | number,
): SignalResult {
  const number = signalNumber(signal);
  // Signal 0 does no harm to anybody.
  if (number === 0) return signalNumbered(process.pid, number);
  return withPidfd(
    process,
    (pidfd) => signalPidfd(pidfd, number),
    () => signalNumbered(process.pid, number),
  );
}

/**
 * Does something to this very process: through a pidfd, or by its number where
 * pidfds are refused, right after its start time was looked at.
 */
function withPidfd(
  process: ProcessInfo,
  throughPidfd: (pidfd: number) => SignalResult,
  byNumber: () => SignalResult,
): SignalResult {
  const pidfd = openVerified(process);
  if (pidfd === "gone") return "gone";
  if (pidfd === null) return isKnownSame(process) ? byNumber() : "gone";
  try {
    return throughPidfd(pidfd);
  } finally {
    libc().close(pidfd);
  }
}
