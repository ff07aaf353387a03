// Copyright 2026 the @proc/group authors. MIT license.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { C } from "../_platform/constants.ts";
import { check } from "../_platform/errno.ts";
import { libc } from "../_platform/libc.ts";
import { ReactorGroup, type Watch } from "../_platform/reactor.ts";
import { closePipe, nextTask, openPipe, type Pipe } from "./_pipe.ts";
import {
  isPortable,
  runProgram,
  skipIf,
  textOf,
  until,
  watchLeaks,
} from "./_util.ts";

const FFI = { timeout: 60_000, ...skipIf(isPortable, "it needs FFI") };

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

function put(fd: number, text = "x"): void {
  const bytes = new TextEncoder().encode(text);
  assertEquals(libc().write(fd, bytes, bytes.length), bytes.length);
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
