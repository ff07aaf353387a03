// Copyright 2026 the @proc/group authors. MIT license.

/** How a group is started, and how its signal stops it. */

import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import {
  listGroup,
  spawnGroup,
  stopGroup,
  waitGone,
} from "../process_group.ts";
import { keepServer, spawnTree } from "./_groups.ts";
import {
  assertNoneAlive,
  countListeners,
  decode,
  readUntil,
  uniqueSleep,
  watchLeaks,
} from "./_util.ts";

const WAITS = { timeout: 30_000 };

keepServer();
watchLeaks();

Deno.test(
  "spawnGroup() makes the command the leader of a session of its own",
  WAITS,
  async () => {
    const { group } = spawnTree();
    await using _ = group;
    await readUntil(group.stdout, "ready");
    const members = await listGroup(group);
    assertEquals(members.length, 3);
    for (const { pgid, sid } of members) {
      assertEquals([pgid, sid], [group.pid, group.pid]);
    }
    assertEquals(group.pgid, group.pid);
  },
);

Deno.test(
  "spawnGroup() gives what can stand for a Deno.ChildProcess",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = spawnGroup("sh", ["-c", `echo out; echo err >&2`], {
      stdout: "piped",
      stderr: "piped",
      stdin: "piped",
    });
    const collect = async (child: Deno.ChildProcess) => {
      child.ref();
      await child.stdin.close();
      return await child.output();
    };
    const output = await collect(group);
    assertEquals([output.code, output.success, output.signal], [0, true, null]);
    assertEquals([decode(output.stdout), decode(output.stderr)], [
      "out\n",
      "err\n",
    ]);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "spawnGroup() passes arguments, directory and environment on",
  WAITS,
  async () => {
    await using group = spawnGroup("sh", {
      args: [
        "-c",
        'printf "%s|" "$PWD" "$0" "$1" "${A-}" "${HOME-none}"',
        "",
        "a\nb ",
      ],
      cwd: new URL("file:///usr"),
      env: { A: "x y" },
      clearEnv: true,
      stdout: "piped",
    });
    const { stdout } = await group.output();
    assertEquals(decode(stdout), "/usr||a\nb |x y|none|");
  },
);

Deno.test(
  "spawnGroup() takes a file URL and runs a script without an interpreter line",
  WAITS,
  async () => {
    const dir = await Deno.makeTempDir({ prefix: "a b" });
    try {
      await Deno.writeTextFile(`${dir}/s`, 'echo "$1"', { mode: 0o755 });
      const script = new URL(`file://${dir.replace(" ", "%20")}/s`);
      await using group = spawnGroup(script, ["hi"], { stdout: "piped" });
      assertEquals(decode((await group.output()).stdout), "hi\n");
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
);

Deno.test(
  "spawnGroup() gives a null device as standard input if told so",
  WAITS,
  async () => {
    await using group = spawnGroup("cat", { stdin: "null", stdout: "piped" });
    const { stdout, success } = await group.output();
    assertEquals([stdout.length, success], [0, true]);
  },
);

Deno.test("spawnGroup() starts nothing with an aborted signal and throws its reason", () => {
  const unique = uniqueSleep();
  const reason = new Error("own reason");
  const signal = AbortSignal.abort(reason);
  const listeners = countListeners(signal);
  const error = assertThrows(() => spawnGroup("sleep", [unique], { signal }));
  assertStrictEquals(error, reason);
  assertEquals(listeners(), 0);
  return assertNoneAlive(unique);
});

Deno.test("spawnGroup() stops the whole group on abort", WAITS, async () => {
  const controller = new AbortController();
  const listeners = countListeners(controller.signal);
  const unique = uniqueSleep();
  // The leader ends at SIGTERM, its child only at SIGKILL.
  await using group = spawnGroup("sh", [
    "-c",
    `(trap '' TERM; exec sleep ${unique}) & sleep .1; echo ready; wait`,
  ], { stdout: "piped", signal: controller.signal, graceMs: 200 });
  await readUntil(group.stdout, "ready");
  assertEquals(listeners(), 1);
  controller.abort();
  await waitGone(group);
  await assertNoneAlive(unique);
  assertEquals((await group.status).signal, "SIGTERM");
  assertEquals(listeners(), 0);
});

Deno.test(
  "ProcessGroup.status after an abort leaves nothing for the sanitizers",
  WAITS,
  async () => {
    const controller = new AbortController();
    const unique = uniqueSleep();
    const group = spawnGroup("sleep", [unique], { signal: controller.signal });
    controller.abort();
    assertEquals((await group.status).signal, "SIGTERM");
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "ProcessGroup.status after an abort does not wait for who goes on",
  WAITS,
  async () => {
    const controller = new AbortController();
    await using group = spawnGroup("sh", [
      "-c",
      "(trap '' TERM; echo ready; exec sleep 20 >&-) & wait",
    ], { stdout: "piped", signal: controller.signal });
    await readUntil(group.stdout, "ready");
    controller.abort();
    assertEquals((await group.status).signal, "SIGTERM");
    assertEquals((await listGroup(group)).length, 1);
    await stopGroup(group, { graceMs: 0 });
  },
);

Deno.test(
  "spawnGroup() sends the killSignal alone on abort",
  WAITS,
  async () => {
    const controller = new AbortController();
    await using group = spawnGroup("sh", [
      "-c",
      `trap 'echo TERM' TERM; trap 'echo INT; exit 0' INT; echo ready
    i=0; while [ $i -lt 300 ]; do sleep .1; i=$((i+1)); done`,
    ], { stdout: "piped", signal: controller.signal, killSignal: "SIGINT" });
    await readUntil(group.stdout, "ready");
    controller.abort();
    await waitGone(group);
    assertEquals(await group.stdout.text(), "INT\n");
  },
);

Deno.test("spawnGroup() ignores an abort after the exit", WAITS, async () => {
  const controller = new AbortController();
  await using group = spawnGroup("sh", ["-c", "exit 3"], {
    signal: controller.signal,
  });
  await waitGone(group);
  controller.abort();
  assertEquals((await group.status).code, 3);
  assertEquals((await group.status).signal, null);
});

Deno.test(
  "spawnGroup() leaves no listener on a signal that many groups share",
  WAITS,
  async () => {
    const { signal } = new AbortController();
    const listeners = countListeners(signal);
    for (let round = 0; round < 4; round++) {
      const groups = Array.from(
        { length: 5 },
        () => spawnGroup("true", { signal }),
      );
      await Promise.all(groups.map((group) => waitGone(group)));
    }
    assertEquals(listeners(), 0);
    for (let i = 0; i < 50; i++) {
      assertThrows(
        () => spawnGroup("/nonexistent/program", { signal }),
        Deno.errors.NotFound,
      );
    }
    assertEquals(listeners(), 0);
  },
);

Deno.test(
  "spawnGroup() leaves no listener after a status alone",
  WAITS,
  async () => {
    const { signal } = new AbortController();
    const listeners = countListeners(signal);
    const group = spawnGroup("true", { signal });
    await group.status;
    assertEquals(listeners(), 0);
    await stopGroup(group);
  },
);
