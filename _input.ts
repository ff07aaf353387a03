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

/**
 * As `pipeTo` does it, which does not tell which of the two has failed, and
 * waits for the source although it may never be done with being canceled.
 */
async function pipe(
  source: ReadableStream<Uint8Array>,
  stdin: NonNullable<Leader["stdin"]>,
  over: AbortSignal,
): Promise<void> {
  const reader = source.getReader();
  const writer = stdin.getWriter();
  let aborted: Promise<void> = Promise.resolve();
  const giveUp = (reason: unknown) => {
    reader.cancel(reason).catch(ignore);
    aborted = writer.abort(reason).catch(ignore);
  };
  const onOver = () => giveUp(over.reason);
  over.addEventListener("abort", onOver, { once: true });
  if (over.aborted) onOver();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (await isTaken(writer.write(value))) continue;
      return giveUp(new Deno.errors.BrokenPipe("Nobody reads the input"));
    }
    await isTaken(writer.close());
  } catch (error) {
    if (over.aborted) return;
    giveUp(error);
    throw error;
  } finally {
    over.removeEventListener("abort", onOver);
    await aborted;
    reader.releaseLock();
    writer.releaseLock();
  }
}

/** Whether a write to stdin has succeeded; false if nobody reads any more. */
async function isTaken(writing: Promise<void>): Promise<boolean> {
  try {
    await writing;
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return false;
    throw error;
  }
}

/** What comes of giving up makes no difference. */
function ignore(): void {}
