// Copyright 2026 the @proc/group authors. MIT license.

/** Deadlines of tasks, which are any functions. */

import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import { spawnGroup, stopGroup } from "../process_group.ts";
import { DeadlineExceededError, withDeadline } from "../timeout.ts";
import { assertNoneAlive, uniqueSleep, watchLeaks } from "./_util.ts";

const WAITS = { timeout: 30_000 };
const DAY_MS = 24 * 60 * 60 * 1000;

watchLeaks();

Deno.test("withDeadline() of a task gives what the task gives", async () => {
  assertEquals(await withDeadline(() => Promise.resolve(7), 20_000), 7);
  const failure = new Error("own failure");
  const error = await assertRejects(() =>
    withDeadline(() => Promise.reject(failure), Infinity)
  );
  assertStrictEquals(error, failure);
  const thrown = await assertRejects(() =>
    withDeadline(() => {
      throw failure;
    }, 30 * DAY_MS)
  );
  assertStrictEquals(thrown, failure);
});

Deno.test(
  "withDeadline() of a task aborts it and waits until it has cleaned up",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    let reason: unknown;
    let isClean = false;
    const error = await assertRejects(() =>
      withDeadline(async (signal) => {
        await using group = spawnGroup("sleep", [unique], { signal });
        await group.status;
        reason = signal.reason;
        await stopGroup(group);
        isClean = true;
        return "late";
      }, 200), DeadlineExceededError);
    assertStrictEquals(error, reason);
    assert(isClean);
    assertEquals([error.ms, error.command, error.output, error.report], [
      200,
      undefined,
      undefined,
      undefined,
    ]);
    await assertNoneAlive(unique);
  },
);

Deno.test("withDeadline() of a task rejects with the reason of its signal", async () => {
  const reason = { own: "reason" };
  const controller = new AbortController();
  const { promise, resolve } = Promise.withResolvers<void>();
  const waiting = withDeadline(
    (signal) => {
      signal.addEventListener("abort", () => resolve());
      return promise;
    },
    20_000,
    { signal: controller.signal },
  );
  controller.abort(reason);
  assertStrictEquals(await waiting.catch((error) => error), reason);

  let isCalled = false;
  const task = () => {
    isCalled = true;
    return Promise.resolve();
  };
  const late = withDeadline(task, 20_000, { signal: controller.signal });
  assertStrictEquals(await late.catch((error) => error), reason);
  assertEquals(isCalled, false);
});
