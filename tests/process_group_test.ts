// Copyright 2026 the @proc/group authors. MIT license.

/** What a group's object does. */

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { spawnGroup, stopGroup, waitGone } from "../process_group.ts";
import { keepServer, spawnTree } from "./_groups.ts";
import {
  alive,
  assertNoneAlive,
  decode,
  isPortable,
  readUntil,
  runProgram,
  uniqueSleep,
  until,
  untilKilled,
  watchLeaks,
} from "./_util.ts";

const WAITS = { timeout: 30_000 };

keepServer();
watchLeaks();

Deno.test(
  "ProcessGroup.status tells an exit code from a signal",
  WAITS,
  async () => {
    await using exits = spawnGroup("sh", ["-c", "exit 137"]);
    await using dies = spawnGroup("sh", ["-c", "kill -KILL $$"]);
    assertEquals(await exits.status, {
      success: false,
      code: 137,
      signal: null,
    });
    assertEquals(await dies.status, {
      success: false,
      code: 137,
      signal: "SIGKILL",
    });
  },
);

Deno.test("ProcessGroup.status gives the code of a real-time signal", {
  ...WAITS,
  // The runtime keeps a child whose status it cannot tell.
  sanitizeResources: !isPortable,
}, async () => {
  await using group = spawnGroup("bash", ["-c", "kill -34 $$"]);
  const expected = { success: false, code: 162, signal: null };
  assertEquals(await group.status, expected);
});

Deno.test(
  "ProcessGroup.stdin, stdout and stderr throw TypeError unless piped",
  WAITS,
  async () => {
    await using group = spawnGroup("true", { stdin: "null", stdout: "null" });
    assertThrows(() => group.stdin, TypeError, "stdin");
    assertThrows(() => group.stdout, TypeError, "stdout");
    assertThrows(() => group.stderr, TypeError, "stderr");
    const output = await group.output();
    assertThrows(() => output.stdout, TypeError, "stdout");
    assertThrows(() => output.stderr, TypeError, "stderr");
  },
);

Deno.test(
  "ProcessGroup.stdin and stdout carry bytes both ways",
  WAITS,
  async () => {
    await using group = spawnGroup("cat", { stdin: "piped", stdout: "piped" });
    const bytes = crypto.getRandomValues(new Uint8Array(50_000));
    const writer = group.stdin.getWriter();
    const writing = Promise.all(
      Array.from({ length: 20 }, () => writer.write(bytes)),
    ).then(() => writer.close());
    const all = await group.stdout.bytes();
    await writing;
    assertEquals(all.length, 1_000_000);
    assertEquals(all.subarray(-50_000), bytes);
    assert((await group.status).success);
  },
);

Deno.test(
  "ProcessGroup.output() may be called after an abort and gives what was read",
  WAITS,
  async () => {
    const controller = new AbortController();
    const unique = uniqueSleep();
    await using group = spawnGroup("sh", [
      "-c",
      `sleep ${unique} & echo ready; exec sleep ${unique}`,
    ], { stdout: "piped", stderr: "piped", signal: controller.signal });
    const output = group.output();
    await until(
      "both sleep",
      async () => (await alive(`sleep\0${unique}`)).length === 2,
    );
    controller.abort();
    const { stdout, stderr, signal } = await output;
    assertEquals([decode(stdout), stderr.length, signal], [
      "ready\n",
      0,
      "SIGTERM",
    ]);
    const again = await group.output();
    assertEquals(decode(again.stdout), "ready\n");
    await stopGroup(group);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "ProcessGroup.output() does not wait for whoever else holds the pipe",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = spawnGroup("sh", ["-c", `sleep ${unique} & echo out`], {
      stdout: "piped",
    });
    const start = performance.now();
    const { stdout, success } = await group.output();
    assert(performance.now() - start < 20_000);
    assertEquals([decode(stdout), success], ["out\n", true]);
    assertEquals((await alive(unique)).length, 1);
  },
);

Deno.test(
  "ProcessGroup.output() rejects with TypeError while a stream is locked",
  WAITS,
  async () => {
    const { group } = spawnTree();
    await using _ = group;
    const reader = group.stdout.getReader();
    await assertRejects(() => group.output(), TypeError, "stdout");
    await reader.cancel();
  },
);

Deno.test(
  "ProcessGroup.kill() signals the whole group, and nobody once it is gone",
  WAITS,
  async () => {
    const { group, unique } = spawnTree();
    await using _ = group;
    await readUntil(group.stdout, "ready");
    group.kill();
    assertEquals((await group.status).signal, "SIGTERM");
    await waitGone(group);
    await assertNoneAlive(unique);
    group.kill();
    group.kill(9);
  },
);

Deno.test(
  "ProcessGroup.unref() lets the program end, ref() keeps it",
  WAITS,
  async () => {
    const unique = uniqueSleep(25);
    const start = performance.now();
    const [unrefed, refed] = await Promise.all([
      runProgram("unref.ts", { args: ["unref", "sleep", unique] }),
      runProgram("unref.ts", {
        args: ["ref", "sh", "-c", "sleep .3; echo done"],
      }),
    ]);
    assertEquals(refed.stdout, "spawned\ndone\n");
    assertEquals([unrefed.stdout, unrefed.code], ["spawned\n", 0]);
    assert(performance.now() - start < 15_000);
    await untilKilled(unique);
  },
);

Deno.test(
  "ProcessGroup[Symbol.asyncDispose]() stops the group and closes what nobody reads",
  WAITS,
  async () => {
    let unique: string;
    {
      const tree = spawnTree({ stdin: "piped", stderr: "piped" });
      unique = tree.unique;
      await using group = tree.group;
      await readUntil(group.stdout, "ready");
    }
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "ProcessGroup[Symbol.asyncDispose]() is a no-op the second time",
  WAITS,
  async () => {
    const { group, unique } = spawnTree({ stdin: "piped" });
    await Promise.all([
      group[Symbol.asyncDispose](),
      group[Symbol.asyncDispose](),
    ]);
    await group[Symbol.asyncDispose]();
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "stopGroup() leaves the status of other children alone",
  WAITS,
  async () => {
    const others = Array.from(
      { length: 10 },
      () =>
        new Deno.Command("sh", {
          args: ["-c", "read x; exit 7"],
          stdin: "piped",
        })
          .spawn(),
    );
    await Promise.all(others.map(async (other, i) => {
      const { group } = spawnTree();
      await using _ = group;
      await readUntil(group.stdout, "ready");
      if (i % 2 === 0) {
        await other.stdin.close();
      }
    }));
    for (const [i, other] of others.entries()) {
      if (i % 2 !== 0) {
        await other.stdin.close();
      }
      assertEquals((await other.status).code, 7);
    }
  },
);

Deno.test("ProcessGroup is printed by its pid and its command", async () => {
  await using group = spawnGroup("true", ["--help"], { stdout: "null" });
  assertEquals(
    Deno.inspect(group),
    `ProcessGroup { pid: ${group.pid}, command: "true --help" }`,
  );
  await group.status;
});
