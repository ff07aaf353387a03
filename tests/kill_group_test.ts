// Copyright 2026 the @proc/group authors. MIT license.

/** Whom a signal reaches, and what is said about it. */

import { assert, assertEquals, assertFalse } from "@std/assert";
import {
  killGroup,
  spawnGroup,
  stopGroup,
  waitGone,
} from "../process_group.ts";
import { keepServer, spawnTree, spawnZombie } from "./_groups.ts";
import {
  assertNoneAlive,
  readUntil,
  uniqueSleep,
  watchLeaks,
} from "./_util.ts";

const WAITS = { timeout: 30_000 };

keepServer();
watchLeaks();

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
    assert(performance.now() - start < 8000);
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
