// Copyright 2026 the @proc/group authors. MIT license.

/** Web streams over nonblocking descriptors. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { ReactorGroup } from "../_platform/reactor.ts";
import {
  FdReadableStream,
  FdReader,
  fdWritableStream,
  FdWriter,
} from "../_platform/streams.ts";
import { FFI } from "./_linux.ts";
import { closePipe, nextTask, openPipe } from "./_pipe.ts";
import { watchLeaks } from "./_util.ts";

/** The kernel's default. */
const PIPE_BYTES = 65_536;

watchLeaks();

function streams(
  group = new ReactorGroup(),
): {
  readable: FdReadableStream;
  writable: WritableStream<Uint8Array<ArrayBufferLike>>;
} {
  const { read, write } = openPipe();
  return {
    readable: new FdReadableStream(new FdReader(read, { group })),
    writable: fdWritableStream(new FdWriter(write, { group })),
  };
}

Deno.test(
  "FdReadableStream gives all bytes of a fast writer and lets timers run",
  FFI,
  async () => {
    const { readable, writable } = streams();
    const writer = writable.getWriter();
    const chunk = new Uint8Array(1 << 20).fill(7);
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    const written = (async () => {
      for (let i = 0; i < 50; i++) await writer.write(chunk);
      await writer.close();
    })();
    let length = 0;
    for await (const part of readable) length += part.length;
    clearInterval(timer);
    await written;
    assertEquals(length, 50 << 20);
    assert(ticks > 0);
  },
);

Deno.test("FdReadableStream reads into the caller's buffer", FFI, async () => {
  const { readable, writable } = streams();
  const writer = writable.getWriter();
  const reader = readable.getReader({ mode: "byob" });
  const first = reader.read(new Uint8Array(4));
  await nextTask();
  await writer.write(new TextEncoder().encode("hello"));
  assertEquals((await first).value?.length, 4);
  assertEquals(
    (await reader.read(new Uint8Array(4))).value,
    new Uint8Array([111]),
  );
  const last = reader.read(new Uint8Array(4));
  await writer.close();
  assertEquals((await last).done, true);
});

Deno.test(
  "FdReadableStream goes on after a reader was released in a read",
  FFI,
  async () => {
    for (const mode of ["byob", undefined] as const) {
      const { readable, writable } = streams();
      const released = mode === "byob"
        ? readable.getReader({ mode })
        : readable.getReader();
      const read = released.read(new Uint8Array(9) as never);
      const rejection = assertRejects(() => read, TypeError);
      released.releaseLock();
      await rejection;
      const text = readable.text();
      await nextTask();
      const writer = writable.getWriter();
      await writer.write(new TextEncoder().encode("abc"));
      await writer.close();
      assertEquals(await text, "abc");
    }
  },
);

Deno.test(
  "FdReadableStream has text(), json(), bytes() and arrayBuffer()",
  FFI,
  async () => {
    async function piped(text: string): Promise<FdReadableStream> {
      const { readable, writable } = streams();
      const writer = writable.getWriter();
      await writer.write(new TextEncoder().encode(text));
      await writer.close();
      return readable;
    }
    assertEquals(await (await piped("é\n")).text(), "é\n");
    assertEquals(await (await piped('{"a":1}')).json(), { a: 1 });
    assertEquals(await (await piped("ab")).bytes(), new Uint8Array([97, 98]));
    assertEquals((await (await piped("abc")).arrayBuffer()).byteLength, 3);
  },
);

Deno.test(
  "FdReadableStream settles a read that is waiting when it is canceled",
  FFI,
  async () => {
    const { readable, writable } = streams();
    const reader = readable.getReader();
    const read = reader.read();
    await nextTask();
    await reader.cancel();
    assertEquals((await read).done, true);
    await writable.close();
  },
);

Deno.test("FdReadableStream reads nothing ahead", FFI, async () => {
  const { readable, writable } = streams();
  const writer = writable.getWriter();
  // What nobody reads fills the pipe and then holds the writer up.
  await writer.write(new Uint8Array(PIPE_BYTES));
  let isBlocked = true;
  const blocked = writer.write(new Uint8Array(1)).then(() => isBlocked = false);
  await nextTask();
  assert(isBlocked);
  const reader = readable.getReader();
  assertEquals((await reader.read()).value?.length, PIPE_BYTES);
  await blocked;
  await writer.close();
  assertEquals((await reader.read()).value?.length, 1);
  assertEquals((await reader.read()).done, true);
});

Deno.test(
  "fdWritableStream() rejects with BrokenPipe when nobody reads",
  FFI,
  async () => {
    const { readable, writable } = streams();
    const writer = writable.getWriter();
    writer.closed.catch(() => {});
    const written = writer.write(new Uint8Array(1_000_000));
    await nextTask();
    await readable.cancel();
    await assertRejects(() => written, Deno.errors.BrokenPipe);
  },
);

Deno.test(
  "fdWritableStream() ends a write that is waiting on abort",
  FFI,
  async () => {
    const { readable, writable } = streams();
    const writer = writable.getWriter();
    writer.closed.catch(() => {});
    const reason = new Error("No more");
    const written = assertRejects(
      () => writer.write(new Uint8Array(1_000_000)),
      Error,
      "No more",
    );
    await nextTask();
    await writer.abort(reason);
    await written;
    await readable.cancel();
  },
);

Deno.test(
  "fdWritableStream() rejects when its bytes are taken away",
  FFI,
  async () => {
    const takings: ((buffer: ArrayBuffer) => void)[] = [
      (buffer) => structuredClone(buffer, { transfer: [buffer] }),
      (buffer) => buffer.resize(PIPE_BYTES),
    ];
    for (const takeAway of takings) {
      const { readable, writable } = streams();
      const size = 2 * PIPE_BYTES;
      const bytes = new Uint8Array(
        new ArrayBuffer(size, { maxByteLength: size }),
      );
      const writer = writable.getWriter();
      const write = assertRejects(() => writer.write(bytes), TypeError);
      await nextTask();
      takeAway(bytes.buffer);
      const read = readable.bytes();
      await write;
      assertEquals((await read).length, PIPE_BYTES);
    }
  },
);

Deno.test(
  "fdWritableStream() rejects what is no bytes with TypeError",
  FFI,
  async () => {
    const { readable, writable } = streams();
    const writer = writable.getWriter();
    writer.closed.catch(() => {});
    const text = "text" as unknown as Uint8Array;
    await assertRejects(
      () => writer.write(text),
      TypeError,
      'of type "string"',
    );
    await readable.cancel();
  },
);

Deno.test(
  "FdReader.read() takes the errors that were declared as the end",
  FFI,
  async () => {
    const { write, read } = openPipe();
    let closed = 0;
    // Reading a pipe's write end is EBADF, which stands for EIO here.
    const options = {
      group: new ReactorGroup(),
      endErrors: [9],
      onClose: () => closed++,
    };
    const reader = new FdReader(write, options);
    assertEquals(await reader.read(new Uint8Array(8)), 0);
    await reader.close();
    await reader.close();
    assertEquals(closed, 1);
    closePipe({ read, write });
  },
);
