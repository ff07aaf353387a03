// Copyright 2026 the @proc/group authors. MIT license.

/** The writing side of a terminal: what is typed, one write after another. */

import { pause } from "./_pty_clock.ts";
import type { PtyPort, TerminalModes } from "./_platform/pty_device.ts";
import type { Watch } from "./_platform/reactor.ts";
import { requireWhole } from "./_platform/streams.ts";

/**
 * Longest line, without its end, that a terminal in line mode hands over whole,
 * in bytes; termios(3), "Canonical and noncanonical mode".
 */
const MAX_LINE_BYTES = 4095;

/** What a write does with a line that a terminal in line mode would cut. */
export type LongLines = "reject" | "split";

/** How often it is looked whether the program has read all, in milliseconds. */
const END_POLL_MS = 50;

/** What a key press types that means an end of file in raw mode. */
const CONTROL_D = Uint8Array.of(4);

/** The line that was begun, as far as it is known. */
interface OpenLine {
  /** What was typed of it, with what was erased: its size is not known. */
  readonly bytes: number;
  /** What is left of it. */
  readonly characters: number;
}

const EMPTY_LINE: OpenLine = { bytes: 0, characters: 0 };

/** Told of what is typed. */
export interface InputObserver {
  /** All of these bytes were typed, and they are no secret. */
  input(bytes: Uint8Array): void;
  /** Some bytes were typed just now. */
  typed(): void;
}

/** Writes to the master in order. */
export class PtyInput {
  #port: PtyPort;
  #longLines: LongLines;
  #observer: InputObserver;
  #encoder = new TextEncoder();
  #last: Promise<void> = Promise.resolve();
  #line: OpenLine = EMPTY_LINE;
  /** Whether what is typed until the end of the line is a secret. */
  #isSecret = false;
  #watch: Watch | null = null;
  /** Resolves when nothing is pending because of a watch; null before the end. */
  #ended: Promise<void> | null = null;

  constructor(
    port: PtyPort,
    longLines: LongLines,
    observer: InputObserver,
  ) {
    this.#port = port;
    this.#longLines = longLines;
    this.#observer = observer;
  }

  /** What is typed from now to the end of the line stays out of the transcript. */
  expectSecret(): void {
    this.#isSecret = true;
  }

  /** Types text or bytes; resolves when the kernel took all of them. */
  write(data: string | Uint8Array): Promise<void> {
    const bytes = toBytes(data, this.#encoder);
    const { byteLength } = bytes;
    return this.#enqueue(async () => {
      requireWhole(bytes, byteLength);
      const modes = this.#port.modes();
      if (!modes?.canonical) this.#line = EMPTY_LINE;
      await this.#type(modes?.canonical ? this.#inLines(bytes, modes) : bytes);
      this.#record(bytes, modes);
    });
  }

  /** Types bytes as they are, whatever becomes of a long line. */
  writeRaw(bytes: Uint8Array): Promise<void> {
    return this.#enqueue(async () => {
      const modes = this.#port.modes();
      this.#line = modes?.canonical
        ? scanLines(bytes, modes, this.#line).open
        : EMPTY_LINE;
      await this.#type(bytes);
      this.#record(bytes, modes);
    });
  }

  /** Types the end-of-file character, so that the program reads an end of file. */
  sendEof(): Promise<void> {
    return this.#enqueue(async () => {
      const modes = this.#port.modes();
      if (modes === null) throw brokenPipe();
      if (!modes.canonical || modes.eof === undefined) {
        throw new TypeError(
          'Cannot send an end of file: the terminal is in raw mode, where write("\\x04") types Ctrl-D',
        );
      }
      // In the middle of a line the first one only hands over what was typed.
      const count = this.#line.characters === 0 ? 1 : 2;
      this.#line = EMPTY_LINE;
      await this.#type(new Uint8Array(count).fill(modes.eof));
    });
  }

  /**
   * Types an end of file once the program has read all, and again whenever it
   * has changed the mode since: a shell takes Ctrl-D in raw mode at its prompt,
   * and one that was typed while a command ran in line mode was the command's.
   */
  async endInput(signal: AbortSignal): Promise<void> {
    let typed: boolean | undefined;
    while (this.#ended === null && !signal.aborted) {
      const isCanonical = this.#port.modes()?.canonical;
      if (isCanonical !== typed && this.#port.unreadBytes() === 0) {
        if (isCanonical) await this.sendEof();
        else await this.writeRaw(CONTROL_D);
        typed = isCanonical;
      }
      await pause(END_POLL_MS, signal);
    }
  }

  /**
   * Nobody will read any more: writes that wait reject, and so do later ones.
   * Resolves when nothing is pending because of them. Idempotent.
   */
  end(): Promise<void> {
    this.#ended ??= this.#watch?.cancel() ?? Promise.resolve();
    return this.#ended;
  }

  #enqueue(task: () => Promise<void>): Promise<void> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => {
      // Its caller was told; the next write is on its own.
    });
    return result;
  }

  async #type(bytes: Uint8Array): Promise<void> {
    const { byteLength } = bytes;
    for (let rest = bytes; rest.length > 0;) {
      if (this.#ended !== null) throw brokenPipe();
      const count = this.#port.write(rest);
      rest = rest.subarray(count);
      if (count > 0) {
        this.#observer.typed();
        continue;
      }
      this.#watch = this.#port.watch("write");
      await this.#watch.ready;
      this.#watch = null;
      requireWhole(bytes, byteLength);
    }
  }

  /** The bytes to type so that no line is cut, or an error. */
  #inLines(bytes: Uint8Array, modes: TerminalModes): Uint8Array {
    const { cuts, open } = scanLines(bytes, modes, this.#line);
    if (cuts.length > 0 && this.#longLines === "reject") {
      throw new RangeError(
        `Cannot write a line of more than ${MAX_LINE_BYTES} bytes: the terminal is in line mode and would cut it`,
      );
    }
    if (cuts.length > 0 && modes.eof === undefined) {
      throw new RangeError(
        "Cannot split a line: the terminal has no end-of-file character",
      );
    }
    this.#line = open;
    return insertAt(bytes, cuts, modes.eof ?? 0);
  }

  /** A password prompt switches echo off and reads a line. */
  #record(bytes: Uint8Array, modes: TerminalModes | null): void {
    const isHidden = this.#isSecret || (modes?.canonical && !modes.echo);
    if (bytes.includes(10) || bytes.includes(13)) this.#isSecret = false;
    if (!isHidden) this.#observer.input(bytes);
  }
}

function toBytes(data: unknown, encoder: TextEncoder): Uint8Array {
  if (typeof data === "string") return encoder.encode(data);
  if (data instanceof Uint8Array) return data;
  throw new TypeError(
    `Cannot write to the terminal: current value is ${
      Deno.inspect(data)
    }, neither a string nor bytes`,
  );
}

/**
 * Where lines grow too long, as indices before which one has to be handed over,
 * and the line that is open at the end.
 */
function scanLines(
  typed: Uint8Array,
  { lineEnds, erase }: TerminalModes,
  before: OpenLine,
): { cuts: number[]; open: OpenLine } {
  const cuts: number[] = [];
  let { bytes, characters } = before;
  for (let index = 0; index < typed.length; index++) {
    const byte = typed[index]!;
    if (lineEnds[byte] === 1) {
      bytes = characters = 0;
    } else if (byte === erase) {
      characters = Math.max(0, characters - 1);
      if (characters === 0) bytes = 0;
    } else if (++bytes > MAX_LINE_BYTES) {
      cuts.push(index);
      bytes = characters = 1;
    } else if ((byte & 0xc0) !== 0x80) {
      // The others go on with a character of UTF-8.
      characters++;
    }
  }
  return { cuts, open: { bytes, characters } };
}

function brokenPipe(): Error {
  return new Deno.errors.BrokenPipe(
    "Cannot write to the terminal: the program has ended",
  );
}

/** A copy with one more byte before each index; the same bytes without any. */
function insertAt(
  bytes: Uint8Array,
  indices: readonly number[],
  inserted: number,
): Uint8Array {
  if (indices.length === 0) return bytes;
  const result = new Uint8Array(bytes.length + indices.length);
  let from = 0;
  for (const [count, index] of indices.entries()) {
    result.set(bytes.subarray(from, index), from + count);
    result[index + count] = inserted;
    from = index;
  }
  result.set(bytes.subarray(from), from + indices.length);
  return result;
}
