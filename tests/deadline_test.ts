// Copyright 2026 the @proc/group authors. MIT license.

import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { GroupHandle, registerGroup } from "../_group.ts";
import type { Leader, Platform, ProcessInfo } from "../_platform/platform.ts";
import { type ProcessGroup, spawnGroup, stopGroup } from "../process_group.ts";
import {
  DeadlineExceededError,
  type DeadlineOptions,
  OutputLimitError,
  withDeadline,
} from "../timeout.ts";
import {
  alive,
  assertNoneAlive,
  countListeners,
  decode,
  readUntil,
  uniqueSleep,
  until,
  untilAsleep,
  untilKilled,
  watchLeaks,
} from "./_util.ts";

const WAITS = { timeout: 30_000 };
const DAY_MS = 24 * 60 * 60 * 1000;

watchLeaks();

function spawnPiped(script: string): ProcessGroup {
  return spawnGroup("sh", ["-c", script], {
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    graceMs: 500,
  });
}

async function exceed(
  group: ProcessGroup,
  ms: number,
  options?: DeadlineOptions,
): Promise<DeadlineExceededError> {
  return await assertRejects(
    () => withDeadline(group, ms, options),
    DeadlineExceededError,
  );
}

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
    const error = await exceed(group, 300);
    assertEquals(decode(error.output?.stdout), "l1\n");
    assertEquals(decode(error.output?.stderr), "l2\n");
    assertEquals(error.output?.signal, "SIGTERM");
    assertEquals([error.ms, error.name], [300, "DeadlineExceededError"]);
    assert(error.durationMs >= 300 && error.durationMs < 5000);
    assertEquals(error.command, `sh -c ${script}`);
    assertStringIncludes(error.message, `"sh -c ${script}"`);
    assertStringIncludes(error.message, "300 ms");
    assertInstanceOf(error.cause, DOMException);
    assertEquals((error.cause as DOMException).name, "TimeoutError");
    assertEquals(error.report?.survivors, []);
  },
);

Deno.test(
  "withDeadline() keeps what members print while they are stopped",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = spawnPiped(
      `trap 'echo bye; exit 0' TERM; echo hi; sleep ${unique} & wait`,
    );
    await untilAsleep(unique);
    const error = await exceed(group, 200);
    assertEquals(decode(error.output?.stdout), "hi\nbye\n");
    assertEquals([error.output?.code, error.report?.forced], [0, false]);
  },
);

Deno.test(
  "withDeadline() takes killSignal and graceMs that win over the group's",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = spawnGroup("sh", [
      "-c",
      `trap 'echo int' INT; trap 'echo term' TERM
      (trap '' INT TERM; exec sleep ${unique}) & wait; wait; wait`,
    ], { stdout: "piped", stderr: "null", graceMs: 20_000 });
    await untilAsleep(unique);
    const error = await exceed(group, 200, {
      killSignal: "SIGINT",
      graceMs: 300,
    });
    assertEquals(decode(error.output?.stdout), "int\n");
    assert(error.report?.forced);
    assert(error.durationMs < 6000, `${error.durationMs}`);
    await assertNoneAlive(unique);
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
  "withDeadline() waits drainMs for a pipe before it stops who holds it",
  WAITS,
  async () => {
    await using group = spawnPiped("(sleep .4; echo late) & echo early");
    const output = await withDeadline(group, 20_000, { drainMs: 15_000 });
    assertEquals(decode(output.stdout), "early\nlate\n");
    assertEquals(output.drained, true);
  },
);

Deno.test(
  "withDeadline() says when a survivor holds the pipe, and keeps what was read",
  WAITS,
  async () => {
    const [a, b] = [uniqueSleep(15), uniqueSleep(15)];
    // Without its mark and outside of the session it cannot be found.
    await using inTime = spawnPiped(
      `echo hi; env -i setsid sleep ${a} & read line`,
    );
    await using tooLate = spawnPiped(
      `echo hi; env -i setsid sleep ${b} & sleep 20`,
    );
    await untilAsleep(a, b);
    const [output, error] = await Promise.all([
      withDeadline(inTime, 10_000, { input: "\n" }),
      exceed(tooLate, 200),
    ]);
    for (const each of [output, error.output!]) {
      assertEquals([decode(each.stdout), each.drained], ["hi\n", false]);
      assertEquals(each.report.escaped, []);
      assert(each.durationMs < 5000, `${each.durationMs}`);
    }
    await untilKilled(a, b);
  },
);

Deno.test(
  "withDeadline() spends drainMs once, also when it stops what is left",
  WAITS,
  async () => {
    const unique = uniqueSleep(15);
    await using group = spawnPiped(
      `env -i setsid sleep ${unique} & read line`,
    );
    await untilAsleep(unique);
    const drainMs = 2000;
    const output = await withDeadline(group, 10_000, {
      drainMs,
      graceMs: 5000,
      input: "\n",
    });
    assertEquals(output.drained, false);
    assert(output.durationMs >= drainMs, `${output.durationMs}`);
    assert(output.durationMs < drainMs + 1900, `${output.durationMs}`);
    await untilKilled(unique);
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
  },
);

Deno.test(
  "withDeadline() does not count a stopped leader among the leftovers",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    // It is seen alive by the stop and exits a moment later.
    await using group = spawnPiped(
      `(trap '' TERM; exec sleep ${unique}) & trap 'sleep .3; exit 3' TERM; sleep ${unique} & wait`,
    );
    const waiting = withDeadline(group, 20_000, { graceMs: 20_000 });
    await until("sleeps", async () => (await alive(unique)).length === 3);
    const [output] = await Promise.all([
      waiting,
      stopGroup(group, { graceMs: 800 }),
    ]);
    assertEquals(output.code, 3);
    assert(output.leftovers.some(({ command }) => command === "sleep"));
    assert(!output.leftovers.some(({ pid }) => pid === group.pid));
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
    assert(error.output.durationMs < 10_000, `${error.output.durationMs}`);
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
    for (const input of inputs) {
      await using group = spawnPiped("exec <&-; sleep .3; exit 4");
      const output = await withDeadline(group, 20_000, { input });
      assertEquals(output.code, 4);
    }
    assert(cancelled !== undefined);
  },
);

Deno.test(
  "withDeadline() gives up on input that a hanging command does not read",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = spawnPiped(`sleep ${unique} & wait`);
    const error = await exceed(group, 500, {
      input: new Uint8Array(3_000_000),
    });
    assert(error.durationMs < 5000, `${error.durationMs}`);
    await assertNoneAlive(unique);
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
      await withDeadline(group, i % 2 === 0 ? 20_000 : 300, { signal }).catch(
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
      }, 500), DeadlineExceededError);
    assertStrictEquals(error, reason);
    assert(isClean);
    assertEquals([error.ms, error.command, error.output, error.report], [
      500,
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

/** A group whose only process nothing ends and whose pipe stays open. */
function immortalGroup(): { group: ProcessGroup; signals: unknown[] } {
  const pid = 4_194_303;
  const stuck: ProcessInfo = {
    pid,
    ppid: 1,
    pgid: pid,
    sid: pid,
    state: "D",
    command: "stuck",
    startTime: 1,
  };
  const signals: unknown[] = [];
  const platform: Platform = {
    name: "portable",
    holdsIdentity: true,
    ownGroup: () => 0,
    spawn: () => {
      throw new Error("unused");
    },
    signalGroup: () => "sent",
    signalProcess: () => "sent",
    scan: () =>
      Promise.resolve({
        processes: [stuck],
        marks: new Map(),
        members: "procfs",
        escapees: "environ",
      }),
    ended: (_, { ms }) =>
      new Promise((resolve) => setTimeout(resolve, Math.min(ms, 50))),
  };
  const leader: Leader = {
    pid,
    startTime: 1,
    guarded: false,
    stdin: null,
    stdout: new ReadableStream() as Deno.SubprocessReadableStream,
    stderr: null,
    status: new Promise(() => {}),
    signalGroup: (signal) => {
      // Signal 0 only asks.
      if (signal !== 0) signals.push(signal);
      return "sent";
    },
    owns: () => true,
    ref: () => {},
    unref: () => {},
    release: () => Promise.resolve(),
  };
  const handle = new GroupHandle({
    platform,
    leader,
    group: 1,
    settings: { killSignal: "SIGTERM", graceMs: 9000, escapees: "stop" },
    commandLine: "stuck",
    signal: undefined,
  });
  const group = {} as ProcessGroup;
  registerGroup(group, handle);
  return { group, signals };
}

async function exceedWithStuckGroup(): Promise<void> {
  const { group, signals } = immortalGroup();
  const error = await exceed(group, 100, { graceMs: 100 });
  const survivors = error.report?.survivors ?? [];
  assertEquals(survivors.map(({ command }) => command), ["stuck"]);
  assertEquals([error.output?.success, error.output?.drained], [false, false]);
  assert(error.durationMs >= 2200, `${error.durationMs}`);
  assert(error.durationMs < 3300, `${error.durationMs}`);
  assertEquals(signals.slice(0, 3), ["SIGTERM", "SIGCONT", "SIGKILL"]);
  // SIGKILL is repeated, since a fork may have been in flight.
  assert(signals.filter((signal) => signal === "SIGKILL").length > 10);
}

async function exceedWithStuckTask(): Promise<void> {
  const start = performance.now();
  await assertRejects(
    () => withDeadline(() => new Promise(() => {}), 100, { graceMs: 100 }),
    DeadlineExceededError,
  );
  const took = performance.now() - start;
  assert(took >= 2200 && took < 3300, `${took}`);
}

Deno.test(
  "withDeadline() ends two seconds after the grace period whatever happens",
  WAITS,
  async () => {
    await Promise.all([exceedWithStuckGroup(), exceedWithStuckTask()]);
  },
);
