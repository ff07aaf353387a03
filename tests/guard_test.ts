// Copyright 2026 the @proc/group authors. MIT license.

// What becomes of groups when the program dies that has started them.

import { assert, assertEquals } from "@std/assert";
import {
  BARE,
  DAEMON,
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
  allFlags,
  type Case,
  fromRoot,
  importMap,
  isAlive,
  readUntil,
  runAtOnce,
  skipIf,
  stateOf,
  textOf,
  uniqueSleep,
  until,
} from "./_util.ts";

/** Signals that end a program, which has no say in it. */
const SIGNALS = ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"] as const;

/** Ways in which a program ends by itself, and its exit code then. */
const ORDERS = [["exit", 3], ["throw", 1], ["return", 0]] as const;

Deno.test(
  "spawnGroup() leaves nothing, however the program ends",
  WAITS,
  async (t) => {
    const kill = async (signal: Deno.Signal) => {
      const shapes = [PLAIN, JOBS, STUBBORN, DAEMON, BARE];
      await using parent = await Parent.start(shapes);
      parent.child.kill(signal);
      assertEquals((await parent.end()).signal, signal);
      await parent.assertAllEnd();
    };
    const order = async (order: string, code: number) => {
      await using parent = await Parent.start([PLAIN, DAEMON, BARE]);
      await parent.order(order);
      const status = await parent.end();
      assertEquals([status.code, status.signal], [code, null]);
      await parent.assertAllEnd();
    };
    await runAtOnce(t, [
      ...SIGNALS.map((signal): Case => [signal, () => kill(signal)]),
      ...ORDERS.map(([name, code]): Case => [name, () => order(name, code)]),
    ]);
  },
);

const python = await textOf("python3", "-c", "print(1)").catch(() => "");
const hasNoPython = skipIf(python === "", "there is no python3").ignore;

/** Has a program in an interactive shell get a Ctrl-C. */
async function interrupt(): Promise<void> {
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
}

Deno.test(
  "spawnGroup() leaves nothing, whatever kind of program is ended",
  WAITS,
  async (t) => {
    await runAtOnce(t, [
      ["one with groups of many sessions", async () => {
        const many: Shape = [
          "for i in 1 2 3 4 5 6 7 8; do setsid sleep $0 & sleep $0 & done; wait",
          16,
        ];
        await using parent = await Parent.start([many, many, many]);
        parent.child.kill("SIGKILL");
        await parent.end();
        await parent.assertAllEnd();
      }],
      ["one whose group holds another program with groups", async () => {
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
        await until(
          "all run",
          async () => (await parent.sleeps()).length === 8,
        );
        parent.child.kill("SIGKILL");
        await parent.end();
        // The bare one is known to nobody but the inner guard.
        await parent.assertAllEnd();
      }],
      ["one whose groups are of a Worker that is terminated", async () => {
        const shapes = [PLAIN, JOBS, DAEMON, BARE];
        await using parent = await Parent.start(shapes, {
          program: "guard_worker.ts",
        });
        await parent.order("terminate");
        await readUntil(parent.child.stdout, "terminated");
        await parent.untilNoSleep();
        assert(await isAlive(parent.child.pid));
        await parent.order("exit");
        await parent.end();
      }],
      ["one whose groups are of a Worker", async () => {
        const shapes = [PLAIN, DAEMON, BARE];
        await using parent = await Parent.start(shapes, {
          program: "guard_worker.ts",
        });
        parent.child.kill("SIGKILL");
        await parent.end();
        await parent.untilNoSleep();
      }],
      ["the version before under --watch", async () => {
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
        await until(
          "it runs",
          async () => (await parent.sleeps()).length === 1,
        );
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
        await parent.untilNoSleep();
        await Deno.remove(path);
      }],
      ["one that gets a Ctrl-C, and the shell is back", interrupt, hasNoPython],
    ]);
  },
);

Deno.test(
  "spawnGroup() gets on with any guard, which gets on with the program",
  WAITS,
  async (t) => {
    await runAtOnce(t, [
      [
        "it makes the guard forget a group that was stopped, not the others",
        async () => {
          await using parent = await Parent.start([PLAIN, BARE]);
          await parent.say("stop 0");
          assertEquals((await parent.sleeps()).length, 1);
          await parent.guard();
          parent.child.kill("SIGKILL");
          await parent.end();
          await parent.assertAllEnd();
        },
      ],
      ["it starts another guard for all groups when one has died", async () => {
        await using parent = await Parent.start([BARE, PLAIN]);
        const first = await parent.guard();
        kill(first, "SIGKILL");
        await until("the guard is dead", async () => !await isAlive(first));
        await parent.say("start exec env -i sleep $0");
        assert(await parent.guard() !== first);
        await until(
          "it runs",
          async () => (await parent.sleeps()).length === 5,
        );
        parent.child.kill("SIGKILL");
        const { stderr } = await parent.end();
        assertEquals(stderr, "");
        await parent.assertAllEnd();
      }],
      ["it goes on without a guard that died, and ends well", async () => {
        await using parent = await Parent.start([PLAIN]);
        const guard = await parent.guard();
        kill(guard, "SIGKILL");
        await until("the guard is dead", async () => !await isAlive(guard));
        await parent.say("stop 0");
        await parent.order("return");
        const { code, stderr } = await parent.end();
        assertEquals([code, stderr], [0, ""]);
      }],
      [
        "it lets a guard hold nothing that the program's caller waits for",
        async () => {
          await using parent = await Parent.start([PLAIN]);
          const guard = await parent.guard();
          // A guard that is stopped would hold what it holds for ever.
          kill(guard, "SIGSTOP");
          await parent.order("exit");
          assertEquals((await parent.end()).code, 3);
          assertEquals((await parent.sleeps()).length, 3);
          assert(await isAlive(guard));
          kill(guard, "SIGCONT");
          await parent.assertAllEnd();
        },
      ],
      [
        "it keeps the guard off the program's session and terminal",
        async () => {
          await using parent = await Parent.start([PLAIN]);
          const guard = await parent.guard();
          const [own, session] = await Promise.all([
            textOf("ps", "-o", "sid=,tty=", "-p", `${guard}`),
            textOf(
              "sh",
              "-c",
              `readlink /proc/${guard}/cwd /proc/${guard}/fd/[12]`,
            ),
          ]);
          assertEquals(own.trim().split(/ +/), [`${guard}`, "?"]);
          assertEquals(session, "/\n/dev/null\n/dev/null\n");
          // The environment is empty, above all of marks, and so are the caught
          // signals of the terminal.
          const environment = await textOf("cat", `/proc/${guard}/environ`);
          assertEquals(environment.match(/PROC_GROUP|HOME|PATH/g), null);
          for (
            const signal of ["SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM"] as const
          ) {
            kill(guard, signal);
          }
          await parent.say("stop 0");
          parent.child.kill("SIGKILL");
          await parent.end();
          await parent.assertAllEnd();
        },
      ],
      ["it tells the guard of many groups and of the last one", async () => {
        await using parent = await Parent.start([PLAIN]);
        // More than may wait unread, and less than a pipe takes.
        await parent.say("flood 1000");
        await parent.say("start exec env -i sleep $0");
        await until(
          "it runs",
          async () => (await parent.sleeps()).length === 4,
        );
        parent.child.kill("SIGKILL");
        await parent.end();
        await parent.assertAllEnd();
      }],
      ["it waits for no guard that does not read", async () => {
        await using parent = await Parent.start([PLAIN]);
        const guard = await parent.guard();
        kill(guard, "SIGSTOP");
        // More than a pipe takes.
        await parent.say("flood 4000");
        await parent.say("start exec env -i sleep $0");
        await until(
          "it runs",
          async () => (await parent.sleeps()).length === 4,
        );
        kill(guard, "SIGCONT");
        // Each line takes some of what is queued along, until a guard that has
        // read all of it waits for the next.
        let idle = 0;
        await until("the guard has read all", async () => {
          await parent.say("flood 1");
          idle = await stateOf(guard) === "S" ? idle + 1 : 0;
          return idle === 8;
        }, 20_000);
        parent.child.kill("SIGKILL");
        await parent.end();
        await parent.assertAllEnd();
      }],
    ]);
  },
);
