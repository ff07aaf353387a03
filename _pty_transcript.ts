// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Recording of a terminal session in the asciicast v2 format: a line of JSON
 * with the size, then one line for each event: time in seconds, kind ("o" for
 * output, "i" for input, "r" for a resize) and data.
 */

import { pause } from "./_pty_clock.ts";

/**
 * How long a stream that takes nothing can delay the end, in milliseconds: a
 * stop is bounded.
 */
const CLOSE_MS = 1000;

/** Where a transcript goes. */
export type TranscriptTarget = string | URL | WritableStream<Uint8Array>;

/** What the first line of a transcript says. */
export interface TranscriptHeader {
  columns: number;
  rows: number;
  term: string;
}

/** Somewhere to write lines. */
interface Sink {
  /** Throws, or rejects later, when it cannot write. */
  write(line: Uint8Array): Promise<void> | void;
  close(): Promise<void> | void;
}

/**
 * One recording. It never throws while the session goes on: a failure ends the
 * recording, and {@linkcode close} rejects with it.
 */
export class Transcript {
  #sink: Sink | null;
  #startedAt = performance.now();
  #encoder = new TextEncoder();
  #output = newDecoder();
  #input = newDecoder();
  #failure: { error: unknown } | null = null;
  #closed: Promise<void> | null = null;
  #written: Promise<void> = Promise.resolve();

  constructor(target: TranscriptTarget) {
    this.#sink = target instanceof WritableStream
      ? streamSink(target)
      : fileSink(target);
  }

  /** Resolves when the events so far were written; never rejects. */
  get written(): Promise<void> {
    return this.#written;
  }

  /** Writes the first line; the times of all events count from here. */
  start(header: TranscriptHeader): void {
    this.#startedAt = performance.now();
    this.#writeLine({
      version: 2,
      width: header.columns,
      height: header.rows,
      timestamp: Math.floor(Date.now() / 1000),
      env: { TERM: header.term },
    });
  }

  /** Records what the terminal showed. */
  output(bytes: Uint8Array): void {
    this.#event("o", this.#output.decode(bytes, { stream: true }));
  }

  /** Records what was typed. */
  input(bytes: Uint8Array): void {
    this.#event("i", this.#input.decode(bytes, { stream: true }));
  }

  /** Records a new size. */
  resize(columns: number, rows: number): void {
    this.#event("r", `${columns}x${rows}`);
  }

  /** Writes what is left and closes the target. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#finish();
    return this.#closed;
  }

  async #finish(): Promise<void> {
    this.#event("o", this.#output.decode());
    this.#event("i", this.#input.decode());
    const clock = new AbortController();
    const late = pause(CLOSE_MS, clock.signal).then(() => true);
    const isLate = await Promise.race([this.#closeSink(), late])
      .finally(() => clock.abort());
    if (isLate) {
      throw new Error("Cannot finish the transcript: its stream takes no more");
    }
  }

  async #closeSink(): Promise<void> {
    await this.#written;
    const sink = this.#sink;
    this.#sink = null;
    if (this.#failure) throw this.#failure.error;
    await sink?.close();
  }

  #event(kind: "o" | "i" | "r", data: string): void {
    if (data === "") return;
    const seconds = (performance.now() - this.#startedAt) / 1000;
    this.#writeLine([Number(seconds.toFixed(6)), kind, data]);
  }

  #writeLine(value: unknown): void {
    const line = this.#encoder.encode(JSON.stringify(value) + "\n");
    try {
      const pending = this.#sink?.write(line);
      if (pending) this.#written = pending.catch((error) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The session goes on without its recording; close() tells. */
  #fail(error: unknown): void {
    this.#failure ??= { error };
    if (this.#sink) abandon(this.#sink);
    this.#sink = null;
  }
}

async function abandon(sink: Sink): Promise<void> {
  try {
    await sink.close();
  } catch {
    // The error that led here is the one to report.
  }
}

/**
 * A file is written synchronously, so that every event is in it at once,
 * however this process ends. Nobody but the owner may read it.
 */
function fileSink(path: string | URL): Sink {
  const file = Deno.openSync(path, {
    write: true,
    create: true,
    truncate: true,
    mode: 0o600,
  });
  return {
    write(line) {
      for (let at = 0; at < line.length;) {
        at += file.writeSync(line.subarray(at));
      }
    },
    close: () => file.close(),
  };
}

function streamSink(stream: WritableStream<Uint8Array>): Sink {
  const writer = stream.getWriter();
  // A failure is seen by the next write or by the close.
  writer.closed.catch(() => {});
  return {
    write: (line) => writer.write(line),
    close: () => writer.close().finally(() => writer.releaseLock()),
  };
}

function newDecoder(): TextDecoder {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}
