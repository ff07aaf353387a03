// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Process groups that end: run a command in a session of its own, signal all
 * of it at once, stop it for certain and know when nobody is left.
 *
 * ```ts
 * import { spawnGroup, stopGroup } from "@proc/group/process-group";
 * import { assertEquals } from "@std/assert";
 *
 * await using group = spawnGroup("sh", ["-c", "sleep 60 & sleep 60"]);
 * const report = await stopGroup(group);
 * assertEquals(report.survivors, []);
 * ```
 *
 * @module
 */

import { isContainable } from "./_contain.ts";
import { GroupHandle } from "./_group.ts";
import { lookAt, memberQuery } from "./_looks.ts";
import { checkAbortSignal, prepareSpawn, stopSettings } from "./_options.ts";
import type { Pty } from "./pty.ts";
import type {
  EscapeeSource,
  MemberSource,
  ProcessInfo,
} from "./_platform/platform.ts";
import { targetOf } from "./_registry.ts";
import { startGroup } from "./_spawned_group.ts";
import {
  type EscapeePolicy,
  stop,
  StopPlan,
  type StopReport,
} from "./_stop.ts";
import { signalOrThrow } from "./_target.ts";
import { waitUntilGone } from "./_wait.ts";

export type {
  EscapeePolicy,
  EscapeeSource,
  MemberSource,
  ProcessInfo,
  StopReport,
};
export { SurvivorsError } from "./_errors.ts";

/** How {@linkcode spawnGroup} starts a command and how its group is stopped. */
export interface SpawnGroupOptions
  extends Omit<Deno.CommandOptions, "detached" | "windowsRawArguments"> {
  /**
   * First signal when the group is stopped; SIGKILL leaves no grace period.
   *
   * @default {"SIGTERM"}
   */
  killSignal?: Deno.Signal;
  /**
   * Milliseconds from `killSignal` to SIGKILL; 0 sends SIGKILL at once.
   *
   * @default {5000}
   */
  graceMs?: number;
  /**
   * Whether the group lives on when this process dies. It is stopped, aborted
   * and disposed like any other while this process lives.
   *
   * @default {false}
   */
  outlive?: boolean;
  /**
   * What a stop does about processes that left the session (`setsid`, daemons)
   * and still carry the group's environment mark: stops them, only reports
   * them, or does not look.
   *
   * @default {"stop"}
   */
  escapees?: EscapeePolicy;
  /**
   * Stops the whole group when it aborts, as disposal does; `status` resolves
   * when that is done, at most a second after the leader's exit. One that is
   * aborted already starts nothing.
   */
  signal?: AbortSignal;
  /**
   * Whether the command runs in a PID namespace of its own, pid_namespaces(7),
   * which no process of it can leave: neither a daemon that has cleared its
   * environment nor one that forks faster than it is found. Linux only; throws
   * where it cannot be had, see {@linkcode canContain}.
   *
   * A few things differ from a plain group:
   *
   * - `killSignal` is SIGTERM, SIGINT or SIGKILL.
   * - A command that a signal has ended has the status 128 + n as a shell has
   *   it, and `signal` is null, unless the leader was killed as well.
   * - The leader is a shell, so `pid` is not the command's. Inside, processes
   *   have other numbers, and see neither each other's outer ones nor anybody
   *   outside; mounts are private.
   * - Variables whose names are no identifiers may get lost in that shell, which
   *   sets `PWD`, `IFS`, `OPTIND` and `PPID`. The pipes are closed at the
   *   command's exit, not before. A missing interpreter is code 127.
   * - Unless this is root, setuid programs such as `sudo` do not work.
   * - `escaped` is always empty, and `escapees` means nothing.
   *
   * What a program outside starts on request (docker, systemd-run, at) is
   * outside. A namespace is no sandbox: files and network are the same.
   *
   * @default {false}
   */
  contain?: boolean;
}

/** How {@linkcode stopGroup} stops a group; defaults are the group's own. */
export interface StopGroupOptions {
  /** First signal, see {@linkcode SpawnGroupOptions.killSignal}. */
  killSignal?: Deno.Signal;
  /** Milliseconds from `killSignal` to SIGKILL. */
  graceMs?: number;
  /** What to do about escapees; a bare number has none. */
  escapees?: EscapeePolicy;
}

/** How {@linkcode waitGone} waits. */
export interface WaitGoneOptions {
  /** Ends the wait, not the group; the promise rejects with its reason. */
  signal?: AbortSignal;
}

/**
 * A command that leads a session and a process group of its own. It can be used
 * wherever a `Deno.ChildProcess` is expected.
 */
export interface ProcessGroup extends AsyncDisposable {
  /** Process id of the leader. */
  readonly pid: number;
  /** Id of the process group and of the session; the same number as `pid`. */
  readonly pgid: number;
  /** Input of the leader. Throws a TypeError unless it is piped. */
  readonly stdin: WritableStream<Uint8Array<ArrayBufferLike>>;
  /** Output of the group. Throws a TypeError unless it is piped. */
  readonly stdout: Deno.SubprocessReadableStream;
  /** Error output of the group. Throws a TypeError unless it is piped. */
  readonly stderr: Deno.SubprocessReadableStream;
  /** Resolves with the leader's status once it was reaped; never rejects. */
  readonly status: Promise<Deno.CommandStatus>;
  /**
   * Collects what is piped until the leader has exited and the pipes are
   * closed, or 100 milliseconds longer if another process holds them.
   */
  output(): Promise<Deno.CommandOutput>;
  /** Sends one signal to the process group; a no-op once it is gone. */
  kill(signo?: Deno.Signal | number): void;
  /** Keeps the event loop alive until the leader's exit (the default). */
  ref(): void;
  /** Lets the event loop end before the leader's exit. */
  unref(): void;
  /**
   * Stops the group and closes the pipes that nobody reads or writes.
   *
   * @throws {SurvivorsError} If a process could not be ended.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a command as the leader of a new session and process group, setsid(2),
 * so that one signal reaches it and all that it starts. Standard streams are
 * inherited unless the options say otherwise, as with `Deno.Command.spawn`.
 *
 * Use `await using`, or stop the group on every path: what the leader leaves
 * behind runs on otherwise, until this process ends.
 *
 * On Linux with `--allow-ffi`, the permission to run this one program is
 * enough; anywhere else the whole of `--allow-run` is needed, since a group
 * that may not be signalled must not exist.
 *
 * @example Stop a shell and what it started
 * ```ts
 * import { spawnGroup } from "@proc/group/process-group";
 * import { assertEquals } from "@std/assert";
 *
 * await using group = spawnGroup("sh", ["-c", "sleep 60 & echo ready; wait"], {
 *   stdout: "piped",
 * });
 * const reader = group.stdout.getReader();
 * const { value } = await reader.read();
 * assertEquals(new TextDecoder().decode(value), "ready\n");
 * await reader.cancel();
 * ```
 *
 * @tags allow-run, allow-ffi
 * @param command Program to run: a path, a name to be found in PATH, or a file URL.
 * @param options How to start and how to stop it.
 * @returns The running group.
 * @throws {Deno.errors.NotFound} If there is no such program or directory.
 * @throws {Deno.errors.PermissionDenied} If the file is not executable.
 * @throws {Deno.errors.NotCapable} If a permission is missing.
 * @throws {Deno.errors.NotSupported} If the system is Windows, or the command cannot be contained.
 * @throws {TypeError} If a value has the wrong type or holds a NUL.
 * @throws {RangeError} If `graceMs` is negative or not finite, or `killSignal` is none for a contained group.
 * @throws {unknown} If `options.signal` is aborted already: its reason, as it is.
 */
export function spawnGroup(
  command: string | URL,
  options?: SpawnGroupOptions,
): ProcessGroup;
/**
 * Starts a command with arguments as the leader of a new session and process
 * group, setsid(2). See the other form for the rest.
 *
 * @example Collect the output
 * ```ts
 * import { spawnGroup } from "@proc/group/process-group";
 * import { assertEquals } from "@std/assert";
 *
 * await using group = spawnGroup("echo", ["hi"], { stdout: "piped" });
 * const { stdout } = await group.output();
 * assertEquals(new TextDecoder().decode(stdout), "hi\n");
 * ```
 *
 * @tags allow-run, allow-ffi
 * @param command Program to run: a path, a name to be found in PATH, or a file URL.
 * @param args Arguments for the program.
 * @param options How to start and how to stop it.
 * @returns The running group.
 * @throws {Deno.errors.NotFound} If there is no such program or directory.
 * @throws {Deno.errors.PermissionDenied} If the file is not executable.
 * @throws {Deno.errors.NotCapable} If a permission is missing.
 * @throws {Deno.errors.NotSupported} If the system is Windows, or the command cannot be contained.
 * @throws {TypeError} If a value has the wrong type or holds a NUL.
 * @throws {RangeError} If `graceMs` is negative or not finite, or `killSignal` is none for a contained group.
 * @throws {unknown} If `options.signal` is aborted already: its reason, as it is.
 */
export function spawnGroup(
  command: string | URL,
  args: string[],
  options?: SpawnGroupOptions,
): ProcessGroup;
export function spawnGroup(
  command: string | URL,
  argsOrOptions: string[] | SpawnGroupOptions = {},
  options: SpawnGroupOptions = {},
): ProcessGroup {
  return startGroup(prepareSpawn(command, argsOrOptions, options));
}

/**
 * Tells whether {@linkcode SpawnGroupOptions.contain} can be had: on Linux, with
 * unshare(1) of util-linux, where this user may make PID namespaces and this
 * process may run `unshare` and `sh`. Many containers forbid it. Never asks for
 * a permission.
 *
 * @example Contain where that is possible
 * ```ts
 * import { canContain, spawnGroup } from "@proc/group/process-group";
 * import { assertEquals } from "@std/assert";
 *
 * await using group = spawnGroup("true", { contain: await canContain() });
 * assertEquals((await group.status).code, 0);
 * ```
 *
 * @tags allow-run
 * @returns True if a command can be contained at this moment.
 */
export function canContain(): Promise<boolean> {
  return Promise.try(isContainable);
}

/**
 * Sends one signal to a process group at once, as killpg(3) does. Zombies
 * count as members here, so true does not mean that anybody can act on it.
 *
 * A bare number is signalled as it is, so it must be known to be in use;
 * a group that was spawned here is never mistaken for a later namesake on
 * Linux with FFI, and elsewhere only as long as it was not seen to be gone.
 * Signalling a number needs the whole of `--allow-run`.
 *
 * @example Send a signal of its own
 * ```ts
 * import { killGroup, spawnGroup, waitGone } from "@proc/group/process-group";
 * import { assert, assertFalse } from "@std/assert";
 *
 * await using group = spawnGroup("sleep", ["60"]);
 * assert(killGroup(group, "SIGINT"));
 * await waitGone(group);
 * assertFalse(killGroup(group, "SIGINT"));
 * ```
 *
 * @tags allow-run
 * @param target A group, or the id of a process group.
 * @param signo Name or number of the signal; 0 only asks whether it is there.
 * @returns True if the kernel accepted the signal, false if the group is gone.
 * @throws {TypeError} If the signal is unknown, or the target neither group nor number.
 * @throws {RangeError} If the number is not above 1, no integer, or the caller's own group, or that of the signal is not from 0 to 64.
 * @throws {Deno.errors.PermissionDenied} If no process of the group may be signalled.
 * @throws {Deno.errors.NotCapable} If `--allow-run` is missing for a number.
 */
export function killGroup(
  target: ProcessGroup | Pty | number,
  signo: Deno.Signal | number = "SIGTERM",
): boolean {
  return signalOrThrow(targetOf(target), signo);
}

/**
 * Waits until no live process of the group is left, without a time limit and
 * without signalling anybody. A zombie that nobody has reaped yet is not live.
 *
 * @example Know when all of it has ended
 * ```ts
 * import { listGroup, spawnGroup, waitGone } from "@proc/group/process-group";
 * import { assertEquals } from "@std/assert";
 *
 * await using group = spawnGroup("sh", ["-c", "sleep 0.1 & exit 0"]);
 * await waitGone(group);
 * assertEquals(await listGroup(group), []);
 * ```
 *
 * @tags allow-run
 * @param target A group with its whole session, or the id of a process group.
 * @param options How to wait.
 * @returns When the group is gone.
 * @throws {TypeError} If the target is neither group nor number.
 * @throws {RangeError} If the number is not above 1, no integer, or the caller's own group.
 * @throws {Deno.errors.NotCapable} If `--allow-run` is missing for a number.
 * @throws {unknown} If `options.signal` aborts: its reason, as it is.
 */
export async function waitGone(
  target: ProcessGroup | Pty | number,
  options: WaitGoneOptions = {},
): Promise<void> {
  const known = targetOf(target);
  const signal = checkAbortSignal(options.signal) ??
    new AbortController().signal;
  signal.throwIfAborted();
  await waitUntilGone(known, signal);
}

/**
 * Stops a group for certain, in at most `graceMs` + 2000 milliseconds:
 * `killSignal` and SIGCONT to all of its session, SIGKILL to whoever is left
 * after the grace period, again until nobody is, and the same for processes
 * that left the session and carry the group's mark.
 *
 * The first call sets the time of the SIGKILL. Later calls join it and can only
 * bring that time forward. Stopping a group that is gone does nothing.
 *
 * @example Give a server one second to end
 * ```ts
 * import { spawnGroup, stopGroup } from "@proc/group/process-group";
 * import { assert, assertEquals } from "@std/assert";
 *
 * await using group = spawnGroup("sleep", ["60"]);
 * const report = await stopGroup(group, { killSignal: "SIGINT", graceMs: 1000 });
 * assertEquals(report.survivors, []);
 * assert(!report.forced);
 * ```
 *
 * @tags allow-run
 * @param target A group with its whole session, or the id of a process group.
 * @param options How to stop it.
 * @returns What was done, and who is left.
 * @throws {TypeError} If the signal is unknown, or the target neither group nor number.
 * @throws {RangeError} If `graceMs` is negative or not finite, or the number is not above 1, no integer, or the caller's own group.
 * @throws {Deno.errors.NotCapable} If `--allow-run` is missing for a number.
 */
export async function stopGroup(
  target: ProcessGroup | Pty | number,
  options: StopGroupOptions = {},
): Promise<StopReport> {
  const known = targetOf(target);
  if (known instanceof GroupHandle) {
    const result = await known.stop(stopSettings(options, known.settings));
    return result.report;
  }
  const { report } = await stop(known, new StopPlan(stopSettings(options)));
  return report;
}

/**
 * Lists the live processes of a group, at this moment.
 *
 * @example Print who runs
 * ```ts
 * import { listGroup, spawnGroup } from "@proc/group/process-group";
 * import { assertEquals } from "@std/assert";
 *
 * await using group = spawnGroup("sleep", ["60"]);
 * const [leader] = await listGroup(group);
 * assertEquals(leader?.pid, group.pid);
 * ```
 *
 * @tags allow-run
 * @param target A group with its whole session, or the id of a process group.
 * @returns The members, zombies excluded; one entry for the whole group where neither procfs nor `ps` can be read.
 * @throws {TypeError} If the target is neither group nor number.
 * @throws {RangeError} If the number is not above 1, no integer, or the caller's own group.
 */
export async function listGroup(
  target: ProcessGroup | Pty | number,
): Promise<ProcessInfo[]> {
  const known = targetOf(target);
  if (known.gone) return [];
  const { members } = await lookAt(known, () => memberQuery(known));
  return members;
}
