// Copyright 2026 the @proc/group authors. MIT license.

import { assert, assertEquals, assertFalse, assertRejects } from "@std/assert";
import { prepareSpawn } from "../_options.ts";
import { portable } from "../_platform/portable.ts";
import { SharedScan } from "../_platform/shared_scan.ts";
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
  runProgram,
  skipIf,
  stateOf,
  uniqueSleep,
  until,
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

Deno.test("stopGroup() reports what it did", WAITS, async () => {
  const unique = uniqueSleep();
  await using group = await spawnReady(
    "sh",
    `sleep ${unique} & echo ready; wait`,
  );
  const { durationMs, ...report } = await stopGroup(group);
  assert(durationMs > 0 && durationMs < 5000, `${durationMs}`);
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
  "stopGroup() sends SIGKILL to a member that outstays the grace period",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    // The leader dies of SIGTERM at once, which ends nothing.
    const script = `${stubborn(unique)} exec sleep ${unique}`;
    await using group = await spawnReady("sh", script, { graceMs: 300 });
    const report = await stopGroup(group);
    assert(report.forced);
    assert(report.durationMs >= 300, `${report.durationMs}`);
    assertEquals((await group.status).signal, "SIGTERM");
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "stopGroup() gives members the grace period to end by themselves",
  WAITS,
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
);

Deno.test(
  "stopGroup() sends the first signal once to everybody",
  WAITS,
  async () => {
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
  },
);

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
  "stopGroup() sends SIGKILL at once without a grace period",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    const script = `trap '' TERM; ${stubborn(unique)} wait`;
    const ways = [
      { graceMs: 0 },
      { killSignal: "SIGKILL", graceMs: 20_000 },
    ] as const;
    await Promise.all(ways.map(async (options) => {
      await using group = await spawnReady("sh", script);
      const report = await stopGroup(group, options);
      assert(report.forced);
      assert(report.durationMs < 5000, `${report.durationMs}`);
      assertEquals((await group.status).signal, "SIGKILL");
    }));
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "stopGroup() called again does not put the SIGKILL off",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    const script = `trap '' TERM; ${stubborn(unique)} wait`;
    await using group = await spawnReady("sh", script);
    const first = stopGroup(group, { graceMs: 1000 });
    await new Promise((resolve) => setTimeout(resolve, 500));
    const second = stopGroup(group, { graceMs: 9000 });
    const [report, same] = await Promise.all([first, second]);
    assertEquals(report, same);
    assert(report.forced);
    const { durationMs } = report;
    assert(durationMs >= 1000 && durationMs < 4000, `${durationMs}`);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "stopGroup() called again can bring the SIGKILL forward",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    const script = `trap '' TERM; ${stubborn(unique)} wait`;
    const ways = [{ graceMs: 0 }, { killSignal: "SIGKILL" }] as const;
    await Promise.all(ways.map(async (options) => {
      await using group = await spawnReady("sh", script);
      const first = stopGroup(group, { graceMs: 15_000 });
      await until("a scan was done", () => listGroup(group).then(() => true));
      await stopGroup(group, options);
      const { durationMs, forced } = await first;
      assert(forced && durationMs < 10_000, `${durationMs}`);
    }));
    await assertNoneAlive(unique);
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
    assert(report.durationMs < 1000);
  },
);

Deno.test(
  "stopGroup() stops the process group of a number",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    const other = uniqueSleep();
    await using group = await spawnReady(
      "bash",
      `${stubborn(unique)} set -m; sleep ${other} & wait`,
    );
    await until("job", async () => (await alive(other)).length === 2);
    const report = await stopGroup(group.pgid, { graceMs: 200 });
    assert(report.forced);
    assertEquals([report.escapees, report.guarded], ["none", false]);
    assertFalse(killGroup(group.pgid, "SIGCONT") && await isAlive(group.pid));
    assertEquals(await alive(unique), []);
    // The job has a group of its own in the session.
    const [job] = await listGroup(group);
    assertEquals(job?.command, "sleep");
  },
);

for (const flag of ["-c", "-ic"]) {
  Deno.test(`stopGroup() stops all jobs of bash ${flag}`, WAITS, async () => {
    const unique = uniqueSleep();
    await using group = spawnGroup("bash", [
      "--norc",
      flag,
      `set -m; sleep ${unique} & (trap '' TERM; echo ready; sleep ${unique}) & sleep ${unique}; :`,
    ], { stdin: "null", stdout: "piped", stderr: "null", graceMs: 400 });
    await readUntil(group.stdout, "ready");
    await until("jobs", async () => (await alive(unique)).length >= 4);
    const members = await listGroup(group);
    assert(new Set(members.map(({ pgid }) => pgid)).size === 4);
    const report = await stopGroup(group);
    assert(report.forced);
    await assertNoneAlive(unique);
  });
}

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
    assert(readMs < 3000, `${readMs}`);
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

Deno.test(
  "Leader.owns() knows a leader that has ended since the scan began",
  WAITS,
  async () => {
    const { request } = prepareSpawn("sleep", [uniqueSleep()], {});
    const leader = portable.spawn(request);
    const query = { marks: false, since: 0 };
    const during = await portable.scan(query);
    leader.signalGroup("SIGKILL");
    await leader.status;
    assert(leader.owns(during, request.group));
    assert(leader.owns(await portable.scan(query), request.group));
    // A process with the leader's number, at an unknown time after its end.
    assertFalse(leader.owns({ ...during }, request.group));
    await leader.release();
  },
);

Deno.test("SharedScan.request() lets all requests of one turn share a scan", async () => {
  const queries: unknown[] = [];
  const scan = new SharedScan((query) => {
    queries.push(query);
    return new Promise((resolve) => setTimeout(resolve, 20)) as never;
  });
  const first = Array.from(
    { length: 50 },
    (_, i) => scan.request({ marks: i % 2 === 0, since: 5 + i, sessions: [i] }),
  );
  await Promise.resolve();
  // One is running and may have looked already, so these share the next.
  const second = Array.from(
    { length: 50 },
    () => scan.request({ marks: false, since: 0 }),
  );
  await Promise.all([...first, ...second]);
  const sessions = Array.from({ length: 50 }, (_, i) => i);
  assertEquals(queries, [
    { marks: true, since: 5, sessions },
    { marks: false, since: 0, sessions: [] },
  ]);
});

Deno.test("SharedScan.request() passes a failure on and goes on", async () => {
  let scans = 0;
  const scan = new SharedScan(() => {
    scans++;
    return scans === 1 ? Promise.reject(new Error("no")) : Promise.resolve({
      processes: [],
      marks: new Map(),
      members: "ps",
      escapees: "none",
    });
  });
  const query = { marks: false, since: 0 };
  await assertRejects(() => scan.request(query), Error, "no");
  assertEquals((await scan.request(query)).members, "ps");
});
