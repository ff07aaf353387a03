// Copyright 2026 the @proc/group authors. MIT license.

import { delay } from "@std/async/delay";

/** Aborts its signal when the time is up or the caller's signal aborts. */
export class Clock {
  #controller = new AbortController();
  #caller: AbortSignal | undefined;
  #onAbort = () => this.#controller.abort();

  constructor(ms: number, caller: AbortSignal | undefined) {
    this.#caller = caller;
    caller?.addEventListener("abort", this.#onAbort, { once: true });
    if (ms === Infinity) return;
    // Unlike setTimeout, this takes more than 24.8 days.
    const timeUp: Promise<void> = delay(ms, { signal: this.signal });
    timeUp.then(this.#onAbort, () => {
      // It was stopped before.
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  stop(): void {
    this.#caller?.removeEventListener("abort", this.#onAbort);
    this.#controller.abort();
  }
}

/** Waits, or until the signal aborts; never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const pausing: Promise<void> = delay(ms, { signal });
  await pausing.catch(() => {
    // The caller looks at the signal.
  });
}
