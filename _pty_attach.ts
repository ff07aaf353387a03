// Copyright 2026 the @proc/group authors. MIT license.

/** The bridge between a program's terminal and the user's own. */

import {
  makeRaw,
  restoreModes,
  saveModes,
  terminalSize,
} from "./_platform/pty_device.ts";
import { checkAbortSignal } from "./_options.ts";
import { DetachKeys } from "./_pty_detach.ts";
import { PtySession } from "./_pty_session.ts";
import type { AttachPtyOptions, Pty, PtySize } from "./pty.ts";

const STDIN = 0;
const STDOUT = 1;

/** Signals that a user or a service manager ends a program with. */
const STOP_SIGNALS: Deno.Signal[] = ["SIGTERM", "SIGHUP"];
/** Signals that are handed on: outside raw mode, keys of the user's terminal. */
const KEY_SIGNALS: Deno.Signal[] = ["SIGINT", "SIGQUIT"];

/** How {@linkcode attach} attaches. */
export interface AttachOptions extends AttachPtyOptions {
  /** False where the caller sees to signals that reach this process itself. */
  handlesSignals?: boolean;
}

/** Copies in both directions until the end, null when the user detached. */
export async function attach(
  pty: Pty,
  options: AttachOptions,
): Promise<Deno.CommandStatus | null> {
  if (!(pty instanceof PtySession)) {
    throw new TypeError(
      "Cannot attach: current value is no Pty of this module",
    );
  }
  const keys = new DetachKeys(options.detachKeys ?? "");
  checkAbortSignal(options.signal)?.throwIfAborted();
  return await new Attachment(pty, keys, options).run();
}

/** The size of the user's own terminal, null if there is none. */
export function userSize(): PtySize | null {
  const size = terminalSize(STDOUT) ?? terminalSize(STDIN);
  // A terminal whose size nobody has set has none.
  return size && size.columns > 0 && size.rows > 0 ? size : null;
}

/**
 * Input that comes as events and can be let go: a pending read of `Deno.stdin`
 * would swallow the next line. It is taken at first use, since it takes longer
 * to start than the rest of this module.
 */
function standardInput(): Input {
  const { process } = globalThis as unknown as { process: { stdin: Input } };
  return process.stdin;
}

/** What is used of Node's standard input. */
interface Input {
  on(event: "data", listener: (chunk: Uint8Array | string) => void): unknown;
  on(event: "end" | "error", listener: () => void): unknown;
  off(
    event: "data" | "end" | "error",
    listener: (chunk: Uint8Array | string) => void,
  ): unknown;
  pause(): unknown;
  resume(): unknown;
}

class Attachment {
  #pty: PtySession;
  #keys: DetachKeys;
  #stdin = standardInput();
  #signal: AbortSignal | undefined;
  #handlesSignals: boolean;
  #over = new AbortController();
  #failure = Promise.withResolvers<never>();

  constructor(
    pty: PtySession,
    keys: DetachKeys,
    { signal, handlesSignals = true }: AttachOptions,
  ) {
    this.#pty = pty;
    this.#keys = keys;
    this.#signal = signal;
    this.#handlesSignals = handlesSignals;
    // It counts only while somebody waits for it.
    this.#failure.promise.catch(() => {});
  }

  async run(): Promise<Deno.CommandStatus | null> {
    const { signal } = this.#over;
    // Started first, since it throws when somebody else reads the output.
    const copying = this.#pty.copyTo(writeToStdout, signal);
    using resources = new DisposableStack();
    resources.defer(() => this.#over.abort());
    this.#listen(resources);
    this.#takeTerminal(resources);
    this.#readInput(resources);
    const hasEnded = await Promise.race([copying, this.#failure.promise]);
    this.#signal?.throwIfAborted();
    if (hasEnded) return await this.#pty.status;
    return null;
  }

  /** Signals, sizes, and the caller's own wish to end it. */
  #listen(resources: DisposableStack): void {
    const listen = (signal: Deno.Signal, listener: () => void) => {
      Deno.addSignalListener(signal, listener);
      resources.defer(() => Deno.removeSignalListener(signal, listener));
    };
    // Before the first look at the size, so that no change is missed.
    listen("SIGWINCH", () => this.#copySize());
    this.#copySize();
    if (this.#handlesSignals) this.#handOn(listen);
    const onAbort = () => this.#over.abort();
    this.#signal?.addEventListener("abort", onAbort, { once: true });
    resources.defer(() => this.#signal?.removeEventListener("abort", onAbort));
  }

  #handOn(listen: (signal: Deno.Signal, listener: () => void) => void): void {
    for (const signal of KEY_SIGNALS) {
      listen(signal, () => this.#pty.kill(signal));
    }
    for (const signal of STOP_SIGNALS) {
      listen(signal, () => {
        this.#pty.stop().catch((error) => this.#failure.reject(error));
      });
    }
  }

  #copySize(): void {
    const size = userSize();
    if (size) this.#pty.resize(size);
  }

  /** Raw mode, and the old settings back on every path that can be seen. */
  #takeTerminal(resources: DisposableStack): void {
    const modes = saveModes(STDIN);
    if (modes === null) return;
    const restore = () => restoreModes(STDIN, modes);
    for (const event of ["unload", "error", "unhandledrejection"]) {
      addEventListener(event, restore);
      resources.defer(() => removeEventListener(event, restore));
    }
    resources.defer(restore);
    makeRaw(STDIN, modes);
  }

  #readInput(resources: DisposableStack): void {
    const stdin = this.#stdin;
    const onData = (chunk: Uint8Array | string) => {
      stdin.pause();
      this.#type(toBytes(chunk)).then(() => {
        if (!this.#over.signal.aborted) stdin.resume();
      });
    };
    const onEnd = () => {
      this.#end().catch(() => {
        // The program has ended; what it printed is still to come.
      });
    };
    stdin.on("data", onData);
    stdin.on("end", onEnd);
    stdin.on("error", onEnd);
    stdin.resume();
    resources.defer(() => {
      stdin.off("data", onData);
      stdin.off("end", onEnd);
      stdin.off("error", onEnd);
      stdin.pause();
    });
  }

  async #end(): Promise<void> {
    await this.#pty.writeRaw(this.#keys.end());
    await this.#pty.endInput(this.#over.signal);
  }

  async #type(chunk: Uint8Array): Promise<void> {
    const { bytes, isComplete } = this.#keys.push(chunk);
    try {
      if (bytes.length > 0) await this.#pty.writeRaw(bytes);
    } catch {
      // The program has ended; what it printed is still to come.
    }
    if (isComplete) this.#over.abort();
  }
}

async function writeToStdout(bytes: Uint8Array): Promise<void> {
  for (let rest = bytes; rest.length > 0;) {
    rest = rest.subarray(await Deno.stdout.write(rest));
  }
}

function toBytes(chunk: Uint8Array | string): Uint8Array {
  return typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk;
}
