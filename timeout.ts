// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Deadlines for whole process groups, and the timeout command: run as a program
 * this module is GNU `timeout` that leaves nothing behind.
 *
 * ```ts
 * import { spawnGroup } from "@proc/group/process-group";
 * import { DeadlineExceededError, withDeadline } from "@proc/group/timeout";
 * import { assertRejects } from "@std/assert";
 *
 * await using group = spawnGroup("sh", ["-c", "sleep 60 & sleep 60"]);
 * await assertRejects(() => withDeadline(group, 100), DeadlineExceededError);
 * ```
 *
 * @module
 */

import { runGroup, runTask } from "./_deadline.ts";
import { checkLimit } from "./_options.ts";
import type { ProcessInfo } from "./_platform/platform.ts";
import { handleOf } from "./_registry.ts";
import type { StopReport } from "./_stop.ts";
import type { ProcessGroup } from "./process_group.ts";
import type { Pty } from "./pty.ts";

export {
  DeadlineExceededError,
  type DeadlineExceededErrorInit,
  OutputLimitError,
} from "./_errors.ts";

/** How {@linkcode withDeadline} runs a task. */
export interface TaskDeadlineOptions {
  /** Aborts the task early; the promise rejects with its reason. */
  signal?: AbortSignal;
  /**
   * How long a task may take to settle after the deadline, in milliseconds;
   * 2000 are added to it.
   *
   * @default {5000}
   */
  graceMs?: number;
}

/** How {@linkcode withDeadline} runs a group; these win over the group's own. */
export interface DeadlineOptions extends TaskDeadlineOptions {
  /** First signal when the group is stopped. */
  killSignal?: Deno.Signal;
  /** Milliseconds from `killSignal` to SIGKILL. */
  graceMs?: number;
  /**
   * How long pipes are waited for after the leader's exit, in milliseconds,
   * before whoever holds them is stopped.
   *
   * @default {100}
   */
  drainMs?: number;
  /**
   * Most bytes of one stream; more of it stops the group. Of several calls for
   * one group the least counts.
   *
   * @default {Infinity}
   */
  maxOutputBytes?: number;
  /**
   * Written to stdin, which is closed then; a broken pipe is no error. On a
   * terminal it is typed, and no end of file after it.
   */
  input?: string | Uint8Array | ReadableStream<Uint8Array>;
}

/** What a group gave, as `Deno.Command.output` has it and more. */
export interface GroupOutput extends Deno.CommandOutput {
  /** Time from the call until everything was stopped, in milliseconds. */
  durationMs: number;
  /**
   * Whom the leader left behind when it exited in time; they were stopped,
   * unless `report.survivors` names them.
   */
  leftovers: ProcessInfo[];
  /** Whether all output was read; false if somebody still holds a pipe. */
  drained: boolean;
  /** What stopping the group did, and who is left. */
  report: StopReport;
}

/**
 * Waits for a group, at most `ms` milliseconds, and leaves nothing of it: what
 * the leader left behind is stopped when it exits, and all of the group at the
 * deadline. Piped output is collected, also that of a group that is too late.
 * A non-zero exit does not reject.
 *
 * It takes at most `ms`, the grace period, `drainMs` and 2000 milliseconds.
 *
 * @example Read the output of a command that hangs
 * ```ts
 * import { spawnGroup } from "@proc/group/process-group";
 * import { DeadlineExceededError, withDeadline } from "@proc/group/timeout";
 * import { assertEquals, assertRejects } from "@std/assert";
 *
 * await using group = spawnGroup("sh", ["-c", "echo hi; sleep 60 & sleep 60"], {
 *   stdout: "piped",
 * });
 * const error = await assertRejects(
 *   () => withDeadline(group, 500),
 *   DeadlineExceededError,
 * );
 * assertEquals(new TextDecoder().decode(error.output!.stdout), "hi\n");
 * ```
 *
 * @tags allow-run
 * @param group The group to wait for.
 * @param ms Milliseconds until it is stopped; Infinity for no deadline.
 * @param options How to run and stop it.
 * @returns Status, output and what was left behind.
 * @throws {DeadlineExceededError} If the leader has not exited in time.
 * @throws {OutputLimitError} If a stream gives more than `maxOutputBytes`, also while the group is being stopped.
 * @throws {RangeError} If a number is negative or NaN.
 * @throws {TypeError} If a value has the wrong type, or there is `input` for a stdin that is not piped.
 * @throws {unknown} If `options.signal` aborts: its reason, as it is.
 */
export function withDeadline(
  group: ProcessGroup | Pty,
  ms: number,
  options?: DeadlineOptions,
): Promise<GroupOutput>;
/**
 * Runs a task, at most `ms` milliseconds. At the deadline the task's signal
 * aborts with the error as its reason; the task may then take the grace period
 * and 2000 milliseconds to settle, before the promise rejects.
 *
 * @example Several groups under one deadline
 * ```ts
 * import { spawnGroup } from "@proc/group/process-group";
 * import { withDeadline } from "@proc/group/timeout";
 * import { assert } from "@std/assert";
 *
 * const status = await withDeadline(async (signal) => {
 *   await using server = spawnGroup("sleep", ["60"], { signal });
 *   await using client = spawnGroup("true", { signal });
 *   return await client.status;
 * }, 10_000);
 * assert(status.success);
 * ```
 *
 * @tags allow-run
 * @param task What to run; use `await using` inside it.
 * @param ms Milliseconds until its signal aborts; Infinity for no deadline.
 * @param options How to run it.
 * @returns What the task gave.
 * @throws {DeadlineExceededError} If the task has not settled in time.
 * @throws {RangeError} If a number is negative or NaN.
 * @throws {TypeError} If a value has the wrong type.
 * @throws {unknown} If `options.signal` aborts: its reason, as it is; or what the task rejects with.
 */
export function withDeadline<T>(
  task: (signal: AbortSignal) => Promise<T>,
  ms: number,
  options?: TaskDeadlineOptions,
): Promise<T>;
export async function withDeadline<T>(
  groupOrTask: ProcessGroup | Pty | ((signal: AbortSignal) => Promise<T>),
  ms: number,
  options: DeadlineOptions = {},
): Promise<GroupOutput | T> {
  const limitMs = checkLimit(ms);
  if (typeof groupOrTask === "function") {
    return await runTask(groupOrTask, limitMs, options);
  }
  const handle = handleOf(groupOrTask);
  if (!handle) {
    throw new TypeError(
      `Cannot wait for group: current value is ${
        Deno.inspect(groupOrTask)
      }, neither a group nor a function`,
    );
  }
  return await runGroup(handle, limitMs, options);
}

if (import.meta.main) {
  const { main } = await import("./_timeout_command.ts");
  await main(Deno.args);
}
