// Copyright 2026 the @proc/group authors. MIT license.

/** One test or more for each row of the README's table of permissions. */

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  killGroup,
  listGroup,
  spawnGroup,
  stopGroup,
  waitGone,
} from "../process_group.ts";
import { withDeadline } from "../timeout.ts";
import config from "../deno.json" with { type: "json" };
import {
  assertNoneAlive,
  decode,
  fromRoot,
  isPortable,
  runDeno,
  runProgram,
  skipIf,
  uniqueSleep,
} from "./_util.ts";

const WAITS = { timeout: 30_000 };
const { NotCapable } = Deno.errors;

/** This row needs FFI. */
const WITH_FFI = { ...WAITS, ...skipIf(isPortable, "there is no FFI") };

/** Looks at processes, which these tests do through `sh`. */
const LOOK = ["sh"];

const entries = Object.values(config.exports);

/** All that can be done with a group. */
async function useGroup(program = "sleep"): Promise<void> {
  const unique = uniqueSleep();
  const group = spawnGroup(program, [unique], { stdout: "piped" });
  assertEquals((await listGroup(group)).length, 1);
  assert(killGroup(group, 0));
  const { survivors } = await stopGroup(group);
  assertEquals(survivors, []);
  await waitGone(group);
  await group[Symbol.asyncDispose]();

  await using other = spawnGroup(program, ["0"], { stdout: "piped" });
  assert((await withDeadline(other, 20_000)).success);
}

Deno.test(
  "each entry point can be imported without a permission",
  WAITS,
  async () => {
    const dir = await Deno.makeTempDir();
    try {
      const imports = entries.map((path) =>
        `import "file://${fromRoot(path)}";`
      );
      await Deno.writeTextFile(
        `${dir}/main.ts`,
        [...imports, 'console.log("imported");'].join("\n"),
      );
      const { stdout, stderr } = await runDeno([
        "run",
        "--no-prompt",
        `--config=${fromRoot("deno.json")}`,
        `${dir}/main.ts`,
      ]);
      assertEquals([stdout, stderr], ["imported\n", ""]);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
);

Deno.test("no entry point imports a module of Node", WAITS, async () => {
  await Promise.all(entries.map(async (path) => {
    const { stdout, stderr } = await runDeno(["info", "--json", path]);
    const { modules } = JSON.parse(stdout || stderr);
    assert(modules.length > 5);
    assertEquals(
      modules.filter(({ kind, specifier }: Record<string, string>) =>
        kind === "node" || specifier?.startsWith("node:")
      ),
      [],
    );
  }));
});

Deno.test(
  "spawnGroup() and all that takes a group need --allow-run without FFI",
  {
    ...WAITS,
    permissions: { run: true },
  },
  async () => {
    await useGroup();
  },
);

Deno.test(
  "spawnGroup() without FFI refuses a part of --allow-run, and starts nothing",
  {
    ...WAITS,
    permissions: { run: ["sleep", ...LOOK] },
  },
  async () => {
    const unique = uniqueSleep();
    const error = assertThrows(() => spawnGroup("sleep", [unique]), NotCapable);
    assertStringIncludes((error as Error).message, "--allow-run flag");
    await assertNoneAlive(unique);
  },
);

Deno.test("spawnGroup() names the missing permission, with FFI or without", {
  permissions: { ffi: !isPortable },
}, () => {
  const error = assertThrows(() => spawnGroup("true"), NotCapable);
  assertMatch((error as Error).message, /run access.*--allow-run/);
});

Deno.test("spawnGroup() needs --allow-run of its one program with FFI", {
  ...WITH_FFI,
  permissions: { ffi: true, run: ["sleep"] },
}, async () => {
  await useGroup();
});

Deno.test("spawnGroup() needs --allow-run of its one path with FFI", {
  ...WITH_FFI,
  permissions: { ffi: true, run: ["/usr/bin/sleep"] },
}, async () => {
  await useGroup("/usr/bin/sleep");
});

Deno.test(
  "spawnGroup() refuses any other program with FFI, and starts nothing",
  {
    ...WITH_FFI,
    permissions: { ffi: true, run: ["true", ...LOOK] },
  },
  async () => {
    const unique = uniqueSleep();
    assertThrows(() => spawnGroup("sleep", [unique]), NotCapable);
    assertThrows(() => spawnGroup("/usr/bin/sleep", [unique]), NotCapable);
    await assertNoneAlive(unique);
  },
);

Deno.test("spawnGroup() asks for the program that PATH leads to", {
  ...WITH_FFI,
  permissions: { ffi: true, run: ["sleep"], read: true, write: true },
}, async () => {
  const dir = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${dir}/sleep`, `#!/bin/sh\necho >${dir}/ran\n`, {
      mode: 0o755,
    });
    const env = { PATH: dir };
    assertThrows(() => spawnGroup("sleep", ["0"], { env }), NotCapable);
    assertEquals([...Deno.readDirSync(dir)].map(({ name }) => name), ["sleep"]);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("spawnGroup() with LD_ variables refuses a part of --allow-run", {
  ...WITH_FFI,
  permissions: { ffi: true, run: ["sleep", ...LOOK] },
}, async () => {
  const unique = uniqueSleep();
  for (const name of ["LD_PRELOAD", "LD_LIBRARY_PATH"]) {
    const env = { [name]: "/nonexistent" };
    const error = assertThrows(
      () => spawnGroup("sleep", [unique], { env }),
      NotCapable,
    );
    assertStringIncludes((error as Error).message, name);
  }
  await assertNoneAlive(unique);
});

Deno.test("spawnGroup() takes LD_ variables with --allow-run", {
  ...WAITS,
  permissions: { ffi: !isPortable, run: true },
}, async () => {
  await using group = spawnGroup("sh", ["-c", "echo $LD_LIBRARY_PATH"], {
    env: { LD_LIBRARY_PATH: "/nonexistent" },
    stdout: "piped",
  });
  assertEquals(decode((await group.output()).stdout), "/nonexistent\n");
});

Deno.test("spawnGroup() with uid or gid refuses a part of --allow-run", {
  ...WAITS,
  permissions: { ffi: !isPortable, run: ["sleep", ...LOOK] },
}, async () => {
  const unique = uniqueSleep();
  for (const options of [{ uid: 65534 }, { gid: 65534 }]) {
    assertThrows(() => spawnGroup("sleep", [unique], options), NotCapable);
  }
  await assertNoneAlive(unique);
});

Deno.test("spawnGroup() takes uid and gid with --allow-run", {
  ...WAITS,
  ...skipIf(Deno.uid() !== 0, "only root can start a program as another user"),
  permissions: { ffi: !isPortable, run: true },
}, async () => {
  await using group = spawnGroup("sh", ["-c", "id -u; id -g"], {
    uid: 65534,
    gid: 65533,
    stdout: "piped",
  });
  const output = await withDeadline(group, 20_000);
  assertEquals(decode(output.stdout), "65534\n65533\n");
});

Deno.test(
  "killGroup(), waitGone(), stopGroup() and listGroup() take a number with --allow-run",
  {
    ...WAITS,
    permissions: { run: true },
  },
  async () => {
    await using group = spawnGroup("sleep", [uniqueSleep()]);
    assertEquals((await listGroup(group.pgid)).length, 1);
    assert(killGroup(group.pgid, 0));
    assertEquals((await stopGroup(group.pgid)).survivors, []);
    await waitGone(group.pgid);
  },
);

Deno.test(
  "killGroup() and stopGroup() refuse a number with a part of --allow-run",
  {
    ...WITH_FFI,
    permissions: { ffi: true, run: ["sleep"] },
  },
  async () => {
    await using group = spawnGroup("sleep", [uniqueSleep()]);
    assertThrows(() => killGroup(group.pgid), NotCapable);
    await assertRejects(() => stopGroup(group.pgid), NotCapable);
    assertEquals((await listGroup(group)).length, 1);
  },
);

Deno.test("spawnGroup() has a guard if sh may be run", WAITS, async () => {
  const withFfi: [string[], string][] = [
    [["--allow-ffi", "--allow-run=sleep"], "false\n"],
    [["--allow-ffi", "--allow-run=sleep,sh,grep"], "true\n"],
  ];
  const cases: typeof withFfi = [
    [["--allow-run"], "true\n"],
    ...(isPortable ? [] : withFfi),
  ];
  await Promise.all(cases.map(async ([flags, expected]) => {
    const { stdout, stderr } = await runProgram("guarded.ts", { flags });
    assertEquals([stdout, stderr], [expected, ""], flags.join(" "));
  }));
});

Deno.test(
  "spawnPty() asks for the permission to run the program",
  WITH_FFI,
  async () => {
    const script = `import { spawnPty } from "./pty.ts";
    try { await spawnPty("true").status; console.log("ran"); } catch (error) {
      console.log(error instanceof Deno.errors.NotCapable, error.message);
    }`;
    const run = (...flags: string[]) =>
      runDeno([
        "run",
        "--no-prompt",
        "--allow-ffi",
        ...flags,
        evalFile(script),
      ]);
    const [none, some] = await Promise.all([run(), run("--allow-run=true")]);
    assertStringIncludes(none.stdout, "--allow-run");
    assertEquals(some.stdout, "ran\n");
  },
);

Deno.test(
  "spawnPty() names the permission that is missing",
  WAITS,
  async () => {
    const script = `import { spawnPty } from "./pty.ts";
    try { spawnPty("true"); } catch (error) {
      console.log(error instanceof Deno.errors.NotCapable, error.message);
    }`;
    const { stdout, stderr } = await runDeno(
      ["run", "--no-prompt", "--allow-run", evalFile(script)],
    );
    assert(
      stdout.startsWith("true ") && stdout.includes("--allow-ffi"),
      stderr,
    );
  },
);

Deno.test("withDeadline() of a task needs no permission", {
  permissions: "none",
}, async () => {
  const task = () => Promise.resolve("done");
  assertEquals(await withDeadline(task, 20_000), "done");
});

/** A module's text as something that can be run with few permissions. */
function evalFile(script: string): string {
  const url = new URL("../pty.ts", import.meta.url).href;
  return `data:application/typescript,${
    encodeURIComponent(script.replace("./pty.ts", url))
  }`;
}
