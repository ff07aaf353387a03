// Copyright 2026 the @proc/group authors. MIT license.

// What a contained group is to its caller. A test of contain_refusal_test.ts
// runs this file again, as an ordinary user.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  killGroup,
  listGroup,
  type ProcessInfo,
  spawnGroup,
  type SpawnGroupOptions,
  stopGroup,
} from "../process_group.ts";
import { withDeadline } from "../timeout.ts";
import { start, WAITS } from "./_contain.ts";
import {
  alive,
  allFlags,
  assertNoneAlive,
  decode,
  fromRoot,
  importMap,
  isAlive,
  readUntil,
  uniqueSleep,
  until,
  watchLeaks,
} from "./_util.ts";

watchLeaks();

Deno.test(
  "spawnGroup() runs a contained command as any other",
  WAITS,
  async () => {
    await using group = spawnGroup("sh", [
      "-c",
      'cat; pwd; echo "$A"; printf %s. "$@"; echo err >&2; exit 7',
      "sh",
      "a b",
      "",
      "'$x\"\n",
      "-n",
    ], {
      contain: true,
      cwd: "/usr",
      env: { A: "1 2" },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    });
    const output = await withDeadline(group, 20_000, { input: "in\n" });
    assertEquals(decode(output.stdout), "in\n/usr\n1 2\na b..'$x\"\n.-n.");
    assertEquals(decode(output.stderr), "err\n");
    assertEquals([output.code, output.signal], [7, null]);
    assertEquals(output.leftovers, []);
    assert(output.drained);
  },
);

Deno.test(
  "spawnGroup() shows a contained command nobody else",
  WAITS,
  async () => {
    await using group = spawnGroup(
      "sh",
      ["-c", "cd /proc; echo [0-9]*; id -u"],
      {
        contain: true,
        stdout: "piped",
      },
    );
    const { stdout } = await withDeadline(group, 20_000);
    // The init and the shell.
    assertEquals(decode(stdout), `1 2\n${Deno.uid()}\n`);
  },
);

Deno.test(
  "spawnGroup() gives a contained status as a shell does",
  WAITS,
  async () => {
    const statusOf = async (script: string) => {
      await using group = spawnGroup("sh", ["-c", script], {
        contain: true,
        stderr: "piped",
      });
      const { code, signal, stderr } = await withDeadline(group, 20_000);
      return [code, signal, decode(stderr)];
    };
    const rows = [
      ["exit 255", 255],
      ["kill -TERM $$", 143],
      ["kill -KILL $$", 137],
      ["kill -SEGV $$", 139],
      ["kill -TERM 1; exit 3", 3],
      ["kill -KILL 1; exit 3", 3],
    ] as const;
    await Promise.all(rows.map(async ([script, code]) => {
      assertEquals(await statusOf(script), [code, null, ""], script);
    }));
  },
);

Deno.test(
  "spawnGroup() refuses what a contained group cannot be started with",
  WAITS,
  async () => {
    const contained =
      (command: string, options: SpawnGroupOptions = {}) => () =>
        spawnGroup(command, { contain: true, ...options });
    const { NotFound, PermissionDenied } = Deno.errors;
    assertThrows(contained("nope-nope"), NotFound, "'nope-nope'");
    assertThrows(contained("/nope/nope"), NotFound, "'/nope/nope'");
    assertThrows(contained("/etc/passwd"), PermissionDenied, "'/etc/passwd'");
    assertThrows(contained("/etc"), PermissionDenied, "'/etc'");
    assertThrows(contained("true", { cwd: "/nope" }), NotFound);
    assertThrows(contained("true", { env: { PATH: "/nope" } }), NotFound);
    assertThrows(
      contained("true", { killSignal: "SIGHUP" }),
      RangeError,
      "SIGHUP",
    );
    await using group = await start("echo ready; exec sleep 30");
    await assertRejects(
      () => stopGroup(group, { killSignal: "SIGUSR1" }),
      RangeError,
      "SIGUSR1",
    );
    await assertRejects(
      () => withDeadline(group, 1, { killSignal: "SIGQUIT" }),
      RangeError,
    );
    assert(await isAlive(group.pid));
  },
);

Deno.test(
  "killGroup() reaches a contained command with any signal, and ends nothing else",
  WAITS,
  async () => {
    // It starts nobody, who could take a signal for it.
    const script =
      'for s in HUP INT USR1 USR2 QUIT ALRM; do trap "echo $s" $s; done;' +
      "set -- 1 2 3 4 5 6 7 8 9 10 11 12; echo ready; for i; do read line; done; sleep 40";
    await using group = await start(script, { stdin: "piped" });
    const writer = group.stdin.getWriter();
    for (const name of ["HUP", "INT", "USR1", "USR2", "QUIT", "ALRM"]) {
      assert(killGroup(group, `SIG${name}` as Deno.Signal));
      // A signal that comes just before the shell reads does not wake it.
      await writer.write(new TextEncoder().encode("\n"));
      await readUntil(group.stdout, `${name}\n`);
    }
    writer.releaseLock();
    const { forced } = await stopGroup(group);
    assertEquals(forced, false);
  },
);

Deno.test(
  "withDeadline() names what a contained command has left behind",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    const quiet = ">/dev/null 2>&1";
    await using group = spawnGroup("sh", [
      "-c",
      `setsid env -i sleep ${unique} ${quiet} & sleep ${unique} ${quiet} & echo out`,
    ], { contain: true, stdout: "piped" });
    const output = await withDeadline(group, 20_000);
    await assertNoneAlive(unique);
    assertEquals([output.code, decode(output.stdout)], [0, "out\n"]);
    // One that has just been started may not be called "sleep" yet.
    assertEquals(output.leftovers.length, 2);
  },
);

Deno.test(
  "spawnGroup() keeps what a contained command leaves behind until it is stopped",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    const script = `setsid env -i sleep ${unique} >/dev/null 2>&1 & exit 5`;
    await using group = spawnGroup("sh", ["-c", script], { contain: true });
    assertEquals((await group.status).code, 5);
    let member: ProcessInfo | undefined;
    await until("the daemon is what it is to be", async () => {
      [member] = await listGroup(group);
      return member?.command === "sleep";
    });
    // The number is the one out here.
    assert((await alive(unique)).includes(member!.pid));
    const { forced } = await stopGroup(group);
    assertEquals(forced, false);
    await assertNoneAlive(unique);
    assertEquals(await listGroup(group), []);
  },
);

Deno.test(
  "listGroup() shows the leader and all inside a contained group",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = await start(
      `setsid env -i sleep ${unique} >/dev/null & echo ready; exec sleep ${unique}`,
    );
    await until(
      "both are there",
      async () =>
        (await listGroup(group)).filter(({ command }) => command === "sleep")
          .length === 2,
    );
    const members = await listGroup(group);
    assertEquals(
      members.map(({ command }) => command).sort(),
      [
        "sh",
        "sleep",
        "sleep",
      ],
    );
    assertEquals(members[0]?.pid, group.pid);
  },
);

Deno.test("a contained program can contain another", WAITS, async () => {
  const unique = uniqueSleep();
  const inner = [
    Deno.execPath(),
    "run",
    ...[...importMap, "--no-prompt", ...allFlags],
    fromRoot("tests/testdata/contain_parent.ts"),
    `setsid env -i sleep ${unique} >/dev/null & echo ready; exec sleep ${unique}`,
  ];
  await using group = spawnGroup(inner[0]!, inner.slice(1), {
    contain: true,
    stdin: "null",
    stdout: "piped",
  });
  await readUntil(group.stdout, "ready\n");
  assert((await alive(unique)).length > 2);
  assertEquals((await stopGroup(group)).survivors, []);
  await assertNoneAlive(unique);
});
