// Copyright 2026 the @proc/group authors. MIT license.

/** Members that do not look like what they are, and scans that do not tell all. */

import { assert, assertEquals } from "@std/assert";
import {
  listGroup,
  type ProcessGroup,
  spawnGroup,
  stopGroup,
} from "../process_group.ts";
import { DISPOSABLE, NAMESPACE, runBelow } from "./_hostile.ts";
import {
  allFlags,
  assertNoneAlive,
  fromRoot,
  importMap,
  isPortable,
  readUntil,
  runAtOnce,
  runProgram,
  skipIf,
  textOf,
  uniqueSleep,
  until,
  watchLeaks,
} from "./_util.ts";

const WAITS = { timeout: 30_000 };
const LINUX = skipIf(Deno.build.os !== "linux", "there is no procfs");

const FIRST_THREAD = fromRoot("tests/testdata/hostile_first_thread.ts");

watchLeaks();

/** States of all threads of a process, zombies excluded. */
async function threads(pid: number): Promise<string[]> {
  const path = `/proc/${pid}/task/*/status`;
  const states = await textOf("sh", "-c", `grep -hs ^State: ${path}`);
  return states.split("\n").filter((line) => /^State:\t[^ZX]/.test(line));
}

const perl = await textOf("sh", "-c", "command -v perl");
const isUnable = skipIf(DISPOSABLE.ignore || perl === "", "no perl").ignore;

/** Waits for processes that hop from number to number, of so many. */
async function hop(numbers: number): Promise<void> {
  const unique = uniqueSleep();
  const platform = isPortable ? "portable" : "linux";
  const limit = `echo ${numbers} >/proc/sys/kernel/pid_max; "$0" "$@"; exit $?`;
  const { stdout, stderr } = await runBelow(
    [...NAMESPACE.slice(0, -1), limit],
    "hostile_hop.ts",
    [platform, unique],
  );
  assertEquals(stdout, "8 rounds, 0 wrong\n", stderr);
  await assertNoneAlive(unique);
}

/** A `grep` that shows the caller alone and is killed before it gets further. */
const KILLED_GREP = `#!/bin/sh
read -r stat </proc/$PPID/stat
set -- \${stat##*) }
read -r caller </proc/$2/stat
echo "/proc/$2/stat:$caller"
kill -KILL $$
`;

Deno.test("spawnGroup() and stopGroup() are not fooled by whoever hides", {
  timeout: 60_000,
  ...LINUX,
}, async (t) => {
  await runAtOnce(t, [
    ["as a process whose first thread is dead already", async () => {
      const run = ["run", "-A", ...importMap, FIRST_THREAD];
      await using group = spawnGroup("sh", [
        "-c",
        `trap '' TERM; exec "$0" "$@"`,
        Deno.execPath(),
        ...run,
      ], { stdin: "null", stdout: "piped", graceMs: 300 });
      await readUntil(group.stdout, "ready");
      await until("the first thread is a zombie", async () => {
        const stat = await textOf("cat", `/proc/${group.pid}/stat`);
        return / Z [^)]*$/.test(stat);
      });
      const [leader] = await listGroup(group);
      assertEquals([leader?.pid, leader?.state], [group.pid, "S"]);
      const report = await stopGroup(group);
      assertEquals([report.forced, report.survivors], [true, []]);
      assertEquals(await threads(group.pid), []);
    }],
    ["as one that the guard is to end, with a dead first thread", async () => {
      const child = new Deno.Command(Deno.execPath(), {
        args: [
          ...["run", ...importMap, ...allFlags],
          ...[FIRST_THREAD, "group", ...importMap],
        ],
        stdin: "null",
        stdout: "piped",
        stderr: "null",
      }).spawn();
      const pid = Number(await readUntil(child.stdout, "\n"));
      assert((await threads(pid)).length > 0);
      child.kill("SIGKILL");
      await Promise.all([child.status, child.stdout.cancel()]);
      await until(
        "nobody is left",
        async () => (await threads(pid)).length === 0,
      );
    }],
    [
      "as a process with a new pid all the time, of 400",
      () => hop(400),
      isUnable,
    ],
    [
      "as a process with a new pid all the time, of 30000",
      () => hop(30_000),
      isUnable,
    ],
    ["behind a scan that was killed", async () => {
      const unique = uniqueSleep();
      const dir = await Deno.makeTempDir();
      try {
        await Deno.writeTextFile(`${dir}/grep`, KILLED_GREP, { mode: 0o755 });
        const script = `echo ready; sleep ${unique}; :`;
        const { stdout, stderr } = await runProgram("scan.ts", {
          flags: ["-A", "--deny-ffi"],
          args: ["sh", "-c", script],
          env: { PATH: `${dir}:${Deno.env.get("PATH")}` },
        });
        const { members, survivors, listed } = JSON.parse(stdout);
        assertEquals([members, survivors], ["signal0", 0], stderr);
        // That somebody is there is known, but not who.
        assertEquals(listed, [""]);
        await assertNoneAlive(unique);
      } finally {
        await Deno.remove(dir, { recursive: true });
      }
    }],
  ]);
});

Deno.test(
  "stopGroup() needs no thread that the group has not got already",
  { ...WAITS, ...skipIf(isPortable, "it needs FFI") },
  async () => {
    const instances = async () => {
      const list = await textOf("sh", "-c", "ls -l /proc/$PPID/fd");
      return list.split("[eventpoll]").length;
    };
    await using group = spawnGroup("sh", [
      "-c",
      `trap '' TERM; echo ready; sleep ${uniqueSleep()}; :`,
    ], { stdout: "piped", graceMs: 20_000 });
    await readUntil(group.stdout, "ready");
    const before = await instances();
    const stopped = stopGroup(group);
    await new Promise((resolve) => setTimeout(resolve, 200));
    assertEquals(await instances(), before);
    await stopGroup(group, { graceMs: 0 });
    assertEquals((await stopped).forced, true);
  },
);

/** Starts a program that prints more than a pipe takes and is not read. */
function startPrinting(unique: string): ProcessGroup {
  return spawnGroup("sh", [
    "-c",
    `echo ready >&2; head -c 5000000 /dev/zero; sleep ${unique}`,
  ], { stdin: "piped", stdout: "piped", stderr: "piped", graceMs: 200 });
}

Deno.test(
  "stopGroup() ends a group between two full pipes",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = startPrinting(unique);
    await readUntil(group.stderr, "ready");
    const writer = group.stdin.getWriter();
    const written = writer.write(new Uint8Array(5_000_000)).then(
      () => "all",
      () => "not all",
    );
    const reader = group.stdout.getReader();
    const { value } = await reader.read();
    reader.releaseLock();
    const { survivors } = await stopGroup(group);
    assertEquals(survivors, []);
    assertEquals(await written, "not all");
    await writer.abort().catch(() => {
      // It is broken, and closed by that.
    });
    const rest = await group.stdout.bytes();
    assert(value!.length + rest.length < 5_000_000, `${rest.length}`);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "ProcessGroup[Symbol.asyncDispose]() closes two full pipes that nobody uses",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    const group = startPrinting(unique);
    await readUntil(group.stderr, "ready");
    const writer = group.stdin.getWriter();
    const written = writer.write(new Uint8Array(5_000_000)).catch(() => {
      // Nobody reads it any more.
    });
    writer.releaseLock();
    await group[Symbol.asyncDispose]();
    await written;
    await assertNoneAlive(unique);
  },
);
