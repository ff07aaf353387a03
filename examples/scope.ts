// Copyright 2026 the @proc/group authors. MIT license.

/**
 * A scope for test cases: what a case starts ends with the case, whether it
 * passes, fails or hangs. On pipes or on a terminal, with a bridge to talk to
 * a program line by line. To be copied: it needs `@proc/group` alone.
 *
 * ```ts ignore
 * Deno.test("the server greets", () =>
 *   scoped(5000, async (scope) => {
 *     const server = scope.start("./server.sh");
 *     await server.expect("ready");
 *     await server.send("hello");
 *     await server.expect("hello, too");
 *   }));
 * ```
 *
 * @module
 */

import {
  type ProcessGroup,
  spawnGroup,
  type SpawnGroupOptions,
  spawnPty,
  withDeadline,
} from "@proc/group";

/** How {@linkcode Scope.start} starts a program. */
export interface StartOptions extends SpawnGroupOptions {
  /** Pipes, or a terminal where the program wants one. */
  transport?: "pipe" | "pty";
}

/** A program in a scope, to talk to. */
export interface Talk {
  /** Id of its process group. */
  readonly pgid: number;
  /** Sends one line. */
  send(line: string): Promise<void>;
  /** Waits for a text in its output, at most the scope's time. */
  expect(text: string): Promise<void>;
}

/** What a test case gets. */
export interface Scope {
  /** Aborts when the case is over. */
  readonly signal: AbortSignal;
  /** Starts a program that ends with the case. */
  start(command: string, args?: string[], options?: StartOptions): Talk;
}

/** Runs a case, at most `ms` milliseconds, and ends all that it started. */
export async function scoped(
  ms: number,
  run: (scope: Scope) => Promise<void>,
): Promise<void> {
  await withDeadline(async (signal) => {
    await using stack = new AsyncDisposableStack();
    await run({
      signal,
      start(command, args = [], options = {}) {
        const { transport = "pipe", ...rest } = options;
        const settings = { graceMs: 1000, ...rest, signal };
        if (transport === "pty") {
          const pty = stack.use(spawnPty(command, args, settings));
          return {
            pgid: pty.pgid,
            send: (line) => pty.write(`${line}\n`),
            expect: async (text) => {
              // The case's own deadline aborts the signal.
              await pty.waitFor(text, Infinity, { signal });
            },
          };
        }
        const group = stack.use(
          spawnGroup(command, args, {
            ...settings,
            stdin: "piped",
            stdout: "piped",
          }),
        );
        return new PipeTalk(group);
      },
    });
  }, ms);
}

/** Talks through pipes. */
class PipeTalk implements Talk {
  readonly pgid: number;
  #stdin: WritableStream<Uint8Array>;
  #reader: ReadableStreamDefaultReader<string>;
  #unread = "";

  constructor(group: ProcessGroup) {
    this.pgid = group.pgid;
    this.#stdin = group.stdin;
    this.#reader = group.stdout.pipeThrough(new TextDecoderStream())
      .getReader();
  }

  async send(line: string): Promise<void> {
    // The end of the scope closes a stream that nobody has locked.
    const writer = this.#stdin.getWriter();
    await writer.write(new TextEncoder().encode(`${line}\n`));
    writer.releaseLock();
  }

  async expect(text: string): Promise<void> {
    while (!this.#unread.includes(text)) {
      const { done, value } = await this.#reader.read();
      if (done) throw new Error(`"${text}" did not come: "${this.#unread}"`);
      this.#unread += value;
    }
    this.#unread = this.#unread.slice(
      this.#unread.indexOf(text) + text.length,
    );
  }
}
