// Copyright 2026 the @proc/group authors. MIT license.

/** How long a deadline takes at most, whatever becomes of the group. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { GroupHandle } from "../_group.ts";
import type { Leader, Platform, ProcessInfo } from "../_platform/platform.ts";
import { registerGroup } from "../_registry.ts";
import { type ProcessGroup, spawnGroup, stopGroup } from "../process_group.ts";
import { DeadlineExceededError, withDeadline } from "../timeout.ts";
import { exceed, spawnPiped } from "./_deadline.ts";
import {
  alive,
  assertNoneAlive,
  decode,
  runAtOnce,
  uniqueSleep,
  until,
  untilAsleep,
  untilKilled,
  watchLeaks,
} from "./_util.ts";

watchLeaks();

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
    isGuarded: () => false,
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
  assert(error.durationMs < 7000, `${error.durationMs}`);
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
  assert(took >= 2200 && took < 7000, `${took}`);
}

Deno.test("withDeadline() is over in time, whatever happens", {
  timeout: 30_000,
}, async (t) => {
  await runAtOnce(t, [
    [
      "two seconds after the grace period, with a process that cannot be ended",
      exceedWithStuckGroup,
    ],
    [
      "two seconds after the grace period, with a task that does not settle",
      exceedWithStuckTask,
    ],
    ["at once when a survivor holds the pipe, with what was read", async () => {
      const [a, b] = [uniqueSleep(20), uniqueSleep(20)];
      // Without its mark and outside of the session it cannot be found.
      await using inTime = spawnPiped(
        `echo hi; env -i setsid sleep ${a} & read line`,
      );
      await using tooLate = spawnPiped(
        `echo hi; env -i setsid sleep ${b} & sleep 20`,
      );
      await untilAsleep(a, b);
      const [output, error] = await Promise.all([
        withDeadline(inTime, 15_000, { input: "\n" }),
        exceed(tooLate, 200),
      ]);
      for (const each of [output, error.output!]) {
        assertEquals([decode(each.stdout), each.drained], ["hi\n", false]);
        assertEquals(each.report.escaped, []);
        assert(each.durationMs < 12_000, `${each.durationMs}`);
      }
      await untilKilled(a, b);
    }],
    ["after drainMs, which is spent once", async () => {
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
    }],
    ["at once when a hanging command does not read its input", async () => {
      const unique = uniqueSleep();
      await using group = spawnPiped(`sleep ${unique} & wait`);
      const error = await exceed(group, 100, {
        input: new Uint8Array(3_000_000),
      });
      assert(error.durationMs < 20_000, `${error.durationMs}`);
      await assertNoneAlive(unique);
    }],
    [
      "at the end of a grace period that wins over the group's, as its killSignal does",
      async () => {
        const unique = uniqueSleep();
        await using group = spawnGroup("sh", [
          "-c",
          `trap 'echo int' INT; trap 'echo term' TERM
      (trap '' INT TERM; exec sleep ${unique}) & wait; wait; wait`,
        ], { stdout: "piped", stderr: "null", graceMs: 20_000 });
        await untilAsleep(unique);
        const error = await exceed(group, 100, {
          killSignal: "SIGINT",
          graceMs: 1500,
        });
        assertEquals(decode(error.output?.stdout), "int\n");
        assert(error.report?.forced);
        assert(error.durationMs < 15_000, `${error.durationMs}`);
        await assertNoneAlive(unique);
      },
    ],
    [
      "with the last member, and does not count a stopped leader among the leftovers",
      async () => {
        const unique = uniqueSleep();
        // It is seen alive by the stop and exits a moment later.
        await using group = spawnPiped(
          `(trap '' TERM; exec sleep ${unique}) & trap 'sleep .1; exit 3' TERM; sleep ${unique} & wait`,
        );
        const waiting = withDeadline(group, 20_000, { graceMs: 20_000 });
        await until("sleeps", async () => (await alive(unique)).length === 3);
        const [output] = await Promise.all([
          waiting,
          stopGroup(group, { graceMs: 1500 }),
        ]);
        assertEquals(output.code, 3);
        assert(output.leftovers.some(({ command }) => command === "sleep"));
        assert(!output.leftovers.some(({ pid }) => pid === group.pid));
      },
    ],
  ]);
});
