// Copyright 2026 the @proc/group authors. MIT license.

// How a guard is started, kept and ended by the program that it guards.

import { assert, assertEquals, assertFalse } from "@std/assert";
import { holdGuard } from "../_platform/guard.ts";
import { parentMark } from "../_platform/marks.ts";
import { kill, WAITS } from "./_guard.ts";
import {
  alive,
  isAlive,
  isPortable,
  runProgram,
  skipIf,
  statOf,
  textOf,
  until,
} from "./_util.ts";

const PLATFORMS = ["linux", "portable"] as const;

/** Pids of this program's guards, which are its children; a subshell is not. */
async function ownGuards(): Promise<number[]> {
  const pids = await alive(parentMark);
  const stats = await Promise.all(pids.map(statOf));
  return pids.filter((_, i) => stats[i]?.[1] === `${Deno.pid}`);
}

Deno.test(
  "holdGuard() ends the guard with the last group where sanitizers see it",
  WAITS,
  async () => {
    const first = holdGuard("portable");
    const second = holdGuard("portable");
    assert(first.isGuarded() && second.isGuarded());
    first.announce(50_000_000);
    second.announce(50_000_001);
    await first.standDown();
    assertEquals((await ownGuards()).length, 1);
    await second.standDown();
    assertEquals(await ownGuards(), []);
  },
);

Deno.test(
  "holdGuard() counts a group once however often it is stood down",
  WAITS,
  async () => {
    const first = holdGuard("portable");
    const second = holdGuard("portable");
    await first.standDown();
    await first.standDown();
    assertEquals((await ownGuards()).length, 1);
    await second.standDown();
    assertEquals(await ownGuards(), []);
  },
);

Deno.test(
  "holdGuard() starts another guard while the last one ends",
  WAITS,
  async () => {
    const first = holdGuard("portable");
    first.announce(50_000_000);
    const [before] = await ownGuards();
    const over = first.standDown();
    const second = holdGuard("portable");
    second.announce(50_000_001);
    await over;
    const after = await ownGuards();
    assertEquals(after.length, 1);
    assert(after[0] !== before);
    await second.standDown();
    assertEquals(await ownGuards(), []);
  },
);

Deno.test(
  "holdGuard() leaves nothing to a start that failed",
  WAITS,
  async () => {
    await holdGuard("portable").standDown();
    assertEquals(await ownGuards(), []);
  },
);

Deno.test(
  "GuardHold.isGuarded() tells of a guard that died, and replaces it",
  WAITS,
  async () => {
    for (const platform of isPortable ? PLATFORMS.slice(1) : PLATFORMS) {
      const before = await ownGuards();
      const hold = holdGuard(platform);
      hold.announce(50_000_000);
      const guards = await ownGuards();
      // The one on libc may be there since another test.
      const guard = guards.find((pid) => !before.includes(pid)) ?? guards[0];
      kill(guard!, "SIGKILL");
      await until("it is dead", async () => !await isAlive(guard!));
      // The runtime tells of its own child's end, and of no other's.
      if (platform === "linux") assertFalse(hold.isGuarded());
      await until("there is another", async () => {
        const now = await ownGuards();
        return now.length === guards.length && !now.includes(guard!);
      });
      assert(hold.isGuarded());
      await hold.standDown();
      assert(hold.isGuarded());
    }
  },
);

Deno.test("holdGuard() outlives a guard that a real-time signal ends", {
  ...WAITS,
  // The runtime keeps a child whose status it cannot tell.
  sanitizeResources: false,
}, async () => {
  const hold = holdGuard("portable");
  hold.announce(50_000_000);
  const before = await ownGuards();
  const script = `kill -34 ${before.at(-1)}`;
  await new Deno.Command("bash", { args: ["-c", script] }).output();
  await until("there is another", async () => {
    const now = await ownGuards();
    return now.length === before.length && now.at(-1) !== before.at(-1);
  });
  await hold.standDown();
});

const FFI = {
  ...WAITS,
  ...skipIf(isPortable, "FFI may not be used"),
};

Deno.test("holdGuard() keeps one guard on libc", FFI, async () => {
  const first = holdGuard("linux");
  first.announce(50_000_000);
  await first.standDown();
  const before = await ownGuards();
  const second = holdGuard("linux");
  second.announce(50_000_001);
  assertEquals(await ownGuards(), before);
  await second.standDown();
  assertEquals(await ownGuards(), before);
});

Deno.test("holdGuard() reaps a guard that died on libc", FFI, async () => {
  const first = holdGuard("linux");
  const [guard] = await ownGuards();
  kill(guard!, "SIGKILL");
  await until("it is dead", async () => !await isAlive(guard!));
  first.announce(50_000_000);
  await first.standDown();
  assertEquals(await textOf("ps", "-o", "stat=", "-p", `${guard}`), "");
});

Deno.test(
  "holdGuard() works with the grants that there are and asks for none",
  FFI,
  async () => {
    const rows = [
      ["--allow-run=sleep", false],
      ["--allow-run=sh,sleep", true],
      ["--allow-run=sh,grep,sleep", true],
      ["--allow-run", true],
      ["--allow-run --deny-run=sh", false],
    ] as const;
    await Promise.all(rows.map(async ([flags, expected]) => {
      const { stdout, stderr, code } = await runProgram("guard_held.ts", {
        flags: ["--allow-ffi", ...flags.split(" ")],
      });
      assertEquals([stderr, code], ["", 0]);
      assertEquals(stdout, `guarded ${expected}\n`, flags);
    }));
  },
);
