// Copyright 2026 the @proc/group authors. MIT license.

/** How many tries are left out at most. */
const MAX_SKIPPED = 256;

/**
 * Whether to try what saves time where it works, and costs time where it does
 * not: with each failure twice as many tries are left out after the next, with
 * each success half as many.
 */
export class Backoff {
  #toSkip = 0;
  #penalty = 1;

  /** Whether to try this time; each call stands for one try. */
  isDue(): boolean {
    if (this.#toSkip === 0) return true;
    this.#toSkip--;
    return false;
  }

  /** How the try went. */
  record(isSuccess: boolean): void {
    this.#toSkip = isSuccess ? 0 : this.#penalty;
    this.#penalty = isSuccess
      ? Math.max(1, this.#penalty / 2)
      : Math.min(2 * this.#penalty, MAX_SKIPPED);
  }
}
