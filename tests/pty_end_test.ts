// Copyright 2026 the @proc/group authors. MIT license.

/** How a program on a terminal is ended, and what it started with it. */

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { killGroup, stopGroup, waitGone } from "../process_group.ts";
import { spawnPty } from "../pty.ts";
import { DeadlineExceededError, withDeadline } from "../timeout.ts";
import { NEEDS_FFI } from "./_pty_util.ts";
import {
  alive,
  allFlags,
  assertNoneAlive,
  fromRoot,
  runDeno,
  runProgram,
  uniqueSleep,
  until,
  untilAsleep,
  watchLeaks,
} from "./_util.ts";

watchLeaks();

Deno.test(
  "killGroup(), waitGone() and stopGroup() take a Pty",
  NEEDS_FFI,
  async () => {
    const unique = uniqueSleep();
    await using pty = spawnPty("sh", ["-c", `sleep ${unique} & echo up; wait`]);
    await pty.waitFor("up", 10_000);
    assert(killGroup(pty, "SIGTERM"));
    await waitGone(pty);
    assertEquals((await stopGroup(pty)).survivors, []);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "stopGroup() hangs the terminal up, which ends an interactive shell in time",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("bash", ["--norc", "-i"], {
      env: { PS1: "$ " },
      graceMs: 20_000,
    });
    await pty.waitFor("$ ", 10_000);
    // The shell ignores SIGTERM.
    const report = await stopGroup(pty);
    assert(!report.forced);
    assertEquals((await pty.status).signal, "SIGHUP");
  },
);

Deno.test(
  "stopGroup() ends a stopped program that ignores signals",
  NEEDS_FFI,
  async () => {
    const unique = uniqueSleep();
    await using pty = spawnPty("bash", [
      "-c",
      `trap '' HUP TERM; echo ready; sleep ${unique}; sleep ${unique}`,
    ], { graceMs: 100 });
    await pty.waitFor("ready", 10_000);
    killGroup(pty, "SIGSTOP");
    const report = await stopGroup(pty);
    assert(report.forced);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "withDeadline() takes a Pty and keeps its output",
  NEEDS_FFI,
  async () => {
    const unique = uniqueSleep();
    await using late = spawnPty("sh", ["-c", `echo hi; exec sleep ${unique}`]);
    await untilAsleep(unique);
    const error = await assertRejects(
      () => withDeadline(late, 200),
      DeadlineExceededError,
    );
    assertEquals(new TextDecoder().decode(error.output?.stdout), "hi\r\n");
    await assertNoneAlive(unique);

    await using early = spawnPty("sh", ["-c", "echo out; echo err >&2"]);
    const output = await withDeadline(early, 30_000);
    assertEquals(new TextDecoder().decode(output.stdout), "out\r\nerr\r\n");
    assert(output.success && output.drained);
    assertThrows(() => output.stderr, TypeError);
  },
);

Deno.test(
  "spawnPty() stops the session when its signal aborts",
  NEEDS_FFI,
  async () => {
    const unique = uniqueSleep();
    const controller = new AbortController();
    await using pty = spawnPty("sh", ["-c", `echo up; sleep ${unique}; :`], {
      signal: controller.signal,
    });
    await pty.waitFor("up", 10_000);
    controller.abort();
    await waitGone(pty);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "Pty.unref() lets this process end, and the session with it",
  NEEDS_FFI,
  async () => {
    const unique = uniqueSleep();
    const startedAt = performance.now();
    const { code, stderr } = await runProgram("pty_unref.ts", {
      args: [unique],
    });
    assertEquals(code, 0, stderr);
    assert(performance.now() - startedAt < 20_000);
    await until(
      "the session is gone",
      async () => (await alive(unique)).length === 0,
    );
  },
);

Deno.test(
  "a disposal leaves no operation to the sanitizers of a test",
  NEEDS_FFI,
  async () => {
    const path = fromRoot("tests/testdata/sanitized.ts");
    const { code, stdout } = await runDeno(["test", ...allFlags, path]);
    assertEquals(code, 0, stdout.slice(-4000));
    assert(stdout.includes("300 passed"), stdout.slice(-200));
  },
);
