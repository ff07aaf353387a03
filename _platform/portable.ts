// Copyright 2026 the @proc/group authors. MIT license.

/**
 * The implementation that needs no FFI: `Deno.Command` with `detached`, signals
 * by number through `Deno.kill`, and procfs read by a child.
 */

import { delay } from "@std/async/delay";
import { containThroughShell } from "./contain.ts";
import { childStatus } from "./child_status.ts";
import { type GuardHold, guardRuns, holdGuard } from "./guard.ts";
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

/** First pause between two scans of a wait, in milliseconds; doubles each round. */
const FIRST_PAUSE_MS = 5;

/** Longest pause between two scans. */
const LONGEST_PAUSE_MS = 1000;

/** Pause between two looks with signal 0. */
const PROBE_PAUSE_MS = 50;

/** Succeeds if `$1` is a program: a path, or a name in PATH. */
const LOOK_UP =
  'case $1 in */*) [ -f "$1" ] && [ -x "$1" ] ;; *) command -v "$1" ;; esac';

/** Exits of leaders that are still to come, so that a wait can end at once. */
const exits = new Map<number, Promise<unknown>>();

/** When the scan of a snapshot began, on the clock of `performance.now()`. */
const begun = new WeakMap<Snapshot, number>();

const scans = new SharedScan(async (query) => {
  const time = performance.now();
  const snapshot = await scanThroughChildren(query);
  begun.set(snapshot, time);
  return snapshot;
});

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
  readonly stdin: Leader["stdin"];
  readonly stdout: Leader["stdout"];
  readonly stderr: Leader["stderr"];
  readonly status: Promise<Deno.CommandStatus>;
  #child: Deno.ChildProcess;
  /** Null for a group that outlives this process. */
  #guard: GuardHold | null;
  /** When the leader's exit was noticed, on the clock of `performance.now()`. */
  #exitedAt = Infinity;
  #gone = false;

  constructor(wanted: SpawnRequest) {
    requireRun();
    const request = wanted.contain ? containThroughShell(wanted) : wanted;
    // For a command that is not there no guard is started: its end would still
    // be due when the error is thrown.
    const early = request.outlive || guardRuns("portable") || isThere(request)
      ? null
      : spawnDetached(request);
    // A guard that came after the group would leave it behind if this process
    // died in between.
    this.#guard = request.outlive ? null : holdGuard("portable");
    try {
      this.#child = early ?? spawnDetached(request);
    } catch (error) {
      this.#guard?.standDown();
      throw error;
    }
    this.pid = this.#child.pid;
    this.#guard?.announce(this.pid);
    this.stdin = request.stdin === "piped" ? this.#child.stdin : null;
    this.stdout = request.stdout === "piped" ? this.#child.stdout : null;
    this.stderr = request.stderr === "piped" ? this.#child.stderr : null;
    this.status = childStatus(this.#child).then((status) => {
      this.#exitedAt = performance.now();
      exits.delete(this.pid);
      return status;
    });
    exits.set(this.pid, this.status);
  }

  isGuarded(): boolean {
    return this.#guard?.isGuarded() ?? false;
  }

  signalGroup(signal: Deno.Signal | number): SignalResult {
    if (this.#gone) return "gone";
    const result = kill(-this.pid, signal);
    // The number may belong to anybody from now on.
    if (result === "gone") this.#gone = true;
    return result;
  }

  owns(snapshot: Snapshot): boolean {
    // A scan that began before the exit may well show the leader itself.
    if ((begun.get(snapshot) ?? Infinity) <= this.#exitedAt) return true;
    // The leader was reaped, so whoever has its pid now is somebody else.
    return !snapshot.processes.some((process) => process.pid === this.pid);
  }

  ref(): void {
    unlessClosed(() => this.#child.ref());
  }

  unref(): void {
    unlessClosed(() => this.#child.unref());
  }

  async release(): Promise<void> {
    this.#gone = true;
    await this.#guard?.standDown();
  }
}

/** Calls what Deno rejects when a pipe of the child is closed already. */
function unlessClosed(call: () => void): void {
  try {
    call();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}

/**
 * A group that nobody may signal must not exist, so less than the whole run
 * permission is refused before anything is started.
 */
function requireRun(): void {
  if (Deno.permissions.requestSync({ name: "run" }).state !== "granted") {
    throw new Deno.errors.NotCapable(
      "Requires run access to all programs to signal a process group, run again with the --allow-run flag, or on Linux, without uid and gid, with --allow-ffi as well",
    );
  }
}

/** Whether there seems to be such a program; a look that takes about 1 ms. */
function isThere({ command, cwd, env, clearEnv }: SpawnRequest): boolean {
  try {
    const { success } = new Deno.Command("/bin/sh", {
      args: ["-c", LOOK_UP, "sh", command],
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...env },
      clearEnv,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).outputSync();
    return success;
  } catch {
    // No shell, or no such directory.
    return false;
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

/**
 * Pauses until the next scan, longer with each round. In between, signal 0
 * tells at little cost when all are reaped, and a leader's exit is known.
 */
async function ended(
  processes: readonly ProcessInfo[],
  options: { ms: number; round: number; signal: AbortSignal },
): Promise<void> {
  const done = new AbortController();
  const signal = AbortSignal.any([options.signal, done.signal]);
  const backoff = FIRST_PAUSE_MS * 2 ** Math.min(options.round, 10);
  const ms = Math.min(options.ms, backoff, LONGEST_PAUSE_MS);
  const leaders = processes.flatMap(({ pid }) => exits.get(pid) ?? []);
  await Promise.race([pauseWhileThere(processes, ms, signal), ...leaders]);
  done.abort();
}

async function pauseWhileThere(
  processes: readonly ProcessInfo[],
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  const endAt = performance.now() + ms;
  let left = ms;
  while (left > 0 && !signal.aborted) {
    const pause: Promise<void> = delay(Math.min(left, PROBE_PAUSE_MS), {
      signal,
    });
    await pause.catch(() => {
      // Cut short, because something happened.
    });
    if (processes.every(({ pid }) => kill(pid, 0) === "gone")) return;
    left = endAt - performance.now();
  }
}
