// Copyright 2026 the @proc/group authors. MIT license.

/** What is written to a command with a deadline. */

import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import { spawnGroup } from "../process_group.ts";
import { withDeadline } from "../timeout.ts";
import { spawnPiped } from "./_deadline.ts";
import {
  assertNoneAlive,
  countListeners,
  readUntil,
  uniqueSleep,
  watchLeaks,
} from "./_util.ts";

const WAITS = { timeout: 30_000 };

watchLeaks();

Deno.test(
  "withDeadline() writes input of every kind and closes stdin",
  WAITS,
  async () => {
    const bytes = new Uint8Array(300_000).map((_, i) => i % 251);
    const stream = ReadableStream.from([
      bytes.subarray(0, 7),
      bytes.subarray(7),
    ]);
    const inputs = [["häß\n", new TextEncoder().encode("häß\n")], [
      bytes,
      bytes,
    ], [
      stream,
      bytes,
    ], ["", new Uint8Array()]] as const;
    await Promise.all(inputs.map(async ([input, expected]) => {
      await using group = spawnPiped("cat");
      const output = await withDeadline(group, 20_000, { input });
      assertEquals(output.stdout, expected);
    }));
  },
);

Deno.test(
  "withDeadline() takes no notice of a command that does not read its input",
  WAITS,
  async () => {
    let cancelled: unknown;
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(60_000)),
      cancel: (reason) => cancelled = reason ?? "cancelled",
    });
    const inputs = [new Uint8Array(3_000_000), endless];
    await Promise.all(inputs.map(async (input) => {
      await using group = spawnPiped("exec <&-; sleep .3; exit 4");
      const output = await withDeadline(group, 20_000, { input });
      assertEquals(output.code, 4);
    }));
    assert(cancelled !== undefined);
  },
);

Deno.test(
  "withDeadline() rejects with the error of an input that fails, and stops the group",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = spawnPiped(`cat; sleep ${unique}`);
    const failure = new Error("no more input");
    const input = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(failure),
    });
    const error = await assertRejects(() =>
      withDeadline(group, 20_000, { input })
    );
    assertStrictEquals(error, failure);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "withDeadline() throws TypeError for input without a pipe, and locks nothing",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = spawnGroup("sh", ["-c", `echo hi; sleep ${unique}`], {
      stdin: "null",
      stdout: "piped",
    });
    const input = new ReadableStream<Uint8Array>();
    const { signal } = new AbortController();
    const listeners = countListeners(signal);
    await assertRejects(
      () => withDeadline(group, 20_000, { input, signal }),
      TypeError,
      "stdin",
    );
    assertEquals([input.locked, group.stdout.locked], [false, false]);
    assertEquals(listeners(), 0);
    assertEquals(await readUntil(group.stdout, "\n"), "hi\n");

    await using taken = spawnPiped("cat");
    const writer = taken.stdin.getWriter();
    await assertRejects(
      () => withDeadline(taken, 20_000, { input: "x" }),
      TypeError,
      "locked",
    );
    assertEquals(taken.stdout.locked, false);
    await writer.close();
  },
);

Deno.test(
  "withDeadline() tells a broken pipe from an input that fails",
  WAITS,
  async () => {
    const failing = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array(3)),
      pull: (controller) =>
        controller.error(new Deno.errors.BrokenPipe("of the source")),
    });
    await using reads = spawnPiped("cat");
    await assertRejects(
      () => withDeadline(reads, 20_000, { input: failing }),
      Deno.errors.BrokenPipe,
      "of the source",
    );
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(60_000)),
      cancel() {
        throw new Error("cannot be canceled");
      },
    });
    await using closes = spawnPiped("exec <&-; sleep .2; echo done");
    const output = await withDeadline(closes, 20_000, { input: endless });
    assertEquals(new TextDecoder().decode(output.stdout), "done\n");
  },
);

Deno.test(
  "withDeadline() lets stdin go although its input cannot be canceled",
  WAITS,
  async () => {
    await using group = spawnPiped("exit 0");
    const input = new ReadableStream<Uint8Array>({
      pull: () => new Promise(() => {}),
      cancel: () => new Promise(() => {}),
    });
    assertEquals((await withDeadline(group, 20_000, { input })).code, 0);
    assertEquals(group.stdin.locked, false);
  },
);

Deno.test(
  "withDeadline() refuses a locked input and leaves the group alone",
  WAITS,
  async () => {
    await using group = spawnPiped("echo hi; cat");
    const input = new ReadableStream<Uint8Array>();
    input.getReader();
    await assertRejects(
      () => withDeadline(group, 20_000, { input }),
      TypeError,
      "locked",
    );
    assertEquals(await readUntil(group.stdout, "\n"), "hi\n");
  },
);
