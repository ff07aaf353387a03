// Copyright 2026 the @proc/group authors. MIT license.

/** A program on a terminal: what stands behind a public Pty. */

import { SurvivorsError } from "./_errors.ts";
import { GroupHandle } from "./_group.ts";
import {
  checkAbortSignal,
  checkLimit,
  type PreparedSpawn,
} from "./_options.ts";
import { linux } from "./_platform/linux.ts";
import type { Leader } from "./_platform/platform.ts";
import type { PtyDevice } from "./_platform/pty_device.ts";
import { spawnOnPty } from "./_platform/pty_linux.ts";
import { Clock, pause } from "./_pty_clock.ts";
import { PtyWaitError } from "./_pty_error.ts";
import { type LongLines, PtyInput } from "./_pty_input.ts";
import { type Consumed, PtyOutput } from "./_pty_output.ts";
import { ptyWritableStream } from "./_pty_stream.ts";
import { Transcript, type TranscriptTarget } from "./_pty_transcript.ts";
import { registerGroup } from "./_registry.ts";
import { signalOrThrow } from "./_target.ts";
import type {
  Pty,
  PtyMatch,
  PtyPattern,
  PtySize,
  PtyWaitNoEchoOptions,
  PtyWaitOptions,
} from "./pty.ts";
import { checkPatterns, checkSize } from "./_pty_options.ts";

/** UTF-16 units of unconsumed output that an error carries. */
const TAIL_LENGTH = 2048;

/** How long a check for echo waits before the next one, in milliseconds. */
const ECHO_POLL_MS = 10;

/** How long after a SIGHUP a shell is woken, in milliseconds. */
const WAKE_MS = 50;

/** Checked options that concern the terminal. */
export interface TerminalSettings {
  size: PtySize;
  echo: boolean;
  term: string;
  drainMs: number;
  longLines: LongLines;
  transcript: TranscriptTarget | undefined;
}

/** Starts a program on a new terminal. */
export function startPty(
  prepared: PreparedSpawn,
  settings: TerminalSettings,
): PtySession {
  const transcript = settings.transcript === undefined
    ? null
    : new Transcript(settings.transcript);
  try {
    return new PtySession(prepared, settings, transcript);
  } catch (error) {
    transcript?.close().catch(() => {
      // The program did not start, which is what the caller is told.
    });
    throw error;
  }
}

/** See {@linkcode Pty}; the rest is for what bridges it to another terminal. */
export class PtySession implements Pty {
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<Uint8Array<ArrayBufferLike>>;
  #handle: GroupHandle;
  #device: PtyDevice;
  #transcript: Transcript | null;
  #input: PtyInput;
  #output: PtyOutput;
  #status: Deno.CommandStatus | null = null;

  constructor(
    prepared: PreparedSpawn,
    settings: TerminalSettings,
    transcript: Transcript | null,
  ) {
    const { request } = prepared;
    const env = { ...request.env, TERM: settings.term };
    const { leader, device } = spawnOnPty({ ...request, env }, settings);
    transcript?.start({ ...settings.size, term: settings.term });
    this.#device = device;
    this.#transcript = transcript;
    this.#output = new PtyOutput(device, transcript);
    this.#input = new PtyInput(device, settings.longLines, {
      input: (bytes) => transcript?.input(bytes),
      typed: () => this.#output.expectAnswer(),
    });
    this.readable = this.#output.readable;
    this.writable = ptyWritableStream((bytes) => this.#input.write(bytes));
    this.#output.ended.then(() => this.#onEnd());
    leader.status.then((status) => {
      this.#status = status;
      this.#output.finish(settings.drainMs);
    });
    this.#handle = this.#makeHandle(prepared, leader);
    registerGroup(this, this.#handle);
  }

  get pid(): number {
    return this.#handle.pgid;
  }

  get pgid(): number {
    return this.#handle.pgid;
  }

  get status(): Promise<Deno.CommandStatus> {
    return this.#handle.status;
  }

  /** Types bytes as they are, whatever becomes of a long line. */
  writeRaw(bytes: Uint8Array): Promise<void> {
    return this.#input.writeRaw(bytes);
  }

  /**
   * Hands all output over as it comes. Resolves to true at its end, to false
   * when `signal` aborts: what comes later is for the next consumer.
   */
  copyTo(
    write: (bytes: Uint8Array) => Promise<void>,
    signal: AbortSignal,
  ): Promise<boolean> {
    this.#checkFree("copy the output");
    return this.#output.copyTo(write, signal);
  }

  /** Stops the session as disposal does, and leaves the rest as it is. */
  async stop(): Promise<void> {
    const { report } = await this.#handle.stop();
    if (report.survivors.length > 0) throw new SurvivorsError(report);
  }

  async write(data: string | Uint8Array): Promise<void> {
    await this.#input.write(data);
  }

  sendEof(): Promise<void> {
    return this.#input.sendEof();
  }

  /** Types an end of file in any mode, until the signal aborts. */
  endInput(signal: AbortSignal): Promise<void> {
    return this.#input.endInput(signal);
  }

  size(): PtySize {
    return this.#device.size;
  }

  resize(size: PtySize): void {
    const { columns, rows } = checkSize(size);
    if (this.#output.hasEnded) return;
    this.#device.resize({ columns, rows });
    this.#transcript?.resize(columns, rows);
  }

  async waitFor(
    pattern: PtyPattern | PtyPattern[],
    ms: number,
    options: PtyWaitOptions = {},
  ): Promise<PtyMatch> {
    checkLimit(ms);
    const patterns = checkPatterns(pattern, options.allowEnd ?? false);
    this.#checkFree("wait for a pattern");
    checkAbortSignal(options.signal)?.throwIfAborted();
    const clock = new Clock(ms, options.signal);
    let found: Consumed | null;
    try {
      found = await this.#output.waitFor(patterns, clock.signal);
    } finally {
      clock.stop();
    }
    if (found) return toMatch(found);
    options.signal?.throwIfAborted();
    if (this.#output.hasEnded && options.allowEnd) {
      const { before, droppedBytes } = this.#output.takeText();
      const empty = { index: -1, text: "", captures: [], groups: {} };
      return { ...empty, before, droppedBytes };
    }
    throw this.#waitError(Deno.inspect(pattern, { strAbbreviateSize: 80 }), ms);
  }

  async waitNoEcho(
    ms: number,
    options: PtyWaitNoEchoOptions = {},
  ): Promise<void> {
    checkLimit(ms);
    checkAbortSignal(options.signal)?.throwIfAborted();
    const clock = new Clock(ms, options.signal);
    try {
      while (!this.#hidesInput(options.raw ?? false)) {
        options.signal?.throwIfAborted();
        if (this.#output.hasEnded || clock.signal.aborted) {
          throw this.#waitError("echo switched off", ms);
        }
        await pause(ECHO_POLL_MS, clock.signal);
      }
      this.#input.expectSecret();
    } finally {
      clock.stop();
    }
  }

  [Symbol.for("Deno.customInspect")](): string {
    return `Pty { pid: ${this.pid}, command: ${
      JSON.stringify(this.#handle.commandLine)
    } }`;
  }

  kill(signo: Deno.Signal | number = "SIGTERM"): void {
    signalOrThrow(this.#handle, signo);
  }

  ref(): void {
    this.#handle.leader.ref();
  }

  unref(): void {
    this.#handle.leader.unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.stop();
    } finally {
      // A survivor may not read, and a write that waits would never end.
      await this.#input.end();
      await this.#handle.closeStreams();
    }
    await this.#transcript?.close();
  }

  #makeHandle(prepared: PreparedSpawn, leader: Leader): GroupHandle {
    const { request, settings, signal } = prepared;
    return new GroupHandle({
      platform: linux,
      leader: this.#withStreams(leader),
      group: request.group,
      settings,
      commandLine: [request.command, ...request.args].join(" "),
      signal,
      hangsUp: true,
    });
  }

  /** A leader whose standard streams are the terminal. */
  #withStreams(leader: Leader): Leader {
    const { pid, startTime, status } = leader;
    return {
      pid,
      startTime,
      status,
      stdin: this.writable,
      stdout: this.#output.readable,
      stderr: null,
      isGuarded: () => leader.isGuarded(),
      signalGroup: (signal) => {
        if (signal === "SIGHUP") this.#wakeLater(leader);
        return leader.signalGroup(signal);
      },
      owns: (snapshot, group) => leader.owns(snapshot, group),
      ref: () => leader.ref(),
      unref: () => leader.unref(),
      release: async () => {
        await leader.release();
        await this.#output.ended;
        await this.#input.end();
        await this.#transcript?.close().catch(() => {
          // Disposal tells about a transcript that is not whole.
        });
      },
    };
  }

  /**
   * A shell that gets its SIGHUP between the look for signals and the read of
   * its next line would notice it only at the next key. SIGWINCH wakes it and
   * is ignored by all others.
   */
  #wakeLater(leader: Leader): void {
    const timer = setTimeout(() => leader.signalGroup("SIGWINCH"), WAKE_MS);
    leader.status.then(() => clearTimeout(timer));
  }

  #onEnd(): void {
    this.#input.end();
    this.#transcript?.close().catch(() => {
      // Disposal tells about it.
    });
  }

  /** Whether what is typed is not shown by the terminal. */
  #hidesInput(alsoRaw: boolean): boolean {
    const modes = this.#device.modes();
    return modes !== null && !modes.echo && (modes.canonical || alsoRaw);
  }

  /** Output has one consumer at a time. */
  #checkFree(intent: string): void {
    if (this.readable.locked) {
      throw new TypeError(`Cannot ${intent}: 'readable' is locked`);
    }
    if (this.#output.isConsumed) {
      throw new TypeError(`Cannot ${intent}: somebody else is reading it`);
    }
  }

  #waitError(awaited: string, ms: number): PtyWaitError {
    const reason = this.#output.hasEnded ? "end" : "timeout";
    const tail = this.#output.tail(TAIL_LENGTH);
    return new PtyWaitError(awaited, {
      reason,
      ms,
      tail,
      status: this.#status,
    });
  }
}

function toMatch(found: Consumed): PtyMatch {
  const { index, text, before, captures, groups, droppedBytes } = found;
  return { index, text, before, captures, groups, droppedBytes };
}
