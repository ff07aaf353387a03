// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Finds a sequence of keys in what is typed. The start of one is held back
 * until it is known whether the rest follows.
 */
export class DetachKeys {
  #sequence: Uint8Array;
  #matched = 0;

  constructor(sequence: string) {
    this.#sequence = new TextEncoder().encode(sequence);
  }

  /** Gives what is to be handed on, and whether the sequence came. */
  push(chunk: Uint8Array): { bytes: Uint8Array; isComplete: boolean } {
    if (this.#sequence.length === 0) return { bytes: chunk, isComplete: false };
    const bytes: number[] = [];
    for (const byte of chunk) {
      this.#take(byte, bytes);
      if (this.#matched === this.#sequence.length) {
        this.#matched = 0;
        return { bytes: Uint8Array.from(bytes), isComplete: true };
      }
    }
    return { bytes: Uint8Array.from(bytes), isComplete: false };
  }

  /** Gives what is held back when nothing more comes. */
  end(): Uint8Array {
    const held = this.#sequence.slice(0, this.#matched);
    this.#matched = 0;
    return held;
  }

  /** Holds the byte back, or hands on what cannot be the start any more. */
  #take(byte: number, out: number[]): void {
    const held = [...this.#sequence.subarray(0, this.#matched), byte];
    while (!this.#isStart(held)) out.push(held.shift()!);
    this.#matched = held.length;
  }

  #isStart(bytes: readonly number[]): boolean {
    return bytes.every((byte, index) => byte === this.#sequence[index]);
  }
}
