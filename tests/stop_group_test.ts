// Copyright 2026 the @proc/group authors. MIT license.

import { assert, assertEquals, assertFalse } from "@std/assert";
import {
  killGroup,
  listGroup,
  type ProcessGroup,
  spawnGroup,
  type SpawnGroupOptions,
  stopGroup,
} from "../process_group.ts";
import {
  alive,
  assertNoneAlive,
  isAlive,
  readUntil,
  runAtOnce,
  runProgram,
  skipIf,
  stateOf,
  uniqueSleep,
  until,
  untilAsleep,
  untilKilled,
  watchLeaks,
} from "./_util.ts";

const WAITS = { timeout: 30_000 };

watchLeaks();

/** Starts a shell script and waits for its line "ready". */
async function spawnReady(
  shell: string,
  script: string,
  options: SpawnGroupOptions = {},
): Promise<ProcessGroup> {
  const group = spawnGroup(shell, ["-c", script], {
    stdout: "piped",
    // Shells say there whom a signal has ended.
    stderr: "null",
    ...options,
  });
  await readUntil(group.stdout, "ready");
  return group;
}

/** Shell code that stays for about `seconds` whatever signal its child gets. */
function stay(seconds: number): string {
  return `i=0; while [ $i -lt ${seconds}0 ]; do sleep .1; i=$((i+1)); done`;
}

/** Shell code of a background process that ignores SIGTERM, then the line "ready". */
function stubborn(unique: string): string {
  return `(trap '' TERM; echo ready; exec sleep ${unique} >/dev/null) &`;
}

/** Stops a shell with job control that was started in some way. */
async function stopJobs(flag: string): Promise<void> {
  const unique = uniqueSleep();
  await using group = spawnGroup("bash", [
    "--norc",
    flag,
    `set -m; sleep ${unique} & (trap '' TERM; echo ready; sleep ${unique}) & sleep ${unique}; :`,
  ], { stdin: "null", stdout: "piped", stderr: "null", graceMs: 400 });
  await readUntil(group.stdout, "ready");
  await until("each job has a group", async () => {
    const members = await listGroup(group);
    return new Set(members.map(({ pgid }) => pgid)).size === 4;
  });
  const report = await stopGroup(group);
  assert(report.forced);
  await assertNoneAlive(unique);
}

Deno.test("stopGroup() reports what it did", WAITS, async () => {
  const unique = uniqueSleep();
  await using group = await spawnReady(
    "sh",
    `sleep ${unique} & echo ready; wait`,
    { graceMs: 20_000 },
  );
  const { durationMs, ...report } = await stopGroup(group);
  assert(durationMs > 0 && durationMs < 15_000, `${durationMs}`);
  assertEquals(report, {
    forced: false,
    escaped: [],
    survivors: [],
    members: "procfs",
    escapees: "environ",
    guarded: report.guarded,
  });
  await assertNoneAlive(unique);
});

Deno.test(
  "stopGroup() wakes stopped members, so that they can end",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    // One in the leader's group, and one in the group of a job.
    await using group = spawnGroup("bash", [
      "-c",
      `set -m; (kill -STOP $BASHPID; exec sleep ${unique}) & echo $!; kill -STOP $$; wait`,
    ], { stdout: "piped" });
    const job = parseInt(await readUntil(group.stdout, "\n"));
    for (const pid of [group.pid, job]) {
      await until("stopped", async () => await stateOf(pid) === "T");
    }
    const report = await stopGroup(group);
    assertFalse(report.forced);
    assertFalse(await isAlive(job));
  },
);

Deno.test(
  "stopGroup() uses the killSignal of the group, or its own",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    const spawn = () => spawnGroup("sleep", [unique], { killSignal: "SIGINT" });
    await using own = spawn();
    await using other = spawn();
    await Promise.all([
      stopGroup(own),
      stopGroup(other, { killSignal: "SIGHUP" }),
    ]);
    assertEquals((await own.status).signal, "SIGINT");
    assertEquals((await other.status).signal, "SIGHUP");
  },
);

Deno.test(
  "stopGroup() does nothing to a group that is gone",
  WAITS,
  async () => {
    await using group = spawnGroup("sleep", [uniqueSleep()]);
    await stopGroup(group);
    const report = await stopGroup(group);
    assertEquals(report, {
      ...report,
      forced: false,
      escaped: [],
      survivors: [],
    });
    assert(report.durationMs < 4000);
  },
);

Deno.test(
  "stopGroup() escalates to SIGKILL once, and not before its time",
  WAITS,
  async (t) => {
    await runAtOnce(t, [
      ["for a member that outstays the grace period", async () => {
        const unique = uniqueSleep();
        // The leader dies of SIGTERM at once, which ends nothing.
        const script = `${stubborn(unique)} exec sleep ${unique}`;
        await using group = await spawnReady("sh", script, { graceMs: 300 });
        const report = await stopGroup(group);
        assert(report.forced);
        assert(report.durationMs >= 300, `${report.durationMs}`);
        assertEquals((await group.status).signal, "SIGTERM");
        await assertNoneAlive(unique);
      }],
      [
        "not for members that end by themselves in the grace period",
        async () => {
          await using group = await spawnReady(
            "sh",
            `(trap 'sleep .5; echo cleaned; exit' TERM; echo ready; ${
              stay(20)
            }) & exec sleep 20`,
          );
          const report = await stopGroup(group);
          assertFalse(report.forced);
          assertEquals(await group.stdout.text(), "cleaned\n");
        },
      ],
      ["with the first signal sent once to everybody", async () => {
        const counting = `trap 'echo got' TERM; echo standing; ${stay(20)}`;
        // One in the leader's group, and one in the group of a job.
        const script = `set -m; trap 'echo got' TERM; (${counting}) & echo ready
  ${stay(20)}`;
        await using group = spawnGroup("bash", ["-c", script], {
          stdout: "piped",
          stderr: "null",
          graceMs: 20_000,
        });
        await readUntil(group.stdout, "ready", "standing");
        const first = stopGroup(group);
        await readUntil(group.stdout, "got\ngot\n");
        // Another call makes the first one look again at who is there.
        await stopGroup(group, { graceMs: 300 });
        assert((await first).forced);
        assertEquals(await group.stdout.text(), "");
      }],
      ["at once without a grace period", async () => {
        const unique = uniqueSleep();
        const script = `trap '' TERM; ${stubborn(unique)} wait`;
        const ways = [
          { graceMs: 0 },
          { killSignal: "SIGKILL", graceMs: 20_000 },
        ] as const;
        await Promise.all(ways.map(async (options) => {
          await using group = await spawnReady("sh", script, {
            graceMs: 20_000,
          });
          const report = await stopGroup(group, options);
          assert(report.forced);
          assert(report.durationMs < 15_000, `${report.durationMs}`);
          assertEquals((await group.status).signal, "SIGKILL");
        }));
        await assertNoneAlive(unique);
      }],
      ["no later when it is called again", async () => {
        const unique = uniqueSleep();
        const script = `trap '' TERM; ${stubborn(unique)} wait`;
        await using group = await spawnReady("sh", script);
        const first = stopGroup(group, { graceMs: 1000 });
        await new Promise((resolve) => setTimeout(resolve, 200));
        const second = stopGroup(group, { graceMs: 9000 });
        const [report, same] = await Promise.all([first, second]);
        assertEquals(report, same);
        assert(report.forced);
        const { durationMs } = report;
        assert(durationMs >= 1000 && durationMs < 8000, `${durationMs}`);
        await assertNoneAlive(unique);
      }],
      ["sooner when it is called again", async () => {
        const unique = uniqueSleep();
        const script = `trap '' TERM; ${stubborn(unique)} wait`;
        const ways = [{ graceMs: 0 }, { killSignal: "SIGKILL" }] as const;
        await Promise.all(ways.map(async (options) => {
          await using group = await spawnReady("sh", script);
          const first = stopGroup(group, { graceMs: 20_000 });
          await until(
            "a scan was done",
            () => listGroup(group).then(() => true),
          );
          await stopGroup(group, options);
          const { durationMs, forced } = await first;
          assert(forced && durationMs < 15_000, `${durationMs}`);
        }));
        await assertNoneAlive(unique);
      }],
      ["for all jobs of bash -c", () => stopJobs("-c")],
      ["for all jobs of bash -ic", () => stopJobs("-ic")],
    ]);
  },
);

Deno.test(
  "stopGroup() stops the process group of a number, and nobody else",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    const other = uniqueSleep();
    await using group = await spawnReady(
      "bash",
      `${stubborn(unique)} set -m; sleep ${other} & wait`,
    );
    await untilAsleep(unique, other);
    const report = await stopGroup(group.pgid, { graceMs: 200 });
    assert(report.forced);
    assertEquals([report.escapees, report.guarded], ["none", false]);
    assertFalse(
      killGroup(group.pgid, "SIGCONT") && await isAlive(group.pid),
    );
    assertEquals(await alive(unique), []);
    // The job has a group of its own in the session.
    const [job] = await listGroup(group);
    assertEquals(job?.command, "sleep");
  },
);

Deno.test(
  "stopGroup() ends a shell that starts jobs all the time",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = await spawnReady(
      "bash",
      `set -m; trap '' TERM; echo ready
    for i in {1..400}; do sleep ${unique} >/dev/null & done; wait`,
      { graceMs: 100 },
    );
    const report = await stopGroup(group);
    assertEquals(report.survivors, []);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "stopGroup() stops a hundred groups of three at once",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    const groups = Array.from({ length: 100 }, () =>
      spawnGroup("sh", [
        "-c",
        `sleep ${unique} & sleep ${unique} & echo ready; wait`,
      ], { stdout: "piped" }));
    await Promise.all(groups.map(({ stdout }) => readUntil(stdout, "ready")));
    const stops = Promise.all(groups.map((group) => stopGroup(group)));
    const start = performance.now();
    await Deno.readTextFile(new URL(import.meta.url));
    const readMs = performance.now() - start;
    const reports = await stops;
    assertEquals(reports.flatMap(({ survivors }) => survivors), []);
    await assertNoneAlive(unique);
    assert(readMs < 10_000, `${readMs}`);
    await Promise.all(groups.map((group) => group[Symbol.asyncDispose]()));
  },
);

Deno.test(
  "stopGroup() lets a program end without waiting for the grace period",
  WAITS,
  async () => {
    const start = performance.now();
    const { stdout } = await runProgram("stop_and_end.ts");
    assertEquals(stdout, "stopped\n");
    assert(performance.now() - start < 15_000);
  },
);

Deno.test("stopGroup() names who may not be signalled at once", {
  ...WAITS,
  ...skipIf(Deno.uid() !== 0, "only root can give up being root"),
}, async () => {
  const unique = uniqueSleep(20);
  const { stdout, stderr } = await runProgram("denied.ts", { args: [unique] });
  assertEquals(stderr, "");
  const { pid, ...result } = JSON.parse(stdout);
  assertEquals(result, {
    killed: "PermissionDenied",
    survivors: [pid],
    isQuick: true,
    disposed: "SurvivorsError",
    disposedSurvivors: [pid],
    message: `Cannot end all processes of the group: ${pid} (sleep) live on`,
  });
  await untilKilled(unique);
});
