// Copyright 2026 the @proc/group authors. MIT license.

import { assert, assertEquals } from "@std/assert";
import { spawnGroup, stopGroup, waitGone, withDeadline } from "@proc/group";
import {
  alive,
  assertNoneAlive,
  fromRoot,
  readUntil,
  runProgram,
  skipIf,
  textOf,
  uniqueSleep,
  until,
  untilKilled,
  watchLeaks,
} from "./_util.ts";

watchLeaks();

const TIMEOUT = { timeout: 30_000 };

/** A shell that leaves a daemon in a session of its own, and says so. */
const daemon = (length: string, env = "") =>
  `setsid ${env} sleep ${length} >/dev/null 2>&1 </dev/null &
   until grep -qas sleep /proc/$!/comm; do :; done; echo ready; exec sleep 50`;

Deno.test(
  "stopGroup() stops and names a daemon of the group",
  TIMEOUT,
  async () => {
    const length = uniqueSleep();
    await using group = spawnGroup("sh", ["-c", daemon(length)], {
      stdout: "piped",
    });
    await readUntil(group.stdout, "ready");
    const report = await stopGroup(group);
    assertEquals(report.escaped.map(({ command }) => command), ["sleep"]);
    assertEquals(report.survivors, []);
    assertEquals(report.escapees, "environ");
    await assertNoneAlive(length);
  },
);

Deno.test(
  "stopGroup() finds a daemon after all members have ended",
  TIMEOUT,
  async () => {
    const length = uniqueSleep();
    const script = daemon(length).replace("exec sleep 50", "exit 3");
    await using group = spawnGroup("sh", ["-c", script], { stdout: "piped" });
    await readUntil(group.stdout, "ready");
    assertEquals((await group.status).code, 3);
    const report = await stopGroup(group);
    assertEquals(report.escaped.map(({ command }) => command), ["sleep"]);
    await assertNoneAlive(length);
  },
);

Deno.test(
  "stopGroup() finds a daemon after waitGone() has seen the group gone",
  TIMEOUT,
  async () => {
    const length = uniqueSleep();
    const script = daemon(length).replace("exec sleep 50", "exit 0");
    await using group = spawnGroup("sh", ["-c", script], { stdout: "piped" });
    await readUntil(group.stdout, "ready");
    await waitGone(group);
    assertEquals((await alive(length)).length, 1);
    const report = await stopGroup(group);
    assertEquals(report.escaped.map(({ command }) => command), ["sleep"]);
    await assertNoneAlive(length);
  },
);

Deno.test(
  "stopGroup() lets a TERM-proof daemon have its grace period, then kills it",
  TIMEOUT,
  async () => {
    const length = uniqueSleep();
    const script =
      `setsid sh -c 'trap "" TERM; echo ready; exec sleep ${length}' & exec sleep 50`;
    await using group = spawnGroup("sh", ["-c", script], {
      stdout: "piped",
      graceMs: 300,
    });
    await readUntil(group.stdout, "ready");
    const report = await stopGroup(group);
    assert(report.forced);
    assert(report.durationMs >= 300, `${report.durationMs}`);
    await assertNoneAlive(length);
  },
);

Deno.test(
  "stopGroup() only names escapees with escapees: report",
  TIMEOUT,
  async () => {
    const length = uniqueSleep();
    await using group = spawnGroup("sh", ["-c", daemon(length)], {
      stdout: "piped",
      escapees: "report",
    });
    await readUntil(group.stdout, "ready");
    const report = await stopGroup(group);
    assertEquals(report.escaped.length, 1);
    assertEquals(await alive(length), [report.escaped[0]!.pid]);
    await untilKilled(length);
  },
);

Deno.test(
  "stopGroup() does not look for escapees with escapees: ignore",
  TIMEOUT,
  async () => {
    const length = uniqueSleep();
    await using group = spawnGroup("sh", ["-c", daemon(length)], {
      stdout: "piped",
    });
    await readUntil(group.stdout, "ready");
    const report = await stopGroup(group, { escapees: "ignore" });
    assertEquals(report.escaped, []);
    assertEquals(report.escapees, "none");
    assertEquals((await alive(length)).length, 1);
    await untilKilled(length);
  },
);

Deno.test(
  "stopGroup() leaves another group's daemon alone",
  TIMEOUT,
  async () => {
    const [mine, other] = [uniqueSleep(), uniqueSleep()];
    const options = { stdout: "piped" } as const;
    await using first = spawnGroup("sh", ["-c", daemon(mine)], options);
    await using second = spawnGroup("sh", ["-c", daemon(other)], options);
    await readUntil(first.stdout, "ready");
    await readUntil(second.stdout, "ready");
    await stopGroup(first);
    await assertNoneAlive(mine);
    assertEquals((await alive(other)).length, 1);
  },
);

Deno.test(
  "stopGroup() does not take an argument for a mark",
  TIMEOUT,
  async () => {
    const length = uniqueSleep();
    await using group = spawnGroup("sh", [
      "-c",
      `env | grep -a '^PROC_GROUP_'; echo ready; exec sleep 50`,
    ], { stdout: "piped" });
    const marks = (await readUntil(group.stdout, "ready")).split("\n").filter((
      line,
    ) => line.includes("="));
    assertEquals(marks.length, 2);
    const stranger = new Deno.Command("sh", {
      args: ["-c", `sleep ${length}; :`, ...marks],
      env: {
        SOMETHING: marks.join("\n"),
        [`X${marks[0]!.split("=")[0]}`]: "1",
      },
    }).spawn();
    await until(
      "the stranger stands",
      async () => (await alive(length)).length === 2,
    );
    const report = await stopGroup(group);
    assertEquals(report.escaped, []);
    assertEquals((await alive(length)).length, 2);
    await untilKilled(length);
    await stranger.status;
  },
);

/** Generations of a tree, and how many must be there when it is stopped. */
const STORMS = [[8, 1], [7, 40], [7, 200]] as const;

for (const mode of ["", "setsid"]) {
  const what = mode
    ? "whose members call setsid"
    : "that forks as fast as it can";
  Deno.test(`stopGroup() ends a tree ${what}`, TIMEOUT, async () => {
    for (const [depth, waitFor] of STORMS) {
      const length = uniqueSleep();
      const storm = fromRoot("tests/testdata/storm.sh");
      const args = [storm, `${depth}`, length, ...mode ? [mode] : []];
      await using group = spawnGroup("sh", args, { graceMs: 300 });
      await until(
        "it forks",
        async () => (await alive(length)).length >= waitFor,
      );
      const report = await stopGroup(group);
      assertEquals(report.survivors, []);
      await assertNoneAlive(length);
    }
  });
}

Deno.test(
  "stopGroup() ends the groups of an inner program, and not the other way round",
  TIMEOUT,
  async () => {
    const [outer, inner] = [uniqueSleep(), uniqueSleep()];
    const result = await runProgram("nested.ts", { args: [outer, inner] });
    assertEquals(result.stderr, "");
    assertEquals(result.stdout, "inner stopped, outer lives\nouter stopped\n");
    await assertNoneAlive(outer, inner);
  },
);

Deno.test(
  "stopGroup() misses a daemon with a cleared environment: a limit",
  TIMEOUT,
  async () => {
    const length = uniqueSleep();
    await using group = spawnGroup("sh", ["-c", daemon(length, "env -i")], {
      stdout: "piped",
    });
    await readUntil(group.stdout, "ready");
    const report = await stopGroup(group);
    assertEquals(report.escaped, []);
    assertEquals((await alive(length)).length, 1);
    await untilKilled(length);
  },
);

const perl = await textOf("sh", "-c", "command -v perl") !== "";
Deno.test(
  "stopGroup() misses an escapee that overwrote its environment: a limit",
  {
    ...TIMEOUT,
    ...skipIf(!perl, "there is no perl"),
  },
  async () => {
    const title = `renamed ${uniqueSleep()} ${"x".repeat(20_000)}`;
    const script = `$0 = shift; print "ready\\n"; close STDOUT; sleep 40`;
    await using group = spawnGroup("setsid", [
      "perl",
      "-we",
      `use IO::Handle; STDOUT->autoflush; ${script}`,
      title,
    ], { stdout: "piped" });
    await readUntil(group.stdout, "ready");
    const report = await stopGroup(group);
    assertEquals(report.escaped, []);
    await untilKilled(title.slice(0, 30));
  },
);

Deno.test(
  "stopGroup() leaves alone what another program starts on request: a limit",
  TIMEOUT,
  async () => {
    const [length, dir] = [uniqueSleep(), await Deno.makeTempDir()];
    await new Deno.Command("mkfifo", { args: [`${dir}/requests`] }).output();
    const server = new Deno.Command("sh", {
      args: ["-c", `read -r line <'${dir}/requests'; exec $line`],
      stdout: "null",
    }).spawn();
    await using group = spawnGroup("sh", [
      "-c",
      `echo sleep ${length} >'${dir}/requests'; exec sleep 50`,
    ]);
    await until(
      "the server acts",
      async () => (await alive(length)).length === 1,
    );
    const report = await stopGroup(group);
    assertEquals(report.escaped, []);
    assertEquals(await alive(length), [server.pid]);
    server.kill("SIGKILL");
    await server.status;
    await Deno.remove(dir, { recursive: true });
  },
);

Deno.test(
  "withDeadline() names a daemon among the leftovers",
  TIMEOUT,
  async () => {
    const length = uniqueSleep();
    const script = daemon(length).replace("exec sleep 50", "exit 0");
    await using group = spawnGroup("sh", ["-c", script], { stdout: "piped" });
    const { leftovers, report } = await withDeadline(group, 20_000);
    assertEquals(leftovers.map(({ command }) => command), ["sleep"]);
    assertEquals(report.escaped, leftovers);
    await assertNoneAlive(length);
  },
);
