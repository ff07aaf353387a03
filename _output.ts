// Copyright 2026 the @proc/group authors. MIT license.

import { delay } from "@std/async/delay";
import { Collector } from "./_collector.ts";
import type { Leader } from "./_platform/platform.ts";

/** In how many parts pipes are waited for. */
const DRAIN_PARTS = 10;

/** A stream that gave more than it may. */
export interface Excess {
  readonly stream: "stdout" | "stderr";
  readonly maxBytes: number;
}

/** Reads the output of a group, for all who ask for it. */
export class OutputReader {
  #stdout: Collector | null;
  #stderr: Collector | null;
  #exceeded: Excess["stream"] | null = null;
  /** Those who want more; the last one ends reading. */
  #users = 0;

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

  /** The first stream that went over its limit, which is the least of all. */
  get excess(): Excess | null {
    const collector = this.#exceeded === "stdout" ? this.#stdout : this.#stderr;
    if (this.#exceeded === null || collector === null) return null;
    return { stream: this.#exceeded, maxBytes: collector.maxBytes };
  }

  /** Keeps at most `bytes` of each stream, and calls back at the first excess. */
  limit(bytes: number, onExcess: () => void): void {
    for (const stream of ["stdout", "stderr"] as const) {
      const collector = stream === "stdout" ? this.#stdout : this.#stderr;
      collector?.limit(bytes, () => {
        this.#exceeded ??= stream;
        onExcess();
      });
    }
  }

  /** One more user, who calls {@linkcode OutputReader.cancel} in the end. */
  use(): this {
    this.#users++;
    return this;
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

  /** Ends reading with the last user; what was read stays. */
  async cancel(): Promise<void> {
    if (--this.#users > 0) return;
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
      const bytes = collector?.bytes();
      Object.defineProperty(output, name, {
        get: () => bytes ?? throwNotRead(name),
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

function throwNotRead(name: string): never {
  throw new TypeError(
    `Cannot get '${name}': '${name}' is not piped, or is read by somebody else`,
  );
}
