// Copyright 2026 the @proc/group authors. MIT license.

import {
  assert,
  assertEquals,
  assertFalse,
  assertNotEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import {
  killGroup,
  listGroup,
  type ProcessGroup,
  spawnGroup,
  stopGroup,
  waitGone,
} from "../process_group.ts";
import {
  alive,
  assertNoneAlive,
  countListeners,
  decode,
  isAlive,
  isPortable,
  readUntil,
  runProgram,
  skipIf,
  stateOf,
  uniqueSleep,
  until,
  untilKilled,
  watchLeaks,
} from "./_util.ts";

const WAITS = { timeout: 30_000 };

// A server that runs through all tests of this file: what they start beside it
// must not look like a leak of any single one.
let server: ProcessGroup;
Deno.test.beforeAll(() => {
  server = spawnGroup("sleep", [uniqueSleep(90)]);
});
Deno.test.afterAll(async () => {
  assert(await isAlive(server.pid));
  await stopGroup(server);
});

watchLeaks();

/** A shell with two children in its group that says when they stand. */
function spawnTree(
  options: Parameters<typeof spawnGroup>[2] = {},
): { group: ProcessGroup; unique: string } {
  const unique = uniqueSleep();
  const group = spawnGroup(
    "sh",
    ["-c", `sleep ${unique} & sleep ${unique} & echo ready; wait`],
    { stdout: "piped", ...options },
  );
  return { group, unique };
}

/** Waits until children of a shell have become as many `sleep`s. */
async function untilSleeping(
  group: ProcessGroup,
  count: number,
): Promise<void> {
  await until("children run", async () => {
    const members = await listGroup(group);
    return members.filter(({ command }) => command === "sleep").length ===
      count;
  });
}

/**
 * A group of one zombie: its parent has left for another session, and `sleep`
 * reaps nobody. Gives the parent's unique argument.
 */
async function spawnZombie(): Promise<{ group: ProcessGroup; parent: string }> {
  const parent = uniqueSleep(20);
  const group = spawnGroup("sh", [
    "-c",
    `(exec 3>&1; sh -c 'echo $$ >&3' & exec setsid sleep ${parent}) & exit 0`,
  ], { stdout: "piped" });
  const pid = parseInt(await readUntil(group.stdout, "\n"));
  await group.stdout.cancel();
  await until("zombie", async () => await stateOf(pid) === "Z");
  await until("parent", async () => (await alive(parent)).length === 1);
  return { group, parent };
}

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
    const { group, unique } = spawnTree({
      stderr: "piped",
      signal: controller.signal,
    });
    await using _ = group;
    const output = group.output();
    await until("tree", async () => (await alive(unique)).length >= 2);
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
    assert(performance.now() - start < 10_000);
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
        args: ["ref", "sh", "-c", "sleep 1; echo done"],
      }),
    ]);
    assertEquals(refed.stdout, "spawned\ndone\n");
    assertEquals([unrefed.stdout, unrefed.code], ["spawned\n", 0]);
    assert(performance.now() - start < 15_000);
    await untilKilled(unique);
  },
);

Deno.test(
  "killGroup() ends all that print, so that the pipe comes to its end",
  WAITS,
  async () => {
    const loop =
      "i=0; while [ $i -lt 1000 ]; do echo x; sleep .01; i=$((i+1)); done";
    await using group = spawnGroup(
      "sh",
      ["-c", `(${loop}) & (${loop}) & wait`],
      {
        stdout: "piped",
      },
    );
    await readUntil(group.stdout, "x\nx\n");
    assert(killGroup(group, "SIGKILL"));
    await waitGone(group);
    // Whoever still could print would hold the pipe open for some ten seconds.
    const start = performance.now();
    await group.stdout.text();
    assert(performance.now() - start < 5000);
  },
);

Deno.test(
  "killGroup() returns false for a group that is gone",
  WAITS,
  async () => {
    const { group } = spawnTree();
    await using _ = group;
    await readUntil(group.stdout, "ready");
    assert(killGroup(group, 0));
    assert(killGroup(group.pgid, 0));
    assert(killGroup(group));
    await waitGone(group);
    assertFalse(killGroup(group));
    assertFalse(killGroup(group, 0));
  },
);

Deno.test(
  "killGroup() returns true for a group of zombies",
  WAITS,
  async () => {
    const { group, parent } = await spawnZombie();
    await using _ = group;
    assert(killGroup(group.pgid, 0));
    assert(killGroup(group.pgid, "SIGTERM"));
    await stopGroup(group);
    await assertNoneAlive(parent);
  },
);

Deno.test("killGroup() takes a number as signal", WAITS, async () => {
  await using group = spawnGroup("sleep", [uniqueSleep()]);
  assert(killGroup(group, 2));
  assertEquals((await group.status).signal, "SIGINT");
});

Deno.test(
  "waitGone() waits for the last member, not for the leader",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    const script = `sleep ${unique} & (read line; echo late) <&3 & echo $!`;
    await using group = spawnGroup("sh", ["-c", `exec 3<&0; ${script}`], {
      stdin: "piped",
      stdout: "piped",
    });
    await readUntil(group.stdout, "\n");
    let isGone = false;
    const gone = waitGone(group).then(() => isGone = true);
    await group.status;
    await untilSleeping(group, 1);
    for (const { pid, command } of await listGroup(group)) {
      if (command === "sleep") Deno.kill(pid, "SIGKILL");
    }
    await until(
      "one is left",
      async () => (await listGroup(group)).length === 1,
    );
    assertFalse(isGone);
    const writer = group.stdin.getWriter();
    await writer.write(new TextEncoder().encode("go\n"));
    await writer.close();
    await gone;
    assertEquals(await group.stdout.text(), "late\n");
    assertEquals(await listGroup(group), []);
  },
);

Deno.test(
  "waitGone() is not fooled by members that fork and exit all the time",
  {
    ...WAITS,
    ...skipIf(isPortable, "grep may miss a process that was started meanwhile"),
  },
  async () => {
    const script = `hop() {
    if [ "$1" -gt 0 ]; then hop $(($1 - 1)) & else sleep 1.5; echo done; fi
  }
  hop 200`;
    await Promise.all([1, 2, 3].map(async () => {
      await using group = spawnGroup("dash", ["-c", script], {
        stdout: "piped",
      });
      let text = "";
      const reading = group.stdout.text().then((all) => text = all);
      await waitGone(group);
      // What is printed before all are gone is not long on its way.
      await until("done", () => text !== "", 1000);
      assertEquals(text, "done\n");
      await reading;
    }));
  },
);

Deno.test("waitGone() resolves while zombies are left", WAITS, async () => {
  const { group, parent } = await spawnZombie();
  await using _ = group;
  await Promise.all([waitGone(group), waitGone(group.pgid)]);
  Deno.kill(-group.pgid, "SIGCONT");
  assertEquals(await listGroup(group.pgid), []);
  assertFalse(killGroup(group, 0));
  await group[Symbol.asyncDispose]();
  await assertNoneAlive(parent);
});

Deno.test(
  "waitGone() covers the jobs of a shell with job control",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = spawnGroup("bash", [
      "-c",
      `set -m; sleep ${unique} & echo ready`,
    ], { stdout: "piped" });
    await readUntil(group.stdout, "ready");
    await group.status;
    let isGone = false;
    const gone = waitGone(group).then(() => isGone = true);
    const [job] = await listGroup(group);
    assertNotEquals(job?.pgid, group.pgid);
    assertEquals(job?.sid, group.pid);
    assertFalse(isGone);
    killGroup(job!.pgid);
    await gone;
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "waitGone() rejects with the reason of its signal and leaves the group alone",
  WAITS,
  async () => {
    const { group, unique } = spawnTree();
    await using _ = group;
    await readUntil(group.stdout, "ready");
    const controller = new AbortController();
    const listeners = countListeners(controller.signal);
    const waits = [group, group.pgid].map((target) =>
      waitGone(target, { signal: controller.signal })
    );
    const reason = { why: "enough" };
    controller.abort(reason);
    for (const wait of waits) {
      assertStrictEquals(await wait.catch((error) => error), reason);
    }
    assertEquals(listeners(), 0);
    const late = waitGone(group, { signal: controller.signal });
    assertStrictEquals(await late.catch((error) => error), reason);
    assertEquals((await alive(unique)).length, 3);
  },
);

Deno.test(
  "waitGone() leaves no listener when the group ends first",
  WAITS,
  async () => {
    const { group } = spawnTree();
    await using _ = group;
    await readUntil(group.stdout, "ready");
    const { signal } = new AbortController();
    const listeners = countListeners(signal);
    const gone = waitGone(group, { signal });
    const goneByNumber = waitGone(group.pgid, { signal });
    killGroup(group);
    await Promise.all([gone, goneByNumber]);
    assertEquals(listeners(), 0);
  },
);

Deno.test("listGroup() describes each live member", WAITS, async () => {
  const { group } = spawnTree();
  await using _ = group;
  await readUntil(group.stdout, "ready");
  await untilSleeping(group, 2);
  const members = await listGroup(group);
  const leader = members.find(({ pid }) => pid === group.pid);
  assertEquals([leader?.command, leader?.ppid], ["sh", Deno.pid]);
  const sleeps = members.filter(({ command }) => command === "sleep");
  assertEquals(sleeps.map(({ ppid }) => ppid), [group.pid, group.pid]);
  for (const { pid, state, startTime } of members) {
    assertEquals(await isAlive(pid), true);
    assert("RSD".includes(state), state);
    assert(startTime >= (leader?.startTime ?? Infinity));
    assert(startTime > 0);
  }
});

Deno.test(
  "listGroup() shows the session of a group and the process group of a number",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using group = spawnGroup("bash", [
      "-c",
      `set -m; sleep ${unique} & sleep ${unique} & echo ready; wait`,
    ], { stdout: "piped" });
    await readUntil(group.stdout, "ready");
    const session = await listGroup(group);
    assertEquals(session.length, 3);
    assertEquals(new Set(session.map(({ pgid }) => pgid)).size, 3);
    const processGroup = await listGroup(group.pgid);
    assertEquals(processGroup.map(({ pid }) => pid), [group.pid]);
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
    for (let i = 0; i < 300; i++) {
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
