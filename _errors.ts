// Copyright 2026 the @proc/group authors. MIT license.

import type { StopReport } from "./_stop.ts";
import type { GroupOutput } from "./timeout.ts";

/** Thrown by disposal if a process of the group could not be ended. */
export class SurvivorsError extends Error {
  /** What the stop did, and who is left. */
  readonly report: StopReport;

  /** Creates the error from the report of the stop. */
  constructor(report: StopReport) {
    const names = report.survivors.map(({ pid, command }) =>
      `${pid} (${command})`
    );
    super(`Cannot end all processes of the group: ${names.join(", ")} live on`);
    this.name = "SurvivorsError";
    this.report = report;
  }
}

/** What a {@linkcode DeadlineExceededError} knows besides its time. */
export interface DeadlineExceededErrorInit {
  /** Time from the call until everything was stopped, in milliseconds. */
  durationMs: number;
  /** The command line; undefined for a task. */
  command?: string;
  /** All output so far; undefined for a task. */
  output?: GroupOutput;
  /** What was stopped; undefined for a task. */
  report?: StopReport;
}

/** Thrown when a deadline passed, after the group was stopped. */
export class DeadlineExceededError extends Error {
  /** The deadline, in milliseconds. */
  readonly ms: number;
  /**
   * Time from the call until everything was stopped, in milliseconds; for a task
   * until its signal aborted.
   */
  readonly durationMs: number;
  /** The command line; undefined for a task. */
  readonly command: string | undefined;
  /** All output so far; undefined for a task. */
  readonly output: GroupOutput | undefined;
  /** What was stopped, and who is left; undefined for a task. */
  readonly report: StopReport | undefined;

  /** Creates the error for a deadline of `ms` milliseconds. */
  constructor(ms: number, init: DeadlineExceededErrorInit) {
    const what = init.command === undefined
      ? "Task"
      : `Command ${JSON.stringify(shorten(init.command))}`;
    const message = `${what} exceeded its deadline of ${ms} ms`;
    super(message, { cause: new DOMException(message, "TimeoutError") });
    this.name = "DeadlineExceededError";
    this.ms = ms;
    this.durationMs = init.durationMs;
    this.command = init.command;
    this.output = init.output;
    this.report = init.report;
  }
}

/** Thrown when a stream gave more than `maxOutputBytes`, after the stop. */
export class OutputLimitError extends RangeError {
  /** The stream that gave too much. */
  readonly stream: "stdout" | "stderr";
  /** All output so far, each stream cut at the limit. */
  readonly output: GroupOutput;
  /** What was stopped, and who is left. */
  readonly report: StopReport;

  /** Creates the error for a limit of `bytes` bytes. */
  constructor(
    bytes: number,
    init: {
      stream: "stdout" | "stderr";
      command: string;
      output: GroupOutput;
      report: StopReport;
    },
  ) {
    super(
      `Command ${
        JSON.stringify(shorten(init.command))
      } exceeded its limit of ${bytes} bytes of ${init.stream}`,
    );
    this.name = "OutputLimitError";
    this.stream = init.stream;
    this.output = init.output;
    this.report = init.report;
  }
}

/** A command line may hold a whole script. */
function shorten(command: string): string {
  return command.length > 200 ? `${command.slice(0, 199)}…` : command;
}
