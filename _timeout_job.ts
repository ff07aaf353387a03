// Copyright 2026 the @proc/group authors. MIT license.

/** How the timeout command starts what it runs, signals it and stops it. */

import { delay } from "@std/async/delay";
import { childStatus } from "./_platform/child_status.ts";
import type { ProcessInfo } from "./_platform/platform.ts";
import { handleOf } from "./_registry.ts";
import { killGroup, type ProcessGroup, spawnGroup } from "./process_group.ts";
import type { Pty } from "./pty.ts";
import type { TimeoutRun } from "./_timeout_args.ts";

/** What a stop did. */
export interface Stopped {
  /** Whether SIGKILL was sent. */
  readonly forced: boolean;
  /** Who was there to be stopped, as far as it was looked at. */
  readonly seen: readonly Pick<ProcessInfo, "pid" | "command">[];
  /** Who could not be ended. */
  readonly survivors: readonly Pick<ProcessInfo, "pid" | "command">[];
}

/** The running command, in a group of its own or in the foreground. */
export interface Job {
  /** Process id of the command itself. */
  readonly pid: number;
  /** Resolves when the command itself has exited. */
  readonly status: Promise<Deno.CommandStatus>;
  /** One signal; a no-op when nobody is there any more. */
  signal(signal: Deno.Signal): void;
  /**
   * Signal, grace period, SIGKILL; bounded. A later call can hasten it. Who
   * dies of the first signal is seen only where `looksFirst` is true.
   */
  stop(
    signal: Deno.Signal,
    graceMs: number,
    looksFirst?: boolean,
  ): Promise<Stopped>;
}

/** How long to wait for the end of a command that got SIGKILL. */
const KILL_WAIT_MS = 2000;

/** Stands for "never" where a finite number is needed: 30 years. */
const NEVER_MS = 1e12;

/** What starts the command on a terminal; loaded only where it is needed. */
export type PtyStarter = (request: TimeoutRun) => PtyRun;

/** The command on a terminal, and its end. */
export interface PtyRun {
  readonly pty: Pty;
  /** Resolves after the last byte was written. */
  readonly status: Promise<Deno.CommandStatus>;
}

/** Starts the command. Throws what `Deno.Command` throws. */
export function startJob(
  request: TimeoutRun,
  startPty: PtyStarter | null,
): Job {
  if (request.foreground) return new ForegroundJob(request);
  if (startPty === null) return new GroupJob(startGroup(request));
  const { pty, status } = startPty(request);
  return new GroupJob(pty, status);
}

/** Calls `action` after any time, unless the function that it gives was called. */
export function after(ms: number, action: () => void): () => void {
  const timer = new AbortController();
  if (ms !== Infinity) {
    // Unlike setTimeout, this takes more than 24.8 days.
    const elapsed: Promise<void> = delay(ms, { signal: timer.signal });
    elapsed.then(action, () => {
      // It was called off.
    });
  }
  return () => timer.abort();
}

function startGroup(request: TimeoutRun): ProcessGroup {
  return spawnGroup(request.command, [...request.args], {
    stdin: isBackgroundOfTerminal() ? "null" : "inherit",
    outlive: request.keepLeftovers,
    contain: request.contain,
  });
}

/** The command as leader of a session, and all that it starts. */
class GroupJob implements Job {
  readonly status: Promise<Deno.CommandStatus>;
  readonly #group: ProcessGroup | Pty;

  constructor(
    group: ProcessGroup | Pty,
    status: Promise<Deno.CommandStatus> = group.status,
  ) {
    this.#group = group;
    this.status = status;
  }

  get pid(): number {
    return this.#group.pid;
  }

  signal(signal: Deno.Signal): void {
    try {
      killGroup(this.#group, signal);
    } catch (error) {
      ignoreDenied(error);
    }
  }

  async stop(
    killSignal: Deno.Signal,
    graceMs: number,
    looksFirst: boolean = false,
  ): Promise<Stopped> {
    const { report, seen } = await handleOf(this.#group)!.stop({
      killSignal,
      graceMs: Math.min(graceMs, NEVER_MS),
      escapees: "stop",
      looksFirst,
    });
    return { forced: report.forced, seen, survivors: report.survivors };
  }
}

/** The command alone, in this program's own session and process group. */
class ForegroundJob implements Job {
  readonly status: Promise<Deno.CommandStatus>;
  readonly #child: Deno.ChildProcess;
  readonly #command: string;
  #exited = false;

  constructor(request: TimeoutRun) {
    this.#command = request.command;
    this.#child = new Deno.Command(request.command, {
      args: [...request.args],
      stdin: "inherit",
      stdout: "inherit",
      stderr: "inherit",
    }).spawn();
    this.status = childStatus(this.#child).then((status) => {
      this.#exited = true;
      return status;
    });
  }

  get pid(): number {
    return this.#child.pid;
  }

  signal(signal: Deno.Signal): void {
    if (this.#exited) return;
    try {
      this.#child.kill(signal);
    } catch (error) {
      // It may have exited without this being known yet: a TypeError.
      if (!(error instanceof TypeError)) ignoreDenied(error);
    }
  }

  async stop(killSignal: Deno.Signal, graceMs: number): Promise<Stopped> {
    if (this.#exited) return { forced: false, seen: [], survivors: [] };
    this.signal(killSignal);
    const forced = killSignal === "SIGKILL" || !await this.#exits(graceMs);
    if (forced) this.signal("SIGKILL");
    const self = { pid: this.pid, command: this.#command };
    const survivors = await this.#exits(KILL_WAIT_MS) ? [] : [self];
    return { forced, seen: [self], survivors };
  }

  /** Whether the command exits within this time. */
  async #exits(ms: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = after(ms, resolve);
    await Promise.race([promise, this.status]);
    cancel();
    return this.#exited;
  }
}

/** Another user's process may not be signalled; the stop's report names it. */
function ignoreDenied(error: unknown): void {
  const known = error instanceof Deno.errors.PermissionDenied ||
    error instanceof Deno.errors.NotFound;
  if (!known) throw error;
}

/**
 * The signals that whoever started this program had set to be ignored, as
 * nohup(1) and a shell's `&` do; none where procfs may not be read.
 */
export function ignoredSignals(): (number: number) => boolean {
  const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readProcfs("self/status"))?.[1];
  const bits = BigInt(`0x${mask ?? 0}`);
  return (number) => (bits >> BigInt(number - 1) & 1n) === 1n;
}

/**
 * Whether somebody, a shell, would continue this program if it stopped. There
 * is nobody if a parent in the same process group has not stopped by the signal
 * that the terminal sent to all of it (`deno task` is one), and nobody if the
 * group is orphaned: no parent outside of it is in the same session.
 */
export function hasJobControl(): boolean {
  const own = lookAt(Deno.pid);
  for (let ppid = Deno.ppid;;) {
    const parent = ppid > 0 ? lookAt(ppid) : null;
    // Who cannot be seen is as usual; the first process of all has no parent.
    if (own === null || parent === null) return ppid > 0;
    if (parent.pgid !== own.pgid) return parent.session === own.session;
    if (!/^[Tt]/.test(parent.state)) return false;
    ppid = parent.ppid;
  }
}

/**
 * Whether standard input is a terminal in whose background this program runs.
 * A session of its own takes the command out of the terminal's job control:
 * nothing would stop it from eating what is typed for the shell.
 */
function isBackgroundOfTerminal(): boolean {
  if (!Deno.stdin.isTerminal()) return false;
  const own = lookAt(Deno.pid);
  return own !== null && own.tpgid > 0 && own.tpgid !== own.pgid;
}

interface Place {
  readonly state: string;
  readonly ppid: number;
  readonly pgid: number;
  readonly session: string;
  /** The foreground process group of its terminal, 0 or less if it has none. */
  readonly tpgid: number;
}

/** What ps(1) calls it, in the order of {@linkcode lookAt}. */
const PLACE = ["stat", "ppid", "pgid", "sess", "tpgid"];

/** State and groups of a process; null where neither procfs nor ps(1) tells. */
function lookAt(pid: number): Place | null {
  const stat = readProcfs(`${pid}/stat`);
  // proc_pid_stat(5): state, ppid, pgrp, session, tty_nr, tpgid after the name.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = "", ppid, pgid, session = "", tpgid] = stat
    ? fields.toSpliced(4, 1)
    : askPs(pid);
  if (state === "") return null;
  return {
    state,
    ppid: Number(ppid),
    pgid: Number(pgid),
    session,
    tpgid: Number(tpgid),
  };
}

/** A file of procfs, which needs all permissions to read; else "". */
function readProcfs(path: string): string {
  if (Deno.permissions.querySync({ name: "read" }).state !== "granted") {
    return "";
  }
  try {
    return Deno.readTextFileSync(`/proc/${path}`);
  } catch {
    // Another system, or less than all permissions.
    return "";
  }
}

function askPs(pid: number): string[] {
  try {
    const { stdout } = new Deno.Command("ps", {
      args: [...PLACE.flatMap((name) => ["-o", `${name}=`]), "-p", `${pid}`],
      stdin: "null",
      stderr: "null",
    }).outputSync();
    const line = new TextDecoder().decode(stdout).trim();
    return line ? line.split(/\s+/) : [];
  } catch {
    // Not installed, or not permitted.
    return [];
  }
}
