// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Nonblocking descriptors (pipes and pseudo-terminals) that are read and
 * written as the kernel is ready, and web streams over them.
 */

import { callError, Errno } from "./errno.ts";
import { errno, libc } from "./libc.ts";
import type { ReactorGroup, Watch } from "./reactor.ts";

/** What {@linkcode FdReader} and {@linkcode FdWriter} have to know. */
export interface FdOptions {
  /** The group whose reactor waits for the descriptor. */
  readonly group: ReactorGroup;
  /** Errors of read(2) that mean the end, such as EIO of a pty's master. */
  readonly endErrors?: readonly number[];
  /** Called once instead of closing the descriptor. */
  readonly onClose?: () => void;
}

const CHUNK_BYTES = 64 * 1024;

/** What chunks are read into before they are cut to size. */
let scratch: Uint8Array<ArrayBuffer> | undefined;

/**
 * Calls that went on without a wait before others get a turn. Everything in
 * one task would keep timers from firing while a child prints without end.
 */
const CALLS_PER_TURN = 16;

/** A descriptor that waits when the kernel says "not now". */
abstract class NonblockingFd {
  readonly fd: number;
  readonly #options: FdOptions;
  #watch: Watch | null = null;
  #calls = 0;
  #closed: Promise<void> | null = null;

  constructor(fd: number, options: FdOptions) {
    this.fd = fd;
    this.#options = options;
  }

  /** Whether {@linkcode close} was called. */
  get isClosed(): boolean {
    return this.#closed !== null;
  }

  /**
   * Closes the descriptor. Whoever waits for it goes on. Resolves when no
   * operation is pending because of it. Idempotent.
   */
  close(): Promise<void> {
    return this.#closed ??= this.#close();
  }

  /** Whether an error of the descriptor counts as its end. */
  protected isEnd(number: number): boolean {
    return this.#options.endErrors?.includes(number) ?? false;
  }

  /** Waits until the descriptor may be ready; false if it was closed. */
  async wait(direction: "read" | "write"): Promise<boolean> {
    if (this.isClosed) return false;
    this.#calls = 0;
    this.#watch = this.#options.group.watch(this.fd, direction);
    try {
      return await this.#watch.ready && !this.isClosed;
    } finally {
      this.#watch = null;
    }
  }

  /** Lets others run after many calls in a row; false if it was closed. */
  async pause(): Promise<boolean> {
    if (++this.#calls >= CALLS_PER_TURN) {
      this.#calls = 0;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    return !this.isClosed;
  }

  #close(): Promise<void> {
    const ended = this.#watch?.cancel() ?? Promise.resolve();
    if (this.#options.onClose) this.#options.onClose();
    else libc().close(this.fd);
    return ended;
  }
}

/** Reads a nonblocking descriptor. One read at a time. */
export class FdReader extends NonblockingFd {
  /**
   * Reads what there is into the view, which is not empty, and waits while
   * there is nothing. 0 means the end, or that the descriptor was closed.
   */
  async read(view: Uint8Array): Promise<number> {
    if (!await this.pause()) return 0;
    do {
      const count = this.tryRead(view);
      if (count !== null) return count;
    } while (await this.wait("read"));
    return 0;
  }

  /** Reads what there is; 0 at the end, null where there is nothing yet. */
  tryRead(view: Uint8Array): number | null {
    for (;;) {
      const count = libc().read(this.fd, view, view.byteLength);
      if (count !== -1) return count;
      const number = errno();
      if (number === Errno.EAGAIN) return null;
      if (this.isEnd(number)) return 0;
      if (number !== Errno.EINTR) throw callError("read", number);
    }
  }
}

/** Writes to a nonblocking descriptor. One write at a time. */
export class FdWriter extends NonblockingFd {
  /**
   * Writes all bytes, however often the kernel takes only some. Resolves to
   * false if the descriptor was closed before it had taken them.
   *
   * @throws {Deno.errors.BrokenPipe} If nobody can read them any more.
   * @throws {TypeError} If the buffer was transferred or shrunk meanwhile.
   */
  async write(bytes: Uint8Array): Promise<boolean> {
    if (this.isClosed) return false;
    const { byteLength } = bytes;
    for (let written = 0; written < byteLength;) {
      requireWhole(bytes, byteLength);
      const count = this.#tryWrite(bytes.subarray(written));
      if (count !== null) written += count;
      const goesOn = await (count === null ? this.wait("write") : this.pause());
      if (!goesOn) return false;
    }
    return !this.isClosed;
  }

  /** Writes what fits; null where nothing does. */
  #tryWrite(bytes: Uint8Array): number | null {
    for (;;) {
      const count = libc().write(this.fd, bytes, bytes.byteLength);
      if (count !== -1) return count;
      const number = errno();
      if (number === Errno.EAGAIN) return null;
      if (number === Errno.EPIPE) {
        throw new Deno.errors.BrokenPipe("Broken pipe (os error 32)");
      }
      if (number !== Errno.EINTR) throw callError("write", number);
    }
  }
}

/** Throws where a buffer that is to be written has got shorter meanwhile. */
export function requireWhole(bytes: Uint8Array, byteLength: number): void {
  if (bytes.byteLength < byteLength) {
    throw new TypeError(
      "Cannot write the rest of the bytes: their buffer was transferred",
    );
  }
}

/** Descriptors of streams that were dropped while they were open. */
const dropped = new FinalizationRegistry<NonblockingFd>((fd) => {
  fd.close();
});

/** A byte stream over a descriptor, with the shortcuts that Deno's have. */
export class FdReadableStream extends ReadableStream<Uint8Array<ArrayBuffer>>
  implements Deno.SubprocessReadableStream {
  constructor(reader: FdReader) {
    // Nothing is read ahead, so a stream that nobody reads watches nothing.
    super(byteSource(reader), { highWaterMark: 0 });
    dropped.register(this, reader);
  }

  /** Reads the rest into an `ArrayBuffer`. */
  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.bytes()).buffer;
  }

  /** Reads the rest into a `Uint8Array`. */
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const chunks = [];
    for await (const chunk of this) chunks.push(chunk);
    return new Blob(chunks).bytes();
  }

  /** Reads the rest and parses it as JSON. */
  // deno-lint-ignore no-explicit-any -- as in Deno.SubprocessReadableStream
  async json(): Promise<any> {
    return JSON.parse(await this.text());
  }

  /** Reads the rest as UTF-8. */
  async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes());
  }
}

/** A stream of bytes into a descriptor. */
export function fdWritableStream(
  writer: FdWriter,
): WritableStream<Uint8Array<ArrayBufferLike>> {
  const stream = new WritableStream<Uint8Array<ArrayBufferLike>>({
    start(controller) {
      // The sink hears of an abort only once a write under way is over.
      controller.signal.addEventListener("abort", () => writer.close());
    },
    write: (chunk, controller) => writeChunk(writer, chunk, controller),
    close: () => writer.close(),
    abort: () => writer.close(),
  });
  dropped.register(stream, writer);
  return stream;
}

function byteSource(
  reader: FdReader,
): UnderlyingSource<Uint8Array<ArrayBuffer>> {
  return {
    type: "bytes",
    pull: (controller) =>
      pull(reader, controller as ReadableByteStreamController),
    cancel: () => reader.close(),
  };
}

/** Gives the stream its next bytes, its end or its error. */
async function pull(
  reader: FdReader,
  controller: ReadableByteStreamController,
): Promise<void> {
  if (!await reader.pause()) return;
  try {
    while (!tryPull(reader, controller)) {
      if (!await reader.wait("read")) return;
    }
  } catch (error) {
    await reader.close();
    throw error;
  }
}

/**
 * Reads and hands over in one go, since all streams share the buffer. False
 * where there is nothing to read yet.
 */
function tryPull(
  reader: FdReader,
  controller: ReadableByteStreamController,
): boolean {
  scratch ??= new Uint8Array(CHUNK_BYTES);
  const count = reader.tryRead(scratch);
  if (count === null) return false;
  if (count > 0) {
    // Not by an answer to a reader with a buffer of its own: it may have been
    // released since, and the answer would not reach the next one.
    controller.enqueue(scratch.slice(0, count));
    return true;
  }
  reader.close();
  controller.close();
  // A read into the caller's own buffer ends only with an answer.
  controller.byobRequest?.respond(0);
  return true;
}

async function writeChunk(
  writer: FdWriter,
  chunk: Uint8Array<ArrayBufferLike>,
  { signal }: WritableStreamDefaultController,
): Promise<void> {
  try {
    if (!await writer.write(toBytes(chunk))) throw signal.reason;
  } catch (error) {
    await writer.close();
    throw error;
  }
}

function toBytes(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (ArrayBuffer.isView(chunk)) {
    return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  }
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  throw new TypeError(
    `Cannot write as bytes: current value is of type "${typeof chunk}"`,
  );
}
