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
  #onLimit: () => void = () => {};
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

  /** Calls `onLimit` once if there is more than `bytes`, and keeps no more. */
  limit(bytes: number, onLimit: () => void): void {
    this.#limit = bytes;
    this.#onLimit = onLimit;
    if (this.#length > bytes) onLimit();
  }

  /** What was read so far, cut at the limit. */
  bytes(): Uint8Array<ArrayBuffer> {
    const bytes: Uint8Array<ArrayBuffer> = concat(this.#chunks);
    this.#chunks = [bytes];
    return bytes.subarray(0, Math.min(bytes.length, this.#limit));
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
    if (before <= this.#limit && this.#length > this.#limit) this.#onLimit();
  }
}
