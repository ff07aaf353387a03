// Copyright 2026 the @proc/group authors. MIT license.

/** Checking what concerns the terminal, before anything is started. */

import { checkMs, DEFAULT_DRAIN_MS } from "./_options.ts";
import { libcAvailable } from "./_platform/libc.ts";
import type { TerminalSettings } from "./_pty_session.ts";
import type { PtyPattern, PtySize, SpawnPtyOptions } from "./pty.ts";

/** Largest number of columns or rows that a terminal can have. */
const MAX_SIZE = 65_535;

/** Throws unless this process may and can make a pseudo-terminal. */
export function requireTerminals(): void {
  if (Deno.build.os !== "linux") {
    throw new Deno.errors.NotSupported(
      `Cannot use a pseudo-terminal on ${Deno.build.os}: only Linux is supported`,
    );
  }
  if (Deno.permissions.querySync({ name: "ffi" }).state !== "granted") {
    throw new Deno.errors.NotCapable(
      "Requires ffi access to use a pseudo-terminal, run again with the --allow-ffi flag",
    );
  }
  if (!libcAvailable()) {
    throw new Deno.errors.NotSupported(
      "Cannot use a pseudo-terminal: glibc on x86_64 or aarch64 is needed",
    );
  }
}

/** Checks the options that only a terminal has. */
export function terminalSettings(options: SpawnPtyOptions): TerminalSettings {
  refuseUsers(options);
  const { columns = 80, rows = 24, echo = true, longLines = "reject" } =
    options;
  if (longLines !== "reject" && longLines !== "split") {
    throw new TypeError(
      `Cannot use longLines: current value is ${
        Deno.inspect(longLines)
      }, not one of reject, split`,
    );
  }
  return {
    size: checkSize({ columns, rows }),
    echo: Boolean(echo),
    term: checkTerm(options.term ?? options.env?.TERM ?? "xterm-256color"),
    drainMs: checkMs("drainMs", options.drainMs ?? DEFAULT_DRAIN_MS),
    longLines,
    transcript: checkTranscript(options.transcript),
  };
}

/** Gives a terminal's size back, else throws. */
export function checkSize({ columns, rows }: PtySize): PtySize {
  return {
    columns: checkCount("columns", columns),
    rows: checkCount("rows", rows),
  };
}

/** Gives one or several patterns back as an array, else throws. */
export function checkPatterns(
  pattern: PtyPattern | PtyPattern[],
  allowEnd: boolean,
): PtyPattern[] {
  const patterns = Array.isArray(pattern) ? pattern : [pattern];
  if (patterns.length > 0 || allowEnd) return patterns;
  throw new RangeError(
    "Cannot wait for no pattern: current value is an empty array, which needs 'allowEnd'",
  );
}

/** The type leaves them out, but an object may have more than its type. */
function refuseUsers(options: SpawnPtyOptions): void {
  const { uid, gid } = options as Deno.CommandOptions;
  if (uid === undefined && gid === undefined) return;
  throw new TypeError(
    "Cannot use uid and gid: a program on a terminal runs as the user of this process",
  );
}

function checkCount(name: string, value: unknown): number {
  if (typeof value !== "number") {
    throw new TypeError(
      `Cannot use ${name}: current value is ${
        Deno.inspect(value)
      }, not a number`,
    );
  }
  if (!Number.isInteger(value) || value < 1 || value > MAX_SIZE) {
    throw new RangeError(
      `Cannot use ${name}: current value is ${value}, not an integer from 1 to ${MAX_SIZE}`,
    );
  }
  return value;
}

function checkTerm(term: unknown): string {
  if (typeof term === "string" && !term.includes("\0")) return term;
  throw new TypeError(
    `Cannot use term: current value is ${
      Deno.inspect(term)
    }, not a string without a NUL`,
  );
}

function checkTranscript(
  transcript: unknown,
): TerminalSettings["transcript"] {
  if (
    transcript === undefined || typeof transcript === "string" ||
    transcript instanceof URL
  ) return transcript;
  if (!(transcript instanceof WritableStream)) {
    throw new TypeError(
      `Cannot use transcript: current value is ${
        Deno.inspect(transcript)
      }, neither a path nor a stream`,
    );
  }
  if (transcript.locked) {
    throw new TypeError("Cannot use transcript: the stream is locked");
  }
  return transcript;
}
