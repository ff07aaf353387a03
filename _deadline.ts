// Copyright 2026 the @proc/group authors. MIT license.

/** The two races of `withDeadline`: a group or a task against the clock. */

import { delay } from "@std/async/delay";
import { atMost } from "./_platform/at_most.ts";
import { DeadlineExceededError, OutputLimitError } from "./_errors.ts";
import type { GroupHandle } from "./_group.ts";
import { prepareInput } from "./_input.ts";
import {
  checkAbortSignal,
  checkBytes,
  checkMs,
  DEFAULT_DRAIN_MS,
  DEFAULT_GRACE_MS,
  stopSettings,
} from "./_options.ts";
import { STOP_MARGIN_MS, type StopResult } from "./_stop.ts";
import type {
  DeadlineOptions,
  GroupOutput,
  TaskDeadlineOptions,
} from "./timeout.ts";

/** Why a wait for a group ended. */
type Outcome =
  | { kind: "exit" | "late" | "excess" }
  | { kind: "error"; error: unknown };

/** A timer that is so late was held up by this thread, in milliseconds. */
const BUSY_MS = 10;

/** Stands in for the status of a leader that could not be ended. */
const NO_STATUS: Deno.CommandStatus = {
  success: false,
  code: -1,
  signal: null,
};

/** Waits for a group until the deadline, and stops all of it. */
export async function runGroup(
  group: GroupHandle,
  ms: number,
  options: DeadlineOptions,
): Promise<GroupOutput> {
  const startedAt = performance.now();
  const settings = stopSettings(options, group.settings);
  const signal = checkAbortSignal(options.signal);
  const drainMs = checkMs("drainMs", options.drainMs ?? DEFAULT_DRAIN_MS);
  const maxBytes = checkBytes("maxOutputBytes", options.maxOutputBytes);
  const writeInput = prepareInput(group.leader.stdin, options.input);
  const race = new Race(signal);
  const reader = group.read();
  reader.limit(maxBytes, () => race.end({ kind: "excess" }));
  const writing = writeInput(race.over);
  writing.catch((error) => race.end({ kind: "error", error }));
  // The group's own status may wait for others to be seen, or stopped.
  group.leader.status.then(
    () => race.end({ kind: "exit" }),
    (error) => race.end({ kind: "error", error }),
  );
  race.startClock(ms);

  const outcome = await race.outcome();
  const inTime = outcome.kind === "exit";
  const endAt = performance.now() + drainMs + settings.graceMs + STOP_MARGIN_MS;
  const restMs = inTime ? Math.min(drainMs, DEFAULT_DRAIN_MS) : drainMs;
  let result: StopResult;
  let drained: boolean;
  try {
    if (inTime) await reader.drain(drainMs);
    result = await group.stop({ ...settings, looksFirst: inTime });
    // Whoever was waited for and still holds a pipe was not found.
    await reader.drain(Math.min(restMs, timeUntil(endAt)));
    ({ drained } = reader);
  } finally {
    await reader.cancel();
  }
  const { report, seen } = result;
  // A survivor may hold the other end of a full pipe.
  await atMost(writing, Math.min(restMs, timeUntil(endAt)));

  const durationMs = performance.now() - startedAt;
  // A leader that was stopped by somebody else is none.
  const leftovers = inTime ? seen.filter(({ pid }) => pid !== group.pgid) : [];
  const status = await statusAfter(group, report);
  const output = reader.output(status, {
    durationMs,
    leftovers,
    drained,
    report,
  });
  const command = group.commandLine;
  if (outcome.kind === "error") throw outcome.error;
  if (reader.excess) {
    const { stream, maxBytes } = reader.excess;
    throw new OutputLimitError(maxBytes, { stream, command, output, report });
  }
  if (outcome.kind === "late") {
    throw new DeadlineExceededError(ms, {
      durationMs,
      command,
      output,
      report,
    });
  }
  return output;
}

/** Runs a task whose signal aborts at the deadline, and waits for its end. */
export async function runTask<T>(
  task: (signal: AbortSignal) => Promise<T>,
  ms: number,
  options: TaskDeadlineOptions,
): Promise<T> {
  const startedAt = performance.now();
  const graceMs = checkMs("graceMs", options.graceMs ?? DEFAULT_GRACE_MS);
  checkAbortSignal(options.signal)?.throwIfAborted();
  const controller = new AbortController();
  const race = new Race(options.signal);
  const settled = Promise.try(task, controller.signal);
  settled.then(
    () => race.end({ kind: "exit" }),
    () => race.end({ kind: "exit" }),
  );
  race.startClock(ms);

  const outcome = await race.outcome();
  if (outcome.kind === "exit") return await settled;
  const reason = outcome.kind === "error"
    ? outcome.error
    : new DeadlineExceededError(ms, {
      durationMs: performance.now() - startedAt,
    });
  controller.abort(reason);
  await atMost(settled, graceMs + STOP_MARGIN_MS);
  throw reason;
}

/** The first of several events wins; then clock and listener are let go. */
class Race {
  #outcome = Promise.withResolvers<Outcome>();
  #over = new AbortController();
  #signal: AbortSignal | undefined;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    if (signal?.aborted) this.#onAbort();
  }

  /** Aborts when the race is over. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  end(outcome: Outcome): void {
    this.#outcome.resolve(outcome);
  }

  startClock(ms: number): void {
    if (ms === Infinity) return;
    // Unlike setTimeout, this takes more than 24.8 days.
    const clock: Promise<void> = delay(ms, { signal: this.over });
    const dueAt = performance.now() + ms;
    clock.then(async () => {
      // A thread that was busy finds the timer due before it has looked at what
      // else has happened.
      const wasBusy = performance.now() > dueAt + BUSY_MS;
      if (wasBusy) await atMost(this.#outcome.promise, BUSY_MS);
      this.end({ kind: "late" });
    }, () => {
      // The race was over before.
    });
  }

  async outcome(): Promise<Outcome> {
    const outcome = await this.#outcome.promise;
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#over.abort();
    return outcome;
  }

  #onAbort = (): void => {
    this.end({ kind: "error", error: this.#signal?.reason });
  };
}

/** The leader's status, which there is unless it could not be ended. */
async function statusAfter(
  group: GroupHandle,
  report: StopResult["report"],
): Promise<Deno.CommandStatus> {
  const lives = report.survivors.some(({ pid }) => pid === group.pgid);
  return lives ? NO_STATUS : await group.status;
}

/** Milliseconds until a time on the clock of `performance.now()`, at least 0. */
function timeUntil(time: number): number {
  return Math.max(0, time - performance.now());
}
