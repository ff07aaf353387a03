// Copyright 2026 the @proc/group authors. MIT license.

/** The web streams of a terminal. */

/** Where a stream gets its bytes. */
export interface ByteSource {
  /** Gives the controller bytes or the end, unless nobody waits any more. */
  pull(controller: ReadableByteStreamController): Promise<void>;
  cancel(): Promise<void>;
}

/** A byte stream of a terminal's output, with the shortcuts that Deno's have. */
export class PtyReadableStream extends ReadableStream<Uint8Array<ArrayBuffer>>
  implements Deno.SubprocessReadableStream {
  /** Makes a stream that reads only when it is asked to. */
  constructor(source: ByteSource) {
    super(underlyingSource(source), { highWaterMark: 0 });
  }

  /** Reads the rest into an `ArrayBuffer`. */
  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.bytes()).buffer;
  }

  /** Reads the rest into a `Uint8Array`. */
  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return new Response(this).bytes();
  }

  /** Reads the rest and parses it as JSON. */
  // deno-lint-ignore no-explicit-any -- as in Deno.SubprocessReadableStream
  async json(): Promise<any> {
    return JSON.parse(await this.text());
  }

  /** Reads the rest as UTF-8. */
  text(): Promise<string> {
    return new Response(this).text();
  }
}

function underlyingSource(
  source: ByteSource,
): UnderlyingSource<Uint8Array<ArrayBuffer>> {
  return {
    type: "bytes",
    pull: (controller) =>
      source.pull(controller as ReadableByteStreamController),
    cancel: () => source.cancel(),
  };
}

/** Ends a stream. */
export function end(controller: ReadableByteStreamController): void {
  controller.close();
  // A read into the caller's own buffer ends only with an answer.
  controller.byobRequest?.respond(0);
}

/** Bytes that are typed as they come; closing types nothing. */
export function ptyWritableStream(
  write: (bytes: Uint8Array) => Promise<void>,
): WritableStream<Uint8Array<ArrayBufferLike>> {
  return new WritableStream<Uint8Array<ArrayBufferLike>>(
    { write },
    new ByteLengthQueuingStrategy({ highWaterMark: 16 * 1024 }),
  );
}
