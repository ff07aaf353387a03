// Copyright 2026 the @proc/group authors. MIT license.

/** How many tries are left out at most. */
const MAX_SKIPPED = 64;

/**
 * Whether to try what saves time where it works, and costs time where it does
 * not: with each failure in a row twice as many tries are left out.
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
    this.#penalty = isSuccess ? 1 : Math.min(2 * this.#penalty, MAX_SKIPPED);
  }
}
