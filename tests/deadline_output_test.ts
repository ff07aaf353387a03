// Copyright 2026 the @proc/group authors. MIT license.

/** What is read from a command with a deadline, and for how long. */

import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { spawnGroup } from "../process_group.ts";
import { OutputLimitError, withDeadline } from "../timeout.ts";
import { exceed, spawnPiped } from "./_deadline.ts";
import {
  assertNoneAlive,
  decode,
  uniqueSleep,
  untilAsleep,
  watchLeaks,
} from "./_util.ts";

const WAITS = { timeout: 30_000 };

watchLeaks();

Deno.test(
  "withDeadline() keeps what members print while they are stopped",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = spawnPiped(
      `trap 'echo bye; exit 0' TERM; echo hi; sleep ${unique} & wait`,
    );
    await untilAsleep(unique);
    const error = await exceed(group, 100);
    assertEquals(decode(error.output?.stdout), "hi\nbye\n");
    assertEquals([error.output?.code, error.report?.forced], [0, false]);
  },
);

Deno.test(
  "withDeadline() waits drainMs for a pipe before it stops who holds it",
  WAITS,
  async () => {
    await using group = spawnPiped("(sleep .4; echo late) & echo early");
    const output = await withDeadline(group, 20_000, { drainMs: 15_000 });
    assertEquals(decode(output.stdout), "early\nlate\n");
    assertEquals(output.drained, true);
  },
);

Deno.test("withDeadline() leaves a locked stream alone", WAITS, async () => {
  await using group = spawnPiped("echo mine; echo err >&2");
  const text = group.stdout.text();
  const output = await withDeadline(group, 20_000);
  assertEquals(await text, "mine\n");
  assertThrows(() => output.stdout, TypeError, "stdout");
  assertEquals(decode(output.stderr), "err\n");
});

Deno.test(
  "withDeadline() gives no stream that was not piped",
  WAITS,
  async () => {
    await using group = spawnGroup("true", { stdin: "null" });
    const output = await withDeadline(group, 20_000);
    assertThrows(() => output.stdout, TypeError, "stdout");
    assertThrows(() => output.stderr, TypeError, "stderr");
    assertEquals([output.drained, output.success], [true, true]);
    // Whoever prints or serializes all of it does not meet what throws.
    const { drained, stdout } = JSON.parse(JSON.stringify(output));
    assertEquals([drained, stdout], [true, undefined]);
  },
);

Deno.test(
  "withDeadline() reads a hundred megabytes in time",
  WAITS,
  async () => {
    await using group = spawnPiped("head -c 100000000 /dev/zero");
    const output = await withDeadline(group, 25_000);
    assertEquals([output.stdout.length, output.drained], [100_000_000, true]);
  },
);

Deno.test(
  "withDeadline() rejects and stops the group above maxOutputBytes",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = spawnPiped(
      `echo err >&2; head -c 200000 /dev/zero; sleep ${unique}`,
    );
    const error = await assertRejects(
      () => withDeadline(group, 20_000, { maxOutputBytes: 100_001 }),
      OutputLimitError,
    );
    assertInstanceOf(error, RangeError);
    assertEquals([error.name, error.stream], ["OutputLimitError", "stdout"]);
    assertEquals(error.output.stdout.length, 100_001);
    assertEquals(decode(error.output.stderr), "err\n");
    assertStringIncludes(error.message, "100001 bytes of stdout");
    assert(error.output.durationMs < 15_000, `${error.output.durationMs}`);
    assertEquals(error.report.survivors, []);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "withDeadline() limits each stream by itself and allows the limit",
  WAITS,
  async () => {
    const both = "printf abcd; printf abcd >&2";
    await using fits = spawnPiped(both);
    const output = await withDeadline(fits, 20_000, { maxOutputBytes: 4 });
    assertEquals([decode(output.stdout), decode(output.stderr)], [
      "abcd",
      "abcd",
    ]);
    await using exceeds = spawnPiped(`${both}; printf e >&2; sleep 20`);
    const error = await assertRejects(
      () => withDeadline(exceeds, 20_000, { maxOutputBytes: 4 }),
      OutputLimitError,
    );
    assertEquals([error.stream, decode(error.output.stderr)], [
      "stderr",
      "abcd",
    ]);
  },
);

Deno.test(
  "withDeadline() keeps to the least limit of several calls for one group",
  WAITS,
  async () => {
    const options = { maxOutputBytes: 10 };
    await using running = spawnPiped("sleep .2; head -c 100 /dev/zero");
    const calls = [
      withDeadline(running, 20_000),
      withDeadline(running, 20_000, options),
      withDeadline(running, 20_000, { maxOutputBytes: 50 }),
    ];
    for (const call of calls) {
      const error = await assertRejects(
        () => call,
        OutputLimitError,
        "10 bytes",
      );
      assertEquals(error.output?.stdout.byteLength, 10);
    }
    await using over = spawnPiped("head -c 100 /dev/zero");
    const output = await withDeadline(over, 20_000);
    await assertRejects(
      () => withDeadline(over, 20_000, options),
      OutputLimitError,
      "10 bytes",
    );
    assertEquals(output.stdout.length, 100);
    assertStrictEquals(output.stdout, output.stdout);
  },
);

Deno.test(
  "withDeadline() reads on while somebody else has enough",
  WAITS,
  async () => {
    await using group = spawnPiped("echo a; (sleep 2; echo late) & exit 0");
    const output = withDeadline(group, 20_000, { drainMs: 15_000 });
    assertEquals(decode((await group.output()).stdout), "a\n");
    assertEquals(decode((await output).stdout), "a\nlate\n");
  },
);

Deno.test(
  "withDeadline() gives output that fills its buffer",
  WAITS,
  async () => {
    await using group = spawnPiped("echo hi");
    const { stdout } = await withDeadline(group, 20_000);
    assertEquals(decode(new Uint8Array(stdout.buffer)), "hi\n");
  },
);
