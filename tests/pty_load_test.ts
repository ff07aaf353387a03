// Copyright 2026 the @proc/group authors. MIT license.

/** Many terminals, much output, much input, and programs that do not cooperate. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { spawnPty } from "../pty.ts";
import { DeadlineExceededError, withDeadline } from "../timeout.ts";
import { NEEDS_FFI, usage } from "./_pty_util.ts";
import {
  assertNoneAlive,
  forEachOf,
  uniqueSleep,
  watchLeaks,
} from "./_util.ts";

watchLeaks();

/** Counts the turns of a timer while something else goes on. */
function countTicks(): { stop(): { ticks: number; worstMs: number } } {
  let [ticks, worstMs, last] = [0, 0, performance.now()];
  const timer = setInterval(() => {
    const now = performance.now();
    worstMs = Math.max(worstMs, now - last);
    last = now;
    ticks++;
  }, 10);
  return {
    stop() {
      clearInterval(timer);
      return { ticks, worstMs };
    },
  };
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

Deno.test(
  "spawnPty() loses nothing of 200 KB that are printed at a fast exit",
  NEEDS_FFI,
  async () => {
    await forEachOf(Array.from({ length: 60 }), 4, async () => {
      await using pty = spawnPty("sh", [
        "-c",
        "stty -opost; head -c 200000 /dev/zero",
      ]);
      const bytes = await new Response(pty.readable).bytes();
      assertEquals(bytes.length, 200_000);
      assert((await pty.status).success);
    });
  },
);

Deno.test(
  "spawnPty() leaves nothing open, whether a program starts or not",
  NEEDS_FFI,
  async () => {
    for (let round = 0; round < 100; round++) {
      try {
        spawnPty("/no/such/program");
        throw new Error("It was started");
      } catch (error) {
        assert(error instanceof Deno.errors.NotFound, String(error));
      }
      await using pty = spawnPty("true");
      assert((await pty.status).success);
    }
  },
);

Deno.test(
  "Pty.write() to a program that does not read blocks nobody",
  NEEDS_FFI,
  async () => {
    const unique = uniqueSleep();
    await using pty = spawnPty("sh", [
      "-c",
      `stty raw -echo; echo ready; exec sleep ${unique}`,
    ], { graceMs: 500 });
    await pty.waitFor("ready", 10_000);
    const before = await usage();
    const timer = countTicks();
    const writing = pty.write(new Uint8Array(1024 * 1024));
    const rejected = assertRejects(() => writing, Deno.errors.BrokenPipe);
    await assertRejects(() => withDeadline(pty, 1500), DeadlineExceededError);
    const { ticks, worstMs } = timer.stop();
    await rejected;
    const { cpuMs } = await usage();
    assert(ticks > 40, `${ticks} ticks of 150`);
    assert(worstMs < 1000, `a timer was ${worstMs} ms late`);
    assert(
      cpuMs - before.cpuMs < 1000,
      `${cpuMs - before.cpuMs} ms of CPU time`,
    );
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "Pty.write() hands 10 MB to a program that reads late",
  NEEDS_FFI,
  async () => {
    const data = new Uint8Array(10_000_000);
    for (let at = 0; at < data.length; at += 65_536) {
      crypto.getRandomValues(data.subarray(at, at + 65_536));
    }
    await using pty = spawnPty("sh", [
      "-c",
      `stty raw -echo; echo ready; sleep .3; head -c ${data.length} | sha256sum`,
    ]);
    await pty.waitFor("ready", 10_000);
    await pty.write(data);
    await pty.waitFor(await sha256(data), 60_000);
  },
);

Deno.test(
  "Pty.readable holds a program back that nobody reads",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", [
      "-c",
      "stty -opost; head -c 3000000 /dev/zero; echo end",
    ]);
    let total = 0;
    for await (const chunk of pty.readable) {
      assert(chunk.length <= 256 * 1024);
      total += chunk.length;
      if (total < 500_000) {
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }
    assertEquals(total, 3_000_004);
  },
);

Deno.test(
  "spawnPty() runs 500 programs at once on four threads",
  NEEDS_FFI,
  async () => {
    const unique = uniqueSleep();
    const before = await usage();
    const ptys = Array.from(
      { length: 500 },
      (_, i) =>
        spawnPty("sh", [
          "-c",
          `read x; echo "<$x>"; exec sleep ${unique}`,
          String(i),
        ]),
    );
    try {
      await Promise.all(ptys.map(async (pty, i) => {
        await pty.write(`number ${i}\n`);
        await pty.waitFor(`<number ${i}>`, 60_000);
      }));
      const { threads } = await usage();
      assert(threads - before.threads <= 4 + 2, `${threads} threads`);
      const startedAt = performance.now();
      await Deno.readTextFile(new URL(import.meta.url));
      assert(performance.now() - startedAt < 10_000);
    } finally {
      await Promise.all(ptys.map((pty) => pty[Symbol.asyncDispose]()));
    }
    await assertNoneAlive(unique);
  },
);
