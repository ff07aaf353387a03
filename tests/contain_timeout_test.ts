// Copyright 2026 the @proc/group authors. MIT license.

// The timeout command with --contain.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { WAITS } from "./_contain.ts";
import { runTimeout } from "./_timeout_program.ts";
import { alive, assertNoneAlive, runAtOnce, uniqueSleep } from "./_util.ts";

Deno.test("timeout --contain", WAITS, async (t) => {
  await runAtOnce(t, [
    ["passes the status on", async () => {
      const { end, stdout, stderr } = await runTimeout([
        "--contain",
        "20s",
        "sh",
        "-c",
        "cd /proc; echo [0-9]*; exit 9",
      ]);
      assertEquals([end, stdout, stderr], [9, "1 2\n", ""]);
    }],
    ["ends a daemon without an environment", async () => {
      const unique = uniqueSleep();
      const { end, stdout } = await runTimeout([
        "--contain",
        "1s",
        "sh",
        "-c",
        `setsid env -i sleep ${unique} >/dev/null & echo out; exec sleep ${unique}`,
      ]);
      assertEquals([end, stdout], [124, "out\n"]);
      await assertNoneAlive(unique);
    }],
    ["says what was left behind", async () => {
      const unique = uniqueSleep();
      const { end, stderr } = await runTimeout([
        "-v",
        "--contain",
        "20s",
        "sh",
        "-c",
        `setsid env -i sleep ${unique} & until grep -qsx sleep /proc/[0-9]*/comm; do :; done`,
      ]);
      assertEquals(end, 0);
      assert(
        /^timeout: stopped what was left behind: \d+ \W+sleep\W+\n$/u.test(
          stderr,
        ),
        stderr,
      );
      await assertNoneAlive(unique);
    }],
    ["kills what ignores the first signal", async () => {
      const unique = uniqueSleep();
      const { end } = await runTimeout([
        "--contain",
        "-k500ms",
        "1s",
        "sh",
        "-c",
        `trap '' TERM; setsid env -i sleep ${unique} & sleep ${unique}`,
      ]);
      assertEquals(end, 137);
      await assertNoneAlive(unique);
    }],
    ["forwards signals", async () => {
      const unique = uniqueSleep();
      const { end, stdout } = await runTimeout([
        "--contain",
        "20s",
        "sh",
        "-c",
        `trap 'echo got; exit 3' HUP; setsid env -i sleep ${unique} & echo ready; kill -STOP $$`,
      ], { onReady: (child) => child.kill("SIGHUP") });
      assertEquals([end, stdout], [3, "ready\ngot\n"]);
      await assertNoneAlive(unique);
    }],
    ["fails with the status of a missing command", async () => {
      const { end, stderr } = await runTimeout(["--contain", "9", "nope-nope"]);
      assertEquals(end, 127);
      assertStringIncludes(stderr, "no such file or directory");
    }],
    ["refuses what it cannot do", async () => {
      const unique = uniqueSleep();
      const hangup = await runTimeout([
        "--contain",
        "-sHUP",
        "9",
        "sleep",
        unique,
      ]);
      assertEquals(hangup.end, 125);
      assertStringIncludes(hangup.stderr, "expected TERM, INT or KILL");
      const front = await runTimeout(["--contain", "-f", "9", "sleep", unique]);
      assertEquals(front.end, 125);
      assertStringIncludes(front.stderr, "exclude each other");
      assertEquals(await alive(unique), []);
    }],
  ]);
});
