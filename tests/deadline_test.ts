// Copyright 2026 the @proc/group authors. MIT license.

import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
} from "@std/assert";
import { DeadlineExceededError, withDeadline } from "../timeout.ts";
import { exceed, spawnPiped } from "./_deadline.ts";
import {
  alive,
  assertNoneAlive,
  countListeners,
  decode,
  uniqueSleep,
  until,
  untilAsleep,
  watchLeaks,
} from "./_util.ts";

const WAITS = { timeout: 30_000 };
const DAY_MS = 24 * 60 * 60 * 1000;

watchLeaks();

Deno.test(
  "withDeadline() gives status and output of a command that is in time",
  WAITS,
  async () => {
    await using group = spawnPiped("echo out; echo err >&2; exit 3");
    const output = await withDeadline(group, 20_000);
    assertEquals([output.code, output.success, output.signal], [
      3,
      false,
      null,
    ]);
    assertEquals([decode(output.stdout), decode(output.stderr)], [
      "out\n",
      "err\n",
    ]);
    assertEquals([output.drained, output.leftovers], [true, []]);
    assertEquals(output.report.survivors, []);
    assert(output.durationMs > 0 && output.durationMs < 10_000);
  },
);

Deno.test(
  "withDeadline() is in time if the leader has exited while this thread was busy",
  WAITS,
  async () => {
    for (let round = 0; round < 3; round++) {
      await using group = spawnPiped("exit 3");
      const output = withDeadline(group, 1000);
      const endAt = performance.now() + 1500;
      while (performance.now() < endAt) {
        // Nothing else can happen in this process.
      }
      assertEquals((await output).code, 3);
    }
  },
);

Deno.test(
  "withDeadline() gives the status of a leader that dies of a signal",
  WAITS,
  async () => {
    await using group = spawnPiped("kill -KILL $$");
    const { code, success, signal } = await withDeadline(group, 20_000);
    assertEquals([code, success, signal], [137, false, "SIGKILL"]);
  },
);

Deno.test(
  "withDeadline() rejects with all output of both streams when it is too late",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    const script = `echo l1; echo l2 >&2; sleep ${unique}`;
    await using group = spawnPiped(script);
    await untilAsleep(unique);
    const error = await exceed(group, 100);
    assertEquals(decode(error.output?.stdout), "l1\n");
    assertEquals(decode(error.output?.stderr), "l2\n");
    assertEquals(error.output?.signal, "SIGTERM");
    assertEquals([error.ms, error.name], [100, "DeadlineExceededError"]);
    assert(error.durationMs >= 100 && error.durationMs < 20_000);
    assertEquals(error.command, `sh -c ${script}`);
    assertStringIncludes(error.message, `"sh -c ${script}"`);
    assertStringIncludes(error.message, "100 ms");
    assertInstanceOf(error.cause, DOMException);
    assertEquals((error.cause as DOMException).name, "TimeoutError");
    assertEquals(error.report?.survivors, []);
  },
);

Deno.test(
  "withDeadline() takes thirty days, Infinity and 0",
  WAITS,
  async () => {
    const times = [30 * DAY_MS, 1e15, Infinity];
    await Promise.all(times.map(async (ms) => {
      await using group = spawnPiped("sleep .2; echo in time");
      const output = await withDeadline(group, ms);
      assertEquals(decode(output.stdout), "in time\n");
    }));
    const unique = uniqueSleep();
    await using group = spawnPiped(`sleep ${unique}; :`);
    const error = await exceed(group, 0);
    assertEquals(error.ms, 0);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "withDeadline() rejects with the reason of its signal and stops the group",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = spawnPiped(`echo hi; sleep ${unique} & wait`);
    const controller = new AbortController();
    const listeners = countListeners(controller.signal);
    const { signal } = controller;
    const waiting = withDeadline(group, 20_000, { signal });
    waiting.catch(() => {});
    await until("sleep", async () => (await alive(unique)).length === 2);
    assertEquals(listeners(), 1);
    const reason = { own: "reason" };
    controller.abort(reason);
    assertStrictEquals(await waiting.catch((error) => error), reason);
    await assertNoneAlive(unique);
    assertEquals(listeners(), 0);
    assertEquals(decode((await group.output()).stdout), "hi\n");
  },
);

Deno.test(
  "withDeadline() stops the group for a signal that is aborted already",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = spawnPiped(`sleep ${unique}; :`);
    const reason = new Error("own reason");
    const signal = AbortSignal.abort(reason);
    const error = await assertRejects(() =>
      withDeadline(group, 20_000, { signal })
    );
    assertStrictEquals(error, reason);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "withDeadline() leaves no listener, however it ends",
  WAITS,
  async () => {
    const { signal } = new AbortController();
    const listeners = countListeners(signal);
    const runs = Array.from({ length: 20 }, async (_, i) => {
      await using group = spawnPiped(i % 2 === 0 ? "exit 0" : "sleep 30");
      await withDeadline(group, i % 2 === 0 ? 20_000 : 100, { signal }).catch(
        (error) => assertInstanceOf(error, DeadlineExceededError),
      );
    });
    await Promise.all([
      ...runs,
      withDeadline(() => Promise.resolve(), 20_000, { signal }),
      withDeadline(() => Promise.reject(1), 20_000, { signal }).catch(() => {}),
      withDeadline(
        (inner) =>
          new Promise((resolve) => inner.addEventListener("abort", resolve)),
        50,
        { signal },
      ).catch(() => {}),
    ]);
    assertEquals(listeners(), 0);
  },
);

Deno.test(
  "withDeadline() may be called when the leader has exited",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = spawnPiped(`sleep ${unique} & echo out`);
    await group.status;
    const output = await withDeadline(group, 0);
    assertEquals(decode(output.stdout), "out\n");
    assertEquals(output.leftovers.map(({ command }) => command), ["sleep"]);
    await assertNoneAlive(unique);
  },
);
