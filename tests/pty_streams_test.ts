// Copyright 2026 the @proc/group authors. MIT license.

/** What is typed and printed, beside the waiting for it. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { spawnPty } from "../pty.ts";
import { NEEDS_FFI } from "./_pty_util.ts";
import { watchLeaks } from "./_util.ts";

watchLeaks();

Deno.test(
  "Pty.write() rejects after the end, and resize does nothing",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("true", { columns: 90, rows: 20 });
    await pty.waitFor([], 10_000, { allowEnd: true });
    await assertRejects(() => pty.write("x"), Deno.errors.BrokenPipe);
    await assertRejects(() => pty.sendEof());
    pty.resize({ columns: 10, rows: 10 });
    assertEquals(pty.size(), { columns: 90, rows: 20 });
  },
);

Deno.test("Pty.resize() tells the program", NEEDS_FFI, async () => {
  await using pty = spawnPty("bash", [
    "-c",
    "trap 'stty size; exit' WINCH; echo ready; while :; do sleep .05; done",
  ]);
  await pty.waitFor("ready", 10_000);
  pty.resize({ columns: 101, rows: 37 });
  assertEquals(pty.size(), { columns: 101, rows: 37 });
  await pty.waitFor("37 101", 10_000);
});

Deno.test(
  "Pty.writable types and does not end the input when it closes",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("cat", { echo: false });
    const source = ReadableStream.from(["one\n", "two\n"]);
    await source.pipeThrough(new TextEncoderStream()).pipeTo(pty.writable);
    await pty.waitFor("two", 10_000);
    await pty.write("three\n");
    await pty.waitFor("three", 10_000);
  },
);

Deno.test(
  "Pty.readable lets the program go on when it is cancelled",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", [
      "-c",
      "head -c 300000 /dev/zero; exit 5",
    ]);
    await pty.readable.cancel();
    assertEquals((await pty.status).code, 5);
  },
);

Deno.test("Pty.status does not wait for unread output", NEEDS_FFI, async () => {
  await using pty = spawnPty("sh", [
    "-c",
    "stty -opost; head -c 8000 /dev/zero",
  ]);
  assert((await pty.status).success);
  const bytes = await new Response(pty.readable).bytes();
  assertEquals(bytes.length, 8000);
});

Deno.test(
  "Pty.readable keeps nothing that waitFor() could find",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", ["-c", "printf 'login: '; exec sleep 20"]);
    const reader = pty.readable.getReader({ mode: "byob" });
    const { value } = await reader.read(new Uint8Array(3));
    assertEquals(new TextDecoder().decode(value), "log");
    reader.releaseLock();
    assertEquals((await pty.waitFor(": ", 10_000)).before, "in");
  },
);

Deno.test(
  "Pty.sendEof() counts what is left of a line, and rejects after the end",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", [
      "-c",
      "cat; echo first; cat; echo second; read -r line; echo $line",
    ]);
    // Erased to the start of the line, so one end of file is due; else two.
    await pty.write("aé\x7f\x7f");
    await pty.sendEof();
    await pty.waitFor("first", 10_000);
    await pty.write("aé\x7f");
    await pty.sendEof();
    await pty.waitFor("second", 10_000);
    await pty.write("done\n");
    await pty.waitFor("done\r\ndone", 10_000);
    await pty.status;
    await pty.waitFor([], 10_000, { allowEnd: true });
    await assertRejects(() => pty.sendEof(), Deno.errors.BrokenPipe);
  },
);
