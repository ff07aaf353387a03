// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Answers of a program to what is typed. Waiting for one takes two threads that
 * have to be woken, which can be more than the program takes. So the answer of
 * one that was quick the last time is looked for on this thread for a moment.
 */

import { Backoff } from "./_platform/backoff.ts";

/** A program that answers within so many milliseconds is quick. */
const QUICK_MS = 0.5;

/** The one that was typed to last: to look for one answer delays all others. */
let lastTyped: Answers | null = null;

/** The answers of one program. */
export class Answers {
  /** When something was typed; null once there was output after it. */
  #typedAt: number | null = null;
  /** How long the last answer took, in milliseconds; 0 if it was not quick. */
  #tookMs = 0;
  #isLookDue = false;
  readonly #backoff = new Backoff();

  /** Something was typed; whether to {@linkcode look} for the answer. */
  expect(): boolean {
    this.#typedAt = performance.now();
    const isAlone = lastTyped === this;
    lastTyped = this;
    this.#isLookDue = isAlone && this.#tookMs > 0 && this.#backoff.isDue();
    return this.#isLookDue;
  }

  /** Output that was waited for has come. */
  arrived(): void {
    if (this.#typedAt === null) return;
    const tookMs = performance.now() - this.#typedAt;
    this.#tookMs = tookMs < QUICK_MS ? tookMs : 0;
    this.#typedAt = null;
  }

  /** Looks once for what was typed last, as long as the last answer took. */
  look(lookFor: (ms: number) => boolean): boolean {
    if (!this.#isLookDue) return false;
    this.#isLookDue = false;
    const isThere = lookFor(this.#tookMs);
    this.#backoff.record(isThere);
    if (isThere) this.#typedAt = null;
    return isThere;
  }

  /** The program has ended. */
  end(): void {
    if (lastTyped === this) lastTyped = null;
  }
}
