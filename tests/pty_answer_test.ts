// Copyright 2026 the @proc/group authors. MIT license.

/** Answers of a program that is quick, which are looked for. */

import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async/delay";
import { Backoff } from "../_platform/backoff.ts";
import { Answers } from "../_pty_answer.ts";
import { spawnPty } from "../pty.ts";
import { NEEDS_FFI } from "./_pty_util.ts";
import { watchLeaks } from "./_util.ts";

watchLeaks();

/** The answers of a program that was quick the last time. */
function quickAnswers(): Answers {
  const answers = new Answers();
  do {
    // One more time if this thread had to wait for a core just now.
    answers.expect();
    answers.arrived();
  } while (!answers.expect());
  return answers;
}

Deno.test("Backoff leaves out more tries after each failure, and fewer after a success", () => {
  const backoff = new Backoff();
  const skipped = (isSuccess: boolean) => {
    backoff.record(isSuccess);
    let count = 0;
    while (!backoff.isDue()) count++;
    return count;
  };
  assertEquals(skipped(true), 0);
  const failures = Array.from({ length: 10 }, () => skipped(false));
  assertEquals(failures, [1, 2, 4, 8, 16, 32, 64, 128, 256, 256]);
  assertEquals([skipped(true), skipped(true), skipped(false)], [0, 0, 64]);
});

Deno.test("Answers.look() waits until an answer was quick", () => {
  const answers = new Answers();
  assertEquals(answers.expect(), false);
  assertEquals(answers.look(() => true), false);
  assertEquals(quickAnswers().look(() => true), true);
});

Deno.test("Answers.look() looks once for what was typed last", () => {
  const answers = quickAnswers();
  assertEquals(answers.look(() => true), true);
  assertEquals(answers.look(() => true), false);
  assertEquals(answers.expect(), true);
});

Deno.test("Answers.look() leaves the next one out after a failure", () => {
  const answers = quickAnswers();
  assertEquals(answers.look(() => false), false);
  assertEquals([answers.expect(), answers.expect()], [false, true]);
});

Deno.test("Answers.expect() is false after a slow answer", async () => {
  const answers = quickAnswers();
  await delay(20);
  answers.arrived();
  assertEquals(answers.expect(), false);
});

Deno.test("Answers.expect() is false while programs take turns", () => {
  const answers = quickAnswers();
  const others = quickAnswers();
  assertEquals([answers.expect(), others.expect()], [false, false]);
  assertEquals(others.expect(), true);
  others.end();
});

Deno.test(
  "Pty.write() and Pty.waitFor() in turns give timers theirs",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", [
      "-c",
      "stty raw -echo; echo ready; exec cat",
    ]);
    await pty.waitFor("ready", 10_000);
    let fired = 0;
    const timer = setInterval(() => fired++, 1);
    for (let round = 0; round < 3000; round++) {
      const text = `<${round}>`;
      await pty.write(text);
      const { before } = await pty.waitFor(text, 10_000);
      assertEquals(before, round === 0 ? "\n" : "");
    }
    clearInterval(timer);
    assert(fired > 0);
  },
);

Deno.test(
  "Pty.write() is answered on many terminals at once",
  NEEDS_FFI,
  async () => {
    const names = Array.from({ length: 20 }, (_, i) => `terminal-${i}`);
    await Promise.all(names.map(async (name) => {
      await using pty = spawnPty("cat", { echo: false });
      for (let round = 0; round < 50; round++) {
        await pty.write(`${name} ${round}\n`);
        const { before } = await pty.waitFor(`${name} ${round}\r\n`, 10_000);
        assertEquals(before, "");
      }
    }));
  },
);
