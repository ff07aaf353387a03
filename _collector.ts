// Copyright 2026 the @proc/group authors. MIT license.

import { concat } from "@std/bytes/concat";

/**
 * Reads a stream to its end and keeps every chunk, so that what was read so far
 * can be had at any moment.
 */
export class Collector {
  /** Resolves at the end of the stream, or once it was cancelled. */
  readonly done: Promise<void>;
  #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  #chunks: Uint8Array<ArrayBuffer>[] = [];
  #length = 0;
  #limit = Infinity;
  #listeners: (() => void)[] = [];
  #drained = false;
  #cancelled = false;

  /** Locks the stream for good. */
  constructor(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.#reader = stream.getReader();
    this.done = this.#read();
  }

  /** Whether the end of the stream was reached. */
  get drained(): boolean {
    return this.#drained;
  }

  /** The least that was set with {@linkcode limit}. */
  get maxBytes(): number {
    return this.#limit;
  }

  /**
   * Calls `onLimit` once if there is more than the least of all limits, and
   * keeps no more.
   */
  limit(bytes: number, onLimit: () => void): void {
    this.#limit = Math.min(this.#limit, bytes);
    this.#listeners.push(onLimit);
    if (this.#length > this.#limit) this.#tellLimit();
  }

  /** What was read so far, cut at the limit. */
  bytes(): Uint8Array<ArrayBuffer> {
    const [first] = this.#chunks;
    // One that fills its buffer need not be copied.
    const isWhole = this.#chunks.length === 1 &&
      first?.byteLength === first?.buffer.byteLength;
    const bytes: Uint8Array<ArrayBuffer> = isWhole
      ? first!
      : concat(this.#chunks);
    this.#chunks = [bytes];
    return bytes.length > this.#limit ? bytes.slice(0, this.#limit) : bytes;
  }

  /** Stops reading and keeps what was read. */
  async cancel(): Promise<void> {
    this.#cancelled = true;
    await this.#reader.cancel().catch(() => {
      // The stream had failed before; what came before that counts.
    });
    await this.done;
  }

  async #read(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await this.#reader.read();
        if (done) break;
        this.#add(value);
      }
      // A cancelled read ends like one at the end of the stream.
      this.#drained = !this.#cancelled;
    } catch {
      // A read error ends the output; what came before it counts.
    }
  }

  #add(chunk: Uint8Array<ArrayBuffer>): void {
    const before = this.#length;
    this.#length += chunk.length;
    if (before <= this.#limit) this.#chunks.push(chunk);
    if (this.#length > this.#limit) this.#tellLimit();
  }

  #tellLimit(): void {
    for (const onLimit of this.#listeners.splice(0)) onLimit();
  }
}
