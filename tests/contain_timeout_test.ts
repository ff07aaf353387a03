// Copyright 2026 the @proc/group authors. MIT license.

// The timeout command with --contain.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { canContain } from "../process_group.ts";
import { runTimeout } from "./_timeout_program.ts";
import { alive, assertNoneAlive, skipIf, uniqueSleep } from "./_util.ts";

const WAITS = {
  timeout: 60_000,
  ...skipIf(!await canContain(), "PID namespaces cannot be made here"),
};

Deno.test("timeout --contain passes the status on", WAITS, async () => {
  const { end, stdout, stderr } = await runTimeout([
    "--contain",
    "20s",
    "sh",
    "-c",
    "cd /proc; echo [0-9]*; exit 9",
  ]);
  assertEquals([end, stdout, stderr], [9, "1 2\n", ""]);
});

Deno.test(
  "timeout --contain ends a daemon without an environment",
  WAITS,
  async () => {
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
  },
);

Deno.test("timeout --contain says what was left behind", WAITS, async () => {
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
    /^timeout: stopped what was left behind: \d+ \W+sleep\W+\n$/u.test(stderr),
    stderr,
  );
  await assertNoneAlive(unique);
});

Deno.test(
  "timeout --contain kills what ignores the first signal",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    const { end } = await runTimeout([
      "--contain",
      "-k500ms",
      "500ms",
      "sh",
      "-c",
      `trap '' TERM; setsid env -i sleep ${unique} & sleep ${unique}`,
    ]);
    assertEquals(end, 137);
    await assertNoneAlive(unique);
  },
);

Deno.test("timeout --contain forwards signals", WAITS, async () => {
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
});

Deno.test(
  "timeout --contain fails with the status of a missing command",
  WAITS,
  async () => {
    const { end, stderr } = await runTimeout(["--contain", "9", "nope-nope"]);
    assertEquals(end, 127);
    assertStringIncludes(stderr, "no such file or directory");
  },
);

Deno.test("timeout --contain refuses what it cannot do", WAITS, async () => {
  const unique = uniqueSleep();
  const hangup = await runTimeout(["--contain", "-sHUP", "9", "sleep", unique]);
  assertEquals(hangup.end, 125);
  assertStringIncludes(hangup.stderr, "expected TERM, INT or KILL");
  const front = await runTimeout(["--contain", "-f", "9", "sleep", unique]);
  assertEquals(front.end, 125);
  assertStringIncludes(front.stderr, "exclude each other");
  assertEquals(await alive(unique), []);
});
