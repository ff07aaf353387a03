// Copyright 2026 the @proc/group authors. MIT license.

// A test of contain_refusal_test.ts runs this file again, as an ordinary user.

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  canContain,
  killGroup,
  listGroup,
  type ProcessGroup,
  type ProcessInfo,
  spawnGroup,
  type SpawnGroupOptions,
  stopGroup,
  waitGone,
} from "../process_group.ts";
import { DeadlineExceededError, withDeadline } from "../timeout.ts";
import { allFlags, importMap } from "./_guard.ts";
import {
  alive,
  assertNoneAlive,
  decode,
  fromRoot,
  isAlive,
  readUntil,
  skipIf,
  uniqueSleep,
  until,
  watchLeaks,
} from "./_util.ts";

const isContainable = await canContain();

const WAITS = {
  timeout: 60_000,
  ...skipIf(!isContainable, "PID namespaces cannot be made here"),
};

const flags = [...importMap, "--no-prompt", ...allFlags];

watchLeaks();

/** A contained shell, once it has said that its tree stands. */
async function start(
  script: string,
  options: SpawnGroupOptions = {},
): Promise<ProcessGroup> {
  const group = spawnGroup("sh", ["-c", script], {
    contain: true,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    ...options,
  });
  try {
    await readUntil(group.stdout, "ready\n");
  } catch (error) {
    await group[Symbol.asyncDispose]();
    throw error;
  }
  return group;
}

/** Trees that are hard to end, by what they are. `$0` is their own argument. */
const TREES: Record<string, string> = {
  "a daemon without an environment":
    "setsid env -i sleep $0 >/dev/null & echo ready; exec sleep $0",
  "a storm of daemons":
    "for i in $(seq 300); do setsid env -i sleep $0 >/dev/null & done; echo ready; sleep $0",
  "a stopped member":
    "sh -c 'kill -STOP $$; sleep $0' $0 & setsid sh -c 'kill -STOP $$; sleep $0' $0 >/dev/null & echo ready; sleep $0",
  "a daemon that ignores SIGTERM":
    "trap '' TERM; setsid env -i sleep $0 >/dev/null & trap - TERM; echo ready; exec sleep $0",
};

function plant(tree: string): [script: string, unique: string] {
  const unique = uniqueSleep();
  return [TREES[tree]!.replaceAll("$0", unique), unique];
}

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
    assertEquals(await statusOf("exit 255"), [255, null, ""]);
    assertEquals(await statusOf("kill -TERM $$"), [143, null, ""]);
    assertEquals(await statusOf("kill -KILL $$"), [137, null, ""]);
    assertEquals(await statusOf("kill -SEGV $$"), [139, null, ""]);
    assertEquals(await statusOf("kill -TERM 1; exit 3"), [3, null, ""]);
    assertEquals(await statusOf("kill -KILL 1; exit 3"), [3, null, ""]);
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

for (const tree of Object.keys(TREES)) {
  Deno.test(
    `stopGroup() ends ${tree} in a contained group`,
    WAITS,
    async () => {
      const [script, unique] = plant(tree);
      const ignores = tree.includes("ignores");
      const graceMs = ignores ? 500 : 20_000;
      await using group = await start(script, { graceMs });
      assert((await alive(unique)).length > 0);
      const report = await stopGroup(group);
      await assertNoneAlive(unique);
      assertEquals([report.escaped, report.survivors], [[], []]);
      assertEquals(report.forced, ignores);
      assert(report.durationMs < 8000, `${report.durationMs}`);
    },
  );

  Deno.test(
    `withDeadline() ends ${tree} in a contained group`,
    WAITS,
    async () => {
      const [script, unique] = plant(tree);
      await using group = spawnGroup("sh", ["-c", script], {
        contain: true,
        graceMs: 500,
        stdin: "null",
        stdout: "piped",
      });
      const error = await assertRejects(
        () => withDeadline(group, 1000),
        DeadlineExceededError,
      );
      await assertNoneAlive(unique);
      assertEquals(decode(error.output?.stdout), "ready\n");
      assertEquals(error.report?.escaped, []);
      assertEquals(error.report?.survivors, []);
      assertStringIncludes(error.message, "sleep");
    },
  );

  Deno.test(`disposal ends ${tree} in a contained group`, WAITS, async () => {
    const [script, unique] = plant(tree);
    {
      await using _group = await start(script, { graceMs: 500 });
      assert((await alive(unique)).length > 0);
    }
    await assertNoneAlive(unique);
  });
}

Deno.test(
  "SIGKILL of the program ends its contained groups",
  WAITS,
  async () => {
    const trees = Object.keys(TREES).map(plant);
    const program = fromRoot("tests/testdata/contain_parent.ts");
    await using parent = new Deno.Command(Deno.execPath(), {
      args: ["run", ...flags, program, ...trees.map(([script]) => script)],
      stdout: "piped",
    }).spawn();
    await readUntil(parent.stdout, "ready\n");
    for (const [, unique] of trees) assert((await alive(unique)).length > 0);
    parent.kill("SIGKILL");
    await parent.status;
    await parent.stdout.cancel();
    for (const [, unique] of trees) {
      await until(
        "all have ended",
        async () => (await alive(unique)).length === 0,
      );
    }
  },
);

Deno.test(
  "a contained group that is to outlive the program does, and ends by itself",
  WAITS,
  async () => {
    const unique = uniqueSleep(3);
    const script = `setsid env -i sleep ${unique} >/dev/null & echo ready`;
    const program = fromRoot("tests/testdata/contain_parent.ts");
    await using parent = new Deno.Command(Deno.execPath(), {
      args: ["run", ...flags, program, script],
      env: { OUTLIVE: "1" },
      stdout: "piped",
    }).spawn();
    await readUntil(parent.stdout, "ready\n");
    parent.kill("SIGKILL");
    await parent.status;
    await parent.stdout.cancel();
    assert((await alive(unique)).length > 0);
    // The daemon after 3 seconds, and the init of its namespace 5 later at most.
    await until(
      "the namespace is empty",
      async () => (await alive(unique)).length === 0,
      20_000,
    );
  },
);

Deno.test(
  "stopGroup() lets all inside a contained group end in the grace period",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    // It has no child, which could lose a signal while it starts.
    const daemon = `trap "echo obeyed; exit" TERM; echo up; kill -STOP $$`;
    await using group = spawnGroup("sh", [
      "-c",
      `setsid env -i sh -c '${daemon}' & sleep ${unique}`,
    ], { contain: true, stdout: "piped" });
    await readUntil(group.stdout, "up\n");
    const { forced } = await stopGroup(group);
    assertEquals(await readUntil(group.stdout, "obeyed\n"), "obeyed\n");
    assertEquals(forced, false);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "stopGroup() ends a contained command that has just been started",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    for (let ms = 0; ms < 10; ms++) {
      await using group = spawnGroup("sleep", [unique], { contain: true });
      await new Promise((resolve) => setTimeout(resolve, ms));
      // The init would take no signal before the command is there.
      const { forced } = await stopGroup(group);
      assertEquals([forced, (await group.status).code], [false, 143]);
    }
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "stopGroup() with SIGKILL ends a contained group at once",
  WAITS,
  async () => {
    const [script, unique] = plant("a storm of daemons");
    await using group = await start(script);
    const report = await stopGroup(group, { killSignal: "SIGKILL" });
    await assertNoneAlive(unique);
    assert(report.forced && report.durationMs < 2500);
    assertEquals(await group.status, {
      success: false,
      code: 137,
      signal: "SIGKILL",
    });
  },
);

Deno.test(
  "killGroup() reaches a contained command with any signal, and ends nothing else",
  WAITS,
  async () => {
    // It starts nobody, who could take a signal for it.
    const script =
      'for s in HUP INT USR1 USR2 QUIT ALRM; do trap "echo $s" $s; done;' +
      "set -- 1 2 3 4 5 6; echo ready; for i; do read line; done; sleep 40";
    await using group = await start(script, { stdin: "piped" });
    for (const name of ["HUP", "INT", "USR1", "USR2", "QUIT", "ALRM"]) {
      assert(killGroup(group, `SIG${name}` as Deno.Signal));
      await readUntil(group.stdout, `${name}\n`);
    }
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
  "waitGone() waits for all that a contained command leaves behind",
  WAITS,
  async () => {
    const unique = uniqueSleep(1);
    // Each is gone before the next is there.
    const hops =
      `setsid env -i sh -c 'setsid env -i sh -c "sleep ${unique}" & exit' & exit`;
    await using group = spawnGroup("sh", ["-c", `(${hops}) >/dev/null 2>&1`], {
      contain: true,
    });
    const begin = performance.now();
    await waitGone(group);
    assert(performance.now() - begin > 900);
    await assertNoneAlive(unique);
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
    ...flags,
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
