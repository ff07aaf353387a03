// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Whether this is a Worker, which can be terminated without a word: what it
 * keeps open for later would stay open until the end of the process.
 */
export function isWorker(): boolean {
  return "WorkerGlobalScope" in globalThis;
}
