// Copyright 2026 the @proc/group authors. MIT license.

import { delay } from "@std/async/delay";
import { Collector } from "./_collector.ts";
import type { Leader } from "./_platform/platform.ts";

/** In how many parts pipes are waited for. */
const DRAIN_PARTS = 10;

/** Reads the output of a group, for all who ask for it. */
export class OutputReader {
  #stdout: Collector | null;
  #stderr: Collector | null;
  #exceeded: "stdout" | "stderr" | null = null;

  /** Starts to read what is piped, and leaves locked streams alone. */
  constructor(leader: Leader) {
    const { stdout, stderr } = leader;
    this.#stdout = stdout && !stdout.locked ? new Collector(stdout) : null;
    this.#stderr = stderr && !stderr.locked ? new Collector(stderr) : null;
  }

  /** Whether every stream was read to its end. */
  get drained(): boolean {
    return this.#all().every((collector) => collector.drained);
  }

  /** The stream that went over its limit. */
  get exceeded(): "stdout" | "stderr" | null {
    return this.#exceeded;
  }

  /** Keeps at most `bytes` of each stream, and calls back at the first excess. */
  limit(bytes: number, onExcess: () => void): void {
    for (const name of ["stdout", "stderr"] as const) {
      const collector = name === "stdout" ? this.#stdout : this.#stderr;
      collector?.limit(bytes, () => {
        this.#exceeded ??= name;
        onExcess();
      });
    }
  }

  /**
   * Waits for the ends of the streams, at most `ms` milliseconds, in parts
   * between which what has come is read: a process that was not run for a while
   * finds its timer due before it has read anything.
   */
  async drain(ms: number): Promise<void> {
    let ended = false;
    const timer = new AbortController();
    const ends = Promise.all(this.#all().map((collector) => collector.done));
    ends.then(() => {
      ended = true;
      timer.abort();
    });
    for (let part = 0; part < DRAIN_PARTS && !ended; part++) {
      await delay(ms / DRAIN_PARTS, { signal: timer.signal }).catch(() => {
        // The ends came first.
      });
    }
  }

  /** Ends reading; what was read stays. */
  async cancel(): Promise<void> {
    await Promise.all(this.#all().map((collector) => collector.cancel()));
  }

  /** An output as `Deno.Command` gives it, with more fields if wanted. */
  output<T extends object>(
    status: Deno.CommandStatus,
    more: T,
  ): Deno.CommandOutput & T {
    const streams = { stdout: this.#stdout, stderr: this.#stderr };
    const output = { ...status, ...more };
    for (const [name, collector] of Object.entries(streams)) {
      Object.defineProperty(output, name, {
        get: () => collected(name, collector),
        // What throws must not be met by whoever prints or serializes all.
        enumerable: collector !== null,
      });
    }
    return output as Deno.CommandOutput & T;
  }

  #all(): Collector[] {
    return [this.#stdout, this.#stderr].filter((collector) =>
      collector !== null
    );
  }
}

function collected(
  name: string,
  collector: Collector | null,
): Uint8Array<ArrayBuffer> {
  if (collector === null) {
    throw new TypeError(
      `Cannot get '${name}': '${name}' is not piped, or is read by somebody else`,
    );
  }
  return collector.bytes();
}
