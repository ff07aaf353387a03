// Copyright 2026 the @proc/group authors. MIT license.

/**
 * The side of a contestant: a process that does what it is told, line by line,
 * so that runs of many contestants can alternate without their start-up.
 */

import { cpuUsage } from "node:process";

/** What a contestant can do, by name; arguments and results are JSON. */
// deno-lint-ignore no-explicit-any
export type Handlers = Record<string, (args: any) => unknown>;

/** How a contestant starts a tree. */
export interface StartArgs {
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
  readonly graceMs: number;
}

/** How a contestant stops the tree that it has started last. */
export interface StopArgs {
  readonly killSignal: Deno.Signal;
  readonly graceMs: number;
}

/** CPU time of this process so far, in milliseconds. */
function cpuMs(): number {
  const { user, system } = cpuUsage();
  return (user + system) / 1000;
}

/** Obeys until the input ends. */
export async function serve(handlers: Handlers): Promise<void> {
  const lines = createLines(Deno.stdin.readable);
  for await (const line of lines) {
    const { call, args } = JSON.parse(line);
    const before = cpuMs();
    const answer = await attempt(() => handlers[call]!(args));
    await print({ ...answer, cpuMs: cpuMs() - before });
  }
  Deno.exit(0);
}

/** The lines of a stream of bytes. */
export async function* createLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}

async function attempt(action: () => unknown): Promise<object> {
  try {
    return { value: await action() ?? null };
  } catch (error) {
    return { error: Deno.inspect(error) };
  }
}

async function print(answer: object): Promise<void> {
  const bytes = new TextEncoder().encode(JSON.stringify(answer) + "\n");
  for (let done = 0; done < bytes.length;) {
    done += await Deno.stdout.write(bytes.subarray(done));
  }
}
