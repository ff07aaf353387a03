// Copyright 2026 the @proc/group authors. MIT license.

/** Values that are refused at once, by name, before anything is started. */

import {
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  killGroup,
  listGroup,
  spawnGroup,
  type SpawnGroupOptions,
  stopGroup,
  waitGone,
} from "../process_group.ts";
import { withDeadline } from "../timeout.ts";
import {
  alive,
  assertNoneAlive,
  runProgram,
  textOf,
  uniqueSleep,
  watchLeaks,
} from "./_util.ts";

const WAITS = { timeout: 30_000 };

watchLeaks();

type ErrorClass = new (...args: never[]) => Error;

/** What no type allows, given by somebody who does not check types. */
function untyped<T>(value: unknown): T {
  return value as T;
}

function assertError(error: unknown, Class: ErrorClass, part: string): void {
  assertInstanceOf(error, Class);
  assertStringIncludes((error as Error).message, part);
}

/** The process group that this process and its children are in. */
async function ownGroup(): Promise<number> {
  const stat = await textOf("grep", "-a", "", `/proc/${Deno.pid}/stat`);
  return Number(stat.split(") ")[1]?.split(" ")[2]);
}

const BAD_TIMES: [unknown, ErrorClass, string][] = [
  [-1, RangeError, "-1"],
  [NaN, RangeError, "NaN"],
  [-Infinity, RangeError, "-Infinity"],
  ["5s", TypeError, '"5s"'],
  ["", TypeError, '""'],
  ["1", TypeError, '"1"'],
  [1n, TypeError, "1n"],
  [null, TypeError, "null"],
];

const BAD_OPTIONS: [string, unknown, ErrorClass, string][] = [
  ...BAD_TIMES.filter(([ms]) => ms !== null).map((
    [ms, Class, part],
  ): [string, unknown, ErrorClass, string] => ["graceMs", ms, Class, part]),
  ["graceMs", Infinity, RangeError, "Infinity"],
  ["killSignal", "SIGFOO", TypeError, "SIGFOO"],
  ["killSignal", "TERM", TypeError, "TERM"],
  ["killSignal", "toString", TypeError, "toString"],
  ["killSignal", "", TypeError, ""],
  ["killSignal", 15, TypeError, "15"],
  ["escapees", "kill", TypeError, '"kill"'],
];

Deno.test("spawnGroup() refuses bad options and starts nothing", async () => {
  const unique = uniqueSleep(20);
  const more: typeof BAD_OPTIONS = [
    ["stdout", "pipe", TypeError, '"pipe"'],
    ["stdin", 0, TypeError, "0"],
    ["args", ["x"], TypeError, "twice"],
    ["cwd", 5, TypeError, "5"],
    ["cwd", "/tmp\0", TypeError, "NUL"],
    ["cwd", new URL("https://a.example/"), TypeError, "https://a.example/"],
    ["env", { A: "x\0y" }, TypeError, "env.A"],
    ["env", { "A\0": "" }, TypeError, "NUL"],
  ];
  for (const [name, value, Class, part] of [...BAD_OPTIONS, ...more]) {
    const error = assertThrows(() =>
      spawnGroup("sleep", [unique], { [name]: value })
    );
    assertError(error, Class, part);
  }
  await assertNoneAlive(unique);
});

Deno.test("spawnGroup() refuses what is no command or no arguments", async () => {
  const unique = uniqueSleep(20);
  const calls: [() => unknown, string][] = [
    [() => spawnGroup(untyped(undefined), [unique]), "undefined"],
    [() => spawnGroup(untyped(7), [unique]), "7"],
    [() => spawnGroup("sle\0ep", [unique]), "sle\\x00ep"],
    [() => spawnGroup("sleep", [unique, "1\0"]), "args[1]"],
    [() => spawnGroup("sleep", { args: ["\0"] }), "args[0]"],
    [() => spawnGroup("sleep", { args: untyped(unique) }), unique],
    [() => spawnGroup("sleep", untyped(unique)), unique],
    [() => spawnGroup(new URL("https://a.example/sleep")), "https://a.example"],
  ];
  for (const [call, part] of calls) {
    assertError(assertThrows(call), TypeError, part);
  }
  await assertNoneAlive(unique);
});

Deno.test("spawnGroup() throws what Deno.Command throws for programs that do not run", async () => {
  const dir = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${dir}/plain`, "#!/bin/sh\n", { mode: 0o644 });
    const { NotFound, PermissionDenied } = Deno.errors;
    const cases: [string, SpawnGroupOptions, ErrorClass, string][] = [
      [`${dir}/missing`, {}, NotFound, `${dir}/missing`],
      ["no-such-program", {}, NotFound, "no-such-program"],
      ["true", { env: { PATH: dir } }, NotFound, "true"],
      [`${dir}/plain/x`, {}, Error, `${dir}/plain/x`],
      [dir, {}, PermissionDenied, dir],
      [`${dir}/plain`, {}, PermissionDenied, `${dir}/plain`],
      ["true", { cwd: `${dir}/missing` }, NotFound, `${dir}/missing`],
      ["true", { cwd: new URL(`file://${dir}/gone`) }, NotFound, `${dir}/gone`],
      ["true", { cwd: new URL(`file://${dir}/a%b`) }, NotFound, `${dir}/a%b`],
      ["true", { cwd: new URL(`file://host${dir}`) }, TypeError, "host"],
    ];
    for (const [command, options, Class, part] of cases) {
      // Both throw the same class.
      const expected = assertThrows(() =>
        new Deno.Command(command, options).spawn()
      );
      assertInstanceOf(expected, Class);
      const error = assertThrows(() => spawnGroup(command, options));
      assertError(error, expected.constructor as ErrorClass, part);
    }
    assertThrows(() => spawnGroup(""), Deno.errors.NotFound);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test(
  "stopGroup() and withDeadline() refuse bad options and leave the group alone",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = spawnGroup("sleep", [unique], { stdout: "piped" });
    for (const [name, value, Class, part] of BAD_OPTIONS) {
      const error = await assertRejects(() =>
        stopGroup(group, { [name]: value })
      );
      assertError(error, Class, part);
    }
    const more: typeof BAD_OPTIONS = [
      ["maxOutputBytes", -1, RangeError, "-1"],
      ["maxOutputBytes", NaN, RangeError, "NaN"],
      ["maxOutputBytes", "1k", TypeError, '"1k"'],
      ["drainMs", -1, RangeError, "-1"],
      ["drainMs", Infinity, RangeError, "Infinity"],
      ["input", "x", TypeError, "stdin"],
    ];
    for (
      const [name, value, Class, part] of [
        ...BAD_OPTIONS.filter(([name]) => name !== "escapees"),
        ...more,
      ]
    ) {
      const error = await assertRejects(() =>
        withDeadline(group, 20_000, { [name]: value })
      );
      assertError(error, Class, part);
    }
    assertEquals(group.stdout.locked, false);
    assertEquals((await alive(unique)).length, 1);
  },
);

Deno.test(
  "withDeadline() refuses a deadline that is no time",
  WAITS,
  async () => {
    await using group = spawnGroup("sleep", [uniqueSleep()]);
    let isCalled = false;
    const task = () => {
      isCalled = true;
      return Promise.resolve();
    };
    for (const [ms, Class, part] of BAD_TIMES) {
      const errors = [
        await assertRejects(() => withDeadline(group, untyped(ms))),
        await assertRejects(() => withDeadline(task, untyped(ms))),
      ];
      for (const error of errors) assertError(error, Class, part);
      if (ms === null) continue;
      const error = await assertRejects(() =>
        withDeadline(task, 1, { graceMs: untyped(ms) })
      );
      assertError(error, Class, part);
    }
    assertEquals(isCalled, false);
    assertEquals((await listGroup(group)).length, 1);
  },
);

Deno.test("withDeadline() refuses input that is none", WAITS, async () => {
  await using group = spawnGroup("cat", { stdin: "piped" });
  for (const input of [5, {}, ["x"], null]) {
    const error = await assertRejects(() =>
      withDeadline(group, 20_000, { input: untyped(input) })
    );
    assertError(error, TypeError, "input");
  }
  assertEquals(group.stdin.locked, false);
});

Deno.test("no function takes a signal that is none", WAITS, async () => {
  const signal = untyped<AbortSignal>(new AbortController());
  await using group = spawnGroup("sleep", ["20"]);
  const errors = [
    assertThrows(() => spawnGroup("true", { signal })),
    await assertRejects(() => waitGone(group, { signal })),
    await assertRejects(() => withDeadline(group, 20_000, { signal })),
    await assertRejects(() =>
      withDeadline(() => Promise.resolve(), 20_000, { signal })
    ),
  ];
  for (const error of errors) assertError(error, TypeError, "AbortSignal");
  assertEquals((await listGroup(group)).length, 1);
});

Deno.test("withDeadline() refuses what is neither a group nor a function", async () => {
  const child = new Deno.Command("sleep", { args: ["20"] }).spawn();
  for (const target of [child, child.pid, {}, "x", null, undefined]) {
    const error = await assertRejects(() =>
      withDeadline(untyped<() => Promise<void>>(target), 1000)
    );
    assertError(error, TypeError, "neither a group nor a function");
  }
  child.kill();
  await child.status;
});

Deno.test("killGroup(), waitGone(), stopGroup() and listGroup() refuse what is no group", async () => {
  const child = new Deno.Command("true").spawn();
  const cases: [unknown, ErrorClass, string][] = [
    [0, RangeError, "0"],
    [1, RangeError, "1"],
    [-5, RangeError, "-5"],
    [1.5, RangeError, "1.5"],
    [NaN, RangeError, "NaN"],
    [Infinity, RangeError, "Infinity"],
    // Cut to 32 bits, the first is 0 and the second is 1.
    [2 ** 40, RangeError, `${2 ** 40}`],
    [2 ** 32 + 1, RangeError, `${2 ** 32 + 1}`],
    [2 ** 31, RangeError, `${2 ** 31}`],
    [await ownGroup(), RangeError, "own group"],
    [Deno.pid, RangeError, `${Deno.pid}`],
    ["7", TypeError, '"7"'],
    [7n, TypeError, "7n"],
    [null, TypeError, "null"],
    [undefined, TypeError, "undefined"],
    [{ pid: 7, pgid: 7 }, TypeError, "pgid: 7"],
    [child, TypeError, "a Deno.ChildProcess"],
  ];
  for (const [value, Class, part] of cases) {
    const target = untyped<number>(value);
    const errors = [
      assertThrows(() => killGroup(target, 0)),
      await assertRejects(() => waitGone(target)),
      await assertRejects(() => stopGroup(target)),
      await assertRejects(() => listGroup(target)),
    ];
    for (const error of errors) assertError(error, Class, part);
  }
  await child.status;
});

Deno.test(
  "killGroup() refuses the group that the program is in but does not lead",
  WAITS,
  async () => {
    const { stdout } = await runProgram("own_group.ts", {
      args: [`${await ownGroup()}`],
    });
    assertEquals(stdout, "RangeError\n");
  },
);

Deno.test(
  "killGroup() refuses what is no signal and sends none",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = spawnGroup("sleep", [unique]);
    const cases: [unknown, ErrorClass][] = [
      ["SIGFOO", TypeError],
      ["TERM", TypeError],
      ["", TypeError],
      [null, TypeError],
      ["15", TypeError],
      [-1, RangeError],
      [65, RangeError],
      [1.5, RangeError],
      [NaN, RangeError],
    ];
    for (const [signal, Class] of cases) {
      for (const target of [group, group.pgid]) {
        const error = assertThrows(() => killGroup(target, untyped(signal)));
        assertError(error, Class, `${signal}`);
      }
      assertThrows(() => group.kill(untyped(signal)), Class);
    }
    const hint = assertThrows(
      () => killGroup(group, untyped("term")),
      TypeError,
    );
    assertStringIncludes(hint.message, "its name is SIGTERM");
    assertEquals((await alive(unique)).length, 1);
  },
);

Deno.test("killGroup() returns false for a number that no group has", async () => {
  // Above the highest pid that Linux gives.
  assertEquals(killGroup(4_194_304 + 7), false);
  assertEquals(killGroup(2 ** 31 - 1), false);
  await waitGone(4_194_304 + 7);
  const { survivors, forced } = await stopGroup(4_194_304 + 7);
  assertEquals([survivors, forced], [[], false]);
});

Deno.test(
  "spawnGroup() and all others throw NotSupported on Windows",
  WAITS,
  async () => {
    const { stdout } = await runProgram("windows.ts");
    const lines = stdout.trimEnd().split("\n");
    assertEquals(lines.length, 5);
    for (const line of lines) assertStringIncludes(line, "true NotSupported");
  },
);
