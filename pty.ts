// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Programs on a pseudo-terminal, pty(7), whose whole session is gone
 * afterwards: answer prompts, drive shells and full-screen programs, or hand
 * one to the user's own terminal.
 *
 * ```ts
 * import { spawnPty } from "@proc/group/pty";
 * import { assertEquals } from "@std/assert";
 *
 * await using pty = spawnPty("sh", ["-c", "read -p 'Name: ' n; echo Hi, $n"]);
 * await pty.waitFor("Name: ", 10_000);
 * await pty.write("Ada\n");
 * const { captures } = await pty.waitFor(/Hi, (\w+)/, 10_000);
 * assertEquals(captures, ["Ada"]);
 * ```
 *
 * ## What a terminal does
 *
 * A terminal is no pipe. Until a program changes its settings,
 *
 * - it **shows what is typed**: the output has it too, before the answer. With
 *   `echo: false` it does not. Otherwise wait for something that the input does
 *   not hold: a shell that gets `echo DO''NE` prints `DONE`.
 * - it **writes `\r\n`** where the program writes `\n`.
 * - it hands input over **line by line**, and a line over 4095 bytes would be
 *   cut. `write` rejects one, or splits it with `longLines: "split"`: the
 *   program then reads the parts one after another, without a newline between.
 *   A program that switches to raw mode reads lines of any length.
 * - it takes some characters as **keys**: `\x03` (Ctrl-C) sends SIGINT to the
 *   foreground, `\x04` (Ctrl-D) hands over what was typed and means end of file
 *   at a line start only. Bytes that are no text belong in a pipe.
 * - standard output and error are **one stream**.
 *
 * ## The end
 *
 * When the program has ended, what it printed is read whole. A background
 * process that has the terminal open can print for `drainMs` longer; then the
 * terminal is closed, and whoever is left gets a SIGHUP or an error. Output
 * that nobody has read stays: at least the newest 512 KiB of it. While the
 * program runs nothing is read ahead, and a program whose output nobody wants
 * waits.
 *
 * Linux with `--allow-ffi` only.
 *
 * @module
 */

import { prepareSpawn } from "./_options.ts";
import { attach } from "./_pty_attach.ts";
import { requireTerminals, terminalSettings } from "./_pty_options.ts";
import { startPty } from "./_pty_session.ts";
import type { SpawnGroupOptions } from "./process_group.ts";

export { PtyWaitError, type PtyWaitErrorInit } from "./_pty_error.ts";

/** The size of a terminal, in characters. */
export interface PtySize {
  /** Width in columns, from 1 to 65,535. */
  columns: number;
  /** Height in rows, from 1 to 65,535. */
  rows: number;
}

/** What {@linkcode Pty.waitFor} looks for. */
export type PtyPattern = string | RegExp;

/**
 * How {@linkcode spawnPty} starts a program and how its session is stopped.
 *
 * With `outlive` no guard ends the session, but the terminal is closed when this
 * process dies: only who ignores SIGHUP lives on.
 */
export interface SpawnPtyOptions extends
  Omit<
    SpawnGroupOptions,
    "args" | "stdin" | "stdout" | "stderr" | "uid" | "gid"
  > {
  /**
   * Width of the terminal in columns.
   *
   * @default {80}
   */
  columns?: number;
  /**
   * Height of the terminal in rows.
   *
   * @default {24}
   */
  rows?: number;
  /**
   * Whether the terminal shows what is typed, until the program changes it.
   *
   * @default {true}
   */
  echo?: boolean;
  /**
   * Value of `TERM`, which wins over one in `env`. `COLUMNS` and `LINES` are not
   * inherited: they would not follow a change of the size.
   *
   * @default {"xterm-256color"}
   */
  term?: string;
  /**
   * Where the session is recorded, as a path or a stream of bytes: output, input
   * and sizes in the asciicast v2 format. Nothing is recorded by default.
   *
   * A file is replaced, can be read by its owner only, and has every event at
   * once. It needs `--allow-write`. A stream is closed at the end; a slow one
   * slows the reading of the output down.
   *
   * Input is left out while echo is switched off in line mode, as at a password
   * prompt, and after {@linkcode Pty.waitNoEcho} to the end of the line. A
   * secret that is typed in raw mode without that is recorded.
   */
  transcript?: string | URL | WritableStream<Uint8Array>;
  /**
   * Milliseconds after the program's end in which other processes on the
   * terminal can still print.
   *
   * @default {100}
   */
  drainMs?: number;
  /**
   * What `write` does with a line of more than 4095 bytes in line mode: rejects
   * it before anything is typed, or types an end-of-file character in between,
   * which hands the first part over without a newline.
   *
   * @default {"reject"}
   */
  longLines?: "reject" | "split";
}

/** How {@linkcode Pty.waitFor} waits. */
export interface PtyWaitOptions {
  /** Ends the wait, not the program; the promise rejects with its reason. */
  signal?: AbortSignal;
  /**
   * Whether the end of the output is a match as well, with `index` -1 and all
   * that is left in `before`. With it the array of patterns may be empty.
   *
   * @default {false}
   */
  allowEnd?: boolean;
}

/** How {@linkcode Pty.waitNoEcho} waits. */
export interface PtyWaitNoEchoOptions {
  /** Ends the wait, not the program; the promise rejects with its reason. */
  signal?: AbortSignal;
  /**
   * Whether raw mode counts as well, for a program that asks for a password key
   * by key. What is typed next must be meant for it: at a shell's prompt it
   * would be shown.
   *
   * @default {false}
   */
  raw?: boolean;
}

/** What {@linkcode Pty.waitFor} found. It and what came before are consumed. */
export interface PtyMatch {
  /** Index in the array of patterns, 0 for a single one, -1 for the end. */
  readonly index: number;
  /** What was matched. */
  readonly text: string;
  /** Output between the last match and this one. */
  readonly before: string;
  /** Capture groups of a RegExp, the first one at index 0. */
  readonly captures: readonly (string | undefined)[];
  /** Named capture groups of a RegExp. */
  readonly groups: Readonly<Record<string, string | undefined>>;
  /** Bytes that are missing at the start of `before`, since it grew too long. */
  readonly droppedBytes: number;
}

/**
 * A program that leads a session of its own on a terminal of its own. All
 * functions that take a process group take it too.
 */
export interface Pty extends AsyncDisposable {
  /** Process id of the program. */
  readonly pid: number;
  /** Id of the process group and of the session; the same number as `pid`. */
  readonly pgid: number;
  /** Resolves with the program's status once it was reaped; never rejects. */
  readonly status: Promise<Deno.CommandStatus>;
  /**
   * The output that nobody has consumed. Nothing is read ahead. After a cancel
   * the output is read and thrown away, so that the program can go on.
   */
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Types what is written to it. Closing it types nothing: see `sendEof`. */
  readonly writable: WritableStream<Uint8Array<ArrayBufferLike>>;
  /**
   * Types text, or bytes as they are. Writes are done in order.
   *
   * @param data What to type; `\n` or `\r` is the Enter key.
   * @returns When the terminal has taken all of it.
   * @throws {RangeError} If a line is too long, see {@linkcode SpawnPtyOptions.longLines}.
   * @throws {TypeError} If it is neither a string nor bytes.
   * @throws {Deno.errors.BrokenPipe} If the program has ended.
   */
  write(data: string | Uint8Array): Promise<void>;
  /**
   * Types the end-of-file character: once at the start of a line, and twice in
   * the middle of one, where the first only hands over what was typed.
   *
   * @throws {TypeError} If the terminal is in raw mode, where there is none.
   * @throws {Deno.errors.BrokenPipe} If the program has ended.
   */
  sendEof(): Promise<void>;
  /**
   * Changes the size, which sends a SIGWINCH to the foreground; a no-op after
   * the end.
   *
   * @throws {RangeError} If a number is not from 1 to 65,535.
   */
  resize(size: PtySize): void;
  /** The size at this moment, or the last one after the end. */
  size(): PtySize;
  /**
   * Waits until a pattern is in the output that came since the last match. Of
   * all matches in what has come so far the earliest wins, of several that
   * start together the one of the first pattern. A match may come in several
   * pieces. It sees what has come so far: `$`, `.*` and a lookahead take the
   * end of that as the end.
   *
   * Text is searched as it comes, so that the cost is linear. A string may be
   * of any length, and a RegExp matches up to 8192 UTF-16 units for certain. At
   * least the newest 512 KiB of output are kept.
   *
   * Nothing is consumed unless a match is found.
   *
   * @param pattern What to wait for; the flags `g` and `y` mean nothing here.
   * @param ms Milliseconds for all of it, Infinity for no limit.
   * @param options How to wait.
   * @throws {PtyWaitError} If the time is up, or the output ends without a match.
   * @throws {TypeError} If `readable` is locked, or another wait is under way.
   * @throws {RangeError} If `ms` is negative, or a pattern is empty.
   * @throws {unknown} If `options.signal` aborts: its reason, as it is.
   */
  waitFor(
    pattern: PtyPattern | PtyPattern[],
    ms: number,
    options?: PtyWaitOptions,
  ): Promise<PtyMatch>;
  /**
   * Waits until the terminal hands over a line that it does not show, as a
   * program that asks for a password wants it. What is typed from then to the
   * end of the line stays out of the transcript.
   *
   * A program that edits lines itself (a shell at its prompt, an editor) takes
   * every key in raw mode and shows what it likes, so it does not count.
   *
   * @param ms Milliseconds to wait, Infinity for no limit.
   * @param options How to wait.
   * @throws {PtyWaitError} If the time is up, or the program ends.
   * @throws {unknown} If `options.signal` aborts: its reason, as it is.
   */
  waitNoEcho(ms: number, options?: PtyWaitNoEchoOptions): Promise<void>;
  /** Sends one signal to the program's process group; a no-op once it is gone. */
  kill(signo?: Deno.Signal | number): void;
  /** Keeps the event loop alive until the program's exit (the default). */
  ref(): void;
  /** Lets the event loop end before the program's exit. */
  unref(): void;
  /**
   * Stops every process of the session as a terminal does that is closed
   * (SIGHUP), then as any group: `killSignal`, grace period, SIGKILL.
   *
   * @throws {SurvivorsError} If a process could not be ended.
   * @throws {unknown} If the transcript could not be written: the reason.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/** How {@linkcode attachPty} attaches. */
export interface AttachPtyOptions {
  /**
   * Keys that end the attachment and leave the program running, such as
   * `"\x01d"` for Ctrl-A and then d. They are not handed on.
   */
  detachKeys?: string;
  /** Ends the attachment, not the program; the promise rejects with its reason. */
  signal?: AbortSignal;
}

/**
 * Starts a program on a new pseudo-terminal, as the leader of a session whose
 * controlling terminal it is. The size is set before the program starts, and
 * no helper program is needed.
 *
 * Use `await using`, or stop the session on every path.
 *
 * @example Answer a password prompt
 * ```ts
 * import { spawnPty } from "@proc/group/pty";
 * import { assert, assertFalse } from "@std/assert";
 *
 * await using pty = spawnPty("bash", ["-c", "read -sp 'Password: '; echo; echo ${#REPLY}"]);
 * await pty.waitNoEcho(10_000);
 * await pty.write("hunter2\n");
 * const { before } = await pty.waitFor([], 10_000, { allowEnd: true });
 * assert(before.includes("7"));
 * assertFalse(before.includes("hunter2"));
 * ```
 *
 * @tags allow-ffi, allow-run
 * @param command Program to run: a path, a name to be found in PATH, or a file URL.
 * @param options How to start and how to stop it.
 * @returns The running program.
 * @throws {Deno.errors.NotFound} If there is no such program or directory.
 * @throws {Deno.errors.PermissionDenied} If the file is not executable.
 * @throws {Deno.errors.NotCapable} If `--allow-ffi` or another permission is missing.
 * @throws {Deno.errors.NotSupported} If the system is not Linux with glibc.
 * @throws {TypeError} If a value has the wrong type or holds a NUL.
 * @throws {RangeError} If a number is out of its range.
 * @throws {unknown} If `options.signal` is aborted already: its reason, as it is.
 */
export function spawnPty(
  command: string | URL,
  options?: SpawnPtyOptions,
): Pty;
/**
 * Starts a program with arguments on a new pseudo-terminal. See the other form
 * for the rest.
 *
 * @example Interrupt with Ctrl-C
 * ```ts
 * import { spawnPty } from "@proc/group/pty";
 * import { assertEquals } from "@std/assert";
 *
 * await using pty = spawnPty("sh", ["-c", "echo ready; exec sleep 60"]);
 * await pty.waitFor("ready", 10_000);
 * await pty.write("\x03");
 * assertEquals((await pty.status).signal, "SIGINT");
 * ```
 *
 * @tags allow-ffi, allow-run
 * @param command Program to run: a path, a name to be found in PATH, or a file URL.
 * @param args Arguments for the program.
 * @param options How to start and how to stop it.
 * @returns The running program.
 * @throws {Deno.errors.NotFound} If there is no such program or directory.
 * @throws {Deno.errors.PermissionDenied} If the file is not executable.
 * @throws {Deno.errors.NotCapable} If `--allow-ffi` or another permission is missing.
 * @throws {Deno.errors.NotSupported} If the system is not Linux with glibc.
 * @throws {TypeError} If a value has the wrong type or holds a NUL.
 * @throws {RangeError} If a number is out of its range.
 * @throws {unknown} If `options.signal` is aborted already: its reason, as it is.
 */
export function spawnPty(
  command: string | URL,
  args: string[],
  options?: SpawnPtyOptions,
): Pty;
export function spawnPty(
  command: string | URL,
  argsOrOptions: string[] | SpawnPtyOptions = [],
  lastOptions: SpawnPtyOptions = {},
): Pty {
  requireTerminals();
  const options = Array.isArray(argsOrOptions) ? lastOptions : argsOrOptions;
  const settings = terminalSettings(options);
  return startPty(prepareSpawn(command, argsOrOptions, lastOptions), settings);
}

/**
 * Connects a program's terminal with the user's own, until the program has
 * ended and its last byte was written.
 *
 * If standard input is a terminal it is put in raw mode, so that every key
 * reaches the program, and gets its settings back on every path but SIGKILL. If
 * not, bytes are copied as they are, and the end of the input is typed as an
 * end of file. Changes of the user's terminal size are followed.
 *
 * SIGINT and SIGQUIT that reach this process are handed on to the program;
 * SIGTERM and SIGHUP stop the session as disposal does. After them the promise
 * resolves like after any other end, and this process goes on.
 *
 * @example Copy what a program prints
 * ```ts
 * import { attachPty, spawnPty } from "@proc/group/pty";
 * import { assert } from "@std/assert";
 *
 * await using pty = spawnPty("echo", ["hello"]);
 * const status = await attachPty(pty);
 * assert(status.success);
 * ```
 *
 * @tags allow-ffi
 * @param pty The program; nobody else may read its output meanwhile.
 * @param options How to attach.
 * @returns The program's status.
 * @throws {TypeError} If its output is being read by somebody else.
 * @throws {SurvivorsError} If a process could not be ended after a signal.
 * @throws {Deno.errors.BrokenPipe} If nobody reads standard output any more.
 * @throws {unknown} If `options.signal` aborts: its reason, as it is.
 */
export function attachPty(
  pty: Pty,
  options?: AttachPtyOptions & { detachKeys?: never },
): Promise<Deno.CommandStatus>;
/**
 * Connects a program's terminal with the user's own, until the program ends or
 * the user types the detach keys. See the other form for the rest.
 *
 * @example Let the user leave with Ctrl-A d
 * ```ts
 * import { attachPty, spawnPty } from "@proc/group/pty";
 * import { assert } from "@std/assert";
 *
 * await using pty = spawnPty("true");
 * const status = await attachPty(pty, { detachKeys: "\x01d" });
 * // It would be null if the user had left before the end.
 * assert(status?.success);
 * ```
 *
 * @tags allow-ffi
 * @param pty The program; nobody else may read its output meanwhile.
 * @param options How to attach.
 * @returns The program's status, or null if the user detached.
 * @throws {TypeError} If its output is being read by somebody else.
 * @throws {SurvivorsError} If a process could not be ended after a signal.
 * @throws {Deno.errors.BrokenPipe} If nobody reads standard output any more.
 * @throws {unknown} If `options.signal` aborts: its reason, as it is.
 */
export function attachPty(
  pty: Pty,
  options: AttachPtyOptions,
): Promise<Deno.CommandStatus | null>;
export function attachPty(
  pty: Pty,
  options: AttachPtyOptions = {},
): Promise<Deno.CommandStatus | null> {
  return attach(pty, options);
}
