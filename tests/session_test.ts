// Copyright 2026 the @proc/group authors. MIT license.

/** Sessions whose leader and its process group are gone while others live on. */

import { assert, assertEquals } from "@std/assert";
import { GroupHandle } from "../_group.ts";
import type { Leader, Platform, ProcessInfo } from "../_platform/platform.ts";
import { stop, StopPlan } from "../_stop.ts";
import { waitUntilGone } from "../_wait.ts";
import {
  listGroup,
  type ProcessGroup,
  spawnGroup,
  stopGroup,
} from "../process_group.ts";
import { spawnPty } from "../pty.ts";
import {
  alive,
  assertNoneAlive,
  isPortable,
  skipIf,
  textOf,
  uniqueSleep,
  until,
  untilAsleep,
} from "./_util.ts";

const WAITS = { timeout: 30_000 };

/** A job that was born after the leader's end, in a process group of its own. */
async function lateJob(
  options: { signal?: AbortSignal } = {},
): Promise<{ group: ProcessGroup; unique: string }> {
  const unique = uniqueSleep();
  const job = `sh -c 'sleep 0.3; sleep ${unique} & exit' &`;
  const group = spawnGroup("bash", ["-c", `set -m; ${job} exit 0`], {
    stdin: "null",
    stdout: "null",
    stderr: "null",
    ...options,
  });
  await group.status;
  await untilAsleep(unique);
  // A slow init may leave the shell that has started it as a zombie for a while.
  await until("the job is alone", async () => {
    const pids = await textOf("ps", "-o", "pid=", "-s", `${group.pgid}`);
    return pids.trim().split("\n").length === 1;
  });
  return { group, unique };
}

Deno.test(
  "a job that was born after the leader's end is listed, stopped, and no escapee",
  WAITS,
  async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const [listed, stopped, aborted] = await Promise.all(
      [{}, {}, { signal }].map(lateJob),
    );
    await using _listed = listed!.group;
    await using _stopped = stopped!.group;
    await using _aborted = aborted!.group;

    const members = await listGroup(listed!.group);
    assertEquals(members.map(({ command }) => command), ["sleep"]);

    const report = await stopGroup(stopped!.group, { escapees: "ignore" });
    assertEquals(report.survivors, []);
    assertEquals(report.escapees, "none");
    await assertNoneAlive(stopped!.unique);

    controller.abort();
    await until(
      "it is stopped",
      async () => (await alive(aborted!.unique)).length === 0,
    );
  },
);

/** A group that ends during the first look: its last member changes groups. */
function movingGroup(): { handle: GroupHandle; signals: unknown[] } {
  const pid = 2 ** 30;
  const mover: ProcessInfo = {
    pid: pid + 1,
    ppid: 1,
    pgid: pid,
    sid: pid,
    state: "S",
    command: "mover",
    startTime: 1,
  };
  const signals: unknown[] = [];
  let scans = 0;
  let isAlive = true;
  const platform: Platform = {
    name: "linux",
    holdsIdentity: true,
    ownGroup: () => 0,
    spawn: () => {
      throw new Error("unused");
    },
    signalGroup: (_, signal) => {
      signals.push(signal);
      isAlive = false;
      return "sent";
    },
    signalProcess: () => isAlive ? "sent" : "gone",
    scan: () => {
      // The first one shows where it was before.
      const pgid = scans++ === 0 ? pid : mover.pid;
      return Promise.resolve({
        processes: isAlive ? [{ ...mover, pgid }] : [],
        complete: true,
        marks: new Map(),
        members: "procfs",
        escapees: "environ",
      });
    },
    ended: () => {
      isAlive = false;
      return Promise.resolve();
    },
  };
  const leader: Leader = {
    pid,
    startTime: 1,
    isGuarded: () => false,
    stdin: null,
    stdout: null,
    stderr: null,
    status: Promise.resolve({ success: true, code: 0, signal: null }),
    signalGroup: () => scans === 0 ? "sent" : "gone",
    owns: ({ processes }) => processes.some(({ pgid }) => pgid !== pid),
    ref: () => {},
    unref: () => {},
    release: () => Promise.resolve(),
  };
  const handle = new GroupHandle({
    platform,
    leader,
    group: 1,
    settings: { killSignal: "SIGTERM", graceMs: 1000, escapees: "stop" },
    commandLine: "mover",
    signal: undefined,
  });
  return { handle, signals };
}

Deno.test("a stop reaches who changes groups during its first look", async () => {
  const { handle, signals } = movingGroup();
  const { seen } = await handle.stop({ ...handle.settings, looksFirst: true });
  assertEquals(seen.map(({ command }) => command), ["mover"]);
  assertEquals(signals[0], "SIGTERM");
});

Deno.test("a wait sees who changes groups during its first look", async () => {
  const { handle } = movingGroup();
  let hasWaited = false;
  const { ended } = handle.platform;
  handle.platform.ended = (...args) => {
    hasWaited = true;
    return ended(...args);
  };
  await waitUntilGone(handle, new AbortController().signal);
  assert(hasWaited);
});

Deno.test(
  "a stop ends although an escapee may not be signalled",
  WAITS,
  async () => {
    const escapee: ProcessInfo = {
      pid: 2 ** 30,
      ppid: 1,
      pgid: 2 ** 30,
      sid: 2 ** 30,
      state: "S",
      command: "denied",
      startTime: 1,
    };
    const { handle } = movingGroup();
    let scans = 0;
    const { report } = await stop({
      platform: {
        ...handle.platform,
        signalProcess: () => "denied",
        scan: () => {
          // It would go on for ever, without letting a timer fire.
          if (++scans > 10) throw new Error("too many scans");
          return Promise.resolve({
            processes: [escapee],
            complete: true,
            marks: new Map([[escapee.pid, [1]]]),
            members: "procfs",
            escapees: "environ",
          });
        },
      },
      pgid: 2 ** 30 - 1,
      isGuarded: () => false,
      gone: false,
      certain: true,
      exited: undefined,
      query: { marks: true, since: 0 },
      signal: () => "sent",
      members: () => [],
      dead: () => [],
      escapees: () => [escapee],
      setGone: () => {},
      settle: () => Promise.resolve(),
    }, new StopPlan({ killSignal: "SIGTERM", graceMs: 100, escapees: "stop" }));
    assertEquals(report.survivors, [escapee]);
  },
);

Deno.test(
  "spawnPty() refuses a string of arguments, and a user that it would not be",
  skipIf(isPortable, "there are no terminals without FFI"),
  () => {
    for (const options of ["-c", { uid: 65534 }, { gid: 65534 }]) {
      let error: unknown;
      try {
        spawnPty("true", options as never);
      } catch (thrown) {
        error = thrown;
      }
      assert(error instanceof TypeError, `${error}`);
    }
  },
);
