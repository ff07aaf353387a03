// Copyright 2026 the @proc/group authors. MIT license.

/** The side of the experiment: starts contestants and asks them. */

import { delay } from "@std/async/delay";
import { createLines } from "./_serve.ts";

/** What a contestant says, and the CPU time that it took for that. */
export interface Answer<T> {
  readonly value: T;
  readonly cpuMs: number;
}

/** Thrown when a contestant does not answer in time. */
export class TooSlowError extends Error {
  override readonly name = "TooSlowError";
}

const IMPORT_MAP = new URL("../std_from_npm.json", import.meta.url).pathname;
const LOCK = new URL("deno.lock", import.meta.url).pathname;

/** The command line that runs a module of this folder with all permissions. */
export function denoArgs(module: string, flags: readonly string[]): string[] {
  const path = new URL(module, import.meta.url).pathname;
  return [
    "run",
    "--quiet",
    "--allow-all",
    ...flags,
    `--import-map=${IMPORT_MAP}`,
    `--lock=${LOCK}`,
    path,
  ];
}

/** A process of its own that answers. */
export class Contestant implements AsyncDisposable {
  readonly name: string;
  readonly #child: Deno.ChildProcess;
  readonly #lines: AsyncGenerator<string>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;

  constructor(
    name: string,
    command: string,
    args: readonly string[],
    stderr: "inherit" | "null" = "inherit",
  ) {
    this.name = name;
    this.#child = new Deno.Command(command, {
      args: [...args],
      stdin: "piped",
      stdout: "piped",
      stderr,
    }).spawn();
    this.#lines = createLines(this.#child.stdout);
    this.#writer = this.#child.stdin.getWriter();
  }

  /** A module of this folder in Deno, with the given flags besides -A. */
  static deno(
    name: string,
    module: string,
    flags: readonly string[] = [],
    args: readonly string[] = [],
  ): Contestant {
    const all = [...denoArgs(module, flags), ...args];
    // Other packages print warnings that are none of ours.
    const stderr = name.startsWith("zx") ? "null" : "inherit";
    return new Contestant(name, Deno.execPath(), all, stderr);
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Asks and waits for the answer, at most so long. */
  async ask<T>(
    call: string,
    args: object = {},
    limitMs = 60_000,
  ): Promise<Answer<T>> {
    const line = JSON.stringify({ call, args }) + "\n";
    await this.#writer.write(new TextEncoder().encode(line));
    const answer = await this.#answer(limitMs);
    const { value, error, cpuMs } = JSON.parse(answer);
    if (error) throw new Error(`${this.name}: ${error}`);
    return { value, cpuMs };
  }

  /** Ends the process whatever it does; its trees are the caller's to end. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
    await this.#writer.abort().catch(() => {
      // The pipe is broken, as it must be.
    });
    await this.#lines.return(undefined);
    await this.#child.status;
  }

  async #answer(limitMs: number): Promise<string> {
    const done = new AbortController();
    const limit = delay(limitMs, { signal: done.signal }).then(() => {
      throw new TooSlowError(`${this.name} did not answer in ${limitMs} ms`);
    });
    limit.catch(() => {
      // Lost the race.
    });
    try {
      const next = await Promise.race([this.#lines.next(), limit]);
      if (next.done) throw new Error(`${this.name} has ended`);
      return next.value;
    } finally {
      done.abort();
    }
  }
}
