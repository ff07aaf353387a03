// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Something that happens at most once, for one at a time who waits for that or
 * something else. With `Promise.race` the one promise of a long session would
 * keep something for each that it was raced with.
 */
export class Gate {
  #isOpen = false;
  #onOpen = () => {};

  /** Whether it has happened. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** It has happened. */
  open(): void {
    this.#isOpen = true;
    this.#onOpen();
  }

  /** What the promise settles to, or false as soon as the gate is open. */
  unless<T>(promise: Promise<T>): Promise<T | false> {
    return new Promise((resolve, reject) => {
      this.#onOpen = () => resolve(false);
      if (this.#isOpen) resolve(false);
      promise.then(resolve, reject);
    });
  }
}
