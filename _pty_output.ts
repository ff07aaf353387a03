// Copyright 2026 the @proc/group authors. MIT license.

/**
 * The reading side of a terminal: what the program prints, for whoever asks,
 * and what is left of it once the program has ended.
 */

import { Answers } from "./_pty_answer.ts";
import { OutputBuffer } from "./_pty_buffer.ts";
import { type Found, PatternSearch } from "./_pty_match.ts";
import { Gate } from "./_pty_gate.ts";
import { end, PtyReadableStream } from "./_pty_stream.ts";
import type { PtyPattern } from "./pty.ts";
import type { PtyPort } from "./_platform/pty_device.ts";
import type { Watch } from "./_platform/reactor.ts";

/**
 * Unread output that is kept at least, in bytes; older output is dropped at
 * twice as much.
 */
const CAP_BYTES = 512 * 1024;

/** More than the kernel keeps of a program's output, in bytes. */
const KERNEL_BYTES = 128 * 1024;

/** A match together with the text that came before it, both consumed. */
export interface Consumed extends Omit<Found, "fromEnd"> {
  readonly before: string;
  readonly droppedBytes: number;
}

/** Told of all output as it is read. */
export interface OutputObserver {
  output(bytes: Uint8Array): void;
  /** Resolves when more may be read. */
  readonly written: Promise<void>;
}

/** Reads the master for one consumer at a time. */
export class PtyOutput {
  /** Everything that nobody else has consumed. Nothing is read ahead for it. */
  readonly readable: PtyReadableStream;
  #port: PtyPort;
  #observer: OutputObserver | null;
  #buffer = new OutputBuffer(CAP_BYTES);
  #reading: Promise<boolean> | null = null;
  /** Whether the last read did not have to wait. */
  #isBusy = false;
  /** Counts what was read, since finish() reads too. */
  #arrivals = 0;
  readonly #answers = new Answers();
  #expiry = new Gate();
  #hasEnded = false;
  #ended = Promise.withResolvers<void>();
  #finishing: Promise<void> | null = null;
  /** Settles when whoever consumes the output beside the stream is done. */
  #consumer: Promise<void> | null = null;
  #watch: Watch | null = null;
  /** Resolves when nothing is pending because of canceled watches. */
  #canceled: Promise<void> = Promise.resolve();

  constructor(port: PtyPort, observer: OutputObserver | null) {
    this.#port = port;
    this.#observer = observer;
    this.readable = new PtyReadableStream({
      pull: (controller) => this.#pull(controller),
      cancel: () => this.#discard(),
    });
  }

  /** Whether all output was read; some of it may not be consumed. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Whether somebody consumes the output beside the stream. */
  get isConsumed(): boolean {
    return this.#consumer !== null;
  }

  /** Resolves when all output was read. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** The end of what was not consumed. */
  tail(units: number): string {
    return this.#buffer.text().slice(-units);
  }

  /**
   * Consumes output up to the first match. Resolves to null at the end of the
   * output or when `signal` aborts, with nothing consumed.
   */
  waitFor(
    patterns: readonly PtyPattern[],
    signal: AbortSignal,
  ): Promise<Consumed | null> {
    const search = new PatternSearch(patterns);
    return this.#consumeUntil(signal, (over) => this.#search(search, over));
  }

  /**
   * Hands all output over as it comes. Resolves to true at its end, to false
   * when `signal` aborts.
   */
  copyTo(
    write: (bytes: Uint8Array) => Promise<void>,
    signal: AbortSignal,
  ): Promise<boolean> {
    return this.#consumeUntil(signal, (over) => this.#copy(write, over));
  }

  /** Consumes all that is left. */
  takeText(): { before: string; droppedBytes: number } {
    const { droppedBytes } = this.#buffer;
    const before = this.#buffer.text();
    this.#buffer.take();
    return { before, droppedBytes };
  }

  /**
   * The program has ended: reads what it has printed, lets the slave go, and
   * reads on until nobody holds it, at most for `drainMs`. Idempotent.
   */
  finish(drainMs: number): Promise<void> {
    this.#finishing ??= this.#finish(drainMs);
    return this.#finishing;
  }

  async #finish(drainMs: number): Promise<void> {
    const timer = setTimeout(() => this.#expire(), drainMs);
    try {
      this.#readAtOnce();
      this.#port.closeSlave();
      while (await this.more()) {
        // It goes to the buffer, or to whoever asks at the moment.
      }
    } catch {
      // The consumer was told; there is nothing more to read.
      this.#end();
    }
    clearTimeout(timer);
  }

  /** While the slave is held nothing of the program's own output can be lost. */
  #readAtOnce(): void {
    for (let left = KERNEL_BYTES; left > 0;) {
      const bytes = this.#port.read();
      if (typeof bytes === "string") break;
      this.#take(bytes);
      left -= bytes.length;
    }
    // Whoever waits for bytes has them now.
    this.#cancelWatch();
  }

  #expire(): void {
    this.#expiry.open();
    this.#cancelWatch();
  }

  /** Something was typed, which a program may answer at once. */
  expectAnswer(): void {
    // Whoever waits has to look for the answer instead.
    if (this.#answers.expect()) this.#cancelWatch();
  }

  /** Resolves to true once more was read, to false at the end of the output. */
  more(): Promise<boolean> {
    this.#reading ??= this.#read().finally(() => this.#reading = null);
    return this.#reading;
  }

  /** Keeps the stream from reading while another consumer does. */
  async #consumeUntil<T>(
    signal: AbortSignal,
    consume: (over: Gate) => Promise<T>,
  ): Promise<T> {
    const done = Promise.withResolvers<void>();
    const over = new Gate();
    const onAbort = () => over.open();
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    this.#consumer = done.promise;
    try {
      return await consume(over);
    } finally {
      this.#consumer = null;
      done.resolve();
      signal.removeEventListener("abort", onAbort);
    }
  }

  async #search(
    search: PatternSearch,
    over: Gate,
  ): Promise<Consumed | null> {
    let piece = this.#buffer.text();
    for (;;) {
      const found = search.push(piece);
      if (found) return this.#consume(found);
      const hasMore = await over.unless(this.more());
      piece = this.#buffer.decode();
      if (piece === "" && !hasMore) return null;
    }
  }

  async #copy(
    write: (bytes: Uint8Array) => Promise<void>,
    over: Gate,
  ): Promise<boolean> {
    while (!over.isOpen) {
      if (this.#buffer.byteLength > 0) {
        await over.unless(write(this.#buffer.take()));
      } else if (this.#hasEnded) return true;
      else await over.unless(this.more());
    }
    return false;
  }

  #consume({ fromEnd, ...match }: Found): Consumed {
    const text = this.#buffer.text();
    const { droppedBytes } = this.#buffer;
    const start = Math.max(0, text.length - fromEnd);
    const before = text.slice(0, start);
    this.#buffer.consume(start + match.text.length);
    return { before, droppedBytes, ...match };
  }

  async #read(): Promise<boolean> {
    const seen = this.#arrivals;
    let hasWaited = false;
    await this.#pause();
    try {
      while (!this.#expiry.isOpen) {
        if (this.#arrivals !== seen) return true;
        const bytes = this.#port.read();
        if (bytes === "end") break;
        if (bytes === "again") {
          if (this.#answers.look((ms) => this.#port.lookFor(ms))) continue;
          await this.#readable();
          hasWaited = true;
        } else {
          this.#take(bytes);
          this.#isBusy = !hasWaited;
        }
      }
    } catch (error) {
      this.#end();
      throw error;
    }
    this.#end();
    return false;
  }

  /** Lets the transcript keep up, and others have their turn. */
  async #pause(): Promise<void> {
    if (this.#observer) await this.#expiry.unless(this.#observer.written);
    // A program that prints without end must not keep timers from firing.
    if (!this.#isBusy) return;
    this.#isBusy = false;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }

  async #readable(): Promise<void> {
    this.#watch = this.#port.watch("read");
    const isReady = await this.#watch.ready;
    this.#watch = null;
    if (isReady) this.#answers.arrived();
  }

  #cancelWatch(): void {
    if (this.#watch === null) return;
    const both = Promise.all([this.#canceled, this.#watch.cancel()]);
    this.#canceled = both.then(() => {});
  }

  #take(bytes: Uint8Array): void {
    this.#observer?.output(bytes);
    this.#buffer.push(bytes);
    this.#arrivals++;
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#answers.end();
    this.#port.close();
    this.#canceled.then(() => this.#ended.resolve());
  }

  /**
   * Gives the stream what it has asked for and no more: what it keeps is lost
   * for others. Who has let it go while a read was pending leaves it to them.
   */
  async #pull(controller: ReadableByteStreamController): Promise<void> {
    while (this.readable.locked) {
      if (this.#consumer) await this.#consumer;
      else if (this.#buffer.byteLength > 0) {
        const wanted = controller.byobRequest?.view?.byteLength;
        return controller.enqueue(this.#buffer.take(wanted));
      } else if (this.#hasEnded) return end(controller);
      else await this.more();
    }
  }

  /**
   * Nobody wants the output: it is read and thrown away, since a program whose
   * terminal is full would stop.
   */
  async #discard(): Promise<void> {
    this.#throwAway().catch(() => {
      // What cannot be read need not be thrown away.
    });
    // Until the program ends there is no end to wait for.
    if (this.#finishing) await this.#finishing;
  }

  async #throwAway(): Promise<void> {
    do this.#buffer.take(); while (await this.more());
    this.#buffer.take();
  }
}
