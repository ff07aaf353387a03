// Copyright 2026 the @proc/group authors. MIT license.

import type { Leader } from "./_platform/platform.ts";
import type { DeadlineOptions } from "./timeout.ts";

/** A check that input can be written, and the function that does it. */
export type WriteInput = (over: AbortSignal) => Promise<void>;

/**
 * Throws where there is nothing to write to. What it gives writes the input to
 * stdin and closes it, until `over` aborts; a command that reads no more is no
 * error.
 */
export function prepareInput(
  stdin: Leader["stdin"],
  input: DeadlineOptions["input"],
): WriteInput {
  if (input === undefined) return () => Promise.resolve();
  if (stdin === null) {
    throw new TypeError("Cannot write input: 'stdin' is not piped");
  }
  if (stdin.locked) {
    throw new TypeError("Cannot write input: 'stdin' is locked");
  }
  const source = toStream(input);
  if (source.locked) {
    throw new TypeError("Cannot write input: the stream is locked");
  }
  return (over) => pipe(source, stdin, over);
}

function toStream(
  input: NonNullable<DeadlineOptions["input"]>,
): ReadableStream<Uint8Array> {
  if (input instanceof ReadableStream) return input;
  if (typeof input !== "string" && !(input instanceof Uint8Array)) {
    throw new TypeError(
      `Cannot write input: current value is ${
        Deno.inspect(input)
      }, not a string, bytes or a stream`,
    );
  }
  const bytes = typeof input === "string"
    ? new TextEncoder().encode(input)
    : input;
  return ReadableStream.from(bytes.length === 0 ? [] : [bytes]);
}

async function pipe(
  source: ReadableStream<Uint8Array>,
  stdin: NonNullable<Leader["stdin"]>,
  over: AbortSignal,
): Promise<void> {
  try {
    await source.pipeTo(stdin, { signal: over, preventAbort: true });
  } catch (error) {
    const writer = stdin.getWriter();
    // Which of the two has failed shows here alone.
    const failure: unknown = writer.desiredSize === null
      ? await writer.closed.catch((error) => error)
      : undefined;
    await writer.abort(error).catch(() => {
      // It has failed before.
    });
    if (over.aborted || failure instanceof Deno.errors.BrokenPipe) return;
    throw error;
  }
}
