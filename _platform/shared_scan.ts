// Copyright 2026 the @proc/group authors. MIT license.

import type { ScanQuery, Snapshot } from "./platform.ts";

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
        result.reject(error);
      }
    }
    this.#running = false;
  }
}

/** The least that answers both queries. */
function mergeQueries(a: ScanQuery, b: ScanQuery): ScanQuery {
  if (!a.marks) return b;
  if (!b.marks) return a;
  return { marks: true, since: Math.min(a.since, b.since) };
}
