// Copyright 2026 the @proc/group authors. MIT license.

/** Ways to run a program on a pseudo-terminal. */

import { spawnPty } from "../../pty.ts";

/** What the tasks of `_tasks.js` need of a terminal. */
export interface Terminal {
  write(text: string): void;
  kill(): void;
  /** Settles after the last byte. */
  readonly ended: Promise<unknown>;
}

/** Starts a program; the function is called with each piece of output. */
export type OpenTerminal = (
  command: string,
  args: string[],
  onData: (chunk: Uint8Array) => void,
) => Terminal;

const encoder = new TextEncoder();

/** This package's. */
export const openPty: OpenTerminal = (command, args, onData) => {
  const pty = spawnPty(command, args);
  const ended = readAll(pty.readable, onData).then(() => pty.status);
  return {
    write(text) {
      pty.write(text).catch(() => {
        // The program was killed before it read all of it.
      });
    },
    kill: () => pty.kill("SIGKILL"),
    ended: ended.finally(() => pty[Symbol.asyncDispose]()),
  };
};

/** script(1) around the program. */
export const openScript: OpenTerminal = (command, args, onData) =>
  openCommand(
    "script",
    ["-qefc", [command, ...args].join(" "), "/dev/null"],
    onData,
  );

/** No terminal at all, but pipes. */
export const openCommand: OpenTerminal = (command, args, onData) => {
  const child = new Deno.Command(command, {
    args,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  return {
    write(text) {
      writer.write(encoder.encode(text)).catch(() => {
        // The program was killed before it read all of it.
      });
    },
    kill: () => child.kill("SIGTERM"),
    ended: readAll(child.stdout, onData).then(async () => {
      await writer.abort().catch(() => {
        // The pipe is broken already.
      });
      await child.status;
    }),
  };
};

async function readAll(
  stream: ReadableStream<Uint8Array>,
  onData: (chunk: Uint8Array) => void,
): Promise<void> {
  for await (const chunk of stream) onData(chunk);
}
