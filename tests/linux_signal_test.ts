// Copyright 2026 the @proc/group authors. MIT license.

/** Whom a signal reaches on libc, and whom it spares. */

import { assert, assertEquals } from "@std/assert";
import { linux } from "../_platform/linux.ts";
import { end, FFI, look, start, startReady } from "./_linux.ts";
import {
  alive,
  isAlive,
  runAtOnce,
  runProgram,
  skipIf,
  uniqueSleep,
  until,
  watchLeaks,
} from "./_util.ts";

watchLeaks();

/** Lives without what a kernel may refuse. */
async function liveWithout(refused: string): Promise<void> {
  const { stdout, stderr, code } = await runProgram("refuse_pidfds.ts", {
    args: [refused],
  });
  assertEquals(stdout, "7\ntrue SIGKILL\nfalse\ntrue\n0\n", stderr);
  assertEquals(code, 0);
}

Deno.test(
  "linux.signalProcess() and signalGroup() spare others with the same number",
  FFI,
  async () => {
    const leader = start("sleep", ["20"]);
    const process = look(leader.pid);
    const older = { ...process, startTime: process.startTime - 1 };
    assertEquals(linux.signalProcess(older, "SIGKILL"), "gone");
    assertEquals(linux.signalGroup([older], "SIGKILL"), "gone");
    assert(await isAlive(leader.pid));
    assertEquals(linux.signalProcess(process, 0), "sent");
    assertEquals(linux.signalGroup([process], "SIGKILL"), "sent");
    assertEquals((await leader.status).signal, "SIGKILL");
    assertEquals(linux.signalProcess(process, 0), "gone");
  },
);

Deno.test(
  "linux.signalGroup() reaches all of a group by its leader",
  FFI,
  async () => {
    const unique = uniqueSleep();
    const leader = await startReady(
      `sleep ${unique} & sleep ${unique} & sleep ${unique} & echo ready; wait`,
    );
    await until(
      "the shell and three",
      async () => (await alive(unique)).length === 4,
    );
    // The snapshot need not show everybody.
    assertEquals(linux.signalGroup([look(leader.pid)], "SIGKILL"), "sent");
    await leader.status;
    await until(
      "nobody is left",
      async () => (await alive(unique)).length === 0,
    );
    await end(leader);
  },
);

Deno.test(
  "Leader.signalGroup() reaches members however the kernel lets it, and no stranger",
  FFI,
  async (t) => {
    await runAtOnce(t, [
      ["when the leader was reaped", async () => {
        const unique = uniqueSleep();
        const leader = await startReady(
          `sleep ${unique} >/dev/null & echo ready`,
        );
        await leader.status;
        assertEquals(leader.signalGroup(0), "sent");
        assertEquals(leader.signalGroup("SIGKILL"), "sent");
        await until(
          "the group is gone",
          () => leader.signalGroup(0) === "gone",
        );
        assertEquals(leader.signalGroup("SIGKILL"), "gone");
        assertEquals(await alive(unique), []);
        await leader.stdout!.cancel();
      }],
      ["where the kernel refuses all pidfds", () => liveWithout("all")],
      [
        "where the kernel refuses pidfds for groups",
        () => liveWithout("groups"),
      ],
      ["when strangers have a group's number", async () => {
        const { stdout, stderr } = await runProgram("reuse_numbers.ts", {
          args: ["20"],
        });
        const [reused, hit, again, overlooked] = stdout.match(/\d+/g) ?? [];
        assertEquals([hit, overlooked], ["0", "0"], stdout + stderr);
        assert(Number(reused) >= 10 && Number(again) >= 10, stdout);
      }, skipIf(Deno.uid() !== 0, "only root can choose numbers").ignore],
    ]);
  },
);
