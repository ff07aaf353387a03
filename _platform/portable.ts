// Copyright 2026 the @proc/group authors. MIT license.

/**
 * The implementation that needs no FFI: `Deno.Command` with `detached`, signals
 * by number through `Deno.kill`, and procfs read by a child.
 */

import { delay } from "@std/async/delay";
import { markEnv } from "./marks.ts";
import type {
  Leader,
  Platform,
  ProcessInfo,
  SignalResult,
  Snapshot,
  SpawnRequest,
} from "./platform.ts";
import { readOwnGroup, scanThroughChildren } from "./portable_scan.ts";
import { SharedScan } from "./shared_scan.ts";

/** First pause of a wait that polls; doubles with each round. */
const FIRST_PAUSE_MS = 5;

/** Longest pause of a wait that polls. */
const LONGEST_PAUSE_MS = 250;

/** Exits of leaders that are still to come, so that a wait can end at once. */
const exits = new Map<number, Promise<unknown>>();

const scans = new SharedScan(scanThroughChildren);

let ownGroup = 0;

/** The portable implementation. */
export const portable: Platform = {
  name: "portable",
  holdsIdentity: false,
  ownGroup() {
    ownGroup ||= readOwnGroup();
    return ownGroup;
  },
  spawn(request) {
    return new PortableLeader(request);
  },
  signalGroup(members, signal) {
    return kill(-members[0]!.pgid, signal);
  },
  signalProcess(process, signal) {
    return kill(process.pid, signal);
  },
  scan(query) {
    return scans.request(query);
  },
  ended,
};

/** Signals by number; the sign of a group's id is flipped by the callers. */
function kill(pid: number, signal: Deno.Signal | number): SignalResult {
  try {
    // The types know names only; the runtime takes numbers as well.
    Deno.kill(pid, signal as Deno.Signal);
    return "sent";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "gone";
    if (error instanceof Deno.errors.PermissionDenied) return "denied";
    throw error;
  }
}

/** Signals the process group of a number that the caller chose. */
export function signalGroupNumber(
  pgid: number,
  signal: Deno.Signal | number,
): SignalResult {
  return kill(-pgid, signal);
}

class PortableLeader implements Leader {
  readonly pid: number;
  readonly startTime = 0;
  readonly guarded = false;
  readonly stdin: Leader["stdin"];
  readonly stdout: Leader["stdout"];
  readonly stderr: Leader["stderr"];
  readonly status: Promise<Deno.CommandStatus>;
  #child: Deno.ChildProcess;
  #exited = false;
  #gone = false;

  constructor(request: SpawnRequest) {
    requireRun();
    this.#child = spawnDetached(request);
    this.pid = this.#child.pid;
    this.stdin = request.stdin === "piped" ? this.#child.stdin : null;
    this.stdout = request.stdout === "piped" ? this.#child.stdout : null;
    this.stderr = request.stderr === "piped" ? this.#child.stderr : null;
    this.status = this.#child.status.then((status) => {
      this.#exited = true;
      exits.delete(this.pid);
      return status;
    });
    exits.set(this.pid, this.status);
  }

  signalGroup(signal: Deno.Signal | number): SignalResult {
    if (this.#gone) return "gone";
    const result = kill(-this.pid, signal);
    // The number may belong to anybody from now on.
    if (result === "gone") this.#gone = true;
    return result;
  }

  owns(snapshot: Snapshot): boolean {
    if (!this.#exited) return true;
    // The leader was reaped, so whoever has its pid now is somebody else.
    return !snapshot.processes.some((process) => process.pid === this.pid);
  }

  ref(): void {
    this.#child.ref();
  }

  unref(): void {
    this.#child.unref();
  }

  release(): Promise<void> {
    this.#gone = true;
    return Promise.resolve();
  }
}

/**
 * A group that nobody may signal must not exist, so less than the whole run
 * permission is refused before anything is started.
 */
function requireRun(): void {
  if (Deno.permissions.requestSync({ name: "run" }).state !== "granted") {
    throw new Deno.errors.NotCapable(
      "Requires run access to signal a process group, run again with the --allow-run flag, or add the --allow-ffi flag on Linux",
    );
  }
}

function spawnDetached(request: SpawnRequest): Deno.ChildProcess {
  const { command, args, cwd, clearEnv, env, uid, gid } = request;
  return new Deno.Command(command, {
    args: [...args],
    ...(cwd === undefined ? {} : { cwd }),
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
    clearEnv,
    env: { ...env, ...markEnv(request.group, request.outlive) },
    stdin: request.stdin,
    stdout: request.stdout,
    stderr: request.stderr,
    detached: true,
  }).spawn();
}

/** Only a scan tells whether processes ended; the exit of a leader is known. */
async function ended(
  processes: readonly ProcessInfo[],
  options: { ms: number; round: number; signal: AbortSignal },
): Promise<void> {
  const { ms, round, signal } = options;
  const done = new AbortController();
  const backoff = Math.min(
    FIRST_PAUSE_MS * 2 ** Math.min(round, 10),
    LONGEST_PAUSE_MS,
  );
  const pause: Promise<void> = delay(Math.min(ms, backoff), {
    signal: AbortSignal.any([signal, done.signal]),
  }).catch(() => {
    // The pause was cut short, which is how it ends when something happened.
  });
  const leaders = processes.flatMap(({ pid }) => exits.get(pid) ?? []);
  await Promise.race([pause, ...leaders]);
  done.abort();
}
