// Copyright 2026 the @proc/group authors. MIT license.

import { isExhausted } from "./errno.ts";
import type { ScanQuery, Snapshot } from "./platform.ts";

/** Nobody can be seen: only signal 0 tells whether a group is there. */
export const NOTHING: Snapshot = {
  processes: [],
  marks: new Map(),
  members: "signal0",
  escapees: "none",
};

/** Nobody could be seen this time. */
export const FAILED: Snapshot = { ...NOTHING, failed: true };

/** A scan that was asked for and has not begun. */
interface PendingScan {
  query: ScanQuery;
  readonly result: PromiseWithResolvers<Snapshot>;
}

/**
 * Lets all who need a look at the processes share it: one scan is in flight at
 * a time, and those who ask meanwhile share the following one.
 *
 * A running scan is never joined. It may have begun before the signal whose
 * effect the newcomer wants to see.
 */
export class SharedScan {
  readonly #scan: (query: ScanQuery) => Promise<Snapshot>;
  #next: PendingScan | null = null;
  #running = false;

  constructor(scan: (query: ScanQuery) => Promise<Snapshot>) {
    this.#scan = scan;
  }

  /** A snapshot of a scan that begins after this call. */
  request(query: ScanQuery): Promise<Snapshot> {
    if (this.#next !== null) {
      this.#next.query = mergeQueries(this.#next.query, query);
    } else {
      this.#next = { query, result: Promise.withResolvers() };
      // The calls of one turn share a scan, hence it does not begin at once.
      if (!this.#running) queueMicrotask(() => this.#run());
    }
    return this.#next.result.promise;
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#next !== null) {
      const { query, result } = this.#next;
      this.#next = null;
      try {
        result.resolve(await this.#scan(query));
      } catch (error) {
        // A group must be stopped also when nothing else works any more.
        if (isExhausted(error)) result.resolve(FAILED);
        else result.reject(error);
      }
    }
    this.#running = false;
  }
}

/** The least that answers both queries. */
function mergeQueries(a: ScanQuery, b: ScanQuery): ScanQuery {
  return {
    marks: a.marks || b.marks,
    since: Math.min(a.since, b.since),
    // A group's mark is never in the session of another one of this instance.
    sessions: [...a.sessions ?? [], ...b.sessions ?? []],
  };
}
