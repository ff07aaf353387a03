// Copyright 2026 the @proc/group authors. MIT license.

/** What a {@linkcode PtyWaitError} knows. */
export interface PtyWaitErrorInit {
  /** Whether the time was up, or nothing more can come. */
  reason: "timeout" | "end";
  /** The time limit, in milliseconds. */
  ms: number;
  /** The end of the output that was not consumed. */
  tail: string;
  /** How the program ended; null while it runs. */
  status: Deno.CommandStatus | null;
}

/** How much of the output the message shows, in UTF-16 units. */
const SHOWN_LENGTH = 200;

/** Thrown when a program on a terminal did not do what was waited for. */
export class PtyWaitError extends Error {
  /** Whether the time was up, or nothing more can come. */
  readonly reason: "timeout" | "end";
  /** The time limit, in milliseconds. */
  readonly ms: number;
  /** The last 2048 UTF-16 units of the output that was not consumed, or less. */
  readonly tail: string;
  /** How the program ended; null while it runs. */
  readonly status: Deno.CommandStatus | null;

  /** Creates the error from what was waited for, such as `"login: "`. */
  constructor(awaited: string, init: PtyWaitErrorInit) {
    const { reason, ms, tail, status } = init;
    const when = reason === "timeout"
      ? `within ${ms} ms`
      : `before the end of the output`;
    super(
      `Cannot see ${awaited} ${when}: ${describe(status)}, the last output is ${
        JSON.stringify(tail.slice(-SHOWN_LENGTH))
      }`,
    );
    if (reason === "timeout") {
      this.cause = new DOMException(this.message, "TimeoutError");
    }
    this.name = "PtyWaitError";
    this.reason = reason;
    this.ms = ms;
    this.tail = tail;
    this.status = status;
  }
}

function describe(status: Deno.CommandStatus | null): string {
  if (status === null) return "the program runs";
  return status.signal === null
    ? `the program ended with code ${status.code}`
    : `the program ended by ${status.signal}`;
}
