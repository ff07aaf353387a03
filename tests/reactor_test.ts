// Copyright 2026 the @proc/group authors. MIT license.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { C } from "../_platform/constants.ts";
import { check } from "../_platform/errno.ts";
import { libc } from "../_platform/libc.ts";
import { ReactorGroup, type Watch } from "../_platform/reactor.ts";
import {
  FdReadableStream,
  FdReader,
  fdWritableStream,
  FdWriter,
} from "../_platform/streams.ts";
import {
  isPortable,
  runProgram,
  skipIf,
  textOf,
  until,
  watchLeaks,
} from "./_util.ts";

const FFI = { timeout: 60_000, ...skipIf(isPortable, "it needs FFI") };

/** The kernel's default. */
const PIPE_BYTES = 65_536;

watchLeaks();

// A wait that is older than each test and outlives it, as a server's would.
let older: { pipe: Pipe; watch: Watch };
Deno.test.beforeAll(() => {
  if (isPortable) return;
  const pipe = openPipe();
  older = { pipe, watch: new ReactorGroup().watch(pipe.read, "read") };
});
Deno.test.afterAll(async () => {
  if (isPortable) return;
  await older.watch.cancel();
  closePipe(older.pipe);
});

interface Pipe {
  read: number;
  write: number;
}

function openPipe(): Pipe {
  const ends = new Int32Array(2);
  check("pipe2", libc().pipe2(ends, C.O_CLOEXEC | C.O_NONBLOCK));
  return { read: ends[0]!, write: ends[1]! };
}

function closePipe({ read, write }: Pipe): void {
  libc().close(read);
  libc().close(write);
}

function put(fd: number, text = "x"): void {
  const bytes = new TextEncoder().encode(text);
  assertEquals(libc().write(fd, bytes, bytes.length), bytes.length);
}

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

/** Resolves after the tasks that are due now. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** How many epoll instances are open, the runtime's included. */
async function countInstances(): Promise<number> {
  const list = await textOf("sh", "-c", "ls -l /proc/$PPID/fd");
  return list.split("[eventpoll]").length - 1;
}

Deno.test(
  "ReactorGroup.watch() resolves once a descriptor can be read",
  FFI,
  async () => {
    const pipe = openPipe();
    const watch = new ReactorGroup().watch(pipe.read, "read");
    let isReady = false;
    watch.ready.then(() => isReady = true);
    await nextTask();
    assertEquals(isReady, false);
    put(pipe.write);
    assertEquals(await watch.ready, true);
    closePipe(pipe);
  },
);

Deno.test(
  "ReactorGroup.watch() resolves when the other end is closed",
  FFI,
  async () => {
    const pipe = openPipe();
    const watch = new ReactorGroup().watch(pipe.read, "read");
    libc().close(pipe.write);
    assertEquals(await watch.ready, true);
    libc().close(pipe.read);
  },
);

Deno.test("ReactorGroup.watch() is made again and again", FFI, async () => {
  const group = new ReactorGroup();
  const pipe = openPipe();
  const byte = new Uint8Array(1);
  for (let i = 0; i < 200; i++) {
    const watch = group.watch(pipe.read, "read");
    queueMicrotask(() => put(pipe.write));
    assertEquals(await watch.ready, true);
    assertEquals(libc().read(pipe.read, byte, 1), 1);
  }
  closePipe(pipe);
});

Deno.test(
  "ReactorGroup.watch() waits for reading and writing of one descriptor",
  FFI,
  async () => {
    const group = new ReactorGroup();
    const pipe = openPipe();
    // The two ends of a pipe are one descriptor each, an eventfd is both.
    const fd = check("eventfd", libc().eventfd(0, C.EFD_NONBLOCK));
    const read = group.watch(fd, "read");
    const write = group.watch(fd, "write");
    assertEquals(await write.ready, true);
    let isReadable = false;
    read.ready.then(() => isReadable = true);
    await nextTask();
    assertEquals(isReadable, false);
    libc().write(fd, new Uint8Array(new BigUint64Array([1n]).buffer), 8);
    assertEquals(await read.ready, true);
    libc().close(fd);
    closePipe(pipe);
  },
);

Deno.test(
  "ReactorGroup.watch() adds and removes while another wait is in flight",
  FFI,
  async () => {
    const group = new ReactorGroup();
    const [first, second] = [openPipe(), openPipe()];
    const forever = group.watch(first.read, "read");
    await nextTask();
    const watch = group.watch(second.read, "read");
    put(second.write);
    assertEquals(await watch.ready, true);
    await group.watch(first.write, "write").ready;
    await forever.cancel();
    assertEquals(await forever.ready, false);
    closePipe(first);
    closePipe(second);
  },
);

Deno.test(
  "ReactorGroup.watch() throws for a descriptor that cannot be waited for",
  FFI,
  async () => {
    const group = new ReactorGroup();
    assertThrows(() => group.watch(999_999, "read"), Error, "epoll_ctl: EBADF");
    const pipe = openPipe();
    const watch = group.watch(pipe.read, "read");
    assertThrows(
      () => group.watch(pipe.read, "read"),
      Deno.errors.Busy,
      "twice",
    );
    await watch.cancel();
    closePipe(pipe);
  },
);

Deno.test(
  "Watch.cancel() leaves no operation and may be called again",
  FFI,
  async () => {
    const pipe = openPipe();
    const watch = new ReactorGroup().watch(pipe.read, "read");
    await watch.cancel();
    await watch.cancel();
    assertEquals(await watch.ready, false);
    closePipe(pipe);
  },
);

Deno.test(
  "ReactorGroup.watch() takes at most four instances for thousands of descriptors",
  FFI,
  async () => {
    const instances = await countInstances();
    const groups = Array.from({ length: 1000 }, () => new ReactorGroup());
    const pipes = groups.map(openPipe);
    const watches = groups.map((group, i) =>
      group.watch(pipes[i]!.read, "read")
    );
    // All four are there since the beginning, one for the older wait.
    assertEquals(await countInstances(), instances);
    for (const { write } of pipes) put(write);
    const results = await Promise.all(watches.map(({ ready }) => ready));
    assert(results.every(Boolean));
    pipes.forEach(closePipe);
  },
);

Deno.test(
  "ReactorGroup.unref() still tells of what happens while the program runs",
  FFI,
  async () => {
    const group = new ReactorGroup();
    const pipe = openPipe();
    const watch = group.watch(pipe.read, "read");
    group.unref();
    let isReady = false;
    watch.ready.then(() => isReady = true);
    await nextTask();
    put(pipe.write);
    await until("the watch is ready", () => isReady);
    closePipe(pipe);
  },
);

Deno.test("ReactorGroup.ref() and unref() may alternate", FFI, async () => {
  const group = new ReactorGroup();
  const pipe = openPipe();
  const watch = group.watch(pipe.read, "read");
  for (let i = 0; i < 20; i++) {
    group.unref();
    if (i % 3 === 0) await nextTask();
    group.ref();
    if (i % 2 === 0) await nextTask();
  }
  put(pipe.write);
  assertEquals(await watch.ready, true);
  closePipe(pipe);
});

Deno.test("ReactorGroup.unref() lets the program end", FFI, async () => {
  const { code, stdout, stderr } = await runProgram("reactor_unref.ts");
  assertEquals([stdout, stderr, code], ["ended\n", "", 0]);
});

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
