// Copyright 2026 the @proc/group authors. MIT license.

/** Running the timeout command as the program that it is. */

import { allFlags, decode, fromRoot, importMap, readUntil } from "./_util.ts";

/** The command line of the timeout command, with permission flags. */
export function timeoutCommand(flags: readonly string[] = allFlags): string[] {
  const path = fromRoot("timeout.ts");
  return [
    Deno.execPath(),
    "run",
    "--quiet",
    "--no-prompt",
    ...importMap,
    ...flags,
    path,
  ];
}

/** How a program ended, and what it printed. */
export interface Outcome {
  /** Exit status, or the name of the signal that ended it. */
  readonly end: number | Deno.Signal;
  /** Exit status as a shell sees it: 128 + n for a signal. */
  readonly code: number;
  readonly stdout: string;
  /** Standard error, without the path of the program that GNU timeout prints. */
  readonly stderr: string;
  readonly ms: number;
}

/** Options of {@linkcode runTimeout}. */
export interface RunOptions {
  /** Program and its first arguments; the timeout command unless given. */
  readonly program?: readonly string[];
  readonly env?: Record<string, string>;
  /** Called once the command has printed "ready". */
  readonly onReady?: (child: Deno.ChildProcess) => Promise<void> | void;
}

/** Runs the timeout command, or GNU's, to its end. */
export async function runTimeout(
  args: readonly string[],
  options: RunOptions = {},
): Promise<Outcome> {
  const { program = timeoutCommand(), env = {}, onReady } = options;
  const [command = "", ...first] = program;
  const start = performance.now();
  const child = new Deno.Command(command, {
    args: [...first, ...args],
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const stderr = readToEnd(child.stderr);
  const before = onReady ? await readUntil(child.stdout, "ready\n") : "";
  await onReady?.(child);
  const stdout = before + await readToEnd(child.stdout);
  const { code, signal } = await child.status;
  return {
    end: signal ?? code,
    code,
    stdout,
    stderr: (await stderr).replaceAll(/^\/\S*timeout: /gm, "timeout: "),
    ms: performance.now() - start,
  };
}

async function readToEnd(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}

/** What a command in a terminal of its own gave. */
export interface TerminalOutcome {
  readonly output: string;
  /** Exit code, or minus a signal's number. */
  readonly code: number;
  readonly ms: number;
}

/** Runs a command in a terminal; each step types a text after one was seen. */
export async function runInTerminal(
  steps: readonly (readonly [seen: string, typed: string])[],
  command: readonly string[],
): Promise<TerminalOutcome> {
  const script = fromRoot("tests/testdata/timeout_terminal.py");
  const { stdout } = await new Deno.Command("python3", {
    args: [script, JSON.stringify(steps), ...command],
    cwd: fromRoot(""),
    env: { NO_COLOR: "1", PS1: "$ " },
    stdin: "null",
  }).output();
  return JSON.parse(decode(stdout));
}

/** Whether Python is here to open terminals; says so if it is not. */
export function hasPython(): boolean {
  try {
    const { success } = new Deno.Command("python3", {
      args: ["-c", "import pty"],
      stderr: "null",
    }).outputSync();
    if (success) return true;
  } catch {
    // Said below.
  }
  console.warn("A test is skipped: python3 is not here to open a terminal");
  return false;
}

/** Arguments quoted for a POSIX shell. */
export function shellQuote(args: readonly string[]): string {
  return args.map((arg) => `'${arg.replaceAll("'", `'\\''`)}'`).join(" ");
}

/** A command that obeys no signal but SIGKILL. */
export const STUBBORN: readonly string[] = [
  "sh",
  "-c",
  "trap '' TERM INT; echo ready; for _ in $(seq 150); do sleep 0.1; done",
];
