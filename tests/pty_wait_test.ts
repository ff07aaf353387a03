// Copyright 2026 the @proc/group authors. MIT license.

/** What is waited for in the output. */

import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertThrows,
} from "@std/assert";
import { toText } from "@std/streams/to-text";
import { PtyWaitError, spawnPty } from "../pty.ts";
import { NEEDS_FFI } from "./_pty_util.ts";
import { countListeners, watchLeaks } from "./_util.ts";

watchLeaks();

Deno.test(
  "Pty.waitFor() consumes up to the match, and readable the rest",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("printf", ["one two\\nthree é four"]);
    const match = await pty.waitFor(["four", /t(?<rest>\w+)/], 10_000);
    assertEquals(match, {
      index: 1,
      text: "two",
      before: "one ",
      captures: ["wo"],
      groups: { rest: "wo" },
      droppedBytes: 0,
    });
    assertEquals((await pty.waitFor("é", 10_000)).before, "\r\nthree ");
    assertEquals(await toText(pty.readable), " four");
  },
);

Deno.test(
  "Pty.waitFor() rejects at the deadline and consumes nothing",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", ["-c", "echo hello; exec sleep 40"]);
    await pty.waitFor("he", 10_000);
    const error = await assertRejects(
      () => pty.waitFor(/never/, 200),
      PtyWaitError,
      '/never/ within 200 ms: the program runs, the last output is "llo',
    );
    assertEquals(error.reason, "timeout");
    assertEquals(error.status, null);
    assertEquals(error.tail, "llo\r\n");
    assertInstanceOf(error.cause, DOMException);
    assertEquals((await pty.waitFor("llo", 10_000)).before, "");
  },
);

Deno.test(
  "Pty.waitFor() rejects at the end with the status",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", ["-c", "echo oops; exit 7"]);
    const error = await assertRejects(
      () => pty.waitFor("login: ", 10_000),
      PtyWaitError,
      "ended with code 7",
    );
    assertEquals(error.reason, "end");
    assertEquals(error.status?.code, 7);
    assertEquals(error.tail, "oops\r\n");
    const end = await pty.waitFor([], 10_000, { allowEnd: true });
    assertEquals([end.index, end.before], [-1, "oops\r\n"]);
  },
);

Deno.test(
  "Pty.waitFor() takes a signal and lets go of it",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", ["-c", "echo ready; exec sleep 40"]);
    const controller = new AbortController();
    const { signal } = controller;
    const listeners = countListeners(signal);
    await pty.waitFor("ready", 10_000, { signal });
    assertEquals(listeners(), 0);
    const waiting = pty.waitFor("never", 60_000, { signal });
    const reason = new Error("enough");
    controller.abort(reason);
    assertEquals(await assertRejects(() => waiting), reason);
    assertEquals(listeners(), 0);
    assertEquals(
      await assertRejects(() => pty.waitFor("x", 1, { signal })),
      reason,
    );
    assertEquals(
      await assertRejects(() => pty.waitNoEcho(1, { signal })),
      reason,
    );
  },
);

Deno.test("Pty.waitFor() has the output to itself", NEEDS_FFI, async () => {
  await using pty = spawnPty("cat", { echo: false });
  const waiting = pty.waitFor("first", 10_000);
  await assertRejects(() => pty.waitFor("x", 1), TypeError, "somebody else");
  // A stream waits for its turn.
  const reader = pty.readable.getReader();
  const reading = reader.read();
  await pty.write("first second\n");
  await waiting;
  const { value } = await reading;
  assertEquals(new TextDecoder().decode(value), " second\r\n");
  await assertRejects(() => pty.waitFor("x", 1), TypeError, "locked");
  reader.releaseLock();
});

Deno.test(
  "Pty.waitFor() gets what a released reader has asked for",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("cat", { echo: false });
    const reader = pty.readable.getReader();
    const reading = reader.read();
    reader.releaseLock();
    await assertRejects(() => reading, TypeError);
    await pty.write("hello\n");
    await pty.waitFor("hello", 10_000);
  },
);

Deno.test(
  "Pty.waitFor() finds what comes after 25 MB of other output",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", [
      "-c",
      "stty -opost; yes 0123456789abcdef | head -c 25000000; echo found it",
    ]);
    const { before, droppedBytes } = await pty.waitFor(/found (\w+)/, 60_000);
    assertEquals(before.length + droppedBytes, 25_000_000);
    // What was matched is part of what is kept.
    const kept = (before.length + "found it\r\n".length) / 1024;
    assert(kept >= 512 && kept < 1400, `${kept} KiB are kept`);
  },
);

Deno.test("Pty.waitFor() checks its arguments", NEEDS_FFI, async () => {
  await using pty = spawnPty("cat");
  await assertRejects(() => pty.waitFor("", 10), RangeError);
  await assertRejects(() => pty.waitFor([], 10), RangeError);
  await assertRejects(() => pty.waitFor("x", -1), RangeError);
  await assertRejects(() => pty.waitFor("x", NaN), RangeError);
  const wrong = 5 as unknown as string;
  await assertRejects(() => pty.waitFor(wrong, 10), TypeError);
  await assertRejects(() => pty.waitFor("x", "1" as never), TypeError);
  await assertRejects(() => pty.write(wrong), TypeError);
  assertThrows(() => pty.resize({ columns: 0, rows: 1 }), RangeError);
});

Deno.test(
  "Pty.waitNoEcho() rejects at the deadline and at the end",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", ["-c", "read -r line; exit 4"]);
    const late = await assertRejects(() => pty.waitNoEcho(50), PtyWaitError);
    assertEquals(late.reason, "timeout");
    const waiting = pty.waitNoEcho(10_000);
    await pty.write("\n");
    const error = await assertRejects(() => waiting, PtyWaitError);
    assertEquals(error.reason, "end");
    assertEquals(error.status?.code, 4);
  },
);
