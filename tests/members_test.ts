// Copyright 2026 the @proc/group authors. MIT license.

/** Who is a member of a group, and when the last one is gone. */

import {
  assert,
  assertEquals,
  assertFalse,
  assertNotEquals,
  assertStrictEquals,
} from "@std/assert";
import {
  killGroup,
  listGroup,
  spawnGroup,
  waitGone,
} from "../process_group.ts";
import {
  keepServer,
  spawnTree,
  spawnZombie,
  untilSleeping,
} from "./_groups.ts";
import {
  alive,
  assertNoneAlive,
  countListeners,
  isAlive,
  isPortable,
  readUntil,
  skipIf,
  uniqueSleep,
  until,
  watchLeaks,
} from "./_util.ts";

const WAITS = { timeout: 30_000 };

keepServer();
watchLeaks();

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
