// Copyright 2026 the @proc/group authors. MIT license.

// What becomes of groups when the program dies that has started them.

import { assert, assertEquals } from "@std/assert";
import {
  allFlags,
  BARE,
  DAEMON,
  importMap,
  JOBS,
  kill,
  Parent,
  PLAIN,
  type Shape,
  STUBBORN,
  WAITS,
} from "./_guard.ts";
import {
  alive,
  fromRoot,
  isAlive,
  readUntil,
  skipIf,
  stateOf,
  textOf,
  uniqueSleep,
  until,
} from "./_util.ts";

for (const signal of ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"] as const) {
  Deno.test(
    `spawnGroup() leaves nothing when ${signal} ends the program`,
    WAITS,
    async () => {
      const shapes = [PLAIN, JOBS, STUBBORN, DAEMON, BARE];
      await using parent = await Parent.start(shapes);
      parent.child.kill(signal);
      assertEquals((await parent.end()).signal, signal);
      await parent.assertAllEnd();
    },
  );
}

for (
  const [order, code] of [["exit", 3], ["throw", 1], ["return", 0]] as const
) {
  Deno.test(
    `spawnGroup() leaves nothing when the program ends by ${order}`,
    WAITS,
    async () => {
      await using parent = await Parent.start([PLAIN, DAEMON, BARE]);
      await parent.order(order);
      const status = await parent.end();
      assertEquals([status.code, status.signal], [code, null]);
      await parent.assertAllEnd();
    },
  );
}

Deno.test(
  "spawnGroup() leaves a group of many sessions no process",
  WAITS,
  async () => {
    const many: Shape = [
      "for i in 1 2 3 4 5 6 7 8; do setsid sleep $0 & sleep $0 & done; wait",
      16,
    ];
    await using parent = await Parent.start([many, many, many]);
    parent.child.kill("SIGKILL");
    await parent.end();
    await parent.assertAllEnd();
  },
);

Deno.test(
  "stopGroup() makes the guard forget the group, not the others",
  WAITS,
  async () => {
    await using parent = await Parent.start([PLAIN, BARE]);
    await parent.say("stop 0");
    assertEquals((await parent.sleeps()).length, 1);
    assertEquals((await parent.guards()).length, 1);
    parent.child.kill("SIGKILL");
    await parent.end();
    await parent.assertAllEnd();
  },
);

Deno.test(
  "spawnGroup() ends an inner program's groups with the outer program",
  WAITS,
  async () => {
    const inner = [
      ...importMap,
      ...allFlags,
      fromRoot("tests/testdata/guard_parent.ts"),
    ];
    const unique = uniqueSleep();
    const scripts = [PLAIN, STUBBORN, DAEMON, BARE].map(([script]) =>
      script.replaceAll("$0", unique)
    );
    await using parent = new Parent([
      "run",
      ...importMap,
      ...allFlags,
      fromRoot("tests/testdata/guard_outer.ts"),
      ...inner,
      ...scripts,
    ], unique);
    await parent.learnMark();
    await until("all run", async () => (await parent.sleeps()).length === 8);
    parent.child.kill("SIGKILL");
    await parent.end();
    // The bare one is known to nobody but the inner guard.
    await parent.assertAllEnd();
  },
);

Deno.test(
  "spawnGroup() starts another guard for all groups when one has died",
  WAITS,
  async () => {
    await using parent = await Parent.start([BARE, PLAIN]);
    const [first] = await parent.guards();
    kill(first!, "SIGKILL");
    await until("the guard is dead", async () => !await isAlive(first!));
    await parent.say("start exec env -i sleep $0");
    const [second] = await parent.guards();
    assert(second !== undefined && second !== first);
    await until("it runs", async () => (await parent.sleeps()).length === 5);
    parent.child.kill("SIGKILL");
    const { stderr } = await parent.end();
    assertEquals(stderr, "");
    await parent.assertAllEnd();
  },
);

Deno.test(
  "spawnGroup() goes on without a guard that died, and ends well",
  WAITS,
  async () => {
    await using parent = await Parent.start([PLAIN]);
    const [guard] = await parent.guards();
    kill(guard!, "SIGKILL");
    await until("the guard is dead", async () => !await isAlive(guard!));
    await parent.say("stop 0");
    await parent.order("return");
    const { code, stderr } = await parent.end();
    assertEquals([code, stderr], [0, ""]);
  },
);

Deno.test(
  "spawnGroup() lets a guard hold nothing that the program's caller waits for",
  WAITS,
  async () => {
    await using parent = await Parent.start([PLAIN]);
    const [guard] = await parent.guards();
    // A guard that is stopped would hold what it holds for ever.
    kill(guard!, "SIGSTOP");
    await parent.order("exit");
    assertEquals((await parent.end()).code, 3);
    assertEquals((await parent.sleeps()).length, 3);
    assert(await isAlive(guard!));
    kill(guard!, "SIGCONT");
    await parent.assertAllEnd();
  },
);

Deno.test(
  "spawnGroup() keeps the guard off the program's session and terminal",
  WAITS,
  async () => {
    await using parent = await Parent.start([PLAIN]);
    const [guard] = await parent.guards();
    const [own, session] = await Promise.all([
      textOf("ps", "-o", "sid=,tty=", "-p", `${guard}`),
      textOf("sh", "-c", `readlink /proc/${guard}/cwd /proc/${guard}/fd/[12]`),
    ]);
    assertEquals(own.trim().split(/ +/), [`${guard}`, "?"]);
    assertEquals(session, "/\n/dev/null\n/dev/null\n");
    // The environment is empty, above all of marks, and so are the caught
    // signals of the terminal.
    const environment = await textOf("cat", `/proc/${guard}/environ`);
    assertEquals(environment.match(/PROC_GROUP|HOME|PATH/g), null);
    for (const signal of ["SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM"] as const) {
      kill(guard!, signal);
    }
    await parent.say("stop 0");
    parent.child.kill("SIGKILL");
    await parent.end();
    await parent.assertAllEnd();
  },
);

Deno.test(
  "spawnGroup() waits for no guard that does not read",
  WAITS,
  async () => {
    await using parent = await Parent.start([PLAIN]);
    const [guard] = await parent.guards();
    kill(guard!, "SIGSTOP");
    // More than a pipe takes.
    await parent.say("flood 8000");
    await parent.say("start exec env -i sleep $0");
    await until("it runs", async () => (await parent.sleeps()).length === 4);
    kill(guard!, "SIGCONT");
    // Each line takes some of what is queued along, until a guard that has
    // read all of it waits for the next.
    let idle = 0;
    await until("the guard has read all", async () => {
      await parent.say("flood 1");
      idle = await stateOf(guard!) === "S" ? idle + 1 : 0;
      return idle === 8;
    }, 20_000);
    parent.child.kill("SIGKILL");
    await parent.end();
    await parent.assertAllEnd();
  },
);

Deno.test(
  "spawnGroup() in a Worker leaves nothing when the Worker is terminated",
  WAITS,
  async () => {
    const shapes = [PLAIN, JOBS, DAEMON, BARE];
    await using parent = await Parent.start(shapes, {
      program: "guard_worker.ts",
    });
    await parent.order("terminate");
    await readUntil(parent.child.stdout, "terminated");
    await until("no sleep is left", async () => {
      return (await parent.sleeps()).length === 0;
    });
    assert(await isAlive(parent.child.pid));
    await parent.order("exit");
    await parent.end();
  },
);

Deno.test(
  "spawnGroup() in a Worker leaves nothing when the program is killed",
  WAITS,
  async () => {
    const shapes = [PLAIN, DAEMON, BARE];
    await using parent = await Parent.start(shapes, {
      program: "guard_worker.ts",
    });
    parent.child.kill("SIGKILL");
    await parent.end();
    await until("no sleep is left", async () => {
      return (await parent.sleeps()).length === 0;
    });
  },
);

Deno.test(
  "spawnGroup() leaves nothing of the version before under --watch",
  WAITS,
  async () => {
    const path = await Deno.makeTempFile({ suffix: ".ts" });
    const program = (await Deno.readTextFile(
      fromRoot("tests/testdata/guard_parent.ts"),
    )).replaceAll("../../", `file://${fromRoot("")}`);
    await Deno.writeTextFile(path, program);
    const unique = uniqueSleep();
    await using parent = new Parent([
      "run",
      ...importMap,
      "--watch",
      "--no-clear-screen",
      ...allFlags,
      path,
      BARE[0].replaceAll("$0", unique),
    ], unique);
    await parent.learnMark();
    await until("it runs", async () => (await parent.sleeps()).length === 1);
    const [before] = await parent.sleeps();
    const lines = readUntil(parent.child.stdout, "\n");
    await Deno.writeTextFile(path, `${program}\n// Changed.\n`);
    await until("the next version's runs alone", async () => {
      const sleeps = await parent.sleeps();
      return sleeps.length === 1 && sleeps[0] !== before;
    });
    await lines;
    parent.child.kill("SIGKILL");
    await parent.end();
    await until("no sleep is left", async () => {
      return (await parent.sleeps()).length === 0;
    });
    await Deno.remove(path);
  },
);

const hasPython = await textOf("python3", "-c", "print(1)").catch(() => "");

Deno.test(
  "spawnGroup() leaves nothing to a Ctrl-C, and the shell is back",
  { ...WAITS, ...skipIf(hasPython === "", "there is no python3") },
  async () => {
    const unique = uniqueSleep();
    const scripts = [PLAIN, JOBS, STUBBORN, DAEMON, BARE].map(([script]) =>
      `"${script.replaceAll("$0", unique)}"`
    );
    const program = fromRoot("tests/testdata/guard_parent.ts");
    const words = [Deno.execPath(), "run", ...importMap, ...allFlags, program];
    const terminal = new Deno.Command("python3", {
      args: [
        fromRoot("tests/testdata/guard_terminal.py"),
        [...words, ...scripts].join(" "),
        "PROC_GROUP_PARENT_",
      ],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    await readUntil(terminal.stdout, "running\n");
    const sleeps = () => alive(`sleep\0${unique}\0`);
    await until("all run", async () => (await sleeps()).length === 10);
    const writer = terminal.stdin.getWriter();
    await writer.write(new TextEncoder().encode("\n"));
    await readUntil(terminal.stdout, "back\n");
    await until("none is left", async () => (await sleeps()).length === 0);
    await Promise.all([writer.close(), terminal.stdout.cancel()]);
    assertEquals((await terminal.status).code, 0);
  },
);
